import NacreCrypto
import Testing

/// Tests of keys and signatures in the form of JSON Web Keys and Signatures.
struct JSONWebKeyTests {
    /// Made by `openssl genrsa 2048` and `openssl dgst -sha256 -sign`.
    private static let modulus = bytes(
        "eb35d2aa579092c47f599d87856f1b81df40a451c12b1c1e04b0d599e3349ee78dfea3c45907a8e5"
            + "dc528ee7c2828fb4090845bf850c95fc54b5d622bc9400ffaa3cf5764c7d44eb3262f89958c054b2"
            + "9bf7767d8334901a09802ed0dba66ec68b4ad906e55d2166af72214c0a6406c81cf4541104c36955"
            + "57cecc2247a79d4f7b6ac28b8eb0af2a6443a36a98b623c359c057851de4f0262bf91aa6531c7f0e"
            + "8da02c5a813c5756564e320dff9a943d6bffabb1020142d4b2f83d69b1db4de404887ba8c9ea1e9e"
            + "3e05ff4127739ccd7e26f7a0326db9f4e99860162979bcbe3bc4cedeca2940d6002a777471df5b80"
            + "b26d0e13ea9c53bae7b2da94a41b7e4b"
    )
    private static let signature = bytes(
        "e4fd7613ada7ab305c7d124e638f1d4389f1be58b19ba08de4062f043c9c4544dec4e5aaaabaa7b5"
            + "ca2040e888d7234d1c4ec556cc80bc8e0f7e5d43148781d2add3e44df243cc4930d45bfbea4d76b5"
            + "58dc412714f41018d0f49532208a27f1f8cb3a72e40370472a1c0cca2bd7a0c36935c2f69bc3cb9e"
            + "855ab4bbd76ae0f3a8fcd03afcc7965492f9aa0db2e6f41deddc117530ab82aeea5e8fd267cae467"
            + "a66876884349267e192081d26bfc51725c1e1602a9d3971f3d361f0214ff20354a5e2dc465bce65d"
            + "1f675eb93764a18c4613d0602d36ac47b91cd39d5bf96096499b0d0be92496510a6501e631022279"
            + "7c20fd4220dedf5a4ad69da12bb69ce7"
    )
    private static let message = Array("a message".utf8)

    @Test func `a signature of RSA is valid for its message and its key only`() throws {
        let key = try RSA.PublicKey(modulus: Self.modulus, exponent: [1, 0, 1])
        #expect(try key.isValid(Self.signature, for: Self.message))
        #expect(
            try RSA.PublicKey(modulus: [0] + Self.modulus, exponent: [0, 1, 0, 1]).isValid(
                Self.signature, for: Self.message))
        #expect(try !key.isValid(Self.signature, for: Self.message + [0]))
        #expect(try !key.isValid(Self.signature + [0], for: Self.message))
        #expect(try !key.isValid(Array(Self.signature.dropLast()), for: Self.message))
        #expect(try !key.isValid([], for: Self.message))
        #expect(
            try !RSA.PublicKey(modulus: Self.modulus, exponent: [3]).isValid(
                Self.signature, for: Self.message))
        for index in stride(from: 0, to: 256, by: 5) {
            var damaged = Self.signature
            damaged[index] ^= 1
            #expect(try !key.isValid(damaged, for: Self.message))
        }
    }

    @Test func `keys that are too short, too long or no keys are refused`() {
        let rows: [([UInt8], [UInt8])] = [
            ([], [1, 0, 1]), (Array(Self.modulus.dropLast()), [1, 0, 1]),
            ([UInt8](repeating: 0xff, count: 513), [1, 0, 1]),
            (Self.modulus, []), (Self.modulus, [1]), (Self.modulus, [2]),
            (Self.modulus, [1, 0, 0, 0, 1]), (Self.modulus, [0, 0]),
        ]
        for (modulus, exponent) in rows {
            #expect(throws: CryptoError.self) {
                try RSA.PublicKey(modulus: modulus, exponent: exponent)
            }
        }
    }

    @Test func `a signature on P-256 as two numbers is the same as in DER`() throws {
        for _ in 0..<50 {
            let key = try P256.PrivateKey()
            let pair = try pair(key.sign(Self.message))
            #expect(try key.publicKey().isValid(pair: pair, for: Self.message))
            #expect(try !key.publicKey().isValid(pair: pair, for: []))
            #expect(try !key.publicKey().isValid(pair: pair + [0], for: Self.message))
        }
        let none = [UInt8](repeating: 0, count: 64)
        #expect(try !P256.PrivateKey().publicKey().isValid(pair: none, for: Self.message))
    }

    @Test func `a point that is not on the curve is no key`() {
        let one = [UInt8](repeating: 0, count: 31) + [1]
        #expect(throws: CryptoError.self) { try P256.PublicKey(x: one, y: one) }
        #expect(throws: CryptoError.self) { try P256.PublicKey(x: [1], y: one) }
    }

    @Test func `a key by its point is the key`() throws {
        let key = try P256.PublicKey(
            x: Array(P256Tests.point.prefix(32)), y: Array(P256Tests.point.suffix(32)))
        #expect(try key.pem() == P256.PublicKey(pem: P256Tests.pem(point: P256Tests.point)).pem())
    }

    /// Returns a DER signature as two numbers of 32 bytes.
    private func pair(_ signature: [UInt8]) -> [UInt8] {
        func number(at index: Int) -> (bytes: [UInt8], next: Int) {
            let count = Int(signature[index + 1])
            let digits = Array(signature[(index + 2)..<(index + 2 + count)].drop { $0 == 0 })
            return ([UInt8](repeating: 0, count: 32 - digits.count) + digits, index + 2 + count)
        }
        let first = number(at: 2)
        return first.bytes + number(at: first.next).bytes
    }
}
