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

    /// Sets a new password by a code, which is used up. All sign-ins and passkeys end with it, in the same transaction, as in `recover`.
    /// - Parameter digest: of the code.
    /// - Returns: how many sign-ins ended; nil: the code opens nothing.
    package func resetPassword(of account: String, digest: String, to passwordHash: String) async throws -> Int? {
        try await write(.account(account)) { database, now, transaction in
            let entry = try transaction.entry(AccountEntry.self, account, in: database, at: now)
            guard let entry, entry.reset?.isOpened(by: digest, at: now) == true else { return .rollback(nil) }
            return .commit(try transaction.recover(entry, wasVerified: entry.isEmailVerified, to: passwordHash, in: database, at: now))
        }
    }
}

extension WriteTransaction {
    /// Sets a password, and leaves a mail that tells of it.
    /// - Parameters:
    ///   - more: what is done beside.
    ///   - ends: whether a sign-in ends with the old password. The sessions of a device end with it.
    /// - Returns: how many sign-ins ended.
    func setPassword(
        _ passwordHash: String, of account: AccountEntry, in database: DatabaseID, at now: Timestamp, with more: WritePlan = WritePlan(),
        ending ends: (SignIn) -> Bool
    ) throws -> Int {
        var entry = account
        entry.passwordHash = passwordHash
        entry.reset = nil
        let ended = try signIns(in: database, at: now).filter(ends)
        let keys = ended.map { EntryKey(database, $0.kind.entryKind, $0.id) }
        let devices = Set(ended.filter { $0.kind == .account }.map(\.id))
        let sessions = try sessions(ofDevices: devices, in: database, at: now).filter { !keys.contains($0) }
        var plan = more
        plan.entries.append(try entry.row(entry.id, in: database))
        plan.entriesRemoved += keys + sessions
        plan.tasks += try SendLetter.notice(.passwordChanged, to: entry, in: database, at: now)
        try apply(plan)
        return keys.count + sessions.count
    }
}
