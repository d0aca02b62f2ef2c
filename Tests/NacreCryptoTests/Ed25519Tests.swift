import NacreCloudTestSupport
import NacreCrypto
import Testing

struct Ed25519Tests {
    /// RFC 8032, 7.1: tests 1 to 3, and SHA(abc).
    static let published: [(seed: String, key: String, message: String, signature: String)] = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            """
            e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
            """
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            """
            92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
            """
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            """
            6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
            """
        ),
        (
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            """
            ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
            """,
            """
            dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704
            """
        ),
    ]

    static let message = Array("scope manifest".utf8)

    @Test(arguments: published)
    func `published messages have their published signatures`(seed: String, publicKey: String, message: String, signature: String) throws {
        let key = try Ed25519.PrivateKey(seed: SecretBytes(bytes(seed)))
        #expect(key.publicKey.bytes == bytes(publicKey))
        #expect(try key.sign(bytes(message)) == bytes(signature))
        #expect(try Ed25519.PublicKey(bytes(publicKey)).isValid(bytes(signature), for: bytes(message)))
    }

    @Test func `a signature is valid for its message and its key only`() throws {
        let key = try Ed25519.PrivateKey()
        let signature = try key.sign(Self.message)
        #expect(key.publicKey.isValid(signature, for: Self.message))
        for message in damaged(Self.message) { #expect(!key.publicKey.isValid(signature, for: message)) }
        #expect(try !Ed25519.PrivateKey().publicKey.isValid(signature, for: Self.message))
        #expect(try Ed25519.PrivateKey(seed: key.seed).sign(Self.message) == signature)
    }

    @Test func `a signature damaged anywhere is not valid`() throws {
        let key = try Ed25519.PrivateKey()
        for signature in damaged(try key.sign(Self.message)) { #expect(!key.publicKey.isValid(signature, for: Self.message)) }
        #expect(!key.publicKey.isValid([], for: Self.message))
        #expect(!key.publicKey.isValid([UInt8](repeating: 0, count: 64), for: Self.message))
    }

    /// RFC 8032, 5.1.7: S is less than the group's order. Without that check, S plus the order is a second signature.
    @Test(arguments: 1...15 as ClosedRange<Int>) func `a signature whose S is not reduced is not valid`(times: Int) throws {
        let key = try Ed25519.PrivateKey(seed: SecretBytes([UInt8](repeating: UInt8(times), count: 32)))
        let signature = try key.sign(Self.message)
        var s = Array(signature[32...])
        for _ in 0..<times { s = Curve25519Numbers.sum(s, Curve25519Numbers.order) }
        #expect(!key.publicKey.isValid(Array(signature[..<32]) + s, for: Self.message))
    }

    /// The points of order 1, 2, 4 and 8, in all of their encodings. Under the first, the signature of a point and 0 is
    /// valid for every message if nobody looks.
    @Test(arguments: [
        "0100000000000000000000000000000000000000000000000000000000000000", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000", "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "0100000000000000000000000000000000000000000000000000000000000080", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ])
    func `a point of small order is no key, however it is written`(point: String) {
        #expect(throws: CryptoError(.malformedKey)) { try Ed25519.PublicKey(bytes(point)) }
    }

    /// The order of the field is 2^255 − 19, so 19 coordinates can be written in two ways.
    @Test(arguments: 0..<19 as Range<UInt8>) func `a coordinate that is not reduced is no key`(above: UInt8) {
        var point = Curve25519Numbers.prime
        point[0] += above
        for sign in [0, 0x80] as [UInt8] {
            point[31] = 0x7f | sign
            #expect(throws: CryptoError(.malformedKey)) { try Ed25519.PublicKey(point) }
        }
    }

    /// Adding the point of order 2 to (x, y) gives (−x, −y), which is on the curve and not in the group of prime order.
    @Test(arguments: published) func `a point of mixed order is no key`(seed: String, publicKey: String, message: String, signature: String) {
        var y = bytes(publicKey)
        let sign = y[31] & 0x80
        y[31] ^= sign
        var mixed = Curve25519Numbers.difference(Curve25519Numbers.prime, y)
        mixed[31] |= sign ^ 0x80
        #expect(throws: CryptoError(.malformedKey)) { try Ed25519.PublicKey(mixed) }
    }

    @Test func `about half of all bytes are not on the curve, and no key`() {
        var random = SeededRandom(seed: 8032)
        let valid = (0..<64).count { _ in (try? Ed25519.PublicKey(random.bytes(32))) != nil }
        // A point is on the curve with probability 1/2, and then in the group of prime order with 1/8.
        #expect(valid < 24)
    }

    @Test(arguments: [0, 31, 33, 64]) func `a key of another length is refused`(length: Int) {
        let bytes = [UInt8](repeating: 1, count: length)
        #expect(throws: CryptoError(.invalidKeyLength)) { try Ed25519.PublicKey(bytes) }
        #expect(throws: CryptoError(.invalidKeyLength)) { try Ed25519.PrivateKey(seed: SecretBytes(bytes)) }
    }

    @Test func `many tasks may use one key at once`() async throws {
        let key = try Ed25519.PrivateKey()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<16 as Range<UInt8> {
                group.addTask {
                    for _ in 0..<5 {
                        let signature = try key.sign([number])
                        #expect(key.publicKey.isValid(signature, for: [number]) && !key.publicKey.isValid(signature, for: [number &+ 1]))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Numbers of Curve25519 as 32 bytes, lowest first (RFC 8032, 5.1).
enum Curve25519Numbers {
    /// The order of the field, 2^255 − 19.
    static let prime: [UInt8] = [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f]
    /// The order of the group, 2^252 + 27742317777372353535851937790883648493.
    static let order = bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")

    /// - Returns: The sum without its 257th bit.
    static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var carry = 0
        return zip(left, right).map { left, right in
            carry += Int(left) + Int(right)
            defer { carry >>= 8 }
            return UInt8(carry & 0xff)
        }
    }

    static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var carry = 0
        return zip(left, right).map { left, right in
            carry += Int(left) - Int(right)
            defer { carry >>= 8 }
            return UInt8(carry & 0xff)
        }
    }
}
