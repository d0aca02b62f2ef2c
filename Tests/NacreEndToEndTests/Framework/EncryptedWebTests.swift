import Foundation
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of encrypted values and files between a device of the framework and a page with CloudKit JS.
struct EncryptedWebTests {
    private static let node = "/usr/bin/node"
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Web/cloudkit/tests/support/neighbour.mjs").standardizedFileURL.path

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: node)), "nodejs is not installed"))
    func `a value and a file of chunks that the framework seals open in CloudKit JS, and those of CloudKit JS in the framework`() async throws {
        let folder = try TemporaryFolder()
        let content = [7, 31].map { factor in Data((0..<(2 << 20) + 5).map { UInt8(truncatingIfNeeded: ($0 &* factor) >> 3) }) }
        let files = ["app", "page", "opened"].map { URL(fileURLWithPath: "\(folder.path)/\($0)") }
        for (file, bytes) in zip(files, content) { try bytes.write(to: file) }
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let settings = CloudKitServer(
                url: try WebServicesClient.url(server.url), environment: .development, apiToken: cloud.apiToken,
                accountToken: try await cloud.device(of: Device.ada))
            let line = ServerLine(
                identifier: cloud.container, source: .explicit(settings), staging: AssetStaging(folder: "\(folder.path)/staged"),
                keyStore: KeyStore(folder: folder.path + "/keys"), log: { _ in })
            let container = CKContainer(line: line)
            let database = container.privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: Device.zoneID))
            let note = Device.note("app", "plain bread")
            note.encryptedValues["diagnosis"] = "measles-7f31"
            note["photo"] = CKAsset(fileURL: files[0])
            try await database.save(note)

            let asked = [
                "serverURL": server.url, "containerIdentifier": cloud.container, "apiToken": cloud.apiToken,
                "webAuthToken": try #require(try await cloud.signIn(Device.ada, kind: "web")["token"]),
                "words": try await container.userKeys().recoveryWords().words.joined(separator: " "), "zoneName": Device.zoneID.zoneName,
                "opened": files[2].path, "toSeal": files[1].path,
            ]
            let (status, output) = try await Program(Self.node, [Self.page])
                .run(input: [UInt8](try JSONEncoder().encode(asked)), keepsErrors: true)
            try #require(status == 0, "\(String(decoding: output, as: UTF8.self))")
            #expect(try Data(contentsOf: files[2]) == content[0])

            let answer = try await database.record(for: Device.recordID("page"))
            #expect(answer.encryptedValues["diagnosis"] == "measles-7f31, says the page")
            let photo = try #require((answer["photo"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: photo) == content[1])
        }
    }
}
