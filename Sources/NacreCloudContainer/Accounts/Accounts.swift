package import NacreCloudWire

/// Accounts, and the sessions and tokens by which their holders are known.
extension Registry {
    /// Makes an account. The address is claimed first, in a database of its own: two sign-ups cannot both have it, and one that was cut short
    /// is taken up where it stopped.
    /// - Parameter passwordHash: never the password.
    /// - Throws: `ServerError.emailTaken`, or what is wrong with the address.
    package func createAccount(email: String, passwordHash: String) async throws -> AccountEntry {
        let address = try Self.normalized(email)
        let candidate = hex(2)
        let id = try await write(.email(address)) { database, now, transaction -> Ending<String> in
            if let old = try transaction.entry(EmailEntry.self, address, in: database, at: now) { return .rollback(old.account) }
            try transaction.put([try EmailEntry(account: candidate).row(address, in: database)])
            return .commit(candidate)
        }
        return try await write(.account(id)) { database, now, transaction in
            guard try transaction.entry(AccountEntry.self, id, in: database, at: now) == nil else { throw ServerError.emailTaken }
            let entry = AccountEntry(id: id, email: address, passwordHash: passwordHash, created: now.secondsSince2001)
            try transaction.put([try entry.row(id, in: database)])
            return .commit(entry)
        }
    }

    /// Asks whether an account can be made for an address, before its password is hashed: that is a tenth of a second of a core.
    /// - Throws: as `createAccount`, which asks again.
    package func requireFree(email: String) async throws {
        _ = try Self.normalized(email)
        if try await account(email: email) != nil { throw ServerError.emailTaken }
    }

    /// nil for an address without an account, and for text that is not an address.
    package func account(email: String) async throws -> AccountEntry? {
        guard let address = try? Self.normalized(email), let claim = try await lookUp(EmailEntry.self, address, in: .email(address))
        else { return nil }
        return try await lookUp(AccountEntry.self, claim.account, in: .account(claim.account))
    }

    /// The account's name in a container, made when it is first asked for: random, so that two containers cannot compare their users. `isNew` says
    /// that this call made it. `Cloud.admit` makes the user's records with it.
    func userRecordName(
        of account: String, container: String, environment: DatabaseKey.Environment
    ) async throws -> (name: String, isNew: Bool) {
        let key = "\(container) \(environment.rawValue)"
        if let known = try await lookUp(UserEntry.self, key, in: .account(account)) { return (known.userRecordName, false) }
        let candidate = "_" + hex(2)
        return try await write(.account(account)) { database, now, transaction in
            if let old = try transaction.entry(UserEntry.self, key, in: database, at: now) { return .rollback((old.userRecordName, false)) }
            try transaction.put([try UserEntry(userRecordName: candidate).row(key, in: database)])
            return .commit((candidate, true))
        }
    }

    // MARK: Sessions

    /// Starts a session of an account under an API token.
    /// - Parameter user: the account's name in the token's container, by `Cloud.admit`.
    package func startSession(
        of account: String, as user: String, apiToken: String, entry: APITokenEntry, isKept: Bool
    ) async throws -> SessionEntry {
        let session = SessionEntry(
            id: hex(2), account: account, container: entry.container, environment: entry.environment, apiToken: apiToken,
            userRecordName: user, created: clock().secondsSince2001, isKept: isKept)
        return try await write(.account(account)) { database, now, transaction in
            let expires = now + Limits.keptSessionSeconds
            try transaction.put([try session.row(session.id, in: database, expires: expires)])
            return .commit(session)
        }
    }

    package func session(_ id: String, of account: String) async throws -> SessionEntry? {
        try await lookUp(SessionEntry.self, id, in: .account(account))
    }

    package func endSession(_ id: String, of account: String) async throws {
        try await remove(.session, id, of: account)
    }

    // MARK: Account tokens

    /// Makes a token by which a device acts for an account in some containers of one environment, until it is revoked.
    package func createAccountToken(
        for account: String, containers: [String], environment: DatabaseKey.Environment, device: String
    ) async throws -> AccountTokenEntry {
        let id = hex(2)
        return try await write(.account(account)) { database, now, transaction in
            let entry = AccountTokenEntry(
                id: id, account: account, containers: containers, environment: environment.rawValue, device: device,
                created: now.secondsSince2001)
            try transaction.put([try entry.row(id, in: database)])
            return .commit(entry)
        }
    }

    package func accountToken(_ id: String, of account: String) async throws -> AccountTokenEntry? {
        try await lookUp(AccountTokenEntry.self, id, in: .account(account))
    }

    package func revokeAccountToken(_ id: String, of account: String) async throws {
        try await remove(.accountToken, id, of: account)
    }

    private func remove(_ kind: EntryKind, _ id: String, of account: String) async throws {
        try await write(.account(account)) { database, _, transaction in
            var plan = WritePlan()
            plan.entriesRemoved = [EntryKey(database, kind, id)]
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Lower case, one `@` with something on both sides, printable ASCII: beyond it two spellings of one address need not have the same bytes.
    /// Whether mail arrives there is not asked.
    private static func normalized(_ email: String) throws(ServerError) -> String {
        let isPlain = email.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        let address = email.lowercased()
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, isPlain, address.utf8.count <= Limits.emailCharacters else {
            throw .badValue("email", "invalid e-mail address", remedy: "Give an address such as ada@example.com.")
        }
        return address
    }
}

extension ServerError {
    package static let emailTaken = ServerError(
        .exists, "an account with this e-mail address exists", native: .invalidArguments, field: "email",
        remedy: "Sign in, or take another address.")
}
