import CloudContainer
import Crypto

/// Makes tokens of this server's: deterministic authenticated encryption under keys that live in the database.
///
/// The text is the key's ID, a point, and base64 for URLs: nothing in it needs escaping in a query. Thread-safe.
struct TokenSealer: TokenSealing {
    /// What a token is for. One made for one purpose does not open as another.
    enum Purpose: String, Sendable {
        case change
        case webAuth
        case account
    }

    /// Longer texts are no tokens of ours, and are not even decoded. A change token has names of 255 characters at most in it.
    private static let textBytesMax = 1024

    private let keys: [String: SealingKey]
    private let current: (id: String, key: SealingKey)

    /// - Parameter keys: newest last; all open, the newest seals.
    init(keys: [(id: String, key: [UInt8])]) throws {
        let opened = try keys.map { (id: $0.id, key: try SealingKey($0.key)) }
        guard let newest = opened.last else { throw CryptoError(.invalidKeyLength) }
        self.keys = Dictionary(opened.map { ($0.id, $0.key) }, uniquingKeysWith: { _, last in last })
        current = newest
    }

    /// - Parameter binding: what must be said again to open it, such as the API token of a web auth token.
    func seal(_ bytes: [UInt8], for purpose: Purpose, binding: String = "") throws -> String {
        let sealed = try current.key.seal(bytes, associated: Self.associated(purpose, binding))
        return current.id + "." + Base64.encode(sealed, alphabet: .urlSafe)
    }

    /// nil for anything that `seal` did not make for this purpose and binding.
    func open(_ text: String, for purpose: Purpose, binding: String = "") -> [UInt8]? {
        guard text.utf8.count <= Self.textBytesMax, let point = text.firstIndex(of: "."), let key = keys[String(text[..<point])],
            let sealed = try? Base64.decode(String(text[text.index(after: point)...]), alphabet: .urlSafe)
        else { return nil }
        return try? key.open(sealed, associated: Self.associated(purpose, binding))
    }

    private static func associated(_ purpose: Purpose, _ binding: String) -> [UInt8] {
        Array(purpose.rawValue.utf8) + [0] + Array(binding.utf8)
    }

    // MARK: TokenSealing

    func seal(_ bytes: [UInt8]) throws -> String { try seal(bytes, for: .change) }
    func open(_ text: String) -> [UInt8]? { open(text, for: .change) }
}
