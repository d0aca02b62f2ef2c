import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of chunks that one server takes in while another one removes chunks from the same storage.
@Suite struct SharedAssetTests {
    private static let bytes = someBytes(300_000, seed: 7)

    /// Ada sends files to the first server. The second one removes.
    private struct Scene {
        let sender: AssetCloud
        let remover: TestCloud

        init() async throws {
            let stores = SideBySideStore.servers(2)
            let files = MemoryAssets()
            sender = try await AssetCloud(store: stores[0], storage: files)
            remover = TestCloud(stores[1], seed: 2, assets: MemoryAssets(beside: files))
        }

        var cloud: Cloud { sender.cloud.cloud }

        /// - Parameter between: happens when all bytes are kept, and no row names them yet.
        func upload(_ record: String, between: @Sendable () async throws -> Void = {}) async throws -> Asset {
            let asked = try await cloud.requestUploads(
                AssetsUploadRequest(tokens: [.init(recordName: record, recordType: "Note", fieldName: "f")], zoneID: ZoneID(zoneName: "Z")),
                in: sender.ada.target, by: sender.ada.caller)
            let permit = try cloud.uploadPermit(String(asked.tokens[0].url.dropFirst(AssetLinks.uploadPath.count)))
            var left: [UInt8]? = SharedAssetTests.bytes
            return try await cloud.upload(permit, by: sender.ada.caller, still: between) {
                defer { left = nil }
                return left
            }.singleFile
        }

        func download(_ asset: Asset, of record: String) async throws -> [UInt8] {
            #expect(try await sender.save(.asset(asset), in: record).error == nil)
            return try await sender.download(try await sender.lookUp(record))
        }

        /// Sweeps all parts, as a server does once a day.
        @discardableResult
        func sweep() async throws -> Int {
            var count = 0
            for part in UInt8.min ... .max { count += try await remover.cloud.orphans(in: part, removes: true).count }
            return count
        }

        /// Removes every chunk that no row names, as a server does with the chunks of an asset that is gone.
        func removeAll() async throws {
            let database = try await cloud.databaseID(databaseVerdict(sender.ada.target, for: .write, by: sender.ada.caller).get())
            for part in UInt8.min ... .max {
                let names = try await remover.cloud.assetStorage().chunks(in: part).map(\.name)
                if !names.isEmpty { try await remover.cloud.remove(names, from: database) }
            }
        }

        var unsaved: Int {
            get async throws {
                let database = try await cloud.databaseID(databaseVerdict(sender.ada.target, for: .write, by: sender.ada.caller).get())
                return try await sender.cloud.store.read { try $0.entries(in: database, .asset, after: "", limit: 10).count }
            }
        }
    }

    @Test func `a sweep leaves the chunks of a file that is on its way to a neighbour`() async throws {
        let scene = try await Scene()
        let asset = try await scene.upload("a") { try await scene.sweep() }
        #expect(try await scene.download(asset, of: "a") == Self.bytes)
    }

    @Test func `a chunk that no asset has goes with a sweep an hour after the one that found it`() async throws {
        let scene = try await Scene()
        let orphan = ChunkName([UInt8](repeating: 9, count: 32))
        guard let files = scene.remover.cloud.assets as? MemoryAssets else { return #expect(Bool(false), "it is in memory") }
        files.leave([1, 2, 3], as: orphan)
        #expect(try await scene.sweep() == 0)
        scene.remover.clock.move(bySeconds: LeavingChunk.patienceSeconds - 1)
        #expect(try await scene.sweep() == 0 && files.chunkNames == [orphan])
        scene.remover.clock.move(bySeconds: 1)
        #expect(try await scene.sweep() == 1 && files.chunkNames.isEmpty)
    }

    @Test func `a file whose chunk a neighbour removes before rows name it is refused, leaves nothing, and may be sent again`() async throws {
        let scene = try await Scene()
        let error = await #expect(throws: ServerError.self) { _ = try await scene.upload("a") { try await scene.removeAll() } }
        #expect(error == .chunkRemoved && error?.retryAfter != nil)
        #expect(try await scene.unsaved == 0)
        let asset = try await scene.upload("a")
        #expect(try await scene.download(asset, of: "a") == Self.bytes)
    }

    @Test func `a file is refused while a neighbour removes its chunk, and taken when the neighbour has died at that`() async throws {
        let scene = try await Scene()
        let first = try await scene.upload("a")
        let database = try await scene.cloud.registry.databaseID(Registry.Part.server.key)
        guard let files = scene.cloud.assets as? MemoryAssets else { return #expect(Bool(false), "it is in memory") }
        let names = files.chunkNames
        #expect(!first.fileChecksum.isEmpty && !names.isEmpty)
        let mark = LeavingChunk(.leaving, since: scene.sender.cloud.clock.now)
        try await scene.remover.store.write { transaction in
            try transaction.put(names.map { mark.row(of: $0, in: database) })
            return .commit(())
        }
        await #expect(throws: ServerError.chunkRemoved) { _ = try await scene.upload("b") }
        scene.sender.cloud.clock.move(bySeconds: LeavingChunk.doubtSeconds)
        let asset = try await scene.upload("b")
        #expect(try await scene.download(asset, of: "b") == Self.bytes)
    }

    @Test func `the mark of a chunk that is being removed stays until its own remover is done, whoever removes it too`() async throws {
        let scene = try await Scene()
        let chunk = ChunkName([UInt8](repeating: 9, count: 32))
        guard let files = scene.remover.cloud.assets as? MemoryAssets else { return #expect(Bool(false), "it is in memory") }
        files.leave([1, 2, 3], as: chunk)
        let database = try await scene.cloud.registry.databaseID(Registry.Part.server.key)
        let (looks, others) = (Locked(0), Locked(0))
        @Sendable func next(_ count: Locked<Int>) -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
        let gone = try await scene.remover.cloud.removeChunks([chunk]) { _ in
            guard next(looks) == 2 else { return [] }
            let marked = try await scene.remover.store.read { try $0.entries(in: database, .leavingChunk, keys: [chunk.text]) }
            let byOther = try await scene.cloud.removeChunks([chunk]) { names in next(others) == 1 ? [] : Set(names) }
            #expect(byOther.isEmpty)
            #expect(try await scene.remover.store.read { try $0.entries(in: database, .leavingChunk, keys: [chunk.text]) } == marked)
            return []
        }
        #expect(gone == [chunk] && files.chunkNames.isEmpty)
    }

    @Test func `a chunk that rows name stays, whoever removes`() async throws {
        let scene = try await Scene()
        let asset = try await scene.upload("a")
        try await scene.removeAll()
        scene.remover.clock.move(bySeconds: LeavingChunk.patienceSeconds)
        try await scene.sweep()
        #expect(try await scene.download(asset, of: "a") == Self.bytes)
        #expect(try await scene.upload("b").fileChecksum == asset.fileChecksum, "no mark is left that would refuse it")
    }

    @Test(arguments: [LeavingChunk.State.suspected, .leaving, .gone]) func `a mark is read as it was written`(_ state: LeavingChunk.State) throws {
        let mark = LeavingChunk(state, since: Timestamp(secondsSince2001: 800_000_000.25))
        let chunk = ChunkName([UInt8](repeating: 1, count: 32))
        #expect(try LeavingChunk(mark.row(of: chunk, in: DatabaseID(rawValue: 1))) == mark)
        var row = mark.row(of: chunk, in: DatabaseID(rawValue: 1))
        row.value.removeLast()
        #expect(throws: StoreError.self) { try LeavingChunk(row) }
    }
}
