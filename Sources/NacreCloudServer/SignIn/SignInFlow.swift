import NacreCloudContainer
import NacreCloudWire
import NacreCrypto

/// What a sign-in page was opened for: a hidden field of its forms, sealed, and good in one browser.
struct SignInFlow: Codable, Hashable, Sendable {
    var apiToken: String
    /// Of the page that asks; nil: it has said none.
    var origin: String?
    /// What the app gets back with its redirect.
    var state: String?
    /// Seconds since 2001.
    var issued: Double

    /// The query by which a page for it is opened.
    var query: [(name: String, value: String)] {
        var values = [(name: "ckAPIToken", value: apiToken)]
        if let origin { values.append((name: "origin", value: origin)) }
        if let state { values.append((name: "state", value: state)) }
        return values
    }
}

/// What a click grants, once a password was right: a hidden field of the question, sealed, and good once, in one browser.
struct SignInConsent: Codable, Hashable, Sendable {
    var flow: SignInFlow
    var id: String
    var account: String
    /// Of the password's hash: another password ends the consent.
    var password: String
    var isKept: Bool
    /// Seconds since 2001.
    var issued: Double

    /// - Throws: where the system has no randomness.
    init(_ flow: SignInFlow, _ account: AccountEntry, isKept: Bool, at now: Timestamp) throws {
        self.flow = flow
        id = Hex.encode(try SecureRandom.bytes(16))
        self.account = account.id
        password = Self.digest(account)
        self.isKept = isKept
        issued = now.secondsSince2001
    }

    /// As the account knows it once it is used.
    var used: UsedConsent { UsedConsent(id: id, expires: expires) }

    var expires: Timestamp { Timestamp(secondsSince2001: issued + Limits.consentSeconds) }

    /// Whether the account is as it was when its password was checked.
    func isOf(_ account: AccountEntry) -> Bool { account.id == self.account && Self.digest(account) == password }

    private static func digest(_ account: AccountEntry) -> String { Hex.encode(SHA256.digest(Array(account.passwordHash.utf8))) }
}
