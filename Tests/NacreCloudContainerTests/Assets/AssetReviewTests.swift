import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of reviews of all assets: their findings, and the removal of orphans.
@Suite(.timeLimit(.minutes(5))) struct AssetReviewTests {
    private func verified(_ scene: AssetCloud) async throws -> AssetSlice {
        var whole = AssetSlice()
        var cursor: AssetCursor? = .start
        while let here = cursor {
            // The place in the form in which a client returns it.
            let slice = try await scene.cloud.cloud.verifyAssets(from: try #require(AssetCursor(text: here.text)))
            whole.findings += slice.findings
            (whole.assets, whole.chunks, whole.bytes) = (whole.assets + slice.assets, whole.chunks + slice.chunks, whole.bytes + slice.bytes)
            cursor = slice.next
        }
        return whole
    }

    private func collected(_ scene: AssetCloud, removes: Bool = true) async throws -> Set<ChunkName> {
        var names: Set<ChunkName> = []
        for part in UInt8.min ... .max { names.formUnion(try await scene.cloud.cloud.orphans(in: part, removes: removes).map(\.name)) }
        return names
    }

    @Test func `sound assets are counted, and nothing is found`() async throws {
        let scene = try await AssetCloud()
        #expect(try await verified(scene).findings.isEmpty)
        for (record, size) in [("a", 100), ("b", 400_000), ("c", 0)] {
            _ = try await scene.save(.asset(try await scene.upload(someBytes(size, seed: 1), record)), in: record)
        }
        let slice = try await verified(scene)
        #expect(slice.findings.isEmpty && slice.assets == 3 && slice.bytes == 400_100 && slice.chunks == scene.files.chunkNames.count)
        #expect(scene.files.usage?.chunks == slice.chunks && scene.files.usage?.bytes == 400_000)
    }

    @Test func `a damaged and a missing chunk are told with the record that has them, and one of nobody as that`() async throws {
        let scene = try await AssetCloud()
        _ = try await scene.save(.asset(try await scene.upload(someBytes(1_500_000, seed: 2), "r")), in: "r")
        let names = scene.files.chunkNames.sorted { $0.text < $1.text }
        try #require(names.count >= 3)
        scene.files.damage(names[0]) { $0[5] ^= 1 }
        let gone = names[1]
        try await scene.files.remove([gone]) { _ in [] }
        let stray = ChunkName([UInt8](repeating: 9, count: 32))
        scene.files.leave([1, 2, 3], as: stray)
        let found = try await verified(scene).findings
        #expect(Set(found.map { "\($0.kind) \($0.chunk)" }) == ["damaged \(names[0].text)", "missing \(gone.text)", "orphaned \(stray.text)"])
        for finding in found where finding.kind != .orphaned {
            #expect([finding.zone, finding.record, finding.field] == ["Z", "r", "f"] && finding.database.contains("/development/private/"))
        }
    }

    @Test func `a look at sizes finds what is gone and what is cut, and nothing in sound files and in bytes that it does not read`() async throws {
        let scene = try await AssetCloud()
        var names: [ChunkName] = []
        func found() async throws -> [AssetFinding] {
            var findings: [AssetFinding] = []
            for part in Set(names.compactMap(\.bytes.first)) { findings += try await scene.cloud.cloud.checkAssets(in: part).findings }
            return findings
        }
        _ = try await scene.save(.asset(try await scene.upload(someBytes(1_500_000, seed: 2), "r")), in: "r")
        _ = try await scene.save(.asset(try await scene.upload([1, 2, 3], "small")), in: "small")
        names = scene.files.chunkNames.sorted { $0.text < $1.text }
        try #require(names.count >= 3)
        scene.files.damage(names[2]) { $0[5] ^= 1 }
        #expect(try await found().isEmpty)
        scene.files.damage(names[0]) { $0.removeLast() }
        try await scene.files.remove([names[1]]) { _ in [] }
        let findings = try await found()
        #expect(Set(findings.map { "\($0.kind) \($0.chunk)" }) == ["damaged \(names[0].text)", "missing \(names[1].text)"])
        #expect(findings.allSatisfy { [$0.zone, $0.record, $0.field] == ["Z", "r", "f"] && $0.database.contains("/development/private/") })
        try await scene.files.remove(names) { _ in [] }
        await #expect(throws: ServerError.assetLost("f")) { _ = try await scene.download(scene.lookUp("r")) }
    }

    @Test func `a chunk whose row of use is lost is no orphan: its asset proves it, and the row is written anew`() async throws {
        let scene = try await AssetCloud()
        let bytes = someBytes(1_500_000, seed: 12)
        _ = try await scene.save(.asset(try await scene.upload(bytes, "r")), in: "r")
        let databases = try await scene.cloud.store.read { try $0.rows(of: .databases, after: nil, limit: 10).compactMap(\.key.database) }
        func uses() async throws -> [EntryRow] {
            try await scene.cloud.store.read { transaction in
                try databases.flatMap { try transaction.entries(in: $0, .chunkUse, after: "", limit: 100) }
            }
        }
        let before = try await uses()
        try #require(before.count >= 3)
        try await scene.cloud.store.write { transaction in
            var plan = WritePlan()
            plan.entriesRemoved = before.map(\.key)
            try transaction.apply(plan)
            return .commit(())
        }
        let stray = ChunkName([UInt8](repeating: 9, count: 32))
        scene.files.leave([1, 2, 3], as: stray)
        #expect(try await collected(scene) == [stray])
        #expect(try await scene.download(try await scene.lookUp("r")) == bytes)
        #expect(try await uses() == before)
        #expect(scene.cloud.takeFaults().contains { $0.text.contains("not noted as used") })
        // Later deletions are collected as usual.
        try await scene.ada.modify([.delete("r")], zone: "Z")
        try await scene.wait(Limits.assetGraceSeconds + 1)
        #expect(scene.files.chunkNames.isEmpty)
    }

    @Test func `bytes of a small asset that are gone or short are told`() async throws {
        let scene = try await AssetCloud()
        let sent = try await scene.upload(someBytes(100, seed: 3), "r")
        _ = try await scene.save(.asset(sent), in: "r")
        let store = scene.cloud.store
        let database = try await scene.cloud.cloud.databaseID(
            DatabaseKey(container: scene.ada.target.container, environment: .development, scope: .private, owner: "_ada"))
        let row = try #require(try await store.read { try $0.entries(in: database, .assetBytes, after: nil, limit: 1).first })
        for (value, kind) in [([UInt8](row.value.dropLast()), AssetFinding.Kind.damaged), (nil, .missing)] {
            try await store.write { transaction in
                var plan = WritePlan()
                if let value { plan.entries = [EntryRow(key: row.key, value: value)] } else { plan.entriesRemoved = [row.key] }
                try transaction.apply(plan)
                return .commit(())
            }
            #expect(try await verified(scene).findings.map(\.kind) == [kind])
        }
    }

    @Test func `a chunk that an asset has in two sizes is told as damaged`() async throws {
        let scene = try await AssetCloud()
        _ = try await scene.save(.asset(try await scene.upload(someBytes(400_000, seed: 13), "r")), in: "r")
        let store = scene.cloud.store
        let database = try await scene.cloud.cloud.databaseID(
            DatabaseKey(container: scene.ada.target.container, environment: .development, scope: .private, owner: "_ada"))
        var asset = try StoredAsset(try #require(try await store.read { try $0.entries(in: database, .asset, after: nil, limit: 1).first }))
        let twice = AssetChunk(name: asset.chunks[0].name, size: asset.chunks[0].size + 1)
        asset.chunks.append(twice)
        asset.size += Int64(twice.size)
        let row = asset.row(in: database)
        try await store.write { transaction in
            var plan = WritePlan()
            plan.entries = [row]
            try transaction.apply(plan)
            return .commit(())
        }
        let findings = try await verified(scene).findings
        #expect(findings.map { "\($0.kind) \($0.chunk) \($0.bytes)" } == ["damaged \(twice.name.text) \(twice.size)"])
        let listed = try await scene.cloud.cloud.checkAssets(in: twice.name.bytes[0]).findings
        #expect(listed.map { "\($0.kind) \($0.bytes)" } == ["damaged \(twice.size)"])
    }

    @Test func `what no asset has goes, and only that; a dry run leaves it`() async throws {
        let scene = try await AssetCloud()
        _ = try await scene.save(.asset(try await scene.upload(someBytes(400_000, seed: 4), "r")), in: "r")
        // Not saved yet: its row has it.
        _ = try await scene.upload(someBytes(400_000, seed: 5), "s")
        let used = scene.files.chunkNames
        let strays = (0..<5).map { ChunkName([UInt8](repeating: UInt8($0 * 60), count: 32)) }
        for stray in strays { scene.files.leave([7], as: stray) }
        #expect(try await collected(scene, removes: false) == Set(strays))
        #expect(scene.files.chunkNames == used.union(strays))
        #expect(try await collected(scene) == Set(strays))
        #expect(scene.files.chunkNames == used)
        #expect(try await collected(scene).isEmpty)
    }

    @Test func `chunks of an upload under way are nobody's orphans`() async throws {
        let scene = try await AssetCloud()
        let receiver = scene.files.receiver(under: [UInt8](repeating: 1, count: 32))
        try await receiver.add(someBytes(300_000, seed: 6))
        let received = try await receiver.finish()
        #expect(try await collected(scene).isEmpty)
        #expect(scene.files.chunkNames == Set(received.chunks.map(\.name)))
        await receiver.release()
        #expect(try await collected(scene) == Set(received.chunks.map(\.name)))
    }

    @Test func `a place is read as it was written, and other text is none`() {
        let places: [AssetCursor] = [.start, .firstPart, .part(255), .asset(database: -5, after: "0a/0b"), .asset(database: 7, after: "")]
        for cursor in places {
            #expect(AssetCursor(text: cursor.text) == cursor)
        }
        for text in ["", "part", "part:256", "part:-1", "asset:x:y", "asset:1", "database:", "database:1:2", "other:1"] {
            #expect(AssetCursor(text: text) == nil, "\(text)")
        }
    }

    @Test func `whatever is uploaded, saved, deleted and collected at the same time, what records have is there`() async throws {
        var seed = SeededRandom()
        for _ in 0..<8 {
            let scene = try await AssetCloud()
            let random = Locked(seed.branch())
            let saved = Locked<[String: UInt64]>([:])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<3 {
                    group.addTask {
                        for number in 0..<12 {
                            let (file, deletes) = random.withLock { (UInt64.random(in: 1...3, using: &$0), $0.chance(3)) }
                            let record = "w\(writer).\(number)"
                            let asset = try await scene.upload(someBytes(150_000, seed: file), record)
                            guard try await scene.save(.asset(asset), in: record).error == nil else { continue }
                            saved.withLock { $0[record] = file }
                            guard deletes else { continue }
                            saved.withLock { $0[record] = nil }
                            try await scene.ada.modify([.delete(record)], zone: "Z")
                        }
                    }
                }
                group.addTask {
                    for round in 0..<60 {
                        for part in stride(from: round % 4, to: 256, by: 4) {
                            _ = try await scene.cloud.cloud.orphans(in: UInt8(part), removes: true)
                        }
                        await Task.yield()
                    }
                }
                try await group.waitForAll()
            }
            // Tasks collect the deleted files, beside another sweep.
            async let tasks: Void = scene.wait(Limits.assetGraceSeconds + 1)
            _ = try await collected(scene)
            try await tasks
            for (record, file) in saved.withLock({ $0 }) {
                #expect(try await scene.download(try await scene.lookUp(record)) == someBytes(150_000, seed: file), "\(seed), \(record)")
            }
            #expect(try await verified(scene).findings.isEmpty, "\(seed)")
        }
    }
}
