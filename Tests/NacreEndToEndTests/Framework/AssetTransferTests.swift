import Foundation
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of large files over a connection that counts bytes and breaks: only necessary bytes are sent.
struct AssetTransferTests {
    /// Runs a database whose files go through the proxy, while all other requests go straight to the server.
    private func withDatabase(
        _ options: [String] = [], _ body: (CKDatabase, CuttingProxy, TemporaryFolder, RunningServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let proxy = try CuttingProxy()
        defer { proxy.close() }
        try await RunningServer.with(["--public-url", proxy.url] + options) { server in
            proxy.lead(to: server.port)
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let settings = CloudKitServer(
                url: try WebServicesClient.url(server.url), environment: .development, apiToken: cloud.apiToken,
                accountToken: try await cloud.device(of: Device.ada))
            let line = ServerLine(identifier: cloud.container, source: .explicit(settings), staging: AssetStaging(folder: folder.path + "/staged"))
            let database = CKContainer(line: line).privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: Device.zoneID))
            try await body(database, proxy, folder, server)
        }
    }

    private func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
        var state = seed
        var data = Data(capacity: count + 8)
        while data.count < count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state ^ state >> 29) { data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }

    /// An upper bound of the bytes of a test's request heads, and one buffer of the proxy.
    private static let headBytes = 200_000

    /// Returns the bytes of complete chunks in the server's folder.
    private func kept(by server: RunningServer) throws -> Int {
        try server.assetChunks().reduce(0) { $0 + (try FileManager.default.attributesOfItem(atPath: $1)[.size] as? Int ?? 0) }
    }

    private func fetched(_ record: CKRecord, from database: CKDatabase) async throws -> Data? {
        let asset = try await database.record(for: record.recordID)["photo"] as? CKAsset
        return try asset?.fileURL.map { try Data(contentsOf: $0) }
    }

    @Test func `a large file with one byte changed sends less than two percent of itself`() async throws {
        try await withDatabase { database, proxy, folder, _ in
            let url = URL(fileURLWithPath: folder.path + "/photo")
            var content = bytes(24_000_000)
            try content.write(to: url)
            let note = Device.note("one", "bread")
            note["photo"] = CKAsset(fileURL: url)
            let saved = try await database.save(note)
            #expect(proxy.sent >= content.count && proxy.sent < content.count + 100_000, "\(proxy.sent)")
            content[12_000_000] ^= 1
            try content.write(to: url)
            proxy.reset()
            saved["photo"] = CKAsset(fileURL: url)
            _ = try await database.save(saved)
            #expect(proxy.sent > 0 && proxy.sent <= content.count / 50, "\(proxy.sent)")
            #expect(try await fetched(note, from: database) == content)
            // Existing chunks are not sent again.
            proxy.reset()
            let copy = Device.note("two", "olives")
            copy["photo"] = CKAsset(fileURL: url)
            _ = try await database.save(copy)
            #expect(proxy.sent < 10_000, "\(proxy.sent)")
            #expect(try await fetched(copy, from: database) == content)
        }
    }

    @Test func `an upload whose connection breaks again and again goes on, and never begins anew`() async throws {
        try await withDatabase { database, proxy, folder, _ in
            let url = URL(fileURLWithPath: folder.path + "/photo")
            let content = bytes(12_000_000, seed: 2)
            try content.write(to: url)
            let cuts = [2_000_000, 6_000_000, 10_000_000]
            proxy.reset(cuts: cuts)
            let note = Device.note("one", "bread")
            note["photo"] = CKAsset(fileURL: url)
            let operation = CKModifyRecordsOperation(recordsToSave: [note])
            operation.qualityOfService = .utility
            let saved: Result<CKRecord, any Error> = await withCheckedContinuation { continuation in
                operation.perRecordSaveBlock = { continuation.resume(returning: $1) }
                database.add(operation)
            }
            _ = try saved.get()
            // Bytes in socket buffers are lost with each connection; their number depends on the machine.
            #expect(proxy.sent >= content.count && proxy.sent < cuts[2] + content.count, "\(proxy.sent)")
            #expect(try await fetched(note, from: database) == content)
        }
    }

    @Test func `an upload whose server is killed in the middle goes on in the next one where it stood`() async throws {
        try await withDatabase { database, proxy, folder, server in
            let url = URL(fileURLWithPath: folder.path + "/photo")
            let content = bytes(16_000_000, seed: 3)
            try content.write(to: url)
            let note = Device.note("one", "bread")
            note["photo"] = CKAsset(fileURL: url)
            async let saving = database.save(note)
            while try kept(by: server) < 8_000_000 { await Task.yield() }
            await server.kill()
            let (lost, kept) = (proxy.sent, try kept(by: server))
            try await server.start()
            _ = try await saving
            // Kept chunks are not sent again: only the rest.
            #expect(kept >= 8_000_000 && lost >= kept)
            #expect(proxy.sent >= content.count && proxy.sent <= lost + content.count - kept + Self.headBytes, "\(proxy.sent), \(lost), \(kept)")
            #expect(try await fetched(note, from: database) == content)
        }
    }

    @Test func `a download whose server is killed in the middle goes on where it stood`() async throws {
        try await withDatabase { database, proxy, folder, server in
            let url = URL(fileURLWithPath: folder.path + "/photo")
            let content = bytes(24_000_000, seed: 4)
            try content.write(to: url)
            let note = Device.note("one", "bread")
            note["photo"] = CKAsset(fileURL: url)
            _ = try await database.save(note)
            proxy.reset()
            async let fetching = fetched(note, from: database)
            while proxy.back < 16_000_000 { await Task.yield() }
            await server.kill()
            try await server.start()
            #expect(try await fetching == content)
            // Only bytes in socket buffers are sent again.
            #expect(proxy.back >= content.count && proxy.back <= content.count + 12_000_000, "\(proxy.back)")
        }
    }

    @Test func `a download whose app is killed in the middle is gone on with by the next one`() async throws {
        try await withDatabase { database, proxy, folder, server in
            let url = URL(fileURLWithPath: folder.path + "/photo")
            let content = bytes(24_000_000, seed: 5)
            try content.write(to: url)
            let note = Device.note("one", "bread")
            note["photo"] = CKAsset(fileURL: url)
            _ = try await database.save(note)
            proxy.reset(endBack: 16_000_000)
            let fetching = Task { [self] in try await fetched(note, from: database) }
            // A part and its tag, copied while the app waits for the network: what a killed app leaves, without its
            // locks.
            let (staged, next) = (folder.path + "/staged", folder.path + "/next")
            func names() -> [String] { ((try? FileManager.default.contentsOfDirectory(atPath: staged)) ?? []).sorted() }
            func size(_ path: String) -> Int { (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0 }
            while !names().contains(where: { $0.hasSuffix(".part") && size("\(staged)/\($0)") >= 1_000_000 }) { await Task.yield() }
            try FileManager.default.createDirectory(atPath: next, withIntermediateDirectories: false)
            for name in names() { try FileManager.default.copyItem(atPath: "\(staged)/\(name)", toPath: "\(next)/\(name)") }
            fetching.cancel()
            _ = try? await fetching.value
            // A cancelled download leaves no files, once its connection has ended.
            while !names().isEmpty { await Task.yield() }
            let kept = try FileManager.default.contentsOfDirectory(atPath: next).filter { $0.hasSuffix(".part") }.map { size("\(next)/\($0)") }
            try #require(kept.count == 1 && kept[0] >= 1_000_000 && kept[0] <= 16_000_000)
            proxy.reset()
            proxy.lead(to: server.port)
            let line = ServerLine(identifier: database.line.identifier, source: database.line.source, staging: AssetStaging(folder: next))
            #expect(try await fetched(note, from: CKContainer(line: line).privateCloudDatabase) == content)
            let rest = content.count - kept[0]
            #expect(proxy.back >= rest && proxy.back <= rest + Self.headBytes, "\(proxy.back), \(rest)")
        }
    }

    @Test func `a file beyond the server's size for apps fails its record before its bytes travel`() async throws {
        try await withDatabase(["--asset-size-app", "1M"]) { database, proxy, folder, _ in
            let url = URL(fileURLWithPath: folder.path + "/photo")
            try bytes(1_200_000).write(to: url)
            let note = Device.note("one", "bread")
            note["photo"] = CKAsset(fileURL: url)
            let error = await #expect(throws: CKError.self) { try await database.save(note) }
            #expect(error?.code == .limitExceeded, "\(String(describing: error))")
            #expect(proxy.sent == 0)
            try bytes(1_000_000).write(to: url)
            note["photo"] = CKAsset(fileURL: url)
            _ = try await database.save(note)
            #expect(try await fetched(note, from: database) == bytes(1_000_000))
        }
    }
}
