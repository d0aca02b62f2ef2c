import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of asset downloads, before the records with the assets are delivered.
struct AssetDownloadTests {
    private let setting: Setting
    private let folder: TemporaryFolder

    /// Makes a server with two notes that have a photo each.
    init() async throws {
        folder = try TemporaryFolder()
        setting = Setting(staging: AssetStaging(folder: folder.path + "/staging"))
        for (name, text) in [("a", "AAAAAAAAAA"), ("b", "BBBBBBBBBB")] {
            try text.write(to: folder.url(name), atomically: false, encoding: .utf8)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
            record["photo"] = CKAsset(fileURL: folder.url(name))
            record["text"] = name
            try await setting.database.save(record)
        }
    }

    private var staged: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/staging")) ?? [] }
    private var checksums: [String] {
        get async {
            var result: [String] = []
            for name in ["a", "b"] { result += await setting.cloud.stored(name)?.fields["photo"]?.assets?.map(\.fileChecksum) ?? [] }
            return result
        }
    }
    private var downloads: Int { get async { await setting.cloud.transfers.count { !$0.hasPrefix("bytes/to-") } } }

    private static let ids = ["a", "b"].map { CKRecord.ID(recordName: $0) }

    private static func bytes(_ record: CKRecord?) -> String? {
        (record?["photo"] as? CKAsset)?.fileURL.flatMap { try? String(contentsOf: $0, encoding: .utf8) }
    }

    @Test func `a fetched record has its asset's bytes in a file of the staging folder`() async throws {
        let record = try await setting.database.record(for: Self.ids[0])
        #expect(Self.bytes(record) == "AAAAAAAAAA" && record.changedKeys().isEmpty)
        let path = try #require((record["photo"] as? CKAsset)?.fileURL?.path)
        #expect(path.hasPrefix(folder.path + "/staging/") && staged.count == 1)
        let request = try #require(await setting.cloud.seen.last?.request)
        #expect(request.headers.isEmpty && request.url.lastPathComponent == "asset", "no credentials, and a name where CloudKit has a place for one")
    }

    @Test func `what is not among the desired keys costs no byte`() async throws {
        let found = try await setting.database.records(for: Self.ids, desiredKeys: ["text"])
        #expect(try found[Self.ids[0]]?.get()["text"] as? String == "a" && found.count == 2)
        #expect(await downloads == 0 && staged.isEmpty)
    }

    @Test func `a record that was fetched and saved back sends no file`() async throws {
        let record = try await setting.database.record(for: Self.ids[0])
        record["text"] = "edited"
        try await setting.database.save(record)
        #expect(await setting.cloud.paths.count { $0 == "assets/upload" } == 2, "those of the beginning")
        #expect(Self.bytes(record) == "AAAAAAAAAA", "and keeps its file")
    }

    @Test func `a query tells records with their files, in its order`() async throws {
        var records: [Record] = []
        for name in ["b", "a"] {
            if let record = await setting.cloud.stored(name) { records.append(await setting.cloud.shown(record)) }
        }
        await setting.cloud.answerQueries(RecordsQueryResponse(records: records))
        let found = try await setting.database.records(matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        #expect(try found.matchResults.map { Self.bytes(try $0.1.get()) } == ["BBBBBBBBBB", "AAAAAAAAAA"])
    }

    @Test func `changes are told with their files, in their order`() async throws {
        let a = await setting.cloud.shown(try #require(await setting.cloud.stored("a")))
        let zone = ZoneID(zoneName: "Notes")
        await setting.cloud.answerZoneChanges(
            .page(
                .init(
                    zoneID: zone, records: [.deleted(Tombstone(recordName: "x", recordType: "Note")), .record(a)], syncToken: "t", moreComing: false))
        )
        let diary = Diary()
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [CKRecordZone.ID(zoneName: "Notes")], configurationsByRecordZoneID: nil)
        operation.recordWasChangedBlock = { _, result in diary.note(Self.bytes(result.value) ?? "none") }
        operation.recordWithIDWasDeletedBlock = { id, _ in diary.note("-\(id.recordName)") }
        operation.recordZoneFetchResultBlock = { _, result in diary.note(result.map { _ in () }.word) }
        await setting.run(operation)
        #expect(diary.entries == ["-x", "AAAAAAAAAA", "ok"])
    }

    // MARK: Failures

    @Test func `bytes that the server has not are that record's error alone`() async throws {
        await setting.cloud.lose(await checksums[0])
        let found = try await setting.database.records(for: Self.ids)
        let error = try #require(found[Self.ids[0]]?.error as? CKError)
        #expect(error.code == .assetNotAvailable && error.userInfo["CKErrorField"] as? String == "photo")
        #expect(Self.bytes(found[Self.ids[1]]?.value) == "BBBBBBBBBB" && staged.count == 1)
    }

    @Test func `a URL that has run out is asked for again`() async throws {
        await setting.cloud.failTransfers(.refused(status: 403))
        #expect(Self.bytes(try await setting.database.record(for: Self.ids[0])) == "AAAAAAAAAA")
        #expect(
            await setting.cloud.paths.suffix(4).map { $0.hasPrefix("bytes") ? "bytes" : $0 } == [
                "records/lookup", "bytes", "records/lookup", "bytes",
            ])
    }

    @Test func `a connection that dies again and again is no end while bytes come`() async throws {
        await setting.cloud.failTransfers(.lostAfter(2), .lostAfter(2), .notSent, .lostAfter(2), .lostAfter(1), .lostAfter(1))
        #expect(Self.bytes(try await setting.database.record(for: Self.ids[0])) == "AAAAAAAAAA")
        #expect(await downloads == 7)
    }

    @Test func `one that dies without a byte is given up, and leaves no file`() async throws {
        await setting.cloud.failTransfers(.lostAfter(2), .lostAfter(0), .lostAfter(0), .lostAfter(0), .lostAfter(0))
        let error = await #expect(throws: CKError.self) { try await setting.database.record(for: Self.ids[0]) }
        #expect(error?.code == .networkFailure && staged.isEmpty)
    }

    @Test func `with the network gone the records that are left hear it at once`() async throws {
        await setting.cloud.failTransfers(.notSent, .notSent)
        let found = try await setting.database.records(for: Self.ids)
        #expect(found.values.map(\.word) == ["networkUnavailable", "networkUnavailable"] && staged.isEmpty)
    }

    @Test func `one asset of two that does not come takes the other's file along`() async throws {
        try "more".write(to: folder.url("more"), atomically: false, encoding: .utf8)
        let record = try await setting.database.record(for: Self.ids[0], keys: [])
        record["more"] = CKAsset(fileURL: folder.url("more"))
        try await setting.database.save(record)
        await setting.cloud.lose(await checksums[0])
        let error = await #expect(throws: CKError.self) { try await setting.database.record(for: Self.ids[0]) }
        #expect(error?.code == .assetNotAvailable && staged.isEmpty)
    }

    // MARK: Progress and cancelling

    @Test func `progress is the part of the bytes that came, and one when the record is there`() async throws {
        let diary = Diary()
        let operation = CKFetchRecordsOperation(recordIDs: [Self.ids[0]])
        operation.perRecordProgressBlock = { _, fraction in diary.note("\(fraction)") }
        operation.perRecordResultBlock = { _, result in diary.note(result.word) }
        await setting.run(operation)
        #expect(diary.entries == ["0.5", "1.0", "ok"])
    }

    @Test func `cancelling leaves no file behind, and tells no record`() async throws {
        await setting.cloud.failTransfers(.hangs)
        let diary = Diary()
        let operation = CKFetchRecordsOperation(recordIDs: Self.ids)
        operation.perRecordProgressBlock = { _, _ in operation.cancel() }
        operation.perRecordResultBlock = { id, _ in diary.note(id.recordName) }
        operation.fetchRecordsResultBlock = { diary.note($0.word) }
        await setting.run(operation)
        #expect(diary.entries.last == "operationCancelled" && !diary.entries.contains("a"))
        #expect(staged.count == diary.entries.count - 1, "the files of those that were told")
    }
}

extension CKDatabase {
    fileprivate func record(for id: CKRecord.ID, keys: [String]) async throws -> CKRecord {
        guard let result = try await records(for: [id], desiredKeys: keys)[id] else { throw CKError(.internalError) }
        return try result.get()
    }
}
