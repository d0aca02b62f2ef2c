import FoundationEssentials
import NacreCloudWire
import NacreHTTPServer

/// The content of a web auth token: a session, and the time when this token was made. The seal is bound to the token's
/// API token.
struct WebAuthToken: Codable, Hashable, Sendable {
    /// Seconds after which a token is renewed; until then the answer returns the token that came. On this server: reads
    /// do not write, and few answers need a new seal.
    static let renewalSeconds: Double = 5 * 60

    var session: String
    var account: String
    /// Time of issue, in seconds since 2001.
    var issued: Double

    enum CodingKeys: String, CodingKey {
        case session = "s"
        case account = "a"
        case issued = "i"
    }
}

/// The content of an account token. Its rights are in the registry, where they can be revoked.
struct AccountToken: Codable, Hashable, Sendable {
    var id: String
    var account: String

    enum CodingKeys: String, CodingKey {
        case id = "t"
        case account = "a"
    }
}

extension TokenSealer {
    func seal(encoding value: some Encodable, for purpose: Purpose, binding: String = "") throws -> String {
        try seal([UInt8](try JSONEncoder().encode(value)), for: purpose, binding: binding)
    }

    func open<Value: Decodable>(_ type: Value.Type, _ text: String, for purpose: Purpose, binding: String = "") -> Value? {
        open(text, for: purpose, binding: binding).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }
}

extension Authenticator {
    /// Returns the token that a request bears in `Authorization`; nil if it bears none.
    static func bearer(_ request: HTTPRequest) -> String? {
        let scheme = "bearer"
        // Letters differ from those of the other case by one bit.
        guard let value = request.header("Authorization"), value.utf8.prefix(scheme.utf8.count).elementsEqual(scheme.utf8, by: { $0 | 0x20 == $1 })
        else { return nil }
        let rest = value.utf8.dropFirst(scheme.utf8.count)
        // Without a token, the space after the scheme was trimmed with the header's value.
        guard rest.isEmpty || rest.first == UInt8(ascii: " ") else { return nil }
        return String(Substring(rest.dropFirst()))
    }
}
