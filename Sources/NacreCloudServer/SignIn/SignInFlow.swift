import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto

/// The purpose of a sign-in.
enum SignInPurpose: Codable, Hashable, Sendable {
    /// A token for an app.
    /// - Parameters:
    ///   - apiToken: the app's API token.
    ///   - origin: the origin of the page that asks; nil: unknown.
    ///   - state: returned to the app with its redirect.
    case app(apiToken: String, origin: String?, state: String?)
    /// Participation in a share, by the short GUID in its URL.
    case share(String)
    /// The page on which the owner manages a share, by the sealed grant of its link.
    case managing(grant: String)

    /// The query that opens a sign-in page for this purpose.
    var query: [(name: String, value: String)] {
        switch self {
        case .share(let guid): return [(name: "share", value: guid)]
        case .managing(let grant): return [(name: "manage", value: grant)]
        case .app(let apiToken, let origin, let state):
            var values = [(name: "ckAPIToken", value: apiToken)]
            if let origin { values.append((name: "origin", value: origin)) }
            if let state { values.append((name: "state", value: state)) }
            return values
        }
    }
}

/// The state of a sign-in page: a hidden field of its forms, sealed, and valid in one browser.
struct SignInFlow: Codable, Hashable, Sendable {
    var purpose: SignInPurpose
    /// The challenge that a passkey signs, for this flow only, and once.
    var challenge: String
    /// Time of issue, in seconds since 2001.
    var issued: Double

    /// The entry in the account that marks the challenge as used.
    var usedChallenge: UsedConsent {
        UsedConsent(id: challenge, expires: Timestamp(secondsSince2001: issued + Limits.signInSeconds))
    }
}

/// The permission that a click gives after a right password or passkey: a hidden field of the question, sealed, and
/// valid once, in one browser.
struct SignInConsent: Codable, Hashable, Sendable {
    var flow: SignInFlow
    var id: String
    var account: String
    /// A digest of the password's hash and of the number of removed passkeys: a new password or a removed passkey ends
    /// the consent.
    var credentials: String
    /// The challenge that a passkey signs when it is added under this consent.
    var challenge: String
    var isKept: Bool
    /// Time of issue, in seconds since 2001.
    var issued: Double

    /// - Throws: the system's error if it has no randomness.
    init(_ flow: SignInFlow, _ account: AccountEntry, isKept: Bool, at now: Timestamp) throws {
        self.flow = flow
        id = Hex.encode(try SecureRandom.bytes(16))
        self.account = account.id
        credentials = Self.digest(account)
        challenge = try RelyingParty.newChallenge()
        self.isKept = isKept
        issued = now.secondsSince2001
    }

    /// The entry in the account that marks the consent as used.
    var used: UsedConsent { UsedConsent(id: id, expires: expires) }

    var usedChallenge: UsedConsent { UsedConsent(id: challenge, expires: expires) }

    var expires: Timestamp { Timestamp(secondsSince2001: issued + Limits.consentSeconds) }

    /// Whether the account's credentials are the same as when its user signed in.
    func isOf(_ account: AccountEntry) -> Bool { account.id == self.account && Self.digest(account) == credentials }

    /// The consent after its user has changed the account under it, with a new challenge and the old expiry.
    func renewed(for account: AccountEntry) throws -> SignInConsent {
        var next = self
        next.credentials = Self.digest(account)
        next.challenge = try RelyingParty.newChallenge()
        return next
    }

    /// The digest of an account's credentials.
    static func digest(_ account: AccountEntry) -> String {
        Hex.encode(SHA256.digest(Array("\(account.passkeysRemoved ?? 0) \(account.passwordHash)".utf8)))
    }
}
