import NacreCloudTestSupport
import NacreCrypto
import Testing

struct SealingKeyTests {
    static let keyBytes: [UInt8] = Array(0..<64)
    static let token = Array("a change token of forty bytes and a bit!".utf8)
    static let purpose = Array("changes".utf8)

    @Test func `RFC 5297's deterministic example A.1`() throws {
        let key = try SealingKey(bytes("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"))
        let plaintext = bytes("112233445566778899aabbccddee")
        let associated = bytes("101112131415161718191a1b1c1d1e1f2021222324252627")
        let sealed = try key.seal(plaintext, associated: associated)
        #expect(Hex.encode(sealed) == "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c")
        #expect(try key.open(sealed, associated: associated) == plaintext)
    }

    /// Computed with a separate implementation of RFC 5297 on nothing but AES-256 in ECB mode, which also gives the
    /// example A.1.
    @Test(arguments: [
        (
            token, purpose,
            "a9fa0c545eb5d7762610aa5fc6f8e101676307f98a6ebf4270ac229baa3c264af18155b5bc7c23c6cce9737f56d0c6f3cc9a414884b78783"
        ),
        (token, [], "786f109732804511652989acfba9117b52b39148f56aa1c8ce097820081b8de01d531c3ccbab26df5a829b54f0de6f8ed300b67d00fe09b0"),
        ([UInt8(ascii: "x")], purpose, "92dad83e34820978a7a193067f8ba225b8"),
    ])
    func `values of another implementation with the long key`(plaintext: [UInt8], associated: [UInt8], expected: String) throws {
        let key = try SealingKey(Self.keyBytes)
        #expect(Hex.encode(try key.seal(plaintext, associated: associated)) == expected)
        #expect(try key.open(bytes(expected), associated: associated) == plaintext)
    }

    @Test func `one value is always sealed alike, also by another copy of the key`() throws {
        let sealed = try SealingKey(Self.keyBytes).seal(Self.token, associated: Self.purpose)
        let key = try SealingKey(Self.keyBytes)
        #expect(try key.seal(Self.token, associated: Self.purpose) == sealed)
        _ = try key.seal([1, 2, 3], associated: [])
        #expect(try key.seal(Self.token, associated: Self.purpose) == sealed)
        #expect(sealed.count == Self.token.count + SealingKey.overhead)
    }

    @Test func `a value damaged anywhere does not open`() throws {
        let key = try SealingKey(Self.keyBytes)
        for sealed in damaged(try key.seal(Self.token, associated: Self.purpose)) {
            let error = #expect(throws: CryptoError.self) { try key.open(sealed, associated: Self.purpose) }
            #expect(error?.code == .notAuthentic)
        }
    }

    @Test func `a value does not open with other associated data`() throws {
        let key = try SealingKey(Self.keyBytes)
        let sealed = try key.seal(Self.token, associated: Self.purpose)
        for associated in damaged(Self.purpose) {
            let error = #expect(throws: CryptoError.self) { try key.open(sealed, associated: associated) }
            #expect(error?.code == .notAuthentic)
        }
    }

    @Test func `a value does not open with another key`() throws {
        let sealed = try SealingKey(Self.keyBytes).seal(Self.token, associated: Self.purpose)
        for index in Self.keyBytes.indices {
            var other = Self.keyBytes
            other[index] ^= 0x80
            let key = try SealingKey(other)
            #expect(throws: CryptoError.self, "key byte \(index)") { try key.open(sealed, associated: Self.purpose) }
            #expect(try key.seal(Self.token, associated: Self.purpose) != sealed)
        }
    }

    @Test func `after a refusal the key opens and seals as before`() throws {
        let key = try SealingKey(Self.keyBytes)
        let sealed = try key.seal(Self.token, associated: Self.purpose)
        for _ in 0..<10 {
            _ = try? key.open([UInt8](repeating: 7, count: 40), associated: Self.purpose)
            #expect(try key.open(sealed, associated: Self.purpose) == Self.token)
            #expect(try key.seal(Self.token, associated: Self.purpose) == sealed)
        }
    }

    /// OpenSSL would seal it as sixteen zeros, which anybody can write.
    @Test func `an empty value is neither sealed nor opened`() throws {
        let key = try SealingKey(Self.keyBytes)
        #expect(throws: CryptoError(.invalidLength)) { try key.seal([], associated: Self.purpose) }
        #expect(throws: CryptoError(.notAuthentic)) { try key.open([UInt8](repeating: 0, count: 16), associated: Self.purpose) }
        #expect(throws: CryptoError(.notAuthentic)) { try key.open([], associated: Self.purpose) }
    }

    @Test(arguments: [0, 1, 16, 31, 33, 48, 63, 65, 128])
    func `a key of another length is refused`(length: Int) {
        #expect(throws: CryptoError(.invalidKeyLength)) { try SealingKey([UInt8](repeating: 1, count: length)) }
    }

    @Test func `random values come back`() throws {
        var random = SeededRandom(seed: 5297)
        for length in Array(1...70) + [255, 256, 1_000, 100_000] {
            let key = try SealingKey(random.bytes(length % 2 == 0 ? SealingKey.keyLength : SealingKey.shortKeyLength))
            let plaintext = random.bytes(length)
            let associated = random.bytes(Int.random(in: 0...64, using: &random))
            #expect(try key.open(try key.seal(plaintext, associated: associated), associated: associated) == plaintext)
        }
    }

    @Test func `new keys differ`() throws {
        #expect(try SealingKey.newKeyBytes() != SealingKey.newKeyBytes())
        #expect(try SealingKey.newKeyBytes().count == SealingKey.keyLength)
    }

    @Test func `many tasks may use one key at once`() async throws {
        let key = try SealingKey(Self.keyBytes)
        let expected = try key.seal(Self.token, associated: Self.purpose)
        let faults = try await withThrowingTaskGroup(of: Int.self) { group in
            for seed in 0..<64 as Range<UInt64> {
                group.addTask {
                    var random = SeededRandom(seed: seed)
                    var faults = 0
                    for _ in 0..<100 {
                        let own = random.bytes(1 + Int(seed))
                        if try key.open(try key.seal(own, associated: [UInt8(seed)]), associated: [UInt8(seed)]) != own { faults += 1 }
                        if try key.seal(Self.token, associated: Self.purpose) != expected { faults += 1 }
                        if (try? key.open(expected, associated: own)) != nil { faults += 1 }
                    }
                    return faults
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(faults == 0)
    }
}
