import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudContainer

/// What an announced file holds while it is on its way.
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

    private func send(_ bytes: [UInt8], _ permit: UploadPermit, _ scene: AssetCloud) async throws -> Asset {
        var left: [UInt8]? = bytes
        let part = try await scene.cloud.cloud.append(
            permit, by: scene.ada.caller, at: 0, isLast: true,
            next: {
                defer { left = nil }
                return left
            })
        guard case .whole(let response) = part else { throw ServerError.unknownUpload }
        return response.singleFile
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
        // The next announcement looks for old ones.
        _ = try await announce(someBytes(900_000, seed: 5), scene, "c")
        #expect(scene.files.chunkNames.isEmpty)
        await #expect(throws: ServerError.unknownUpload) { _ = try await scene.cloud.cloud.offset(of: permit, by: scene.ada.caller) }
    }

    @Test func `an announced file counts against the quota before a byte of it comes`() async throws {
        let scene = try await AssetCloud(quotas: Quotas(userBytes: 800_000, publicBytes: 0))
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await announce(someBytes(900_000, seed: 2), scene, "a") }
    }

    @Test func `announcements beyond what a user may have on the way are sent whole`() async throws {
        let scene = try await AssetCloud()
        let chunk = 600_000 / 5000
        for number in 0..<5 {
            let chunks = (0..<5000).map { index in
                AnnouncedFile.Chunk(size: chunk, digest: SHA256.digest(Array("\(number) \(index)".utf8)))
            }
            let item = AssetsUploadRequest.Item(recordName: "r\(number)", recordType: "Note", fieldName: "f", file: AnnouncedFile(chunks: chunks))
            let asked = try await scene.cloud.cloud.requestUploads(
                AssetsUploadRequest(tokens: [item], zoneID: ZoneID(zoneName: "Z")), in: scene.ada.target, by: scene.ada.caller)
            #expect((asked.tokens[0].awaited != nil) == (number < 4), "\(number)")
        }
    }
}
