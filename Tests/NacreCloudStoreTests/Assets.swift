import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudStore

/// Tests of the guarantees of every store of files, and of those of folders alone.
@Suite(.timeLimit(.minutes(5))) struct AssetStorageTests {
    enum Kind: CaseIterable, Sendable {
        case memory, files, bucket

        /// The kinds that this machine can run: without an S3 server `S3AssetsTests` is skipped by name.
        static let here = allCases.filter { $0 != .bucket || mayRun(S3Server.program != nil) }
    }

    private static let key = [UInt8](repeating: 7, count: 32)

    private func withStorage(_ kind: Kind, _ body: (any AssetStorage, String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let storage: any AssetStorage
        var server: S3Server?
        switch kind {
        case .memory: storage = MemoryAssets()
        case .files: storage = try await AssetFiles.open(folder: folder.path + "/assets")
        case .bucket:
            let real = try S3Server()
            server = real
            storage = try await S3Assets.open(try S3Server.bucket(real.port), owner: "me", mayBegin: true)
        }
        try await body(storage, server.map { $0.objects + "/some/place" } ?? folder.path + "/assets")
        await storage.close()
    }

    private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var bytes: [UInt8] = []
        while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
        return Array(bytes.prefix(count))
    }

    private func keep(_ bytes: [UInt8], in storage: any AssetStorage, key: [UInt8] = key, pieces: Int = 20_000) async throws -> ReceivedAsset {
        let receiver = storage.receiver(under: key)
        var rest = bytes[...]
        while !rest.isEmpty {
            try await receiver.add(Array(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
        }
        let received = try await receiver.finish()
        await receiver.release()
        return received
    }

    private func read(_ asset: ReceivedAsset, from storage: any AssetStorage) async throws -> [UInt8] {
        var bytes = asset.inline ?? []
        for chunk in asset.chunks { bytes += try await storage.chunk(chunk, under: Self.key) }
        return bytes
    }

    @Test(arguments: Kind.here) func `bytes come back, however they were sent, under names that depend on them and the key alone`(
        kind: Kind
    ) async throws {
        try await withStorage(kind) { storage, _ in
            for size in [0, 1, 32 * 1024, 32 * 1024 + 1, 64 * 1024, 1_300_000] {
                let bytes = bytes(size)
                let one = try await keep(bytes, in: storage)
                #expect(try await read(one, from: storage) == bytes && one.size == Int64(size))
                #expect(one.inline == nil || size <= 32 * 1024)
                #expect(try await keep(bytes, in: storage, pieces: 7_777) == one)
                let other = try await keep(bytes, in: storage, key: [UInt8](repeating: 8, count: 32))
                #expect(size == 0 || other.checksum != one.checksum)
                #expect(Set(other.chunks.map(\.name)).isDisjoint(with: one.chunks.map(\.name)))
            }
        }
    }

    @Test(arguments: Kind.here) func `a change in the middle leaves most chunks as they are`(kind: Kind) async throws {
        try await withStorage(kind) { storage, _ in
            let before = bytes(6_000_000)
            var after = before
            after.insert(contentsOf: Array("inserted".utf8), at: 3_000_000)
            let (one, other) = (try await keep(before, in: storage), try await keep(after, in: storage))
            let new = Set(other.chunks.map(\.name)).subtracting(one.chunks.map(\.name))
            #expect(new.count <= 3 && one.chunks.count >= 10, "\(new.count) of \(one.chunks.count)")
            for chunk in one.chunks.dropLast() { #expect((64 * 1024...1024 * 1024).contains(chunk.size)) }
        }
    }

    @Test(arguments: Kind.here) func `what is not needed is removed, and never what a receiver has`(kind: Kind) async throws {
        try await withStorage(kind) { storage, _ in
            let bytes = bytes(100_000)
            let kept = try await keep(bytes, in: storage)
            let names = kept.chunks.map(\.name)
            try await storage.remove(names) { Set($0) }
            #expect(try await read(kept, from: storage) == bytes)
            let receiver = storage.receiver(under: Self.key)
            try await receiver.add(bytes)
            _ = try await receiver.finish()
            try await storage.remove(names) { _ in [] }
            #expect(try await read(kept, from: storage) == bytes)
            await receiver.release()
            // Taken up between the check and the removal.
            let late = storage.receiver(under: Self.key)
            try await storage.remove(names) { _ in
                try await late.add(bytes)
                _ = try await late.finish()
                return []
            }
            #expect(try await read(kept, from: storage) == bytes)
            await late.release()
            try await storage.remove(names) { _ in [] }
            await #expect(throws: StoreError.self) { _ = try await read(kept, from: storage) }
        }
    }

    @Test(arguments: Kind.here)
    func `a chunk that is taken up or in one by one stays until its receiver lets go, and is told of then`(kind: Kind) async throws {
        try await withStorage(kind) { storage, _ in
            let bytes = bytes(1_000_000, seed: 3)
            let kept = try await keep(bytes, in: storage)
            try await storage.remove([kept.chunks[0].name]) { _ in [] }
            let receiver = storage.receiver(under: Self.key)
            #expect(try await !receiver.takeUp(kept.chunks[0], isNamed: true))
            for chunk in kept.chunks.dropFirst() { #expect(try await receiver.takeUp(chunk, isNamed: true)) }
            await #expect(throws: StoreError.self) { _ = try await receiver.finish(kept.chunks) }
            let first = Array(bytes.prefix(kept.chunks[0].size))
            #expect(try await !receiver.add(first.dropLast() + [first[first.count - 1] ^ 1], as: kept.chunks[0]))
            #expect(try await receiver.add(first, as: kept.chunks[0]))
            let other = AssetChunk(name: kept.chunks[0].name, size: kept.chunks[0].size + 1)
            #expect(try await !receiver.takeUp(other, isNamed: true), "one name has one size")
            await #expect(throws: StoreError.self) { _ = try await receiver.finish([kept.chunks[0], other]) }
            #expect(try await receiver.finish(kept.chunks) == kept)
            try await storage.remove(kept.chunks.map(\.name)) { _ in [] }
            #expect(try await read(kept, from: storage) == bytes)
            let names = await receiver.release()
            #expect(Set(names) == Set(kept.chunks.map(\.name)))
            try await storage.remove(names) { _ in [] }
            for chunk in kept.chunks { await #expect(throws: StoreError.self) { _ = try await storage.chunk(chunk, under: Self.key) } }
        }
    }

    @Test(arguments: Kind.here)
    func `what is there is listed by the first byte of its name, and summed up when all was looked through`(kind: Kind) async throws {
        try await withStorage(kind) { storage, _ in
            let kept = try await keep(bytes(1_500_000, seed: 4), in: storage)
            var found: Set<AssetChunk> = []
            for part in UInt8.min ... .max {
                let chunks = try await storage.chunks(in: part)
                #expect(chunks.allSatisfy { $0.name.bytes[0] == part })
                found.formUnion(chunks)
            }
            #expect(found == Set(kept.chunks))
            #expect(storage.usage?.bytes == kept.size && storage.usage?.chunks == kept.chunks.count)
        }
    }

    @Test func `chunks lie in two-letter folders for this user alone, and nothing is left aside`() async throws {
        try await withStorage(.files) { storage, folder in
            let kept = try await keep(bytes(400_000), in: storage)
            for chunk in kept.chunks {
                let path = "\(folder)/\(chunk.name.text.prefix(2))/\(chunk.name.text)"
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.size] as? Int == chunk.size)
            }
            let receiver = storage.receiver(under: Self.key)
            // The second waits until the first is being taken.
            for half in [bytes(1_000_000, seed: 9), bytes(1_000_000, seed: 10)] { try await receiver.add(half) }
            #expect(try !FileManager.default.contentsOfDirectory(atPath: folder + "/incoming").isEmpty)
            await receiver.release()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming").isEmpty)
        }
    }

    @Test func `a chunk that is there already, or comes twice in a file, is kept once, and nothing of it is left aside`() async throws {
        try await withStorage(.files) { storage, folder in
            let once = bytes(300_000, seed: 11)
            let kept = try await keep(once, in: storage)
            // A file of one value is cut at the maximal length of a chunk.
            let same = [UInt8](repeating: 7, count: 3 * ContentCutter.mostBytes)
            for file in [once, same, same] {
                let receiver = storage.receiver(under: Self.key)
                try await receiver.add(file)
                let received = try await receiver.finish()
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming").isEmpty)
                #expect(try await read(received, from: storage) == file)
                await receiver.release()
            }
            var count = 0
            for part in UInt8.min ... .max { count += try await storage.chunks(in: part).count }
            #expect(count == kept.chunks.count + 1)
        }
    }

    @Test func `what a process left aside goes with the next opening, and chunks stay`() async throws {
        let folder = try TemporaryFolder()
        let first = try await AssetFiles.open(folder: folder.path)
        let kept = try await keep(bytes(100_000), in: first)
        try await first.receiver(under: Self.key).add(bytes(2_000_000, seed: 9))
        await first.close()
        await #expect(throws: StoreError.self) { _ = try await read(kept, from: first) }
        let second = try await AssetFiles.open(folder: folder.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/incoming").isEmpty)
        #expect(try await read(kept, from: second) == bytes(100_000))
        await second.close()
    }

    @Test func `a file of which a chunk could not be written is refused at the latest at its end, though nobody waited for the chunk`() async throws {
        let folder = try TemporaryFolder()
        let files = try await AssetFiles.open(folder: folder.path)
        for size in [200_000, 1_500_000] {
            let bytes = bytes(size, seed: UInt64(size))
            try FileManager.default.removeItem(atPath: folder.path + "/incoming")
            await #expect(throws: StoreError.self) { _ = try await keep(bytes, in: files) }
            try FileManager.default.createDirectory(atPath: folder.path + "/incoming", withIntermediateDirectories: false)
            let kept = try await keep(bytes, in: files)
            #expect(try await read(kept, from: files) == bytes)
        }
        await files.close()
    }

    @Test(arguments: Kind.here.filter { $0 != .memory })
    func `a chunk that was altered, cut or lengthened is an error, and another upload of it mends it`(kind: Kind) async throws {
        try await withStorage(kind) { storage, folder in
            let bytes = bytes(100_000)
            let kept = try await keep(bytes, in: storage)
            let chunk = try #require(kept.chunks.first)
            let whole = try await storage.chunk(chunk, under: Self.key)
            var altered = whole
            altered[1000] ^= 4
            for content in [altered, whole.dropLast(), whole + [0], []] {
                if let bucket = storage as? S3Assets {
                    try await bucket.bucket.put(content, as: S3Assets.key(of: chunk.name))
                } else {
                    try Data(content).write(to: URL(fileURLWithPath: "\(folder)/\(chunk.name.text.prefix(2))/\(chunk.name.text)"))
                }
                await #expect(throws: StoreError.self) { _ = try await read(kept, from: storage) }
                _ = try await keep(bytes, in: storage)
                #expect(try await read(kept, from: storage) == bytes)
            }
        }
    }

    @Test func `chunks stand beside backups once, and come back from there`() async throws {
        let folder = try TemporaryFolder()
        let storage = try await AssetFiles.open(folder: folder.path + "/assets")
        let kept = try await keep(bytes(700_000), in: storage)
        let pool = AssetBackup.folder(besides: folder.path + "/today.backup") + ".pool"
        #expect(try AssetBackup.share(folder.path + "/assets", with: pool) == kept.chunks.count)
        #expect(try AssetBackup.share(folder.path + "/assets", with: pool) == 0)
        await storage.close()
        try FileManager.default.removeItem(atPath: folder.path + "/assets")
        #expect(try AssetBackup.share(pool, with: folder.path + "/assets") == kept.chunks.count)
        let restored = try await AssetFiles.open(folder: folder.path + "/assets")
        #expect(try await read(kept, from: restored) == bytes(700_000))
        await restored.close()
    }

    @Test func `a chunk that is collected while it is brought beside backups is not brought, and the others are`() async throws {
        let folder = try TemporaryFolder()
        let storage = try await AssetFiles.open(folder: folder.path + "/assets")
        let kept = try await keep(bytes(700_000), in: storage)
        await storage.close()
        let gone = try #require(kept.chunks.first?.name.text)
        let path = "\(folder.path)/assets/\(gone.prefix(2))/\(gone)"
        let parts = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/assets").count { $0.utf8.count == 2 }
        var asked = 0
        let came = try AssetBackup.share(folder.path + "/assets", with: folder.path + "/pool") {
            asked += 1
            // All parts have been checked, and none is shared.
            if asked == parts + 1 { try? FileManager.default.removeItem(atPath: path) }
            return false
        }
        #expect(!FileManager.default.fileExists(atPath: path) && came == kept.chunks.count - 1)
        let names = FileManager.default.enumerator(atPath: folder.path + "/pool")?.compactMap { $0 as? String }.filter { $0.utf8.count > 2 }
        #expect(Set(names ?? []) == Set(kept.chunks.dropFirst().map { "\($0.name.text.prefix(2))/\($0.name.text)" }))
    }
}
