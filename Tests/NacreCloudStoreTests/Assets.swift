import Foundation
import NacreCloudContainer
import NacreCloudTestSupport
import Testing

@testable import NacreCloudStore

/// What every store of files promises, and what one of folders does besides.
@Suite(.timeLimit(.minutes(5))) struct AssetStorageTests {
    enum Kind: CaseIterable, Sendable { case memory, files }

    private static let key = [UInt8](repeating: 7, count: 32)

    private func withStorage(_ kind: Kind, _ body: (any AssetStorage, String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let storage: any AssetStorage
        switch kind {
        case .memory: storage = MemoryAssets()
        case .files: storage = try await AssetFiles.open(folder: folder.path + "/assets")
        }
        try await body(storage, folder.path + "/assets")
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

    @Test(arguments: Kind.allCases) func `bytes come back, however they were sent, under names that depend on them and the key alone`(
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

    @Test(arguments: Kind.allCases) func `a change in the middle leaves most chunks as they are`(kind: Kind) async throws {
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

    @Test(arguments: Kind.allCases) func `what is not needed is removed, and never what a receiver has`(kind: Kind) async throws {
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
            // Taken up between the question and the removal.
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

    @Test func `chunks lie in two-letter folders for this user alone, and nothing is left aside`() async throws {
        try await withStorage(.files) { storage, folder in
            let kept = try await keep(bytes(400_000), in: storage)
            for chunk in kept.chunks {
                let path = "\(folder)/\(chunk.name.text.prefix(2))/\(chunk.name.text)"
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.size] as? Int == chunk.size)
            }
            let receiver = storage.receiver(under: Self.key)
            try await receiver.add(bytes(2_000_000, seed: 9))
            #expect(try !FileManager.default.contentsOfDirectory(atPath: folder + "/incoming").isEmpty)
            await receiver.release()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/incoming").isEmpty)
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

    @Test func `a chunk that was altered, cut or lengthened is an error, and another upload of it mends it`() async throws {
        try await withStorage(.files) { storage, folder in
            let bytes = bytes(100_000)
            let kept = try await keep(bytes, in: storage)
            let name = try #require(kept.chunks.first).name.text
            let url = URL(fileURLWithPath: "\(folder)/\(name.prefix(2))/\(name)")
            let whole = try Data(contentsOf: url)
            var altered = whole
            altered[1000] ^= 4
            for content in [altered, whole.dropLast(), whole + [0], Data()] {
                try content.write(to: url)
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
}
