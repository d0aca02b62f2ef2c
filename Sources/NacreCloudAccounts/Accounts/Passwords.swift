import NacreCloudStorage
package import NacreCloudWire

/// Changes of passwords. Only hashes of passwords and digests of codes reach this code.
extension Registry {
    /// Sets another password. In the same transaction sign-ins end, and a code for a new password.
    /// - Parameters:
    ///   - account: The account as it was when its old password was checked.
    ///   - own: The ID of a sign-in that stays.
    ///   - keepsDevices: Whether account tokens stay, and only sessions on the web end.
    /// - Returns: The number of sign-ins ended.
    /// - Throws: `ServerError.accountChanged` if the password is another one by now, or the account is gone.
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

    /// Opens a reset of an account's password with a code, which is good once and for `Limits.passwordResetSeconds`. An
    /// earlier code ends; sign-ins stay.
    /// - Parameter digest: The digest of the code.
    /// - Returns: When the code expires.
    /// - Throws: `ServerError.accountChanged` if the account is gone.
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

    /// Sets a new password by a code, which is used up. As in `recover`, all sign-ins and passkeys end with it.
    /// - Parameter digest: The digest of the code.
    /// - Returns: The number of sign-ins ended; nil: the code is not good.
    package func resetPassword(of account: String, digest: String, to passwordHash: String) async throws -> Int? {
        try await write(.account(account)) { database, now, transaction in
            let entry = try transaction.entry(AccountEntry.self, account, in: database, at: now)
            guard let entry, entry.reset?.isOpened(by: digest, at: now) == true else { return .rollback(nil) }
            return .commit(try transaction.recover(entry, wasVerified: entry.isEmailVerified, to: passwordHash, in: database, at: now))
        }
    }
}

extension WriteTransaction {
    /// Sets a password, and leaves a mail about it.
    /// - Parameters:
    ///   - more: Further changes of the same transaction.
    ///   - ends: Whether a sign-in ends with the old password. A device's sessions end with the device.
    /// - Returns: The number of sign-ins ended.
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
