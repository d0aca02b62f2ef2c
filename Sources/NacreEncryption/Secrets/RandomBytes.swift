package import NacreCrypto
import NacreEncryptionForms

/// A source of random bytes. Programs have `SystemRandomBytes`; tests have one that repeats.
package protocol RandomBytes {
    /// Returns bytes that everybody may see, such as salts.
    mutating func bytes(_ count: Int) throws(CryptoError) -> [UInt8]
    /// Returns the bytes of a new key.
    mutating func secret(_ count: Int) throws(CryptoError) -> SecretBytes
}

/// The system's randomness. It never returns weaker bytes.
package struct SystemRandomBytes: RandomBytes {
    package init() {}

    package mutating func bytes(_ count: Int) throws(CryptoError) -> [UInt8] { try SecureRandom.bytes(count) }
    package mutating func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try SecureRandom.secret(count) }
}

extension RandomBytes {
    mutating func digest() throws(CryptoError) -> Digest {
        try Digest(code: bytes(Digest.length))
    }
}
