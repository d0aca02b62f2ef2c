import FoundationEssentials
package import NacreCloudStorage
package import NacreCloudWire

/// A small value of the registry, for example a container, a token or an account. Stored as JSON, so an administrator
/// can read a database.
package protocol RegistryEntry: Codable, Hashable, Sendable {
    static var kind: EntryKind { get }
}

/// A container that this server serves.
package struct ContainerEntry: RegistryEntry {
    package static let kind = EntryKind.container
    package var name: String
    /// Seconds since 2001, as all times of the registry.
    package var created: Double
    /// The URL that opens a share in the app, with the share's URL appended as a query value; nil: none.
    package var shareApp: String?
    /// The URL of a page about the app, for users who do not have it; nil: none.
    package var shareFallback: String?
    /// The app's name as people know it; nil: none.
    package var appName: String?
    /// Whether a browser goes to the fallback at once; nil: no.
    package var redirectsShares: Bool?
    /// Whether the container is being deleted, and is gone for all but its deletion; nil: no.
    package var isDeleted: Bool?

    var isLiving: Bool { isDeleted != true }
}

/// The icon of a container's app, a PNG in Base64. The key is the container's name.
package struct AppIconEntry: RegistryEntry {
    package static let kind = EntryKind.appIcon
    package var base64: String

    package init(base64: String) { self.base64 = base64 }
}

/// An API token. Its holder may use one container in one environment as the world, and sign users in.
package struct APITokenEntry: RegistryEntry {
    package static let kind = EntryKind.apiToken
    package var container: String
    package var environment: String
    package var name: String
    package var created: Double
    /// Origins of the pages that may use it; nil: any origin.
    package var origins: [String]?
    /// The URL that a browser is sent to with the token of the signed-in user; nil: the page that opened the sign-in
    /// page gets it as a message.
    package var redirect: String?
    package var used: Double?
}

/// A credential of an app, a server or a script, whose last use is noted.
package protocol UsedEntry: RegistryEntry {
    /// The last noted use. Further uses within `Limits.lastUseSeconds`, ten minutes, are not noted. nil: none yet.
    var used: Double? { get set }
}

extension APITokenEntry: UsedEntry {}
extension ServerKeyEntry: UsedEntry {}

/// A management token. Its holder may read and change the schema of one container over the admin API. Only a digest of
/// the token is kept.
package struct ManagementTokenEntry: UsedEntry {
    package static let kind = EntryKind.managementToken
    package var id: String
    package var container: String
    package var name: String
    /// SHA-256 of the secret part of the token, in hexadecimal digits.
    package var digest: String
    package var created: Double
    package var used: Double?
}

/// A server-to-server key. The holder of its private half may use the public database of one container in one
/// environment, as itself.
package struct ServerKeyEntry: RegistryEntry {
    package static let kind = EntryKind.serverKey
    package var id: String
    package var container: String
    package var environment: String
    package var name: String
    /// PEM.
    package var publicKey: String
    package var created: Double
    /// Whether no grant of the public database binds the key; nil as false.
    package var isAdministrator: Bool?
    package var used: Double?

    /// The ID under which the registry keeps the key's user record name, as it does an account's.
    package var account: String { Self.account(ofKey: id) }

    package static func account(ofKey id: String) -> String { "server-key:\(id)" }
}

/// A person's account on this server.
package struct AccountEntry: RegistryEntry {
    package static let kind = EntryKind.account
    package var id: String
    package var email: String
    package var passwordHash: String
    package var created: Double
    /// The code that allows a new password; nil: none.
    package var reset: PasswordReset?
    /// The ID of the claim of its address; nil: the address is the one that it was made with.
    package var claim: String?
    /// Other claims of addresses that it may hold, which are to be released.
    package var leaving: [EmailClaim]?
    /// Whether the account is deleted: sign-ins are refused, and its data are removed.
    package var isDeleted: Bool?
    /// Consents of the sign-in page that are used up and cannot begin another session.
    package var usedConsents: [UsedConsent]?
    /// The number of passkeys removed; nil as 0. A consent given before a removal is void after it.
    package var passkeysRemoved: Int64?
    package var givenName: String?
    package var familyName: String?
    /// The issuer's user that signs in to the account; nil: none.
    package var openID: OpenIDIdentity?
    /// The number of changes of its names, its address, its phone number or their verification; nil as 0.
    package var identityChanges: Int64?
    /// The address that is verified: its user reads its mail, or an administrator or the issuer vouches for it. nil:
    /// none. It does not count if `email` is another one by now.
    var verifiedEmail: String?
    /// The raw value of an `AccountState`; nil: available.
    package var state: String?
    /// The phone number whose messages its user has shown to read, as `PhoneNumber` writes it. Several accounts may
    /// have the same.
    package var phone: String?
    /// The code that was sent last and is not used.
    package var phoneCode: PhoneCode?
    /// The times of codes sent, which count against `Limits.phoneCodesPerDay`.
    var phoneCodesSent: [Double]?

    /// Whether the address is verified. Users are not found or invited by an address that is only claimed.
    package var isEmailVerified: Bool { verifiedEmail == email }

    /// The hash of the password; nil: the account was made without a password.
    package var knownPasswordHash: String? { passwordHash.isEmpty ? nil : passwordHash }

    package var changesOfIdentity: Int64 { identityChanges ?? 0 }
}

/// A consent that is used up, kept until it expires.
package struct UsedConsent: Codable, Hashable, Sendable {
    package var id: String
    package var expires: Double

    package init(id: String, expires: Timestamp) {
        self.id = id
        self.expires = expires.secondsSince2001
    }
}

/// A claim of an address by an account.
package struct EmailClaim: Codable, Hashable, Sendable {
    package var address: String
    package var claim: String?
    /// Whether the claim is being released, and cannot become the account's address any more.
    package var isGoing = false

    package init(address: String, claim: String?, isGoing: Bool = false) {
        self.address = address
        self.claim = claim
        self.isGoing = isGoing
    }
}

/// A code that sets a new password of an account, once. The code itself is not kept.
package struct PasswordReset: Codable, Hashable, Sendable {
    /// The digest of the code's bytes.
    package var digest: String
    package var expires: Double

    /// Whether a code with this digest is the right one and has not expired.
    package func isOpened(by digest: String, at now: Timestamp) -> Bool {
        digest == self.digest && now.secondsSince2001 < expires
    }
}

/// The account that an e-mail address belongs to.
package struct EmailEntry: RegistryEntry {
    package static let kind = EntryKind.accountEmail
    package var account: String
    /// Distinguishes the claims of one account; nil: the account was made with the address.
    package var claim: String?
}

/// A sign-in on the web, of one account under one API token.
package struct SessionEntry: RegistryEntry {
    package static let kind = EntryKind.session
    package var id: String
    package var account: String
    package var container: String
    package var environment: String
    package var apiToken: String
    package var userRecordName: String
    package var created: Double
    /// "Keep me signed in": tokens live two weeks instead of half an hour.
    package var isKept: Bool
    /// When the session was last prolonged, which restarts its life; nil: never.
    package var prolonged: Double?
    /// The ID of the account token whose device asked for the session, and with which it ends; nil: a user signed in.
    package var device: String?
    /// The end of that account token; nil: it has none.
    var ends: Double?
}

/// A device's sign-in: one account, named containers, one environment; revocable.
package struct AccountTokenEntry: RegistryEntry {
    package static let kind = EntryKind.accountToken
    package var id: String
    package var account: String
    package var containers: [String]
    package var environment: String
    package var device: String
    package var created: Double
    /// The end of a token that an administrator made; nil: it lasts until it is revoked.
    package var ends: Double?
}

/// The user record name of an account in one container and environment.
package struct UserEntry: RegistryEntry {
    package static let kind = EntryKind.user
    package var userRecordName: String
}

extension RegistryEntry {
    package func row(_ key: String, in database: DatabaseID, expires: Timestamp? = nil) throws -> EntryRow {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return EntryRow(key: EntryKey(database, Self.kind, key), value: [UInt8](try encoder.encode(self)), expires: expires)
    }

    package init(_ row: EntryRow) throws(StoreError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(row.value))
        } catch {
            throw StoreError(.corrupt, "A registry entry is malformed", ["kind": String(row.key.kind.rawValue)])
        }
    }
}

extension String {
    /// The key of a numbered entry, which sorts the highest number first.
    package static func newestFirst(_ number: Int64) -> String {
        let digits = String(Int64.max - number)
        return String(repeating: "0", count: String(Int64.max).count - digits.count) + digits
    }
}

extension EntryRow {
    /// Whether the row has not expired.
    package func isLiving(at now: Timestamp) -> Bool { expires.map { $0 > now } ?? true }
}

extension [EntryRow] {
    /// The rows that have not expired.
    package func living(at now: Timestamp) -> [EntryRow] { filter { $0.isLiving(at: now) } }
}

extension ReadTransaction {
    /// All entries of a kind in the order of their keys, with expired ones. Only for kinds with few in a database.
    package func allEntries(_ kind: EntryKind, in database: DatabaseID) throws -> [EntryRow] {
        var found: [EntryRow] = []
        while true {
            let rows = try entries(in: database, kind, after: found.last?.key.key, limit: Limits.resultsPerPage)
            found += rows
            if rows.count < Limits.resultsPerPage { return found }
        }
    }

    package func entry<Entry: RegistryEntry>(_ type: Entry.Type, _ key: String, in database: DatabaseID, at now: Timestamp) throws -> Entry? {
        guard let row = try entries(in: database, Entry.kind, keys: [key]).first, row.isLiving(at: now) else { return nil }
        return try Entry(row)
    }
}
