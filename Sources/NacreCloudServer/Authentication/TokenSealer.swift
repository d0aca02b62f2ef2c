import NacreCloudAccounts
package import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto

/// Makes this server's tokens: deterministic authenticated encryption under keys that are kept in the database.
///
/// A token is standard base64 with padding, since clients decode it to keep the bytes: the length of the key's ID, the
/// ID, and the sealed content. Thread-safe.
package struct TokenSealer: TokenSealing {
    /// The purpose of a token. A token made for one purpose does not open for another.
    enum Purpose: String, Sendable {
        case change
        case webAuth
        case account
        /// The request that a sign-in page was opened for.
        case signIn
        /// The consent that a click on the page gives.
        case consent
        /// The right to open the page of a share once, and the right of that page's forms.
        case shareGrant
        case sharePass
        /// The challenge that a passkey signs on the console's page.
        case consoleChallenge
        /// The state that a browser takes to the issuer of a team's accounts, and brings back.
        case openID
        /// The content of a link in a mail.
        case mail
        /// The address that a link in a mail verifies.
        case mailAddress
        /// The content of an administrator's link that sets a password.
        case passwordCode
        case assetUpload
        case assetDownload
        case assetReceipt
        /// Private keys for push services.
        case applePushKey
        case browserPushKey
        /// The secret of an alert rule's webhook.
        case alertSecret
        /// The secret of a webhook.
        case webhookSecret

        init(_ kind: AssetTokenKind) {
            switch kind {
            case .upload: self = .assetUpload
            case .download: self = .assetDownload
            case .receipt: self = .assetReceipt
            }
        }
    }

    /// Bytes of the longest token; longer texts are not even decoded. The longest token is a query's marker: a key for
    /// each of its sorts, a record name of 255 characters or 1,020 bytes, and some numbers. Base64 makes it a third
    /// longer.
    private static let textBytesMax = (Limits.sortsPerQuery * (Limits.indexKeyBytes + 16) + 2048) * 4 / 3

    private let keys: [[UInt8]: SealingKey]
    private let current: (id: [UInt8], key: SealingKey)

    /// - Parameter keys: the newest last. Every key opens tokens; the newest seals them.
    package init(keys: [(id: String, key: [UInt8])]) throws {
        let opened = try keys.map { (id: Array($0.id.utf8), key: try SealingKey($0.key)) }
        guard let newest = opened.last, opened.allSatisfy({ $0.id.count <= Int(UInt8.max) }) else { throw CryptoError(.invalidKeyLength) }
        self.keys = Dictionary(opened.map { ($0.id, $0.key) }, uniquingKeysWith: { _, last in last })
        current = newest
    }

    /// - Parameter binding: text that is needed again to open the token, such as the API token of a web auth token.
    func seal(_ bytes: [UInt8], for purpose: Purpose, binding: String = "") throws -> String {
        let sealed = try current.key.seal(bytes, associated: Self.associated(purpose, binding))
        return Base64.encode([UInt8(current.id.count)] + current.id + sealed)
    }

    /// Opens a token; nil for anything that `seal` did not make for this purpose and binding.
    func open(_ text: String, for purpose: Purpose, binding: String = "") -> [UInt8]? {
        guard text.utf8.count <= Self.textBytesMax, let bytes = Base64.decode(text), let length = bytes.first, bytes.count > Int(length)
        else { return nil }
        let (id, sealed) = (bytes[1..<1 + Int(length)], bytes[(1 + Int(length))...])
        return try? keys[Array(id)]?.open(Array(sealed), associated: Self.associated(purpose, binding))
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
    package func signature(of message: [UInt8], key: [UInt8]) throws -> [UInt8] { try Ed25519.PrivateKey(seed: SecretBytes(key)).sign(message) }
    package func publicKey(of key: [UInt8]) throws -> [UInt8] { try Ed25519.PrivateKey(seed: SecretBytes(key)).publicKey.bytes }
}
