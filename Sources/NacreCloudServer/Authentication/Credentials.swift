import FoundationEssentials
import NacreCloudWire

/// What is inside a web auth token: a session, and when this token was made. Bound to the API token it was made for.
struct WebAuthToken: Codable, Hashable, Sendable {
    /// A token is made anew after this many seconds; until then the answer carries the one that came. On this server: reads do not write, and
    /// few answers need a new seal.
    static let renewalSeconds: Double = 5 * 60

    var session: String
    var account: String
    /// Seconds since 2001.
    var issued: Double

    enum CodingKeys: String, CodingKey {
        case session = "s"
        case account = "a"
        case issued = "i"
    }
}

/// What is inside an account token. What it allows is in the registry, where it can be revoked.
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
