import FoundationEssentials
package import NacreCloudWire

/// A small value that the registry keeps: containers, tokens, accounts. JSON inside, so that an administrator can read a database.
package protocol RegistryEntry: Codable, Hashable, Sendable {
    static var kind: EntryKind { get }
}

/// A container that this server serves.
package struct ContainerEntry: RegistryEntry {
    package static let kind = EntryKind.container
    package var name: String
    /// Seconds since 2001, as all times of the registry.
    package var created: Double
    /// What a browser opens to bring a share into the app, with the share's URL behind its query; nil: nothing does.
    package internal(set) var shareApp: String?
    /// Where the app is told about, for who has it not; nil: nowhere.
    package internal(set) var shareFallback: String?
}

/// An API token: who holds it may use one container in one environment as the world, and sign users in.
package struct APITokenEntry: RegistryEntry {
    package static let kind = EntryKind.apiToken
    package var container: String
    package var environment: String
    package var name: String
    package var created: Double
    /// Of the pages that may use it; nil: of any.
    package var origins: [String]?
    /// The URL that a browser is sent to with the token of who signed in; nil: the page that opened the sign-in page gets it as a message.
    package var redirect: String?
    package var used: Double?
}

/// What an app, a server or a script shows, and of which is kept when it was used.
package protocol UsedEntry: RegistryEntry {
    /// When it was used last, up to ten minutes ago (`Limits.lastUseSeconds`); nil: it was not, or before that was kept.
    var used: Double? { get set }
}

extension APITokenEntry: UsedEntry {}
extension ServerKeyEntry: UsedEntry {}

/// A management token: who holds it may read and change the schema of one container over the admin API. Of the token itself a digest is kept.
package struct ManagementTokenEntry: UsedEntry {
    package static let kind = EntryKind.managementToken
    package var id: String
    package var container: String
    package var name: String
    /// SHA-256 of the secret part of its text, in hexadecimal digits.
    package var digest: String
    package var created: Double
    package var used: Double?
}

/// A server-to-server key: who holds its private half may use the public database of one container in one environment, as itself.
package struct ServerKeyEntry: RegistryEntry {
    package static let kind = EntryKind.serverKey
    package var id: String
    package var container: String
    package var environment: String
    package var name: String
    /// PEM.
    package var publicKey: String
    package var created: Double
    /// No grant of the public database holds it; nil as false.
    package var isAdministrator: Bool?
    package var used: Double?

    /// Under which the registry keeps its name in the container, as it keeps an account's.
    package var account: String { "server-key:\(id)" }
}

/// A person's account on this server.
package struct AccountEntry: RegistryEntry {
    package static let kind = EntryKind.account
    package var id: String
    package var email: String
    package var passwordHash: String
    package var created: Double
    /// What opens the account to a new password; nil: nothing does.
    package var reset: PasswordReset?
    /// Of the claim by which it has its address; nil: it is the one that it was made with.
    package var claim: String?
    /// Claims that it may have beside that, and that are to be released.
    package var leaving: [EmailClaim]?
    /// Nobody signs in any more, and its data go.
    package var isDeleted: Bool?
    /// Consents of the sign-in page that began a session: none begins another.
    package var usedConsents: [UsedConsent]?
    /// How many of its passkeys were removed; nil as 0. A consent from before a removal grants nothing after it.
    package var passkeysRemoved: Int64?
    package var givenName: String?
    package var familyName: String?
    /// The issuer's user that signs in to it; nil: none.
    package var openID: OpenIDIdentity?
    /// How often its names, its address, its number or what is verified of them have changed; nil as 0.
    var identityChanges: Int64?
    /// The address of which its user has shown that mail to it is read, or for which an administrator or the issuer vouches; nil: none. An account that has
    /// another one by now has not verified it.
    var verifiedEmail: String?
    /// An `AccountState`; nil: available.
    var state: String?
    /// A number to which its user has shown that they read texts, as `PhoneNumber` writes it. Several accounts may have the same.
    package internal(set) var phone: String?
    /// The code that was sent last, and not used.
    var phoneCode: PhoneCode?
    /// When codes were sent, of those that still count against `Limits.phoneCodesPerDay`.
    var phoneCodesSent: [Double]?

    /// Whether the address is the user's: nobody is found or invited by one that is only claimed.
    package var isEmailVerified: Bool { verifiedEmail == email }

    /// nil: it was made without one, and nobody knows it.
    package var knownPasswordHash: String? { passwordHash.isEmpty ? nil : passwordHash }

    var changesOfIdentity: Int64 { identityChanges ?? 0 }
}

/// A consent that was used, for as long as it could be shown again.
package struct UsedConsent: Codable, Hashable, Sendable {
    package var id: String
    package var expires: Double

    package init(id: String, expires: Timestamp) {
        self.id = id
        self.expires = expires.secondsSince2001
    }
}

/// An address that an account has claimed.
package struct EmailClaim: Codable, Hashable, Sendable {
    package var address: String
    package var claim: String?
    /// It is being released, and cannot become the account's address any more.
    package var isGoing = false
}

/// A code by which an account gets a new password, once. The code itself is not kept.
package struct PasswordReset: Codable, Hashable, Sendable {
    /// Of the code's bytes.
    package var digest: String
    package var expires: Double

    /// Whether it is opened by the code with this digest.
    package func isOpened(by digest: String, at now: Timestamp) -> Bool {
        digest == self.digest && now.secondsSince2001 < expires
    }
}

/// Which account an e-mail address belongs to.
package struct EmailEntry: RegistryEntry {
    package static let kind = EntryKind.accountEmail
    package var account: String
    /// Tells claims of one account apart; nil: the account was made with it.
    package var claim: String?
}

/// A sign-in on the web: one account, one API token.
package struct SessionEntry: RegistryEntry {
    package static let kind = EntryKind.session
    package var id: String
    package var account: String
    package var container: String
    package var environment: String
    package var apiToken: String
    package var userRecordName: String
    package var created: Double
    /// "Keep me signed in": tokens live two weeks and not half an hour.
    package var isKept: Bool
    /// When its life was counted anew; nil: it is as it began.
    package var prolonged: Double?
    /// The ID of the account token whose device asked for it, and with which it ends; nil: a user signed in.
    package var device: String?
}

/// What a device signs in with: one account, named containers, one environment; revocable.
package struct AccountTokenEntry: RegistryEntry {
    package static let kind = EntryKind.accountToken
    package var id: String
    package var account: String
    package var containers: [String]
    package var environment: String
    package var device: String
    package var created: Double
}

/// The name under which an account is known in one container and environment.
package struct UserEntry: RegistryEntry {
    package static let kind = EntryKind.user
    package var userRecordName: String
}

extension RegistryEntry {
    func row(_ key: String, in database: DatabaseID, expires: Timestamp? = nil) throws -> EntryRow {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return EntryRow(key: EntryKey(database, Self.kind, key), value: [UInt8](try encoder.encode(self)), expires: expires)
    }

    init(_ row: EntryRow) throws(StoreError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(row.value))
        } catch {
            throw StoreError(.corrupt, "A registry entry is malformed", ["kind": String(row.key.kind.rawValue)])
        }
    }
}

extension String {
    /// The key of an entry that has a number: the entry with the highest stands first.
    static func newestFirst(_ number: Int64) -> String {
        let digits = String(Int64.max - number)
        return String(repeating: "0", count: String(Int64.max).count - digits.count) + digits
    }
}

extension EntryRow {
    /// It has not expired.
    func isLiving(at now: Timestamp) -> Bool { expires.map { $0 > now } ?? true }
}

extension [EntryRow] {
    /// Those that have not expired.
    func living(at now: Timestamp) -> [EntryRow] { filter { $0.isLiving(at: now) } }
}

extension ReadTransaction {
    /// All entries of a kind, in the order of their keys, expired ones too. Only for kinds of which a database has few.
    func allEntries(_ kind: EntryKind, in database: DatabaseID) throws -> [EntryRow] {
        var found: [EntryRow] = []
        while true {
            let rows = try entries(in: database, kind, after: found.last?.key.key, limit: Limits.resultsPerPage)
            found += rows
            if rows.count < Limits.resultsPerPage { return found }
        }
    }

    func entry<Entry: RegistryEntry>(_ type: Entry.Type, _ key: String, in database: DatabaseID, at now: Timestamp) throws -> Entry? {
        guard let row = try entries(in: database, Entry.kind, keys: [key]).first, row.isLiving(at: now) else { return nil }
        return try Entry(row)
    }
}
