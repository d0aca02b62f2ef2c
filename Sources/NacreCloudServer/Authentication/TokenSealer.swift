package import NacreCloudContainer
import NacreCloudWire
import NacreCrypto

/// Makes tokens of this server's: deterministic authenticated encryption under keys that live in the database.
///
/// The text is standard base64 with padding, since clients decode it to keep the bytes. The bytes are the length of the key's ID, the ID, and
/// what the key sealed. Thread-safe.
package struct TokenSealer: TokenSealing {
    /// What a token is for. One made for one purpose does not open as another.
    enum Purpose: String, Sendable {
        case change
        case webAuth
        case account
        /// What a sign-in page was opened for.
        case signIn
        /// What a click on it grants.
        case consent
        /// What a browser takes to the issuer of a team's accounts, and brings back.
        case openID
        /// What a link in a mail opens.
        case mail
        /// What a link in a mail verifies.
        case mailAddress
        case assetUpload
        case assetDownload
        case assetReceipt
        /// A key by which push services know an app, or the server.
        case applePushKey
        case browserPushKey

        init(_ kind: AssetTokenKind) {
            switch kind {
            case .upload: self = .assetUpload
            case .download: self = .assetDownload
            case .receipt: self = .assetReceipt
            }
        }
    }

    /// Longer texts are no tokens of ours, and are not even decoded. The longest one is a query's marker: a key for each of its sorts, a record's name
    /// of 255 characters, which may be 1,020 bytes, and some numbers; as base64 it is a third longer.
    private static let textBytesMax = (Limits.sortsPerQuery * (Limits.indexKeyBytes + 16) + 2048) * 4 / 3

    private let keys: [[UInt8]: SealingKey]
    private let current: (id: [UInt8], key: SealingKey)

    /// - Parameter keys: newest last; all open, the newest seals.
    package init(keys: [(id: String, key: [UInt8])]) throws {
        let opened = try keys.map { (id: Array($0.id.utf8), key: try SealingKey($0.key)) }
        guard let newest = opened.last, opened.allSatisfy({ $0.id.count <= Int(UInt8.max) }) else { throw CryptoError(.invalidKeyLength) }
        self.keys = Dictionary(opened.map { ($0.id, $0.key) }, uniquingKeysWith: { _, last in last })
        current = newest
    }

    /// - Parameter binding: what must be said again to open it, such as the API token of a web auth token.
    func seal(_ bytes: [UInt8], for purpose: Purpose, binding: String = "") throws -> String {
        let sealed = try current.key.seal(bytes, associated: Self.associated(purpose, binding))
        return Base64.encode([UInt8(current.id.count)] + current.id + sealed)
    }

    /// nil for anything that `seal` did not make for this purpose and binding. An account token opens in the older text too: a device keeps it
    /// for years.
    func open(_ text: String, for purpose: Purpose, binding: String = "") -> [UInt8]? {
        guard text.utf8.count <= Self.textBytesMax else { return nil }
        if let bytes = Base64.decode(text), let length = bytes.first, bytes.count > Int(length) {
            return open(bytes[(1 + Int(length))...], under: bytes[1..<1 + Int(length)], for: purpose, binding)
        }
        return purpose == .account ? openOlder(text, for: purpose, binding) : nil
    }

    private func open(_ sealed: ArraySlice<UInt8>, under id: some Sequence<UInt8>, for purpose: Purpose, _ binding: String) -> [UInt8]? {
        try? keys[Array(id)]?.open(Array(sealed), associated: Self.associated(purpose, binding))
    }

    private static func associated(_ purpose: Purpose, _ binding: String) -> [UInt8] {
        Array(purpose.rawValue.utf8) + [0] + Array(binding.utf8)
    }

    // MARK: TokenSealing

    package func seal(_ bytes: [UInt8]) throws -> String { try seal(bytes, for: .change) }
    package func open(_ text: String) -> [UInt8]? { open(text, for: .change) }
    package func seal(_ bytes: [UInt8], as kind: AssetTokenKind) throws -> String { try seal(bytes, for: Purpose(kind)) }
    package func open(_ text: String, as kind: AssetTokenKind) -> [UInt8]? { open(text, for: Purpose(kind)) }
    package func code(for message: [UInt8], key: [UInt8]) -> [UInt8] { HMACSHA256.code(for: message, key: key) }
    package func isOutdated(_ text: String) -> Bool { text.utf8.count <= Self.textBytesMax && openOlder(text, for: .change, "") != nil }
}

// MARK: - The older text

extension TokenSealer {
    /// Opens the text that earlier versions made: the key's ID, a point, and base64 for URLs. No text of today has a point.
    private func openOlder(_ text: String, for purpose: Purpose, _ binding: String) -> [UInt8]? {
        guard let point = text.firstIndex(of: "."), let sealed = Base64URL.decode(text[text.index(after: point)...]) else { return nil }
        return open(sealed[...], under: text[..<point].utf8, for: purpose, binding)
    }
}
