import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreCloudStore

/// Tests of chunks whose bytes need not be checked again for a while.
@Suite struct SoundChunkTests {
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let minute = SoundChunks.lifetime

    private func name(_ number: Int) -> ChunkName { ChunkName((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) }) }

    @Test func `a note is good for a minute from when its bytes were looked at, and under no other name`() throws {
        let state = try #require(FileState(path: "/"))
        var sound = SoundChunks()
        sound.note(name(1), state, at: 1000)
        let last = 1000 + Self.minute - 1
        for (number, now, isGood) in [(1, 1000, true), (1, last, true), (1, last + 1, false), (1, 999, false), (2, 1000, false)]
            as [(Int, UInt64, Bool)]
        {
            #expect((sound.note(of: name(number), at: now) != nil) == isGood, "\(number) at \(now)")
        }
        sound.note(name(1), state, at: last)
        #expect(sound.note(of: name(1), at: last + 1) != nil)
    }

    @Test func `of many chunks the latest are known, also where one was noted again and again`() throws {
        let state = try #require(FileState(path: "/"))
        var sound = SoundChunks()
        let count = SoundChunks.notesMax
        for number in 0..<count + 10 { sound.note(name(number), state, at: 5) }
        #expect((0..<count + 10).filter { sound.note(of: name($0), at: 5) != nil } == Array(10..<count + 10))
        for _ in 0..<count * 3 { sound.note(name(10), state, at: 6) }
        #expect(sound.note(of: name(10), at: 6) != nil && sound.note(of: name(11), at: 6) == nil)
        sound.note(name(0), state, at: 6 + Self.minute)
        #expect(sound.note(of: name(10), at: 6 + Self.minute) == nil)
    }

    @Test func `what was written or read is handed out as files for a minute, and never what somebody changed`() async throws {
        let folder = try TemporaryFolder()
        let now = Locked(UInt64(1))
        let files = try await AssetFiles.open(folder: folder.path) { now.withLock { $0 } }
        var random = SeededRandom(seed: 3)
        var bytes: [UInt8] = []
        while bytes.count < 1_500_000 { withUnsafeBytes(of: random.next()) { bytes += $0 } }
        let receiver = files.receiver(under: Self.key)
        try await receiver.add(bytes)
        let kept = try await receiver.finish()
        await receiver.release()
        let chunks = kept.chunks
        try #require(chunks.count >= 3)

        let written = await files.resident(chunks)
        #expect(written.count == chunks.count && written.allSatisfy { $0.isSound(true) })
        var read: [UInt8] = []
        for (file, chunk) in zip(written, chunks) { read += try #require(contents(file.descriptor, chunk.size)) }
        #expect(read == bytes)
        let stranger = AssetChunk(name: ChunkName([UInt8](repeating: 1, count: 32)), size: 10)
        #expect(await files.resident([chunks[0], stranger, chunks[1]]).count == 1)
        #expect(await files.resident([stranger, chunks[0]]).isEmpty)

        // No more files are open than allowed, however many callers ask, and all open ones are returned again.
        var many: [[ResidentChunk]] = []
        while let more = Optional(await files.resident(chunks)), !more.isEmpty { many.append(more) }
        #expect(many.reduce(written.count) { $0 + $1.count } == 128)
        many = []
        #expect(await files.resident(chunks).count == chunks.count)

        // A change in place is visible in the open file.
        let path = files.path(of: chunks[1].name)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        try (Data([whole[0] ^ 1]) + whole.dropFirst()).write(to: URL(fileURLWithPath: path))
        #expect(written[0].isSound(true) && !written[1].isSound(true))
        #expect(await files.resident(chunks).count == 1)
        await #expect(throws: StoreError.self) { try await files.chunk(chunks[1], under: Self.key) }
        #expect(await files.resident(chunks).count == 1)
        try whole.write(to: URL(fileURLWithPath: path))
        #expect(await files.resident(chunks).count == 1)
        _ = try await files.chunk(chunks[1], under: Self.key)
        #expect(await files.resident(chunks).count == chunks.count)
        try FileManager.default.removeItem(atPath: path)
        #expect(await files.resident(chunks).count == 1)

        // Bytes that left the kernel's memory are hashed again, whoever had opened the file.
        let again = await files.resident(chunks)
        _ = try await files.chunk(chunks[0], under: Self.key)
        #expect(!again[0].isSound(true))
        let (one, other) = (await files.resident(chunks), await files.resident(chunks))
        #expect(one[0].isSound(false) && !one[0].isSound(true) && !other[0].isSound(true))
        #expect(await files.resident(chunks).isEmpty)
        _ = try await files.chunk(chunks[0], under: Self.key)
        #expect(await files.resident(chunks).count == 1)

        // Its minute is over.
        now.withLock { $0 += Self.minute }
        #expect(!written[0].isSound(true))
        #expect(await files.resident(chunks).isEmpty)
        _ = try await files.chunk(chunks[0], under: Self.key)
        #expect(await files.resident(chunks).count == 1)
        await files.close()
        #expect(await files.resident(chunks).isEmpty)
    }

    private func contents(_ file: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count + 1)
        return pread(file, &bytes, count + 1, 0) == count ? Array(bytes.prefix(count)) : nil
    }
}
