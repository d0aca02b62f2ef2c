import NacreCloudWire

/// A passkey of an account: whoever holds its private half, and is its user, signs in without a password.
package struct PasskeyEntry: RegistryEntry {
    package static let kind = EntryKind.passkey
    /// Base64 for URLs, as the authenticator has drawn it.
    package var id: String
    /// PEM.
    package var publicKey: String
    package var counter: UInt32
    package var name: String
    package var created: Double
    /// When it signed in last; nil: never.
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

    /// nil also where there is no such account.
    package func passkey(_ id: String, of account: String) async throws -> PasskeyEntry? {
        try await lookUp(PasskeyEntry.self, id, in: .account(account))
    }

    /// Gives an account a passkey. A mail tells of it.
    /// - Parameters:
    ///   - account: as it was when it signed in.
    ///   - challenge: which is used up by it, in the same transaction.
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

    /// Notes that a passkey has signed in.
    /// - Parameter challenge: that it has signed, which is used up by it.
    /// - Returns: the account; nil where it has no such passkey any more, or the counter has gone on meanwhile.
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

    /// Takes a passkey away. What was asked on the sign-in page meanwhile is asked anew; sessions stay.
    /// - Throws: `NOT_FOUND` where the account has no such one.
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
