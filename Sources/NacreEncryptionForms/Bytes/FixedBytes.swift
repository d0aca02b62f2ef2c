package import NacreCrypto

/// Bytes of one length: a hash, an ID, a public key, a signature.
package struct FixedBytes<Kind: FixedLength>: Hashable, Sendable, CustomStringConvertible {
    package static var length: Int { Kind.length }
    package static var zeros: [UInt8] { [UInt8](repeating: 0, count: length) }

    package let bytes: [UInt8]

    /// Returns nil for another number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    fileprivate init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Bytes in hexadecimal, as people compare them.
    package var description: String { Hex.encode(bytes) }
}

/// The length that makes one kind of `FixedBytes` another type than the others.
package protocol FixedLength: Sendable {
    static var length: Int { get }
}

/// A SHA-256, or a code of that length.
package typealias Digest = FixedBytes<DigestLength>
/// The name of a scope: random bytes.
package typealias ScopeID = FixedBytes<ScopeIDLength>
/// The name of a device, which follows from its keys.
package typealias DeviceID = FixedBytes<DeviceIDLength>
/// The 32 bytes of a public key, Ed25519 or X25519. Whether they are a point is checked where they enter a log.
package typealias KeyBytes = FixedBytes<KeyBytesLength>
/// The 64 bytes of an Ed25519 signature.
package typealias Signature = FixedBytes<SignatureLength>

package enum DigestLength: FixedLength { package static let length: Int = SHA256.digestLength }
package enum ScopeIDLength: FixedLength { package static let length: Int = 16 }
package enum DeviceIDLength: FixedLength { package static let length: Int = 16 }
package enum KeyBytesLength: FixedLength { package static let length: Int = 32 }
package enum SignatureLength: FixedLength { package static let length: Int = Ed25519.signatureLength }

extension Digest {
    /// Zeros, which stand for the hash of nothing before.
    package static var none: Digest { Digest(unchecked: zeros) }

    /// Hashes a message.
    package init(of message: [UInt8]) {
        self.init(unchecked: SHA256.digest(message))
    }

    /// Hashes the label and the parts: `context(label, …)` of docs/encryption.md.
    /// - Throws: `invalidLength` for a part of 65,536 bytes or more. No form has one.
    package init(label: String, _ parts: [[UInt8]]) throws(CryptoError) {
        self.init(unchecked: try SHA256.context(label, parts))
    }
}

extension DeviceID {
    package init(of keys: PublicKeys) throws(CryptoError) {
        let hash = try Digest(label: "nacre device", [keys.signing.bytes, keys.agreement.bytes])
        self.init(unchecked: Array(hash.bytes.prefix(Self.length)))
    }
}

/// The two public keys of a device or of the recovery key.
package struct PublicKeys: Hashable, Sendable {
    package let signing: KeyBytes
    package let agreement: KeyBytes

    package init(signing: KeyBytes, agreement: KeyBytes) {
        (self.signing, self.agreement) = (signing, agreement)
    }
}
