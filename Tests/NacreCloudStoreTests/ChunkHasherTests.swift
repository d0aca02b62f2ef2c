import NacreCloudContainer
import NacreCloudTestSupport
import NacreCrypto
import NacreLocks
import Testing

@testable import NacreCloudStore

/// Tests of the hashing of chunks, beside the writing thread or on it.
@Suite(.timeLimit(.minutes(5))) struct ChunkHasherTests {
    @Test(arguments: [0, 1, 4])
    func `each chunk has the digest of its own bytes, in the order of the chunks, whether threads are free or not`(busy: Int) async throws {
        var random = SeededRandom()
        let threads = try FileThreads(count: max(busy, 2))
        // The held threads are busy until the end, so that the writer hashes where none is free.
        let gate = Signal()
        for _ in 0..<busy { try threads.start { gate.wait() } }
        for _ in 0..<20 {
            let hasher = try ChunkHasher(threads)
            var (wanted, found): ([[UInt8]], [[UInt8]]) = ([], [])
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                var chunk: [UInt8] = []
                for _ in 0..<Int.random(in: 0...6, using: &random) {
                    let piece = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: Int.random(in: 0...100_000, using: &random))
                    let part = piece.count / 3..<piece.count
                    hasher.add(piece[part])
                    chunk += piece[part]
                }
                hasher.endChunk()
                wanted.append(SHA256.digest(chunk))
                found += try hasher.digests()
            }
            found += try hasher.rest()
            #expect(found == wanted, "\(random)")
            #expect(try hasher.digests().isEmpty)
        }
        for _ in 0..<busy { gate.notify() }
        await threads.close()
    }
}
