package import NacreCloudStorage
package import NacreCloudWire

/// Accounts, and their user record names in containers.
extension Registry {
    /// Makes an account. The address is claimed first, in a database of its own, so two sign-ups cannot both get it. A
    /// repeated call completes one that was cut short.
    /// - Parameters:
    ///   - passwordHash: The hash, never the password.
    ///   - isVouched: Whether an administrator vouches for the address, which verifies it: a server without mail must
    ///     be able to share.
    /// - Throws: `ServerError.emailTaken`, or the fault of the address or a name.
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

    /// Makes an account without telling the caller whether one exists. An existing account stays unchanged, at the cost
    /// of the same reads and writes. See `docs/decisions/accounts-sign-in.md`.
    /// - Parameter passwordHash: The hash, never the password. Ignored if the account exists.
    /// - Returns: The normalized address.
    /// - Throws: The fault of the address or a name.
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

    /// Checks that an address has no account, before its password is hashed, which takes a tenth of a second of a core.
    /// - Throws: The errors of `createAccount`, which checks again.
    package func requireFree(email: String) async throws {
        _ = try Self.normalized(email)
        if try await account(email: email) != nil { throw ServerError.emailTaken }
    }

    /// The account with an ID; nil if there is none or it is deleted.
    package func account(id: String) async throws -> AccountEntry? {
        try await lookUp(AccountEntry.self, id, in: .account(id)).flatMap { $0.isLiving ? $0 : nil }
    }

    /// The account with an address; nil if there is none, or the text is not an address.
    package func account(email: String) async throws -> AccountEntry? {
        guard let address = try? Self.normalized(email), let claim = try await lookUp(EmailEntry.self, address, in: .email(address)),
            let account = try await lookUp(AccountEntry.self, claim.account, in: .account(claim.account)), account.isLiving
        else { return nil }
        // An address change claims its new address before it takes effect, and releases the old one later.
        return account.email == address ? account : nil
    }

    /// The account's user record name in a container, made by the first call. It is random, so two containers cannot
    /// compare their users. `isNew` is true if this call made it; `Cloud.admit` then makes the user's records.
    package func userRecordName(
        of account: String, container: String, environment: DatabaseKey.Environment
    ) async throws -> (name: String, isNew: Bool) {
        let key = AppUser.key(container, environment)
        if let known = try await lookUp(UserEntry.self, key, in: .account(account)) { return (known.userRecordName, false) }
        let candidate = "_" + hex(2)
        return try await write(.account(account)) { database, now, transaction in
            // A server-to-server key has a name and no account entry.
            if let entry = try transaction.entry(AccountEntry.self, account, in: database, at: now), !entry.isLiving {
                throw ServerError.accountChanged
            }
            if let old = try transaction.entry(UserEntry.self, key, in: database, at: now) { return .rollback((old.userRecordName, false)) }
            try transaction.put([try UserEntry(userRecordName: candidate).row(key, in: database)])
            return .commit((candidate, true))
        }
    }

    /// Returns the address in lower case. It must have one `@` with text on both sides, and only printable ASCII: other
    /// characters have several spellings. Whether mail arrives there is not checked.
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
    /// Whether the account is not deleted.
    package var isLiving: Bool { isDeleted != true }
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
