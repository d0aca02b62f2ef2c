import NacreCrypto
import NacreEncryptionForms

/// The error of everything that does not open, whatever is wrong with it: another key, a changed byte, another place, a
/// plaintext that is none. A message that told them apart would help who tries.
package enum EncryptionError: Error, Equatable, Sendable {
    case cannotBeOpened
}

extension EncryptionError: CustomStringConvertible {
    package var description: String { "The value cannot be opened: it was changed, moved, or sealed with another key" }
}

/// A value that holds a secret. It prints as "(secret)", also by `dump` and in a failed expectation.
package protocol Secret: CustomStringConvertible, CustomReflectable, Sendable {}

extension Secret {
    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Digest {
    /// Takes the bytes of a code, which has the length of a digest.
    init(code: [UInt8]) throws(CryptoError) {
        guard let digest = Digest(code) else { throw CryptoError(.invalidLength) }
        self = digest
    }
}
