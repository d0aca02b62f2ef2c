import Foundation
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of files in records, from one device to the other over a server in its own process.
struct AssetTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Returns a device of Ada's, whose fetched files go into a folder of the test.
    private func device(_ name: String, _ cloud: NewCloud) async throws -> CKDatabase {
        let server = CloudKitServer(
            url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken,
            accountToken: try await cloud.device(of: Device.ada))
        let staging = AssetStaging(folder: folder.path + "/" + name)
        return CKContainer(line: ServerLine(identifier: cloud.container, source: .explicit(server), staging: staging)).privateCloudDatabase
    }

    private func pair(_ body: (_ a: CKDatabase, _ b: CKDatabase) async throws -> Void) async throws {
        try await Device.pair { _, _, cloud in try await body(try await device("a", cloud), try await device("b", cloud)) }
    }

    private func staged(_ name: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/" + name)) ?? [] }

    /// Makes a file of bytes that do not repeat.
    private func file(_ name: String, bytes: Int, seed: UInt64 = 1) throws -> CKAsset {
        var state = seed
        var data = Data(capacity: bytes + 8)
        while data.count < bytes {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state ^ state >> 29) { data.append(contentsOf: $0) }
        }
        let url = URL(fileURLWithPath: "\(folder.path)/\(name)")
        try data.prefix(bytes).write(to: url)
        return CKAsset(fileURL: url)
    }

    private static func bytes(_ asset: (any __CKRecordObjCValue)?) throws -> Data {
        try Data(contentsOf: try #require((asset as? CKAsset)?.fileURL))
    }

    @Test(arguments: [0, 1, 70_000, 3_000_000])
    func `what one device saves the other fetches, byte by byte`(count: Int) async throws {
        try await pair { a, b in
            let note = Device.note("one", "bread")
            note["photo"] = try file("photo", bytes: count)
            let saved = try await a.save(note)
            #expect((saved["photo"] as? CKAsset)?.fileURL == (note["photo"] as? CKAsset)?.fileURL)
            let read = try await b.record(for: note.recordID)
            #expect(try Self.bytes(read["photo"]) == Self.bytes(note["photo"]) && read["text"] as? String == "bread")
            let path = try #require((read["photo"] as? CKAsset)?.fileURL?.path)
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600 && staged("b").count == 1)
        }
    }

    @Test func `lists, changes and queries carry files, and desired keys leave them out`() async throws {
        try await pair { a, b in
            let note = Device.note("one", "bread")
            note["pages"] = [try file("1", bytes: 100, seed: 1), try file("2", bytes: 200_000, seed: 2), try file("3", bytes: 300, seed: 3)]
            try await a.save(note)
            let changes = try await b.recordZoneChanges(inZoneWith: Device.zoneID, since: nil)
            let read = try #require(try changes.modificationResultsByID[note.recordID]?.get().record)
            let pages = try #require(read["pages"] as? [CKAsset])
            let files = try #require(note["pages"] as? [CKAsset])
            #expect(try pages.map { try Self.bytes($0) } == files.map { try Self.bytes($0) } && staged("b").count == 3)

            let lean = try await b.records(for: [note.recordID], desiredKeys: ["text"])
            #expect(try lean[note.recordID]?.get().allKeys() == ["text"] && staged("b").count == 3)

            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "bread"))
            let found = try await b.records(matching: query, inZoneWith: Device.zoneID)
            let match = try #require(try found.matchResults.first?.1.get())
            #expect((match["pages"] as? [CKAsset])?.count == 3 && staged("b").count == 6)
        }
    }

    @Test func `a record that is fetched, edited and saved keeps its file on the server, also with all keys`() async throws {
        try await pair { a, b in
            let note = Device.note("one", "bread")
            note["photo"] = try file("photo", bytes: 100_000)
            try await a.save(note)
            let read = try await b.record(for: note.recordID)
            read["text"] = "wine"
            try await b.save(read)
            read["text"] = "olives"
            let results = try await b.modifyRecords(saving: [read], deleting: [], savePolicy: .allKeys)
            _ = try results.saveResults[read.recordID]?.get()
            let again = try await a.record(for: note.recordID)
            #expect(try Self.bytes(again["photo"]) == Self.bytes(note["photo"]) && again["text"] as? String == "olives")
        }
    }

    @Test func `a file takes another's place, moves to another record, and is taken away`() async throws {
        try await pair { a, b in
            let note = Device.note("one", "bread")
            note["photo"] = try file("first", bytes: 1000, seed: 1)
            try await a.save(note)
            note["photo"] = try file("second", bytes: 2000, seed: 2)
            try await a.save(note)
            let read = try await b.record(for: note.recordID)
            #expect(try Self.bytes(read["photo"]).count == 2000)
            let other = Device.note("two", "wine")
            other["photo"] = read["photo"] as? CKAsset
            try await b.save(other)
            #expect(try Self.bytes(try await a.record(for: other.recordID)["photo"]).count == 2000)
            read["photo"] = nil
            try await b.save(read)
            #expect(try await a.record(for: note.recordID)["photo"] == nil)
        }
    }

    @Test func `in a conflict the server's record says of a file only that it is there, and the merge keeps it`() async throws {
        try await pair { a, b in
            let note = Device.note("one", "bread")
            note["photo"] = try file("photo", bytes: 1000)
            try await a.save(note)
            let yours = try await b.record(for: note.recordID)
            note["text"] = "bread, olives"
            try await a.save(note)
            yours["text"] = "bread, wine"
            let error = try #require(await #expect(throws: CKError.self) { try await b.save(yours) })
            let merged = try #require(error.serverRecord)
            #expect((merged["photo"] as? CKAsset)?.fileURL == nil && merged["photo"] is CKAsset)
            merged["text"] = "bread, olives, wine"
            try await b.save(merged)
            #expect(try Self.bytes(try await a.record(for: note.recordID)["photo"]).count == 1000)
        }
    }

    @Test func `many records with files travel in one operation, with progress`() async throws {
        try await pair { a, b in
            let records = try (0..<20).map { number in
                let record = Device.note("n\(number)", "\(number)")
                record["photo"] = try file("f\(number)", bytes: 400_000 + number, seed: UInt64(number + 1))
                return record
            }
            _ = try await a.modifyRecords(saving: records, deleting: []).saveResults.values.map { try $0.get() }
            let fractions = await withCheckedContinuation { continuation in
                let operation = CKFetchRecordsOperation(recordIDs: records.map(\.recordID))
                nonisolated(unsafe) var fractions: [CKRecord.ID: [Double]] = [:]
                operation.perRecordProgressBlock = { fractions[$0, default: []].append($1) }
                operation.fetchRecordsResultBlock = { _ in continuation.resume(returning: fractions) }
                b.add(operation)
            }
            #expect(fractions.count == 20 && fractions.values.allSatisfy { $0 == $0.sorted() && $0.last == 1 } && staged("b").count == 20)
        }
    }

    @Test func `a file that is gone fails its record, and the others of the operation are saved`() async throws {
        try await pair { a, b in
            let lost = Device.note("lost", "x")
            lost["photo"] = CKAsset(fileURL: URL(fileURLWithPath: folder.path + "/none"))
            let good = Device.note("good", "y")
            good["photo"] = try file("photo", bytes: 10)
            let results = try await a.modifyRecords(saving: [lost, good], deleting: [], atomically: false).saveResults
            let error = #expect(throws: CKError.self) { try results[lost.recordID]?.get() }
            #expect(error?.code == .assetFileNotFound)
            #expect(try Self.bytes(try await b.record(for: good.recordID)["photo"]).count == 10)
        }
    }
}
