import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the chunks that an announced file holds while it is uploaded.
@Suite(.timeLimit(.minutes(5))) struct AnnouncedLifeTests {
    private func announcement(_ bytes: [UInt8]) -> AnnouncedFile {
        var file = AnnouncedFile(chunks: [])
        var cutter = ContentCutter()
        func add(_ bytes: [UInt8]) { file.chunks.append(.init(size: bytes.count, digest: SHA256.digest(bytes))) }
        cutter.add(bytes, add)
        if let rest = cutter.rest() { add(rest) }
        return file
    }

    private func announce(_ bytes: [UInt8], _ scene: AssetCloud, _ record: String) async throws -> (permit: UploadPermit, awaited: AwaitedFile) {
        let item = AssetsUploadRequest.Item(recordName: record, recordType: "Note", fieldName: "f", file: announcement(bytes))
        let asked = try await scene.cloud.cloud.requestUploads(
            AssetsUploadRequest(tokens: [item], zoneID: ZoneID(zoneName: "Z")), in: scene.ada.target, by: scene.ada.caller)
        let permit = try scene.cloud.cloud.uploadPermit(String(asked.tokens[0].url.dropFirst(AssetLinks.uploadPath.count)))
        return (permit, try #require(asked.tokens[0].awaited))
    }

    private func send(_ bytes: [UInt8], _ permit: UploadPermit, _ scene: AssetCloud, at offset: Int = 0) async throws -> Asset {
        guard case .whole(let response) = try await part(bytes, permit, scene, at: offset, isLast: true) else { throw ServerError.unknownUpload }
        return response.singleFile
    }

    private func part(
        _ bytes: some Sequence<UInt8>, _ permit: UploadPermit, _ scene: AssetCloud, at offset: Int, isLast: Bool = false
    ) async throws -> UploadedPart {
        var left: [UInt8]? = Array(bytes)
        return try await scene.cloud.cloud.append(
            permit, by: scene.ada.caller, at: Int64(offset), isLast: isLast,
            next: {
                defer { left = nil }
                return left
            })
    }

    private func orphans(_ scene: AssetCloud) async throws -> [AssetChunk] {
        var orphans: [AssetChunk] = []
        for part in UInt8.min ... .max { orphans += try await scene.cloud.cloud.orphans(in: part, removes: true) }
        return orphans
    }

    @Test func `a process that is killed after any chunk has a successor that goes on there, and nothing is sent twice`() async throws {
        var scene = try await AssetCloud()
        let bytes = someBytes(1_500_000, seed: 7)
        let sizes = announcement(bytes).chunks.map(\.size)
        try #require(sizes.count >= 3)
        let (permit, _) = try await announce(bytes, scene, "a")
        var sent = 0
        for size in sizes {
            _ = try await part(bytes[sent..<sent + size], permit, scene, at: sent)
            sent += size
            scene = AssetCloud(after: scene)
            // A server's first task: files under upload do not count as orphans.
            #expect(try await orphans(scene).isEmpty)
            #expect(try await scene.cloud.cloud.offset(of: permit, by: scene.ada.caller).offset == sent)
            // A client that was killed too announces the file again, and gets the same answer.
            let again = try await announce(bytes, scene, "a")
            #expect(again.permit.announced == permit.announced && again.awaited == AwaitedFile(missing: Array(sizes.indices), offset: Int64(sent)))
        }
        _ = try await scene.save(.asset(try await send([], permit, scene, at: sent)), in: "a")
        #expect(try await scene.download(try await scene.lookUp("a")) == bytes)
        // A complete file needs no row, and its task finds nothing to do.
        try await scene.wait(Limits.assetGraceSeconds + 1)
        #expect(try await scene.download(try await scene.lookUp("a")) == bytes)
        #expect(try await orphans(scene).isEmpty)
    }

    @Test func `of a file whose process was killed nothing is left when its URL has run out`() async throws {
        let first = try await AssetCloud()
        let bytes = someBytes(900_000, seed: 8)
        let (permit, _) = try await announce(bytes, first, "a")
        _ = try await part(bytes.prefix(announcement(bytes).chunks[0].size), permit, first, at: 0)
        let scene = AssetCloud(after: first)
        try await scene.wait(Limits.assetGraceSeconds - 10)
        #expect(scene.files.chunkNames.count == 1)
        try await scene.wait(20)
        #expect(scene.files.chunkNames.isEmpty)
        await #expect(throws: ServerError.self) { _ = try await scene.cloud.cloud.offset(of: permit, by: scene.ada.caller) }
    }

    @Test func `a chunk that came to harm meanwhile is sent again, and where one that was reused is gone, the file is announced again`()
        async throws
    {
        let first = try await AssetCloud()
        let bytes = someBytes(1_500_000, seed: 9)
        let chunks = announcement(bytes).chunks
        let (permit, _) = try await announce(bytes, first, "a")
        let two = chunks[0].size + chunks[1].size
        _ = try await part(bytes.prefix(two), permit, first, at: 0)
        let second = AssetCloud(after: first)
        let id = try #require(permit.announced)
        let upload = try #require(try await first.cloud.cloud.announced(id, in: try await database(first)))
        second.files.damage(upload.purpose.chunks[1].name) { $0[7] ^= 1 }
        #expect(try await second.cloud.cloud.offset(of: permit, by: second.ada.caller).offset == Int64(chunks[0].size))
        let asset = try await send(Array(bytes.dropFirst(chunks[0].size)), permit, second, at: chunks[0].size)
        _ = try await second.save(.asset(asset), in: "a")
        #expect(try await second.download(try await second.lookUp("a")) == bytes)
        let reusing = try await announce(bytes, second, "b")
        #expect(reusing.awaited.missing.isEmpty)
        let third = AssetCloud(after: second)
        third.files.damage(upload.purpose.chunks[0].name) { $0[7] ^= 1 }
        await #expect(throws: ServerError.unknownUpload) { _ = try await third.cloud.cloud.offset(of: reusing.permit, by: third.ada.caller) }
    }

    private func database(_ scene: AssetCloud) async throws -> CallerDatabase {
        try await scene.cloud.cloud.database(scene.ada.target, for: .write, by: scene.ada.caller)
    }

    @Test func `chunks that are reused stay, though the record that had them is gone and collected`() async throws {
        let scene = try await AssetCloud()
        let bytes = someBytes(900_000, seed: 1)
        _ = try await scene.save(.asset(try await scene.upload(bytes, "old")), in: "old")
        try await scene.ada.modify([.delete("old")], zone: "Z")
        scene.cloud.clock.move(bySeconds: Limits.assetGraceSeconds + 1)
        let (permit, awaited) = try await announce(bytes, scene, "new")
        #expect(awaited.missing.isEmpty)
        try await scene.cloud.runAllTasks()
        for part in UInt8.min ... .max { #expect(try await scene.cloud.cloud.orphans(in: part, removes: true).isEmpty) }
        _ = try await scene.save(.asset(try await send([], permit, scene)), in: "new")
        #expect(try await scene.download(try await scene.lookUp("new")) == bytes)
    }

    @Test func `an announced file that nobody sends is forgotten, and its chunks go`() async throws {
        let scene = try await AssetCloud()
        let bytes = someBytes(900_000, seed: 3)
        let (permit, awaited) = try await announce(bytes, scene, "a")
        #expect(awaited.missing.count >= 2)
        var left: [UInt8]? = Array(bytes.prefix(announcement(bytes).chunks[0].size))
        let part = try await scene.cloud.cloud.append(
            permit, by: scene.ada.caller, at: 0, isLast: false,
            next: {
                defer { left = nil }
                return left
            })
        guard case .more = part else { throw ServerError.unknownUpload }
        #expect(scene.files.chunkNames.count == 1)
        scene.cloud.clock.move(bySeconds: Limits.announcedSeconds - 1)
        _ = try await announce(someBytes(900_000, seed: 4), scene, "b")
        #expect(try await scene.cloud.cloud.offset(of: permit, by: scene.ada.caller).offset > 0)
        scene.cloud.clock.move(bySeconds: 2)
        // The next announcement removes old ones.
        _ = try await announce(someBytes(900_000, seed: 5), scene, "c")
        #expect(scene.files.chunkNames.isEmpty)
        await #expect(throws: ServerError.unknownUpload) { _ = try await scene.cloud.cloud.offset(of: permit, by: scene.ada.caller) }
    }

    @Test func `an announced file counts against the quota before a byte of it comes`() async throws {
        let scene = try await AssetCloud(quotas: Quotas(userBytes: 800_000, publicBytes: 0))
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await announce(someBytes(900_000, seed: 2), scene, "a") }
    }

    @Test func `an announced file counts once, on its way and when it is there, and no more when it is forgotten`() async throws {
        let scene = try await AssetCloud(quotas: Quotas(userBytes: 2_000_000, publicBytes: 0))
        let bytes = someBytes(900_000, seed: 4)
        let (permit, _) = try await announce(bytes, scene, "a")
        _ = try await announce(someBytes(900_000, seed: 5), scene, "b")
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await announce(someBytes(900_000, seed: 6), scene, "c") }
        let second = AssetCloud(after: scene)
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await announce(someBytes(900_000, seed: 6), second, "c") }
        // The announced bytes count already.
        _ = try await second.save(.asset(try await send(bytes, permit, second)), in: "a")
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await announce(someBytes(900_000, seed: 6), second, "c") }
        second.cloud.clock.move(bySeconds: Limits.announcedSeconds + 1)
        _ = try? await announce(someBytes(900_000, seed: 7), second, "x")
        try await second.wait(Limits.assetGraceSeconds)
        _ = try await announce(someBytes(900_000, seed: 6), second, "c")
    }

    @Test func `announcements beyond what a user may have on the way are sent whole`() async throws {
        let scene = try await AssetCloud()
        for number in 0..<6 {
            let chunks = (0..<3900).map { index in
                AnnouncedFile.Chunk(size: ContentCutter.leastBytes, digest: SHA256.digest(Array("\(number) \(index)".utf8)))
            }
            let item = AssetsUploadRequest.Item(recordName: "r\(number)", recordType: "Note", fieldName: "f", file: AnnouncedFile(chunks: chunks))
            let asked = try await scene.cloud.cloud.requestUploads(
                AssetsUploadRequest(tokens: [item], zoneID: ZoneID(zoneName: "Z")), in: scene.ada.target, by: scene.ada.caller)
            #expect((asked.tokens[0].awaited != nil) == (number < 5), "\(number)")
        }
    }
}
