import NacreCloudTestSupport
import Testing

@testable import NacreCrypto

struct AEADKeyTests {
    static let keyBytes: [UInt8] = Array(0x80...0x9f)
    static let purpose = bytes("50515253c0c1c2c3c4c5c6c7")
    static let advice = Array(
        ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            + "sunscreen would be it.").utf8)

    /// draft-irtf-cfrg-xchacha-03, A.3.1.
    @Test func `the published example of XChaCha20-Poly1305`() throws {
        let nonce: [UInt8] = Array(0x40...0x57)
        let expected = bytes(
            """
            bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39
            ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9
            21f9664c97637da9768812f615c68b13b52e c0875924c1c7987947deafd8780acf49
            """)
        let key = try AEADKey(Self.keyBytes)
        #expect(try key.seal(Self.advice, associated: Self.purpose, nonce: nonce) == nonce + expected)
        #expect(try key.open(nonce + expected, associated: Self.purpose) == Self.advice)
    }

    @Test func `one value is sealed differently each time`() throws {
        let key = try AEADKey(Self.keyBytes)
        let sealed = try (0..<100).map { _ in try key.seal(Self.advice, associated: []) }
        #expect(Set(sealed).count == 100)
        #expect(Set(sealed.map { Array($0.prefix(24)) }).count == 100)
    }

    @Test func `a value damaged anywhere does not open`() throws {
        let key = try AEADKey(Self.keyBytes)
        for sealed in damaged(try key.seal(Self.advice, associated: Self.purpose)) {
            #expect(throws: CryptoError(.notAuthentic)) { try key.open(sealed, associated: Self.purpose) }
        }
    }

    @Test func `a value does not open with other associated data or another key`() throws {
        let key = try AEADKey(Self.keyBytes)
        let sealed = try key.seal(Self.advice, associated: Self.purpose)
        for associated in damaged(Self.purpose) {
            #expect(throws: CryptoError(.notAuthentic)) { try key.open(sealed, associated: associated) }
        }
        for index in Self.keyBytes.indices {
            var other = Self.keyBytes
            other[index] ^= 1
            #expect(throws: CryptoError(.notAuthentic)) { try AEADKey(other).open(sealed, associated: Self.purpose) }
        }
    }

    @Test func `values of any length come back, also none`() throws {
        var random = SeededRandom(seed: 8439)
        for length in Array(0...70) + [1_000, 100_000] {
            let key = try AEADKey(random.bytes(AEADKey.keyLength))
            let plaintext = random.bytes(length)
            let sealed = try key.seal(plaintext, associated: plaintext)
            #expect(sealed.count == length + AEADKey.overhead)
            #expect(try key.open(sealed, associated: plaintext) == plaintext)
        }
    }

    @Test(arguments: [0, 16, 31, 33, 64])
    func `a key of another length is refused`(length: Int) {
        #expect(throws: CryptoError(.invalidKeyLength)) { try AEADKey([UInt8](repeating: 1, count: length)) }
    }

    @Test func `a printed key shows nothing of itself`() throws {
        let key = try AEADKey([UInt8](repeating: 171, count: 32))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] { #expect(!text.contains("171")) }
    }

    @Test func `many tasks may use one key at once`() async throws {
        let key = try AEADKey(AEADKey.newKeyBytes())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in 0..<32 as Range<UInt64> {
                group.addTask {
                    var random = SeededRandom(seed: seed)
                    for _ in 0..<50 {
                        let plaintext = random.bytes(64)
                        let opened = try key.open(try key.seal(plaintext, associated: [1]), associated: [1])
                        #expect(opened == plaintext)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
