import NacreCloudTestSupport
import NacreCrypto
import Testing

struct X25519Tests {
    private static let base: [UInt8] = [9] + [UInt8](repeating: 0, count: 31)

    private func secret(_ key: [UInt8], _ point: [UInt8]) throws -> [UInt8] {
        try X25519.PrivateKey(SecretBytes(key)).sharedSecret(with: X25519.PublicKey(point)).exposed
    }

    /// RFC 7748, 5.2. The second coordinate has its highest bit set, which does not count.
    @Test(arguments: [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
        ),
    ])
    func `a published key and point give the published secret`(key: String, point: String, expected: String) throws {
        #expect(try secret(bytes(key), bytes(point)) == bytes(expected))
    }

    /// RFC 7748, 5.2: each secret is the next key, and the key before it the next point.
    @Test func `a thousand rounds end where the standard says`() throws {
        var (key, point) = (Self.base, Self.base)
        for round in 1...1_000 {
            (key, point) = (try secret(key, point), key)
            if round == 1 { #expect(key == bytes("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")) }
        }
        #expect(key == bytes("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"))
    }

    /// RFC 7748, 6.1.
    @Test func `two keys come to the published secret, from either side`() throws {
        let alice = try X25519.PrivateKey(SecretBytes(bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")))
        let bob = try X25519.PrivateKey(SecretBytes(bytes("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")))
        #expect(alice.publicKey.bytes == bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"))
        #expect(bob.publicKey.bytes == bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
        let expected = SecretBytes(bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
        #expect(try alice.sharedSecret(with: bob.publicKey) == expected)
        #expect(try bob.sharedSecret(with: alice.publicKey) == expected)
    }

    /// The coordinates of points of order 1, 2, 4 and 8, on the curve and its twist, reduced and not.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000", "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800", "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func `a point of small order gives an error, and no secret of zeros`(point: String) throws {
        let key = try X25519.PrivateKey()
        try key.publicKey.checkOrder()
        for highest in [0, 0x80] as [UInt8] {
            var point = bytes(point)
            point[31] |= highest
            let other = try X25519.PublicKey(point)
            #expect(throws: CryptoError(.malformedKey)) { try key.sharedSecret(with: other) }
            #expect(throws: CryptoError(.malformedKey)) { try other.checkOrder() }
        }
    }

    /// RFC 7748, 5: a coordinate past the field's order is taken as reduced.
    @Test(arguments: 2..<19 as Range<UInt8>) func `a coordinate that is not reduced is reduced`(coordinate: UInt8) throws {
        let key = try X25519.PrivateKey()
        var unreduced = Curve25519Numbers.prime
        unreduced[0] += coordinate
        let reduced = [coordinate] + [UInt8](repeating: 0, count: 31)
        #expect(try secret(key.bytes.exposed, unreduced) == secret(key.bytes.exposed, reduced))
    }

    /// RFC 7748, 5: three bits of a key are cleared, one is cleared at its end, and one is set.
    @Test func `the bits that are fixed do not change the key`() throws {
        let key = [UInt8](repeating: 0x55, count: 32)
        var other = key
        other[0] ^= 7
        other[31] ^= 0xc0
        #expect(try X25519.PrivateKey(SecretBytes(other)).publicKey == X25519.PrivateKey(SecretBytes(key)).publicKey)
        other[0] ^= 8
        #expect(try X25519.PrivateKey(SecretBytes(other)).publicKey != X25519.PrivateKey(SecretBytes(key)).publicKey)
    }

    @Test(arguments: [0, 31, 33, 64]) func `a key of another length is refused`(length: Int) {
        let bytes = [UInt8](repeating: 1, count: length)
        #expect(throws: CryptoError(.invalidKeyLength)) { try X25519.PublicKey(bytes) }
        #expect(throws: CryptoError(.invalidKeyLength)) { try X25519.PrivateKey(SecretBytes(bytes)) }
    }
}
