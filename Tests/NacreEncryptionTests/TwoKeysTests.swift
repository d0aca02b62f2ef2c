import NacreCrypto
import NacreEncryptionForms
import Testing

@testable import NacreEncryption

struct TwoKeysTests {
    @Test func `A18: a ciphertext that AES-GCM opens under two keys opens under the one that it commits to alone`() throws {
        let (first, second) = (SecretBytes(sampleBytes("first")), SecretBytes(sampleBytes("second")))
        let keyID = try SampleSealing.key().id
        let (salt, context) = (sampleDigest("salt"), sampleDigest("context"))
        func derived(_ key: SecretBytes) throws -> (key: SecretBytes, commitment: Digest) {
            let both = try HKDFSHA256.expand(Sealing.secret(from: key, salt: salt), info: context.bytes, count: 64)
            return (both.part(0..<32), try #require(Digest(both.part(32..<64).exposed)))
        }
        let commitment = try derived(first).commitment
        let associated = SealedValue.associated(kind: .olderKey, keyID: keyID, salt: salt, commitment: commitment)
        let ciphers = try [first, second].map { try Collision(key: derived($0).key, associated: associated) }
        let ciphertext = ciphers[0].ciphertext(thatAlsoOpensUnder: ciphers[1])
        for key in [first, second] {
            var cipher = try AESGCM(key: derived(key).key)
            #expect(try cipher.open(ciphertext, nonce: Collision.nonce, associated: associated).count == 32)
        }
        let sealed = try #require(
            SealedValue(kind: .olderKey, keyID: keyID, salt: salt, commitment: commitment, ciphertext: ciphertext))
        #expect(try Sealing.openKey(sealed, under: first, as: .olderKey, keyID: keyID, context: context).count == 32)
        #expect(throws: EncryptionError.cannotBeOpened) {
            try Sealing.openKey(sealed, under: second, as: .olderKey, keyID: keyID, context: context)
        }
    }
}

/// The tag of a ciphertext of two blocks under one key of GCM, which is `constant + first · a + second · b` in its
/// field.
private struct Collision {
    static let nonce = [UInt8](repeating: 0, count: AESGCM.nonceLength)

    private let constant: UInt128
    private let a: UInt128
    private let b: UInt128

    init(key: SecretBytes, associated: [UInt8]) throws {
        var cipher = try AESGCM(key: key)
        let stream = try cipher.seal([UInt8](repeating: 0, count: 32), nonce: Self.nonce, associated: associated)
        func tag(_ first: UInt128, _ second: UInt128) throws -> UInt128 {
            let plaintext = zip(first.bytes + second.bytes, stream).map { $0 ^ $1 }
            return UInt128(bytes: try cipher.seal(plaintext, nonce: Self.nonce, associated: associated).suffix(16))
        }
        constant = try tag(0, 0)
        a = try tag(.one, 0) ^ constant
        b = try tag(0, .one) ^ constant
    }

    /// Returns two blocks and their tag, which is the same under both keys.
    func ciphertext(thatAlsoOpensUnder other: Collision) -> [UInt8] {
        let first: UInt128 = 42
        let second = (constant ^ other.constant ^ first.times(a ^ other.a)).times((b ^ other.b).inverse)
        return first.bytes + second.bytes + (constant ^ first.times(a) ^ second.times(b)).bytes
    }
}

/// Elements of GCM's field (NIST SP 800-38D, section 6.3). The highest bit is the coefficient of 1.
extension UInt128 {
    fileprivate static let one: UInt128 = 1 << 127

    fileprivate init(bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    fileprivate var bytes: [UInt8] { (0..<16).map { UInt8(truncatingIfNeeded: self >> (120 - 8 * $0)) } }

    fileprivate func times(_ other: UInt128) -> UInt128 {
        var (product, shifted): (UInt128, UInt128) = (0, other)
        for bit in 0..<128 {
            if self >> (127 - bit) & 1 == 1 { product ^= shifted }
            shifted = shifted >> 1 ^ (shifted & 1 == 1 ? 0xe1 << 120 : 0)
        }
        return product
    }

    /// The power of 2^128 - 2.
    fileprivate var inverse: UInt128 {
        var (power, product) = (self, UInt128.one)
        for _ in 1..<128 {
            power = power.times(power)
            product = product.times(power)
        }
        return product
    }
}
