package import NacreCloudWire

/// Accounts, and the sessions and tokens by which their holders are known.
extension Cloud {
    /// E-mail addresses of more characters are refused. Source: RFC 5321, 4.5.3.1.3 (a path of 256 octets with its brackets).
    private static let emailCharacters = 254

    /// Makes an account. The address is claimed first, in a database of its own: two sign-ups cannot both have it, and one that was cut short
    /// is taken up where it stopped.
    /// - Parameter passwordHash: never the password.
    /// - Throws: `ServerError.emailTaken`, or what is wrong with the address.
    package func createAccount(email: String, passwordHash: String) async throws -> AccountEntry {
        let address = try Self.normalized(email)
        let candidate = hex(2)
        let id = try await registry(.email(address)) { database, now, transaction -> Ending<String> in
            if let old = try transaction.entry(EmailEntry.self, address, in: database, at: now) { return .rollback(old.account) }
            try transaction.put([try EmailEntry(account: candidate).row(address, in: database)])
            return .commit(candidate)
        }
        return try await registry(.account(id)) { database, now, transaction in
            guard try transaction.entry(AccountEntry.self, id, in: database, at: now) == nil else { throw ServerError.emailTaken }
            let entry = AccountEntry(id: id, email: address, passwordHash: passwordHash, created: now.secondsSince2001)
            try transaction.put([try entry.row(id, in: database)])
            return .commit(entry)
        }
    }

    /// nil for an address that nobody has, or that is none.
    package func account(email: String) async throws -> AccountEntry? {
        guard let address = try? Self.normalized(email), let claim = try await lookUp(EmailEntry.self, address, in: .email(address))
        else { return nil }
        return try await lookUp(AccountEntry.self, claim.account, in: .account(claim.account))
    }

    /// The account's name in a container, made when it is first asked for: random, so that two containers cannot compare their users. With the
    /// name come the user's records.
    package func userRecordName(
        of account: String, container: String, environment: DatabaseKey.Environment
    ) async throws -> String {
        let key = "\(container) \(environment.rawValue)"
        if let known = try await lookUp(UserEntry.self, key, in: .account(account)) {
            try await admitAgain(known.userRecordName, to: container, environment)
            return known.userRecordName
        }
        let candidate = "_" + hex(2)
        let name = try await registry(.account(account)) { database, now, transaction -> Ending<String> in
            if let old = try transaction.entry(UserEntry.self, key, in: database, at: now) { return .rollback(old.userRecordName) }
            try transaction.put([try UserEntry(userRecordName: candidate).row(key, in: database)])
            return .commit(candidate)
        }
        try await admit(name, to: container, environment)
        return name
    }

    /// Lets in a user whose name was given before. Where the server cannot write, whoever comes only to read is not turned away: a record
    /// that a crash or an older version left out is made by a later visit.
    package func admitAgain(_ user: String, to container: String, _ environment: DatabaseKey.Environment) async throws {
        do {
            try await admit(user, to: container, environment)
        } catch let error as ServerError where error.code == .tryAgainLater {}
    }

    // MARK: Sessions

    /// Seconds that a web auth token lives, and a session that is not used. CloudKit: Web Services Reference, 30 minutes, or two weeks when the user
    /// asked to be kept signed in.
    package static let sessionSeconds: Double = 30 * 60
    package static let keptSessionSeconds: Double = 14 * 24 * 3600

    /// Starts a session of an account under an API token.
    package func startSession(of account: String, apiToken: String, entry: APITokenEntry, isKept: Bool) async throws -> SessionEntry {
        guard let environment = DatabaseKey.Environment(rawValue: entry.environment) else { throw ServerError.internalError }
        let user = try await userRecordName(of: account, container: entry.container, environment: environment)
        let session = SessionEntry(
            id: hex(2), account: account, container: entry.container, environment: entry.environment, apiToken: apiToken,
            userRecordName: user, created: clock().secondsSince2001, isKept: isKept)
        return try await registry(.account(account)) { database, now, transaction in
            let expires = now + Cloud.keptSessionSeconds
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
        return try await registry(.account(account)) { database, now, transaction in
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
        try await registry(.account(account)) { database, _, transaction in
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
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, isPlain, address.utf8.count <= emailCharacters else {
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
