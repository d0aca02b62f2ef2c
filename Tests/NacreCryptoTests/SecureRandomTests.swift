import NacreCrypto
import Testing

struct SecureRandomTests {
    @Test(arguments: [0, 1, 16, 33, 100_000])
    func `as many bytes come as were asked for`(count: Int) throws {
        #expect(try SecureRandom.bytes(count).count == count)
        #expect(try SecureRandom.keyBytes(count).count == count)
    }

    @Test(arguments: [-1, Int.min, Int.max])
    func `a length that cannot be is refused`(count: Int) {
        #expect(throws: CryptoError(.invalidLength)) { try SecureRandom.bytes(count) }
        #expect(throws: CryptoError(.invalidLength)) { try SecureRandom.keyBytes(count) }
    }

    @Test func `nothing repeats, also between tasks`() async throws {
        let drawn = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try (0..<100).flatMap { _ in [try SecureRandom.bytes(16), try SecureRandom.keyBytes(16)] }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(drawn).count == 3_200)
    }

    /// 64,000 bits of a fair coin stay within 1,500 of the half but once in more than 10^30 runs.
    @Test func `ones are as many as zeros`() throws {
        let ones = try (0..<1_000).reduce(0) { sum, _ in try sum + SecureRandom.uint64().nonzeroBitCount }
        #expect((30_500...33_500).contains(ones))
        let bits = try SecureRandom.bytes(8_000).reduce(0) { $0 + $1.nonzeroBitCount }
        #expect((30_500...33_500).contains(bits))
    }
}
