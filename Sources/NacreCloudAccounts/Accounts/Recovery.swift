package import NacreCloudStorage
package import NacreCloudWire

/// A way into an account other than its password.
package enum WayIn: Hashable, Sendable {
    /// A session or a device, by its ID.
    case signIn(SignIn.Kind, id: String)
    /// A passkey, by its ID.
    case passkey(String)
}

/// The ways into an account that its user is shown.
package struct WaysIn: Sendable {
    package var signIns: [SignIn]
    package var passkeys: [PasskeyEntry]

    package var isEmpty: Bool { signIns.isEmpty && passkeys.isEmpty }
}

/// The rule for a user who regains an account, by a link in a mail or by an administrator's code. See
/// `docs/decisions/accounts-recovery.md`.
enum RecoveryRule {
    /// Whether a way into the account stays.
    ///
    /// If the address was never verified, an attacker may have prepared the account: no way into it stays, not even an
    /// asked one.
    package static func stays(_ way: WayIn, asked: Set<WayIn>, isAddressVerified: Bool) -> Bool {
        isAddressVerified && asked.contains(way)
    }
}

extension Registry {
    /// The ways into an account: at most `Limits.sessionsPerAccount`, `Limits.devicesPerAccount` and
    /// `Limits.passkeysPerAccount`.
    package func waysIn(of account: String) async throws -> WaysIn {
        let database = try await databaseID(Part.account(account).key)
        let now = clock()
        return try await stored {
            try await self.store.read { transaction in
                WaysIn(
                    signIns: try transaction.signIns(in: database, at: now).sorted { ($0.created, $0.id) < ($1.created, $1.id) },
                    passkeys: try transaction.all(PasskeyEntry.self, in: database, at: now).sorted { ($0.created, $0.id) < ($1.created, $1.id) })
            }
        }
    }

    /// Sets a new password for a user who reads the mail to the account's address, which verifies it. In the same
    /// transaction sign-ins and passkeys end, except those that `RecoveryRule` lets stay. An account whose address was
    /// not verified also loses its phone number.
    /// - Parameters:
    ///   - account: The account as it was when the link was opened.
    ///   - kept: The ways in that its user recognizes.
    /// - Returns: The number of sign-ins ended.
    /// - Throws: `ServerError.accountChanged` if the password or the address is another one by now, or the account is
    ///   gone.
    package func recover(_ account: AccountEntry, to passwordHash: String, keeping kept: Set<WayIn>) async throws -> Int {
        try await write(.account(account.id)) { database, now, transaction in
            var entry = try transaction.requireUnchanged(account, in: database, at: now)
            guard entry.email == account.email else { throw ServerError.accountChanged }
            let isVerified = entry.isEmailVerified
            entry.verifiedEmail = entry.email
            return .commit(
                try transaction.recover(entry, wasVerified: isVerified, to: passwordHash, keeping: kept, in: database, at: now))
        }
    }
}

extension WriteTransaction {
    /// Sets the password of a recovered account, and ends the ways in that do not stay.
    /// - Parameter wasVerified: Whether the account's address was verified before.
    /// - Returns: The number of sign-ins ended.
    package func recover(
        _ account: AccountEntry, wasVerified: Bool, to passwordHash: String, keeping kept: Set<WayIn> = [], in database: DatabaseID, at now: Timestamp
    ) throws -> Int {
        func stays(_ way: WayIn) -> Bool { RecoveryRule.stays(way, asked: kept, isAddressVerified: wasVerified) }
        var entry = account
        var more = WritePlan()
        let passkeys = try all(PasskeyEntry.self, in: database, at: now).filter { !stays(.passkey($0.id)) }
        if !passkeys.isEmpty { entry.passkeysRemoved = (entry.passkeysRemoved ?? 0) + 1 }
        more.entriesRemoved = passkeys.map { EntryKey(database, .passkey, $0.id) }
        entry.phoneCode = nil
        // The number is removed, and the address may have been verified just now: the user's identity changes.
        if !wasVerified {
            entry.phone = nil
            entry.identityChanges = entry.changesOfIdentity + 1
            more.tasks = [.settling(account: database, due: now + Limits.emailChangeSeconds)]
        }
        return try setPassword(passwordHash, of: entry, in: database, at: now, with: more) { !stays(.signIn($0.kind, id: $0.id)) }
    }
}
