import Foundation
import FoundationNetworking
import NacreCloudServer
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of encrypted files between devices of one user, over a server in its own process and a connection that counts
/// bytes and breaks.
struct EncryptedAssetTests {
    private struct Scene {
        /// Two processes of a device that has keys.
        let a: CKDatabase
        let b: CKDatabase
        let proxy: CuttingProxy
        let server: RunningServer
        let cloud: NewCloud
        let folder: TemporaryFolder

        /// Starts an app of Ben's, who has keys and takes part in Ada's first zone.
        /// - Returns: also the zone as Ben names it.
        func participant() async throws -> (database: CKDatabase, zone: CKRecordZone.ID) {
            let email = "ben@example.com"
            try await cloud.addUser(email)
            let ben = try EncryptedAssetTests.app(
                of: cloud, token: try await cloud.device(of: email), staging: "\(folder.path)/staged-ben", keys: folder.path + "/keys-ben")
            let first = CKRecord(recordType: "Note")
            first.encryptedValues["diagnosis"] = "none"
            try await ben.privateCloudDatabase.save(first)
            let participant = try await a.container.shareParticipant(forUserRecordID: try await ben.userRecordID())
            participant.permission = .readWrite
            let share = CKShare(recordZoneID: Device.zoneID)
            share.addParticipant(participant)
            let saved = try #require(try await a.save(share) as? CKShare)
            _ = try await ben.accept(try await ben.shareMetadata(for: try #require(saved.url)))
            let owner = try await a.container.userRecordID().recordName
            return (ben.sharedCloudDatabase, CKRecordZone.ID(zoneName: Device.zoneID.zoneName, ownerName: owner))
        }

        /// Returns the bytes that count in Ada's quota.
        func counted() async throws -> Int {
            struct Answer: Decodable {
                struct User: Decodable { var bytes: Int }
                var users: [User]
            }
            let user = try await a.container.userRecordID().recordName
            let admin = try server.admin
            let path = "admin/1/usage?container=\(cloud.container)&environment=development&user=\(user)"
            var request = URLRequest(url: try WebServicesClient.url("\(admin.url)/\(path)"))
            request.setValue("Bearer \(admin.token)", forHTTPHeaderField: "Authorization")
            let answer = try await WebServicesClient.send(request, nil, over: .shared)
            return try #require(try JSONDecoder().decode(Answer.self, from: answer.body).users.first).bytes
        }

        /// Writes a photo, and returns a note that has it.
        func note(_ name: String, _ content: Data, in zone: CKRecordZone.ID = Device.zoneID) throws -> CKRecord {
            let url = URL(fileURLWithPath: folder.path + "/" + name)
            try content.write(to: url)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            record["text"] = "plain bread"
            record["photo"] = CKAsset(fileURL: url)
            return record
        }

        /// Returns the photo of a note as another process fetches it.
        func photo(_ record: CKRecord) async throws -> Data? {
            let asset = try await b.record(for: record.recordID)["photo"] as? CKAsset
            return try asset?.fileURL.map { try Data(contentsOf: $0) }
        }

        /// Returns the bytes of complete chunks in the server's folder.
        func kept() throws -> Int {
            try server.assetChunks().reduce(0) { $0 + (try FileManager.default.attributesOfItem(atPath: $1)[.size] as? Int ?? 0) }
        }
    }

    private static let other = CKRecordZone.ID(zoneName: "Other")

    private static func app(of cloud: NewCloud, token: String, staging: String, keys: String) throws -> CKContainer {
        let settings = CloudKitServer(
            url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token)
        return CKContainer(
            line: ServerLine(
                identifier: cloud.container, source: .explicit(settings), staging: AssetStaging(folder: staging), keyStore: KeyStore(folder: keys),
                log: { _ in }))
    }

    /// Runs two zones of an account that has keys. Files go through the proxy, and all other requests to the server.
    private func withScene(_ body: (Scene) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let proxy = try CuttingProxy()
        defer { proxy.close() }
        try await RunningServer.with(["--public-url", proxy.url]) { server in
            proxy.lead(to: server.port)
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            func database(_ name: String) throws -> CKDatabase {
                try Self.app(of: cloud, token: token, staging: "\(folder.path)/\(name)", keys: folder.path + "/keys").privateCloudDatabase
            }
            let scene = Scene(
                a: try database("staged-a"), b: try database("staged-b"), proxy: proxy, server: server, cloud: cloud, folder: folder)
            for zone in [Device.zoneID, Self.other] { try await scene.a.save(CKRecordZone(zoneID: zone)) }
            let first = Device.note("first", "plain bread")
            first.encryptedValues["diagnosis"] = "measles-7f31"
            try await scene.a.save(first)
            try await body(scene)
        }
    }

    private func bytes(_ count: Int, seed: UInt64) -> Data {
        var state = seed
        var data = Data(capacity: count + 8)
        while data.count < count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state ^ state >> 29) { data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }

    @Test(arguments: [0, 1, 70_000, 1 << 20, 1 << 20 + 1, 3_000_000])
    func `a file comes back on another process of the keys, and no file of the server has its bytes`(count: Int) async throws {
        try await withScene { scene in
            let content = bytes(count, seed: 7)
            let record = try scene.note("one", content)
            let saved = try await scene.a.save(record)
            #expect((saved["photo"] as? CKAsset)?.fileURL?.lastPathComponent == "one")
            #expect(try await scene.photo(record) == content)
            guard count > 1 else { return }
            let parts = [0, count / 2, count - 40].map { content[$0..<$0 + 40] }
            var hasPlain = false
            for path in try FileManager.default.subpathsOfDirectory(atPath: scene.server.data) {
                guard let data = FileManager.default.contents(atPath: "\(scene.server.data)/\(path)") else { continue }
                for part in parts { #expect(data.range(of: part) == nil, "\(path)") }
                hasPlain = hasPlain || data.range(of: Data("plain bread".utf8)) != nil
            }
            #expect(hasPlain, "the search finds what is there")
        }
    }

    @Test func `A20: a file is kept once in a zone, and another zone makes no difference to its upload`() async throws {
        try await withScene { scene in
            let content = bytes(4_000_000, seed: 8)
            try await scene.a.save(scene.note("one", content))
            let (kept, sent) = (try scene.kept(), scene.proxy.sent)
            #expect(sent >= content.count && kept >= content.count)
            scene.proxy.reset()
            let copy = try scene.note("two", content)
            try await scene.b.save(copy)
            #expect(scene.proxy.sent < 10_000, "\(scene.proxy.sent)")
            #expect(try scene.kept() == kept)
            #expect(try await scene.photo(copy) == content)
            scene.proxy.reset()
            let elsewhere = try scene.note("three", content, in: Self.other)
            try await scene.a.save(elsewhere)
            #expect(scene.proxy.sent >= content.count, "\(scene.proxy.sent)")
            #expect(try await scene.photo(elsewhere) == content)
        }
    }

    @Test func `A20: a participant's upload is the same whether the owner has the file in the zone, in another one or not at all`() async throws {
        try await withScene { scene in
            let files = (11...13).map { bytes(3_000_000, seed: $0) }
            try await scene.a.save(scene.note("ours", files[0]))
            try await scene.a.save(scene.note("mine", files[1], in: Self.other))
            scene.proxy.reset()
            try await scene.a.save(scene.note("copy", files[0]))
            #expect(scene.proxy.sent < 10_000, "the owner's own upload is spared, so that the count would show it")
            let (ben, zone) = try await scene.participant()
            var seen: [[Int]] = []
            for (name, file) in zip(["x", "y", "z"], files) {
                let before = try await scene.counted()
                scene.proxy.reset()
                try await ben.save(scene.note(name, file, in: zone))
                seen.append([scene.proxy.sent, scene.proxy.back, try await scene.counted() - before])
                #expect(try await scene.photo(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: Device.zoneID))) == file)
            }
            // Bytes sent, bytes of answers and bytes that count in the owner's quota.
            let unknown = try #require(seen.last)
            #expect(unknown[0] >= 3_000_000 && unknown[2] >= 3_000_000, "\(seen)")
            for one in seen {
                #expect(zip(one, unknown).allSatisfy { abs($0 - $1) < 512 }, "\(seen)")
            }
        }
    }

    @Test func `a large file with one byte changed sends one chunk`() async throws {
        try await withScene { scene in
            var content = bytes(8_000_000, seed: 9)
            let saved = try await scene.a.save(scene.note("one", content))
            content[5_000_000] ^= 1
            saved["photo"] = try scene.note("changed", content)["photo"] as? CKAsset
            scene.proxy.reset()
            try await scene.a.save(saved)
            #expect(scene.proxy.sent > 1 << 20 && scene.proxy.sent < 1 << 20 + 100_000, "\(scene.proxy.sent)")
            #expect(try await scene.photo(saved) == content)
        }
    }

    @Test func `an upload whose server is killed in the middle goes on in the next one where it stood`() async throws {
        try await withScene { scene in
            let content = bytes(16_000_000, seed: 10)
            let record = try scene.note("one", content)
            let database = scene.a
            async let saving = database.save(record)
            while try scene.kept() < 8_000_000 { await Task.yield() }
            await scene.server.kill()
            let (lost, kept) = (scene.proxy.sent, try scene.kept())
            try await scene.server.start()
            _ = try await saving
            // The sealed file is 0.01 percent longer. 200 KB are an upper bound of the heads of requests, and a buffer.
            #expect(scene.proxy.sent <= lost + content.count - kept + 300_000, "\(scene.proxy.sent), \(lost), \(kept)")
            #expect(try await scene.photo(record) == content)
        }
    }
}
