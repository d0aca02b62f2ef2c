import Testing

@testable import NacreCrypto

struct SecretBytesTests {
    @Test func `a printed secret shows nothing of itself`() throws {
        let secret = SecretBytes([UInt8](repeating: 171, count: 32))
        let keys: [Any] = [secret, try X25519.PrivateKey(secret).bytes, try Ed25519.PrivateKey(seed: secret).seed, [secret], (secret, 1)]
        for key in keys {
            var dumped = ""
            dump(key, to: &dumped)
            for text in ["\(key)", String(reflecting: key), dumped] {
                #expect(!text.contains("171") && !text.lowercased().contains("abab"))
                #expect(text.contains("(secret)"))
            }
        }
    }

    @Test func `a private key shows its public key alone`() throws {
        let secret = SecretBytes([UInt8](repeating: 171, count: 32))
        for key in [try X25519.PrivateKey(secret), try Ed25519.PrivateKey(seed: secret)] as [Any] {
            var dumped = ""
            dump(key, to: &dumped)
            for text in ["\(key)", String(reflecting: key), dumped] { #expect(!text.contains("171, 171") && text.contains("(secret)")) }
        }
    }

    @Test func `secrets are equal if all their bytes are`() {
        let secret: [UInt8] = Array(0..<40)
        #expect(SecretBytes(secret) == SecretBytes(secret))
        #expect(SecretBytes([]) == SecretBytes([]))
        for other in damaged(secret) { #expect(SecretBytes(secret) != SecretBytes(other)) }
    }

    @Test func `a secret has the bytes that it was given, and none has none`() {
        #expect(SecretBytes([1, 2, 3]).exposed == [1, 2, 3])
        #expect(SecretBytes([]).exposed == [] && SecretBytes([]).count == 0)
    }

    @Test func `a part of a secret has the bytes of its range, as far as there are any`() {
        let secret = SecretBytes(Array(0..<10))
        for (range, expected) in [(0..<10, 0..<10), (0..<4, 0..<4), (4..<10, 4..<10), (8..<20, 8..<10), (10..<20, 0..<0), (3..<3, 0..<0)]
            as [(Range<Int>, Range<UInt8>)]
        {
            #expect(secret.part(range).exposed == Array(expected))
        }
    }

    @Test func `a secret that could not be made throws its reason`() {
        #expect(throws: CryptoError(.busy)) {
            try SecretBytes(count: 8) { start throws(CryptoError) in
                start[0] = 1
                throw CryptoError(.busy)
            }
        }
    }

    @Test(arguments: [0, 1, 32, 1_000]) func `new secrets are as long as was asked, and differ`(count: Int) throws {
        let secrets = try (0..<2).map { _ in try SecureRandom.secret(count) }
        #expect(secrets.allSatisfy { $0.count == count })
        #expect(count < 32 || secrets[0] != secrets[1])
    }

    @Test(arguments: [-1, Int.min, Int.max]) func `a secret of a length that cannot be is refused`(count: Int) {
        #expect(throws: CryptoError(.invalidLength)) { try SecureRandom.secret(count) }
    }
}
