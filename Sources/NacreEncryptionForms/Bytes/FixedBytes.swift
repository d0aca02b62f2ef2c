import NacreCrypto

/// Bytes of one length: a hash, an ID, a public key, a signature.
package protocol FixedBytes: Hashable, Sendable, CustomStringConvertible {
    static var length: Int { get }
    var bytes: [UInt8] { get }
    /// Returns nil for another number of bytes.
    init?(_ bytes: [UInt8])
}

extension FixedBytes {
    package static var zeros: [UInt8] { [UInt8](repeating: 0, count: length) }

    /// Bytes in hexadecimal, as people compare them.
    package var description: String { Hex.encode(bytes) }
}

/// A SHA-256, or a code of that length.
package struct Digest: FixedBytes {
    package static let length: Int = SHA256.digestLength
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Hashes a message.
    package init(of message: [UInt8]) {
        bytes = SHA256.digest(message)
    }

    /// Hashes the label and the parts, each behind its length: `context(label, …)` of docs/encryption.md. Two different
    /// lists never give the same hash, since no part here is longer than a `place`.
    package init(label: String, _ parts: [[UInt8]]) {
        var writer = FormWriter()
        writer.bytes(Array(label.utf8))
        for part in parts { writer.bytes(part) }
        self.init(of: writer.written)
    }

    /// Zeros, which stand for the hash of nothing before.
    package static let none: Digest = Digest(unchecked: zeros)

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// The name of a scope: random bytes.
package struct ScopeID: FixedBytes {
    package static let length: Int = 16
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }
}

/// The name of a device, which follows from its keys.
package struct DeviceID: FixedBytes {
    package static let length: Int = 16
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    package init(of keys: PublicKeys) {
        bytes = Array(Digest(label: "nacre device", [keys.signing.bytes, keys.agreement.bytes]).bytes.prefix(Self.length))
    }
}

/// The 32 bytes of a public key, Ed25519 or X25519. Whether they are a point is checked where they enter a log.
package struct KeyBytes: FixedBytes {
    package static let length: Int = 32
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }
}

/// The 64 bytes of an Ed25519 signature.
package struct Signature: FixedBytes {
    package static let length: Int = Ed25519.signatureLength
    package let bytes: [UInt8]

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
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
