package import NacreCloudWire

/// Accounts, and the names of their holders in containers.
extension Registry {
    /// Makes an account. The address is claimed first, in a database of its own: two sign-ups cannot both have it, and one that was cut short
    /// is taken up where it stopped.
    /// - Parameters:
    ///   - passwordHash: never the password.
    ///   - isVouched: an administrator vouches for the address, which is verified by that: a server without mail must be able to share.
    /// - Throws: `ServerError.emailTaken`, or what is wrong with the address or a name.
    package func createAccount(
        email: String, passwordHash: String, names: NameComponents = NameComponents(), isVouched: Bool = false
    ) async throws -> AccountEntry {
        let address = try Self.normalized(email)
        if let fault = names.fault { throw fault }
        let candidate = hex(2)
        let id = try await write(.email(address)) { database, now, transaction -> Ending<String> in
            if let old = try transaction.entry(EmailEntry.self, address, in: database, at: now) { return .rollback(old.account) }
            try transaction.put([try EmailEntry(account: candidate).row(address, in: database)])
            return .commit(candidate)
        }
        return try await write(.account(id)) { database, now, transaction in
            guard try transaction.entry(AccountEntry.self, id, in: database, at: now) == nil else { throw ServerError.emailTaken }
            var entry = AccountEntry(id: id, email: address, passwordHash: passwordHash, names, at: now)
            if isVouched { entry.verifiedEmail = address }
            try transaction.put([try entry.row(id, in: database)])
            return .commit(entry)
        }
    }

    /// Makes an account for somebody who must not learn whether there is one. One that is there stays as it is; it costs the same reads and writes.
    /// See `docs/decisions/sign-up-does-not-tell-who-is-there.md`.
    /// - Parameter passwordHash: never the password. Of an account that is there it is not looked at.
    /// - Returns: the address as it is kept.
    /// - Throws: what is wrong with the address or a name.
    package func signUp(email: String, passwordHash: String, names: NameComponents = NameComponents()) async throws -> String {
        let address = try Self.normalized(email)
        if let fault = names.fault { throw fault }
        let candidate = hex(2)
        let id = try await write(.email(address)) { database, now, transaction in
            let claim = try transaction.entry(EmailEntry.self, address, in: database, at: now) ?? EmailEntry(account: candidate)
            try transaction.put([try claim.row(address, in: database)])
            return .commit(claim.account)
        }
        try await write(.account(id)) { database, now, transaction in
            let made = AccountEntry(id: id, email: address, passwordHash: passwordHash, names, at: now)
            let entry = try transaction.entry(AccountEntry.self, id, in: database, at: now) ?? made
            try transaction.put([try entry.row(id, in: database)])
            return .commit(())
        }
        return address
    }

    /// Asks whether an account can be made for an address, before its password is hashed: that is a tenth of a second of a core.
    /// - Throws: as `createAccount`, which asks again.
    package func requireFree(email: String) async throws {
        _ = try Self.normalized(email)
        if try await account(email: email) != nil { throw ServerError.emailTaken }
    }

    /// nil for an ID that is no living account's.
    package func account(id: String) async throws -> AccountEntry? {
        try await lookUp(AccountEntry.self, id, in: .account(id)).flatMap { $0.isLiving ? $0 : nil }
    }

    /// nil for an address without an account, and for text that is not an address.
    package func account(email: String) async throws -> AccountEntry? {
        guard let address = try? Self.normalized(email), let claim = try await lookUp(EmailEntry.self, address, in: .email(address)),
            let account = try await lookUp(AccountEntry.self, claim.account, in: .account(claim.account)), account.isLiving
        else { return nil }
        // A claim is also there before an address is changed, and after.
        return account.email == address ? account : nil
    }

    /// The account's name in a container, made when it is first asked for: random, so that two containers cannot compare their users. `isNew` says
    /// that this call made it. `Cloud.admit` makes the user's records with it.
    func userRecordName(
        of account: String, container: String, environment: DatabaseKey.Environment
    ) async throws -> (name: String, isNew: Bool) {
        let key = AccountPlace.key(container, environment)
        if let known = try await lookUp(UserEntry.self, key, in: .account(account)) { return (known.userRecordName, false) }
        let candidate = "_" + hex(2)
        return try await write(.account(account)) { database, now, transaction in
            // Server-to-server keys have names and no account.
            if let entry = try transaction.entry(AccountEntry.self, account, in: database, at: now), !entry.isLiving {
                throw ServerError.accountChanged
            }
            if let old = try transaction.entry(UserEntry.self, key, in: database, at: now) { return .rollback((old.userRecordName, false)) }
            try transaction.put([try UserEntry(userRecordName: candidate).row(key, in: database)])
            return .commit((candidate, true))
        }
    }

    /// Lower case, one `@` with something on both sides, printable ASCII: beyond it two spellings of one address need not have the same bytes.
    /// Whether mail arrives there is not asked.
    package static func normalized(_ email: String) throws(ServerError) -> String {
        let isPlain = email.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        let address = email.lowercased()
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, isPlain, address.utf8.count <= Limits.emailCharacters else {
            throw .badValue("email", "invalid e-mail address", remedy: "Give an address such as ada@example.com.")
        }
        return address
    }
}

extension AccountEntry {
    /// It was not deleted.
    var isLiving: Bool { isDeleted != true }
}

extension ServerError {
    package static let emailTaken = ServerError(
        .exists, "an account with this e-mail address exists", native: .invalidArguments, field: "email",
        remedy: "Sign in, or take another address.")
}

extension AccountEntry {
    fileprivate init(id: String, email: String, passwordHash: String, _ names: NameComponents, at now: Timestamp) {
        self.init(
            id: id, email: email, passwordHash: passwordHash, created: now.secondsSince2001, givenName: PersonNameRule.kept(names.givenName),
            familyName: PersonNameRule.kept(names.familyName))
    }
}
