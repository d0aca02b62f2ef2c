import NacreCrypto
import NacreLocks

/// Stable stand-ins for names in the request log. Only this server's key can tell that a stand-in is of a known name,
/// and nothing leads from a stand-in back to the name.
package final class Pseudonyms: Sendable {
    /// The kind of a name. Names of different kinds have different stand-ins.
    package enum Kind: String, Sendable {
        case user = "u"
        case zone = "z"
        case subscription = "s"
        case device = "d"
        /// A task that tells devices of a commit.
        case task = "t"
        case notification = "n"
    }

    private static let digits = 16
    /// Names of a kind whose stand-ins are kept, so that a request costs no code.
    private static let namesKept = 4096

    private let key: [UInt8]
    private let known = Locked<[Kind: [String: String]]>([:])

    /// - Parameter key: the server's first sealing key.
    init(key: [UInt8]) { self.key = HMACSHA256.code(for: Array("nacre request log".utf8), key: key) }

    /// A check value of the key, by which a log tells that it is this server's.
    var check: String { code(of: "check") }

    /// The stand-in of a name, such as `u-0123456789abcdef`; empty for an empty name.
    func of(_ name: String, _ kind: Kind) -> String {
        if name.isEmpty { return "" }
        if let text = known.withLock({ $0[kind]?[name] }) { return text }
        let text = "\(kind.rawValue)-\(code(of: kind.rawValue + "\0" + name))"
        known.withLock { known in
            if known[kind]?.count ?? 0 >= Self.namesKept { known[kind] = nil }
            known[kind, default: [:]][name] = text
        }
        return text
    }

    /// The stand-in that a filter means: the text itself if it has the form of one, otherwise that of the name.
    func meant(by text: String, _ kind: Kind) -> String { Self.isStandIn(text, kind) ? text : of(text, kind) }

    /// Whether a text has the form of a stand-in.
    package static func isStandIn(_ text: String, _ kind: Kind) -> Bool {
        let prefix = kind.rawValue + "-"
        return text.hasPrefix(prefix) && text.utf8.count == prefix.utf8.count + digits
            && text.utf8.dropFirst(prefix.utf8.count).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private func code(of text: String) -> String { Hex.encode(Array(HMACSHA256.code(for: Array(text.utf8), key: key).prefix(Self.digits / 2))) }
}
