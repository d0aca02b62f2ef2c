import NacreCloudStorage
package import NacreCloudWire

/// A user as an issuer knows it: two values that never change.
package struct OpenIDIdentity: Codable, Hashable, Sendable {
    package var issuer: String
    package var subject: String

    package init(issuer: String, subject: String) {
        (self.issuer, self.subject) = (issuer, subject)
    }
}

/// The account of an identity.
struct OpenIDEntry: RegistryEntry {
    package static let kind = EntryKind.openID
    package var account: String

    /// The key of the only entry: each identity has a database of its own.
    package static let key = "account"
}

extension Registry {
    /// The account of an identity; nil: none.
    package func account(_ identity: OpenIDIdentity) async throws -> AccountEntry? {
        guard
            let claim = try await lookUp(
                OpenIDEntry.self, OpenIDEntry.key, in: .identity(identity)),
            let account = try await account(id: claim.account), account.openID == identity
        else { return nil }
        return account
    }

    /// Makes an account for an identity, without a password, with an address that the issuer has verified. The identity
    /// is claimed first and the address second, each in a database of its own. A repeated call completes one that was
    /// cut short.
    /// - Parameter sendsMail: Whether this server sends mail, so addresses can be verified. Then an account with an
    ///   unverified one gives it up.
    /// - Returns: The account, which may have existed before.
    /// - Throws: `ServerError.openIDAddressTaken` if another account has the address and keeps it. `accountChanged` if
    ///   the identity's account is being deleted.
    package func createAccount(
        _ identity: OpenIDIdentity, email: String, names: NameComponents, sendsMail: Bool = false
    ) async throws -> AccountEntry {
        let address = try Self.normalized(email)
        let candidate = hex(2)
        let id = try await write(.identity(identity)) {
            database, now, transaction -> Ending<String> in
            if let old = try transaction.entry(
                OpenIDEntry.self, OpenIDEntry.key, in: database, at: now)
            {
                return .rollback(old.account)
            }
            try transaction.put([
                try OpenIDEntry(account: candidate).row(OpenIDEntry.key, in: database)
            ])
            return .commit(candidate)
        }
        if let kept = try await lookUp(AccountEntry.self, id, in: .account(id)) {
            guard kept.isLiving, kept.openID == identity else { throw ServerError.accountChanged }
            return kept
        }
        var owner = try await claim(address, for: id)
        if owner != id, let holder = try await account(id: owner), holder.email == address,
            OpenIDRule.givesWay(isVerified: holder.isEmailVerified, isOfIssuer: holder.openID != nil, sendsMail: sendsMail)
        {
            // No other account can have this address, and no mail goes to it. The holder's account stays, under this
            // address.
            _ = try await changeEmail(of: holder, to: "\(holder.id)@unverified.invalid")
            owner = try await claim(address, for: id)
        }
        guard owner == id else { throw ServerError.openIDAddressTaken }
        return try await write(.account(id)) { database, now, transaction in
            if let old = try transaction.entry(AccountEntry.self, id, in: database, at: now) {
                guard old.isLiving, old.openID == identity else { throw ServerError.accountChanged }
                return .rollback(old)
            }
            var entry = AccountEntry(
                id: id, email: address, passwordHash: "", created: now.secondsSince2001,
                givenName: PersonNameRule.kept(names.givenName),
                familyName: PersonNameRule.kept(names.familyName))
            entry.openID = identity
            // `OpenIDRule.newcomer` admits only an address that the issuer has verified.
            entry.verifiedEmail = address
            try transaction.put([try entry.row(id, in: database)])
            return .commit(entry)
        }
    }

    /// Claims an address for an account, unless it is claimed.
    /// - Returns: The ID of the account that has the address now.
    private func claim(_ address: String, for id: String) async throws -> String {
        try await write(.email(address)) { database, now, transaction -> Ending<String> in
            if let old = try transaction.entry(EmailEntry.self, address, in: database, at: now) { return .rollback(old.account) }
            try transaction.put([try EmailEntry(account: id).row(address, in: database)])
            return .commit(id)
        }
    }

    /// Frees an identity for another account, once its own is gone.
    package func releaseIdentity(of account: AccountEntry) async throws {
        guard let identity = account.openID else { return }
        try await write(.identity(identity)) { database, now, transaction in
            let claim = try transaction.entry(
                OpenIDEntry.self, OpenIDEntry.key, in: database, at: now)
            guard claim?.account == account.id else { return .rollback(()) }
            try transaction.remove([EntryKey(database, .openID, OpenIDEntry.key)])
            return .commit(())
        }
    }
}

extension ServerError {
    package static let openIDAddressTaken = ServerError(
        .exists, "an account with this e-mail address exists", native: .invalidArguments, field: "email",
        remedy:
            "Sign in with its password, or set a new one by mail. To use your team's account in its place, delete that account or give it another address "
            + "first, or ask the administrator to: nacre user delete.")
}
