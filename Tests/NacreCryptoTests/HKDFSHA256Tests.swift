import NacreCrypto
import Testing

struct HKDFSHA256Tests {
    private static let secret = SecretBytes([UInt8](repeating: 0x0b, count: 22))

    /// RFC 5869, A.1.
    @Test func `a key is extracted and expanded as published`() throws {
        let key = HKDFSHA256.extract(Self.secret, salt: Array(0...12))
        #expect(key.exposed == bytes("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"))
        let expanded = try HKDFSHA256.expand(key, info: Array(0xf0...0xf9), count: 42)
        #expect(expanded.exposed == bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
    }

    /// RFC 5869, A.2: a secret, a salt and a purpose of 80 bytes each, and three blocks.
    @Test func `long inputs give the published bytes`() throws {
        let key = HKDFSHA256.extract(SecretBytes(Array(0...0x4f)), salt: Array(0x60...0xaf))
        #expect(
            try HKDFSHA256.expand(key, info: Array(0xb0...0xff), count: 82).exposed
                == bytes(
                    """
                    b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09
                    da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
                    """))
    }

    /// RFC 5869, A.3.
    @Test func `no salt and no purpose give the published bytes`() throws {
        let expanded = try HKDFSHA256.expand(HKDFSHA256.extract(Self.secret, salt: []), info: [], count: 42)
        #expect(expanded.exposed == bytes("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"))
    }

    @Test func `255 blocks are the most, and one byte is the least`() throws {
        let longest = try HKDFSHA256.expand(Self.secret, info: [1], count: 255 * 32)
        #expect(longest.count == 8_160)
        #expect(try HKDFSHA256.expand(Self.secret, info: [1], count: 1).exposed == Array(longest.exposed.prefix(1)))
        for count in [0, -1, Int.min, 255 * 32 + 1, Int.max] {
            #expect(throws: CryptoError(.invalidLength)) { try HKDFSHA256.expand(Self.secret, info: [], count: count) }
        }
    }

    @Test func `values that run into each other, and a label that a value looks like, have other digests`() throws {
        let lists: [(String, [[UInt8]])] = [
            ("a", []), ("a", [[]]), ("a", [[], []]), ("a", [[98]]), ("ab", []), ("", [[97]]), ("a", [[98, 99]]), ("a", [[98], [99]]),
            ("a", [[98, 0, 1, 99]]), ("a\u{0}\u{1}b", []),
        ]
        #expect(try SHA256.context("label", [[1, 2], []]) == SHA256.digest([0, 5] + Array("label".utf8) + [0, 2, 1, 2, 0, 0]))
        #expect(Set(try lists.map { try SHA256.context($0.0, $0.1) }).count == lists.count)
        #expect(try SHA256.context("a", [[UInt8](repeating: 0, count: 65_535)]).count == 32)
        #expect(throws: CryptoError(.invalidLength)) { try SHA256.context("a", [[UInt8](repeating: 0, count: 65_536)]) }
    }
}
