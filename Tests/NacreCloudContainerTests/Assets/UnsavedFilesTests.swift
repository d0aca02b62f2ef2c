import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the limit of one sender's uploads that no record has.
@Suite struct UnsavedFilesTests {
    private static let hour: Double = 3600
    private let start = Timestamp(secondsSince2001: 1000 * 3600)
    private let database = DatabaseID(rawValue: 1)

    @Test func `files count by the hour until they may be collected, and go when records have them`() throws {
        var files = UnsavedFiles()
        files.add(10, at: start)
        files.add(5, at: start + Self.hour)
        #expect(files.bytes(at: start + Self.hour) == 15)
        files.remove(4, sentAt: start + 1)
        #expect(files.bytes(at: start + Self.hour) == 11)
        files.remove(100, sentAt: start + Self.hour)
        files.remove(100, sentAt: start + 5 * Self.hour)
        #expect(files.bytes(at: start + Self.hour) == 6, "one hour takes nothing from another")
        #expect(files.bytes(at: start + (Limits.assetGraceSeconds + Self.hour - 1)) == 6)
        #expect(files.bytes(at: start + (Limits.assetGraceSeconds + Self.hour)) == 0)
    }

    @Test func `what the store keeps of them is read back, is as long as a day, and goes when nothing counts`() throws {
        let key = UnsavedFiles.key(of: "_ann", in: database)
        var files = UnsavedFiles()
        for number in 0..<1000 { files.add(Int64(number), at: start + Double(number) * Self.hour / 4) }
        var plan = WritePlan()
        files.put(key, in: &plan)
        let row = try #require(plan.entries.first)
        #expect(try UnsavedFiles(row) == files)
        #expect(row.value.count < 400)
        let last = start + 999 * Self.hour / 4
        #expect(row.expires.map { $0 > last + Limits.assetGraceSeconds && $0 <= last + (Limits.assetGraceSeconds + Self.hour) } == true)
        #expect(throws: StoreError.self) { try UnsavedFiles(EntryRow(key: key, value: [9])) }
        var none = WritePlan()
        UnsavedFiles().put(key, in: &none)
        #expect(none.entries.isEmpty && none.entriesRemoved == [key])
    }

    @Test(
        arguments: [
            (0, 0, nil, Limits.waitingAssetBytes, false), (4, 99, nil, Limits.waitingAssetBytes - 4, false),
            (Limits.waitingAssetBytes + 9, 0, nil, 0, false), (0, 30, 100, 70, true), (50, 30, 100, 20, true), (90, 30, 100, 0, true),
            (0, 130, 100, 0, true), (0, -5, 100, 100, true), (0, 0, 2 * Limits.waitingAssetBytes, Limits.waitingAssetBytes, false),
        ] as [(unsaved: Int64, used: Int64, limit: Int64?, bytes: Int64, byQuota: Bool)])
    func `a file has the room that records and unsaved files leave`(unsaved: Int64, used: Int64, limit: Int64?, bytes: Int64, byQuota: Bool) {
        let room = FileRoom(beside: unsaved, used: used, limit: limit, isPublic: false)
        #expect(room.bytes == bytes)
        #expect(room.refusal == (byQuota ? .quotaExceeded(isPublic: false) : .tooManyUploads))
    }

    @Test func `bytes on the way take room, each sender's own, and give it back`() throws {
        let files = IncomingFiles()
        let ann = IncomingFiles.Sender(database: database, name: "_ann")
        let room = FileRoom(beside: 0, used: 0, limit: 100, isPublic: true)
        try files.take(60, for: ann, within: room)
        #expect(throws: ServerError.quotaExceeded(isPublic: true)) { try files.take(41, for: ann, within: room) }
        try files.take(100, for: IncomingFiles.Sender(database: database, name: "_bob"), within: room)
        files.end(60, for: ann)
        try files.take(100, for: ann, within: room)
    }

    // MARK: In the cloud

    private static let quotas = Quotas(userBytes: 100_000, publicBytes: 100_000)

    private func isRefused(_ size: Int, _ scene: AssetCloud, _ record: String) async throws -> Bool {
        do {
            _ = try await scene.upload([UInt8](repeating: 7, count: size), record)
            return false
        } catch let error as ServerError where error == .quotaExceeded(isPublic: false) {
            return true
        }
    }

    @Test(arguments: Engine.ofRules) func `files that nobody saves fill the quota, for another process too, until they are old`(engine: Engine)
        async throws
    {
        let scene = try await AssetCloud(quotas: Self.quotas, store: try await engine.makeStore())
        for number in 0..<4 { #expect(try await !isRefused(24_000, scene, "r\(number)")) }
        #expect(try await isRefused(24_000, scene, "more"))
        let second = AssetCloud(after: scene)
        #expect(try await isRefused(24_000, second, "more"))
        #expect(try await !isRefused(3_000, second, "small"))
        try await second.wait(Limits.assetGraceSeconds + Self.hour)
        #expect(try await !isRefused(90_000, second, "more"))
    }

    @Test(arguments: Engine.ofRules) func `a save gives the room of its file back, for what the record takes`(engine: Engine) async throws {
        let scene = try await AssetCloud(quotas: Self.quotas, store: try await engine.makeStore())
        let sent = try await scene.upload(someBytes(40_000, seed: 1), "a")
        _ = try await scene.upload(someBytes(40_000, seed: 2), "b")
        #expect(try await scene.save(.asset(sent), in: "a").error == nil)
        #expect(try await isRefused(30_000, scene, "c"), "40,000 are saved and 40,000 are not")
        try await scene.ada.modify([.delete("a")], zone: "Z")
        #expect(try await !isRefused(55_000, scene, "c"))
        // Saving an earlier file again takes nothing from others' hours.
        #expect(try await isRefused(10_000, scene, "d"))
    }

    @Test func `copies count like files that are sent`() async throws {
        let scene = try await AssetCloud(quotas: Self.quotas)
        let sent = try await scene.upload(someBytes(40_000, seed: 1), "a")
        _ = try await scene.save(.asset(sent), in: "a")
        #expect(try await copy(["a"], scene).count == 1)
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await copy(["a"], scene) }
    }

    @Test func `in a public database each user has the room that records leave, and none takes another's`() async throws {
        let scene = try await AssetCloud(quotas: Quotas(publicBytes: 100_000))
        func send(_ size: Int, as name: String) async throws {
            var user = scene.cloud.user(name, in: .public)
            user.caller.credential = .device(id: name, account: name)
            let asked = try await user.cloud.requestUploads(
                AssetsUploadRequest(tokens: [.init(recordName: "r", recordType: "Note", fieldName: "f")]), in: user.target, by: user.caller)
            let permit = try user.cloud.uploadPermit(String(asked.tokens[0].url.dropFirst(AssetLinks.uploadPath.count)))
            var left: [UInt8]? = [UInt8](repeating: 1, count: size)
            _ = try await user.cloud.upload(
                permit, by: user.caller,
                next: {
                    defer { left = nil }
                    return left
                })
        }
        try await scene.cloud.user("_ann", in: .public).modify([.create("first")])
        try await send(90_000, as: "_ann")
        await #expect(throws: ServerError.quotaExceeded(isPublic: true)) { try await send(20_000, as: "_ann") }
        try await send(90_000, as: "_bob")
        let saved = try await scene.cloud.user("_bob", in: .public).modify([.create("note", ["text": .string(String(repeating: "x", count: 50_000))])]
        )
        #expect(saved.map(\.error) == [nil])
    }

    // MARK: Copies

    private func copy(_ records: [String], _ scene: AssetCloud) async throws -> [Asset] {
        let request = AssetsRereferenceRequest(
            assets: records.map { .init(recordName: $0, fieldName: "f") }, zoneID: ZoneID(zoneName: "Z"))
        return try await scene.cloud.cloud.rereferenceAssets(request, in: scene.ada.target, by: scene.ada.caller).assets
    }

    @Test func `a request that copies a field twice is refused`() async throws {
        let scene = try await AssetCloud()
        _ = try await scene.save(.asset(try await scene.upload(someBytes(400, seed: 1), "a")), in: "a")
        #expect(try await copy(["a"], scene).count == 1)
        await #expect(throws: ServerError.repeatedName(field: "assets")) { _ = try await copy(["a", "a"], scene) }
    }

    /// Returns an asset in its row's form, of chunks of one size.
    private func asset(_ count: Int, of size: Int) -> StoredAsset {
        let destination = StoredAsset.Destination(zoneName: "Z", recordName: "r", recordType: "T", fieldName: "f", sender: "_ann")
        return StoredAsset(
            id: AssetID(zone: 1, 0, UInt64(count)), destination: destination, created: start, used: nil, size: Int64(count * size), checksum: [],
            chunks: (0..<count).map { AssetChunk(name: ChunkName([UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]), size: size) })
    }

    @Test func `copies have a bound in chunks and in bytes of small files, and one large file always fits`() {
        func isTooMuch(_ assets: StoredAsset...) -> Bool {
            var work = CopyWork()
            for asset in assets { work.add(asset) }
            return work.isTooMuch
        }
        let small = StoredAsset(
            id: AssetID(zone: 1, 0, 1), destination: asset(1, of: 1).destination, created: start, used: nil, size: Int64(Limits.bytesCopied / 2),
            checksum: [],
            chunks: [])
        #expect(!isTooMuch(asset(2000, of: ContentCutter.leastBytes), asset(2000, of: ContentCutter.leastBytes)))
        #expect(isTooMuch(asset(2000, of: ContentCutter.leastBytes), asset(2001, of: ContentCutter.leastBytes)))
        #expect(!isTooMuch(asset(9000, of: ContentCutter.leastBytes)))
        #expect(isTooMuch(asset(9000, of: 1)), "cut smaller than files are")
        #expect(!isTooMuch(small, small) && isTooMuch(small, small, asset(0, of: 1), small))
    }

    @Test func `copies are charged for each chunk, and rows of chunks go some at a time`() async throws {
        let scene = try await AssetCloud()
        let bytes = someBytes(3_000_000, seed: 4)
        for record in ["a", "b"] { _ = try await scene.save(.asset(try await scene.upload(bytes, record)), in: record) }
        let meter = WorkMeter()
        _ = try await WorkMeter.$current.withValue(meter) { try await copy(["a", "b"], scene) }
        #expect(meter.cost >= 2 * scene.files.chunkNames.count && scene.files.chunkNames.count > 3, "\(meter.cost)")
        #expect([asset(1000, of: 1), asset(2000, of: 1), asset(1000, of: 1), asset(1, of: 1)].few.count == 3)
        #expect([asset(9000, of: 1), asset(1, of: 1)].few.count == 1)
        #expect([asset(0, of: 1), asset(9000, of: 1), asset(1, of: 1)].few.count == 2)
        for record in ["a", "b"] { try await scene.ada.modify([.delete(record)], zone: "Z") }
        try await scene.wait(Limits.assetGraceSeconds + 1)
        #expect(scene.files.chunkNames.isEmpty)
    }
}
