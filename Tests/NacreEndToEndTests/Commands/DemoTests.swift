import CloudKit
import Foundation
import Testing

/// Tests of `nacre demo` on real data, and again on the data of its last run.
struct DemoTests {
    /// The file in which the demo keeps its user.
    private struct Credentials: Decodable {
        var email: String
        var password: String
        var apiToken: String
    }

    private static let container = "iCloud.dev.nacre.demo"

    /// Returns another device of the demo's user.
    private func device(_ server: RunningServer) async throws -> CKDatabase {
        let path = server.data + "/demo.json"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let known = try JSONDecoder().decode(Credentials.self, from: Data(contentsOf: URL(filePath: path)))
        let signedIn = try await Nacre.run(
            [
                "user", "sign-in", known.email, "--password-stdin", "--container", Self.container, "--environment", "development",
                "--api-token", known.apiToken, "--account", "--data", server.data,
            ], in: server.scratch, input: known.password)
        try #require(signedIn.status == 0)
        let settings = CloudKitServer(
            url: try WebServicesClient.url(server.url), environment: .development, apiToken: known.apiToken, accountToken: signedIn.line)
        return CKContainer(identifier: Self.container, server: settings).privateCloudDatabase
    }

    @Test func `it prints its timeline, works again on its data, and mends what was changed behind its back`() async throws {
        try await RunningServer.with { server in
            let first = try await Nacre.run(["demo", "--data", server.data], in: server.scratch)
            #expect(first.status == 0, "\(first.messages)")
            for text in [
                "atomic batches", "serverRecordChanged", "deleted", "the 10 time zones nearest to Prague", "with the word", "with it went",
                "drew a ring on it and saved it again: ",
                "A changed a language, and B showed “A language with the word creole changed”",
                "notAuthenticated", "read it and may not change it (permissionFailure)",
                "shared her trip with Ben by its link, and her zone Guide with Cleo", "Cleo was refused (permissionFailure)",
                "Cleo's phone encrypted her plan, and her tablet read it; the server keeps ",
                "Ada removed Ben, and his device was told that the zone is gone", "everything was as it should be",
            ] {
                #expect(first.output.contains(text), "\(text)")
            }
            let times = first.output.split(separator: "\n").compactMap { Double($0.drop { $0 == " " }.prefix { $0 != " " }) }
            #expect(times.count > 5 && times == times.sorted())

            let database = try await device(server)
            let zoneID = CKRecordZone.ID(zoneName: "Atlas")
            let changed = try await database.record(for: CKRecord.ID(recordName: "zone.Europe.Andorra", zoneID: zoneID))
            for key in changed.allKeys() where changed[key] is String { changed[key] = "changed behind its back" }
            try await database.save(changed)
            try await database.deleteRecord(withID: CKRecord.ID(recordName: "zone.Europe.Berlin", zoneID: zoneID))

            // The picture of the first run, as any program reads it: its size, and a point for Prague.
            let map = try await database.record(for: CKRecord.ID(recordName: "atlas-map"))
            let picture = [UInt8](try Data(contentsOf: try #require((map["picture"] as? CKAsset)?.fileURL)))
            #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]) && picture[16..<24].elementsEqual([0, 0, 0, 180, 0, 0, 0, 90]))
            #expect(picture.suffix(12).elementsEqual([0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]))
            #expect(picture.count { $0 == 255 } > 100 && picture.count < 20_000)

            let second = try await Nacre.run(["demo", "--data", server.data, "--json"], in: server.scratch)
            #expect(second.status == 0, "\(second.messages)")
            let report = try second.object()
            #expect(report["run"] as? Double == 2)
            #expect(report["conflictsResolved"] as? Double == 1)
            #expect(report["deletionsFollowed"] as? Double == 1)
            #expect(report["nearest"] as? String == "Europe/Prague")
            #expect((report["languagesByWord"] as? Double ?? 0) > 25)
            #expect(report["deletionsCascaded"] as? Double == 20)
            #expect(report["notificationsHeard"] as? Double == 2)
            #expect(report["sharesAccepted"] as? Double == 2)
            #expect(report["userRecordsRead"] as? Double == 1)
            #expect((report["sealedBytes"] as? Double ?? 0) > 100)
            #expect(report["pictureBytes"] as? Double == Double(picture.count))
            // Some chunks of many: those with the ring, and the end, which has the checksums.
            let (all, sent) = (report["changedPictureBytes"] as? Double ?? 0, report["changedPictureBytesSent"] as? Double ?? 0)
            #expect(all > 2_000_000 && sent > 0 && sent < all * 0.7, "\(sent) of \(all)")
            let compared = try #require(report["recordsCompared"] as? Double)
            #expect(compared == (report["timeZones"] as? Double ?? 0) + (report["languages"] as? Double ?? 0) - 1)
            let mended = try await database.record(for: changed.recordID)
            #expect(!mended.allKeys().contains { mended[$0] as? String == "changed behind its back" })
        }
    }
}
