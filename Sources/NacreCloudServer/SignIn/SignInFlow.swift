import NacreCloudContainer
import NacreCloudWire
import NacreCrypto

/// What somebody signs in for.
enum SignInPurpose: Codable, Hashable, Sendable {
    /// An app wants a token.
    /// - Parameters:
    ///   - apiToken: the app's own.
    ///   - origin: of the page that asks; nil: it has said none.
    ///   - state: what the app gets back with its redirect.
    case app(apiToken: String, origin: String?, state: String?)
    /// To take part in a share, by what stands in its URL.
    case share(String)

    /// The query by which a page for it is opened.
    var query: [(name: String, value: String)] {
        switch self {
        case .share(let guid): return [(name: "share", value: guid)]
        case .app(let apiToken, let origin, let state):
            var values = [(name: "ckAPIToken", value: apiToken)]
            if let origin { values.append((name: "origin", value: origin)) }
            if let state { values.append((name: "state", value: state)) }
            return values
        }
    }
}

/// What a sign-in page was opened for: a hidden field of its forms, sealed, and good in one browser.
struct SignInFlow: Codable, Hashable, Sendable {
    var purpose: SignInPurpose
    /// What a passkey signs, by which it signs in for this flow alone, and once.
    var challenge: String
    /// Seconds since 2001.
    var issued: Double

    /// As the account knows it once a passkey has signed it.
    var usedChallenge: UsedConsent {
        UsedConsent(id: challenge, expires: Timestamp(secondsSince2001: issued + Limits.signInSeconds))
    }
}

/// What a click grants, once a password or a passkey was right: a hidden field of the question, sealed, and good once, in one browser.
struct SignInConsent: Codable, Hashable, Sendable {
    var flow: SignInFlow
    var id: String
    var account: String
    /// Of the password's hash, and of how many passkeys were removed: another password ends the consent, and the end of a passkey.
    var credentials: String
    /// What a passkey signs that is added by who has this consent.
    var challenge: String
    var isKept: Bool
    /// Seconds since 2001.
    var issued: Double

    /// - Throws: where the system has no randomness.
    init(_ flow: SignInFlow, _ account: AccountEntry, isKept: Bool, at now: Timestamp) throws {
        self.flow = flow
        id = Hex.encode(try SecureRandom.bytes(16))
        self.account = account.id
        credentials = Self.digest(account)
        challenge = try RelyingParty.newChallenge()
        self.isKept = isKept
        issued = now.secondsSince2001
    }

    /// As the account knows it once it is used.
    var used: UsedConsent { UsedConsent(id: id, expires: expires) }

    var usedChallenge: UsedConsent { UsedConsent(id: challenge, expires: expires) }

    var expires: Timestamp { Timestamp(secondsSince2001: issued + Limits.consentSeconds) }

    /// Whether the account is as it was when its user showed who it is.
    func isOf(_ account: AccountEntry) -> Bool { account.id == self.account && Self.digest(account) == credentials }

    /// The same for an account that its user has just changed by it, with another challenge. It does not last longer.
    func renewed(for account: AccountEntry) throws -> SignInConsent {
        var next = self
        next.credentials = Self.digest(account)
        next.challenge = try RelyingParty.newChallenge()
        return next
    }

    private static func digest(_ account: AccountEntry) -> String {
        Hex.encode(SHA256.digest(Array("\(account.passkeysRemoved ?? 0) \(account.passwordHash)".utf8)))
    }
}
