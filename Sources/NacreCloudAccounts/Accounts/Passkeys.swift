package import NacreCloudStorage
import NacreCloudWire

/// A passkey of an account. Its user signs in with the private half, without a password.
package struct PasskeyEntry: RegistryEntry {
    package static let kind = EntryKind.passkey
    /// Base64 for URLs, drawn by the authenticator.
    package var id: String
    /// PEM.
    package var publicKey: String
    package var counter: UInt32
    package var name: String
    package var created: Double
    /// The last sign-in with it; nil: none.
    package var used: Double?
}

extension Registry {
    /// The passkeys of an account, the oldest first: `Limits.passkeysPerAccount` at most.
    package func passkeys(of account: String) async throws -> [PasskeyEntry] {
        let database = try await databaseID(Part.account(account).key)
        let now = clock()
        let found = try await stored {
            try await self.store.read { try $0.all(PasskeyEntry.self, in: database, at: now) }
        }
        return found.sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// A passkey of an account; nil if there is none, or no account.
    package func passkey(_ id: String, of account: String) async throws -> PasskeyEntry? {
        try await lookUp(PasskeyEntry.self, id, in: .account(account))
    }

    /// Adds a passkey to an account, and leaves a mail about it.
    /// - Parameters:
    ///   - account: The account as it was when it signed in.
    ///   - challenge: The challenge, which is used up in the same transaction.
    /// - Throws: `ServerError.tooManyPasskeys`, `passkeyTaken`, `accountChanged` or `consentUsed`.
    package func addPasskey(
        _ made: PasskeyRule.Made, publicKey: String, name: String, to account: AccountEntry,
        using challenge: UsedConsent
    ) async throws -> PasskeyEntry {
        try await write(.account(account.id)) { database, now, transaction in
            let kept = try transaction.requireUnchanged(account, in: database, at: now)
            let known = try transaction.all(PasskeyEntry.self, in: database, at: now)
            guard known.count < Limits.passkeysPerAccount else { throw ServerError.tooManyPasskeys }
            guard !known.contains(where: { $0.id == made.id }) else {
                throw ServerError.passkeyTaken
            }
            let entry = PasskeyEntry(
                id: made.id, publicKey: publicKey, counter: made.counter, name: name,
                created: now.secondsSince2001)
            var plan = WritePlan()
            plan.entries = [
                try entry.row(entry.id, in: database),
                try transaction.accountUsing(challenge, account.id, in: database, at: now),
            ]
            plan.tasks = try SendLetter.notice(.newPasskey, to: kept, in: database, at: now)
            try transaction.apply(plan)
            return .commit(entry)
        }
    }

    /// Notes a sign-in with a passkey.
    /// - Parameter challenge: The signed challenge, which is used up in the same transaction.
    /// - Returns: The account; nil if it has no such passkey any more, or `counter` may not follow the kept one.
    /// - Throws: `ServerError.consentUsed`.
    package func usePasskey(
        _ id: String, of account: String, counter: UInt32, using challenge: UsedConsent
    ) async throws -> AccountEntry? {
        try await write(.account(account)) { database, now, transaction in
            guard
                let entry = try transaction.entry(
                    AccountEntry.self, account, in: database, at: now), entry.isLiving,
                var passkey = try transaction.entry(PasskeyEntry.self, id, in: database, at: now),
                PasskeyRule.counts(from: passkey.counter, to: counter)
            else { return .rollback(nil) }
            (passkey.counter, passkey.used) = (counter, now.secondsSince2001)
            try transaction.put([
                try passkey.row(id, in: database),
                try transaction.accountUsing(challenge, account, in: database, at: now),
            ])
            return .commit(entry)
        }
    }

    /// Removes a passkey. Questions that the sign-in page has open must be asked again; sessions stay.
    /// - Throws: `NOT_FOUND` if the account has no such passkey.
    package func removePasskey(_ id: String, of account: String) async throws -> PasskeyEntry {
        try await write(.account(account)) { database, now, transaction in
            guard let passkey = try transaction.entry(PasskeyEntry.self, id, in: database, at: now),
                var entry = try transaction.entry(
                    AccountEntry.self, account, in: database, at: now), entry.isLiving
            else { throw ServerError.noSuchPasskey }
            entry.passkeysRemoved = (entry.passkeysRemoved ?? 0) + 1
            var plan = WritePlan()
            plan.entries = [try entry.row(account, in: database)]
            plan.entriesRemoved = [EntryKey(database, .passkey, id)]
            try transaction.apply(plan)
            return .commit(passkey)
        }
    }
}

extension ServerError {
    static let tooManyPasskeys = ServerError(
        .quotaExceeded,
        "the account has as many passkeys as it may have (\(Limits.passkeysPerAccount))",
        native: .limitExceeded,
        remedy: "Remove one that is not in use.")

    static let passkeyTaken = ServerError(
        .exists, "the account has this passkey already", native: .invalidArguments,
        field: "credential",
        remedy: "Sign in with it, or make another one.")

    static let noSuchPasskey = ServerError(
        .notFound, "no such passkey", field: "id",
        remedy: "Take an ID from the list of passkeys; it may be removed already.")
}
