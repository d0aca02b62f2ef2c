package import NacreCloudWire

/// Passwords that change. Of the passwords only hashes come here, of codes only digests.
extension Registry {
    /// Sets another password. Sign-ins end with it, in the same transaction, and a code for a new password is none any more.
    /// - Parameters:
    ///   - account: as it was when its old password was checked.
    ///   - own: the ID of a sign-in that stays.
    ///   - keepsDevices: account tokens stay, and only sessions on the web end.
    /// - Returns: how many sign-ins ended.
    /// - Throws: `ServerError.accountChanged` where the password is another one by now, or the account is gone.
    package func changePassword(
        of account: AccountEntry, to passwordHash: String, except own: String? = nil, keepsDevices: Bool = false
    ) async throws -> Int {
        try await write(.account(account.id)) { database, now, transaction in
            let entry = try transaction.requireUnchanged(account, in: database, at: now)
            return .commit(
                try transaction.setPassword(passwordHash, of: entry, in: database, at: now) {
                    $0.id != own && !(keepsDevices && $0.kind == .account)
                })
        }
    }

    /// Makes a code good for a new password, for `Limits.passwordResetSeconds` and once. One that was made before is none any more; nobody is signed out.
    /// - Parameter digest: of the code.
    /// - Returns: when it is over.
    /// - Throws: `ServerError.accountChanged` where the account is gone.
    package func openReset(of account: String, digest: String) async throws -> Timestamp {
        try await write(.account(account)) { database, now, transaction in
            guard var entry = try transaction.entry(AccountEntry.self, account, in: database, at: now), entry.isLiving else {
                throw ServerError.accountChanged
            }
            let expires = now + Limits.passwordResetSeconds
            entry.reset = PasswordReset(digest: digest, expires: expires.secondsSince2001)
            try transaction.put([try entry.row(account, in: database)])
            return .commit(expires)
        }
    }

    /// Sets a new password by a code, which is used up. All sign-ins end with it, in the same transaction.
    /// - Parameter digest: of the code.
    /// - Returns: how many sign-ins ended; nil: the code opens nothing.
    package func resetPassword(of account: String, digest: String, to passwordHash: String) async throws -> Int? {
        try await write(.account(account)) { database, now, transaction in
            let entry = try transaction.entry(AccountEntry.self, account, in: database, at: now)
            guard let entry, entry.reset?.isOpened(by: digest, at: now) == true else { return .rollback(nil) }
            return .commit(try transaction.setPassword(passwordHash, of: entry, in: database, at: now) { _ in true })
        }
    }
}

extension WriteTransaction {
    /// - Parameter ends: whether a sign-in ends with the old password.
    /// - Returns: how many did.
    fileprivate func setPassword(
        _ passwordHash: String, of account: AccountEntry, in database: DatabaseID, at now: Timestamp, ending ends: (SignIn) -> Bool
    ) throws -> Int {
        var entry = account
        entry.passwordHash = passwordHash
        entry.reset = nil
        let ended = try signIns(in: database, at: now).filter(ends)
        var plan = WritePlan()
        plan.entries = [try entry.row(entry.id, in: database)]
        plan.entriesRemoved = ended.map { EntryKey(database, $0.kind.entryKind, $0.id) }
        try apply(plan)
        return ended.count
    }
}
