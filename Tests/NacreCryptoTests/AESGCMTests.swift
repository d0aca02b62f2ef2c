import NacreCloudTestSupport
import NacreCrypto
import Testing

struct AESGCMTests {
    private static let nonce = bytes("cafebabefacedbaddecaf888")
    private static let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    private static let plaintext = bytes(
        """
        d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525
        b16aedf5aa0de657ba637b39
        """)
    private static let associated = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")

    /// The examples of the GCM specification (McGrew and Viega): cases 1 to 4 for 128 bits and 13 to 16 for 256.
    @Test(
        arguments: [
            ([UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 12), 0, [], "58e2fccefa7e3061367f1d57a4e7455a"),
            (
                [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 12), 16, [],
                "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"
            ),
            (
                Array(key.prefix(16)), nonce, nil, associated,
                """
                42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05
                1ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47
                """
            ),
            ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 12), 0, [], "530f8afbc74536b9a963b4f1c4cb738b"),
            (
                [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 12), 16, [],
                "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
            ),
            (
                key, nonce, nil, associated,
                """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838
                c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b
                """
            ),
        ] as [([UInt8], [UInt8], Int?, [UInt8], String)])
    func `published messages are sealed as published`(
        key: [UInt8], nonce: [UInt8], zeros: Int?, associated: [UInt8], expected: String
    ) throws {
        let plaintext = zeros.map { [UInt8](repeating: 0, count: $0) } ?? Self.plaintext
        var cipher = try AESGCM(key: SecretBytes(key))
        let sealed = try cipher.seal(plaintext, nonce: nonce, associated: associated)
        #expect(sealed == bytes(expected))
        let opened = try cipher.open(sealed, nonce: nonce, associated: associated)
        #expect(opened == plaintext)
    }

    @Test func `a message damaged anywhere does not open`() throws {
        var cipher = try AESGCM(key: SecretBytes(Self.key))
        let sealed = try cipher.seal(Self.plaintext, nonce: Self.nonce, associated: Self.associated)
        for damaged in damaged(sealed) {
            let opened = Result { try cipher.open(damaged, nonce: Self.nonce, associated: Self.associated) }
            #expect(code(of: opened) == .notAuthentic)
            let secret = Result { try cipher.openSecret(damaged, nonce: Self.nonce, associated: Self.associated) }
            #expect(code(of: secret) == .notAuthentic)
        }
        // A failure leaves nothing behind.
        let opened = try cipher.open(sealed, nonce: Self.nonce, associated: Self.associated)
        #expect(opened == Self.plaintext)
    }

    @Test func `a message does not open with other associated data, another nonce or another key`() throws {
        var cipher = try AESGCM(key: SecretBytes(Self.key))
        let sealed = try cipher.seal(Self.plaintext, nonce: Self.nonce, associated: Self.associated)
        for associated in damaged(Self.associated) {
            let opened = Result { try cipher.open(sealed, nonce: Self.nonce, associated: associated) }
            #expect(code(of: opened) == .notAuthentic)
        }
        for nonce in damaged(Self.nonce) {
            let opened = Result { try cipher.open(sealed, nonce: nonce, associated: Self.associated) }
            #expect(code(of: opened) == .notAuthentic)
        }
        for index in Self.key.indices {
            var key = Self.key
            key[index] ^= 1
            var other = try AESGCM(key: SecretBytes(key))
            let opened = Result { try other.open(sealed, nonce: Self.nonce, associated: Self.associated) }
            #expect(code(of: opened) == .notAuthentic)
        }
    }

    @Test func `one value seals and opens messages of any length, one after the other`() throws {
        var random = SeededRandom(seed: 38)
        var cipher = try AESGCM(key: SecretBytes(random.bytes(32)))
        for length in Array(0...70) + [1_000, 100_000] {
            let (plaintext, nonce, associated) = (random.bytes(length), random.bytes(12), random.bytes(length % 20))
            let sealed = try cipher.seal(plaintext, nonce: nonce, associated: associated)
            let secret = try cipher.seal(SecretBytes(plaintext), nonce: nonce, associated: associated)
            #expect(sealed.count == length + AESGCM.tagLength && sealed == secret)
            let opened = try cipher.open(sealed, nonce: nonce, associated: associated)
            let openedSecret = try cipher.openSecret(sealed, nonce: nonce, associated: associated)
            #expect(opened == plaintext && openedSecret.exposed == plaintext)
        }
    }

    @Test(arguments: [0, 11, 13, 16]) func `a nonce of another length is refused`(length: Int) throws {
        var cipher = try AESGCM(key: SecretBytes(Self.key))
        let sealed = Result { try cipher.seal([1], nonce: [UInt8](repeating: 0, count: length), associated: []) }
        #expect(code(of: sealed) == .invalidLength)
    }

    @Test(arguments: [0, 1, 15, 17, 24, 31, 33]) func `a key of another length is refused`(length: Int) {
        #expect(throws: CryptoError(.invalidKeyLength)) {
            var cipher = try AESGCM(key: SecretBytes([UInt8](repeating: 1, count: length)))
            _ = try cipher.seal([], nonce: Self.nonce, associated: [])
        }
    }

    private func code(of result: Result<some Any, any Error>) -> CryptoError.Code? {
        guard case .failure(let error as CryptoError) = result else { return nil }
        return error.code
    }
}
