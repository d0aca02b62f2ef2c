import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of uploads of files, before their records are saved.
struct AssetUploadTests {
    private let setting = Setting()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func file(_ name: String, _ text: String = "0123456789") throws -> URL {
        let url = URL(fileURLWithPath: folder.path + "/" + name)
        try text.write(to: url, atomically: false, encoding: .utf8)
        return url
    }

    private func note(_ name: String, _ url: URL, zone: CKRecordZone.ID = .default) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["photo"] = CKAsset(fileURL: url)
        record["text"] = name
        return record
    }

    /// Saves, and returns the result of each record by name.
    private func save(
        _ records: [CKRecord], atomically: Bool = false, _ prepare: (CKModifyRecordsOperation) -> Void = { _ in }
    ) async -> (words: [String: String], end: String, errors: [String: CKError]) {
        let diary = Diary()
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        operation.isAtomic = atomically
        // ThreadSanitizer does not see through Foundation's completion block, after which they are read.
        let words = Locked<[String: String]>([:])
        let errors = Locked<[String: CKError]>([:])
        operation.perRecordSaveBlock = { id, result in
            words.withLock { $0[id.recordName] = result.word }
            errors.withLock { $0[id.recordName] = result.error as? CKError }
        }
        operation.modifyRecordsResultBlock = { diary.note($0.word) }
        prepare(operation)
        await setting.run(operation)
        return (words.withLock { $0 }, diary.entries.joined(), errors.withLock { $0 })
    }

    @Test func `files are sent before the records, and the records carry what the server said of them`() async throws {
        let a = note("a", try file("a", "AAAA"))
        a["list"] = [CKAsset(fileURL: try file("x", "xx")), CKAsset(fileURL: try file("y", "yyy"))]
        let result = await save([a, note("b", try file("b", "BBBBB"))])
        #expect(result.words == ["a": "ok", "b": "ok"] && result.end == "ok")
        let paths = await setting.cloud.paths
        #expect(Array(paths.prefix(2)) == ["keys/log", "assets/upload"] && paths.last == "records/modify" && paths.count == 7)
        let stored = try #require(await setting.cloud.stored("a"))
        #expect(stored.fields["list"]?.assets?.map(\.size) == [2, 3] && stored.fields["photo"]?.assets?.map(\.size) == [4])
        let sent = try #require(try await setting.cloud.modifications().first?.operations.first?.get().change.set)
        #expect(sent["photo"]?.assets?.first?.receipt == "receipt" && sent["text"] == .string("a"))
        #expect((a["photo"] as? CKAsset)?.fileURL?.lastPathComponent == "a" && a.changedKeys().isEmpty)
    }

    @Test func `where the bytes go gets no credentials`() async throws {
        _ = await save([note("a", try file("a"))])
        let request = try #require(await setting.cloud.seen.first { $0.path.hasPrefix("bytes/") }?.request)
        #expect(request.headers == ["Content-Type": "application/octet-stream"] && request.url.absoluteString == "http://bytes.test/bytes/to-1")
    }

    @Test func `the record handed back has the app's files`() async throws {
        let saved = try await setting.database.save(note("a", try file("a")))
        #expect((saved["photo"] as? CKAsset)?.fileURL?.lastPathComponent == "a" && saved.changedKeys().isEmpty)
    }

    @Test func `a record that is saved again sends no file again`() async throws {
        let record = note("a", try file("a"))
        _ = await save([record])
        record["text"] = "other"
        #expect(await save([record]).words == ["a": "ok"])
        #expect(await save([record]) { $0.savePolicy = .allKeys }.words == ["a": "ok"])
        #expect(await setting.cloud.transfers.count == 1)
        #expect(await setting.cloud.stored("a")?.fields["photo"]?.assets?.first?.size == 10)
    }

    @Test func `a file that was sent for a save that failed is not sent again for the same field, unless it changed`() async throws {
        _ = await save([note("a", try file("first"))])
        let url = try file("second", "second")
        let mine = note("a", url)
        let error = try #require(await save([mine]).errors["a"])
        let merged = try #require(error.serverRecord)
        merged["photo"] = mine["photo"] as? CKAsset
        #expect(await save([merged]).words == ["a": "ok"])
        #expect(await setting.cloud.transfers.count == 2)
        #expect(await setting.cloud.stored("a")?.fields["photo"]?.assets?.first?.size == 6)

        let other = note("b", url)
        other["photo"] = mine["photo"] as? CKAsset
        #expect(await save([other]).words == ["b": "ok"])
        #expect(await setting.cloud.transfers.count == 3, "the proof is for one record")
        try "changed since".write(to: url, atomically: false, encoding: .utf8)
        #expect(await save([mine]).words == ["a": "serverRecordChanged"])
        #expect(await setting.cloud.transfers.count == 4)
    }

    @Test func `a file that is gone fails its record alone`() async throws {
        let gone = note("gone", folder.url("none"))
        let result = await save([note("a", try file("a")), gone, note("b", try file("b"))])
        #expect(result.words == ["a": "ok", "gone": "assetFileNotFound", "b": "ok"] && result.end == "ok")
        #expect(result.errors["gone"]?.userInfo["CKErrorField"] as? String == "photo")
        #expect(await setting.cloud.transfers.count == 2)
    }

    @Test func `each record is told once, also where a file is gone and the records are refused`() async throws {
        await setting.cloud.addZone("Notes")
        await setting.cloud.failNext(.none, .none, .answer(status: 403, headers: [:], body: []))
        let zone = CKRecordZone.ID(zoneName: "Notes")
        let diary = Diary()
        let records = [note("a", try file("a")), note("gone", folder.url("none")), note("later", try file("b"), zone: zone)]
        let result = await save(records) { operation in
            let tell = operation.perRecordSaveBlock
            operation.perRecordSaveBlock = { id, result in
                diary.note(id.recordName)
                tell?(id, result)
            }
        }
        #expect(diary.entries.sorted() == ["a", "gone", "later"] && result.end == "ok")
        #expect(result.words == ["a": "permissionFailure", "gone": "permissionFailure", "later": "ok"])
    }

    @Test func `with isAtomic a file that is gone fails its zone, and no byte is sent`() async throws {
        let result = await save([note("a", try file("a")), note("gone", folder.url("none"))], atomically: true)
        #expect(result.words == ["a": "batchRequestFailed", "gone": "assetFileNotFound"])
        #expect(await setting.cloud.paths == ["keys/log"])
    }

    @Test func `what cannot be read is not available`() async throws {
        let result = await save([note("folder", URL(fileURLWithPath: folder.path))])
        #expect(result.words == ["folder": "assetNotAvailable"])
    }

    @Test func `what was to come from a photo library is not available, and fails its record alone`() async throws {
        let id = try JSONDecoder().decode(CKAsset.ExportedAssetID.self, from: Data("\"x\"".utf8))
        #expect(try JSONEncoder().encode(id) == Data("\"x\"".utf8))
        let imported = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "imported"))
        let asset = CKAsset(importing: id)
        imported["photo"] = asset
        #expect(asset.fileURL == nil)
        let result = await save([note("a", try file("a")), imported])
        #expect(result.words == ["a": "ok", "imported": "assetNotAvailable"] && result.end == "ok")
        #expect(result.errors["imported"]?.userInfo["CKErrorField"] as? String == "photo")
    }

    @Test func `a place that was asked for long ago is asked for again`() async throws {
        let time = setting.time
        // Time passes while four files are uploaded and the fifth waits.
        let waiting = Locked<[CheckedContinuation<Void, Never>]>([])
        let meet = TransferFault.meanwhile {
            await withCheckedContinuation { continuation in
                let all = waiting.withLock { waiting in
                    waiting.append(continuation)
                    return waiting.count == 4 ? waiting : []
                }
                if !all.isEmpty { time.pass(700) }
                for each in all { each.resume() }
            }
        }
        await setting.cloud.failTransfers(meet, meet, meet, meet)
        let url = try file("a")
        #expect(await save((0..<5).map { note("n\($0)", url) }).words.count == 5)
        #expect(await setting.cloud.paths.count { $0 == "assets/upload" } == 2)
        #expect(await setting.cloud.transfers.last == "bytes/to-6")
    }

    @Test(arguments: ["0123456789+", "9876543210"])
    func `a file that changes while it is sent fails its record`(text: String) async throws {
        let url = try file("a")
        await setting.cloud.failTransfers(
            .meanwhile {
                try? text.write(to: url, atomically: false, encoding: .utf8)
                try? FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 5)], ofItemAtPath: url.path)
            })
        #expect(await save([note("a", url)]).words == ["a": "assetFileModified"])
        #expect(await setting.cloud.stored("a") == nil)
    }

    @Test func `a file replaced by another of the same size is a change`() async throws {
        let url = try file("a")
        await setting.cloud.failTransfers(.meanwhile { try? "9876543210".write(to: url, atomically: true, encoding: .utf8) })
        #expect(await save([note("a", url)]).words == ["a": "assetFileModified"])
    }

    @Test func `a link is what it leads to`() async throws {
        let url = folder.url("link")
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: try file("a", "AAAA"))
        #expect(await save([note("a", url)]).words == ["a": "ok"])
        #expect(await setting.cloud.stored("a")?.fields["photo"]?.assets?.first?.size == 4)
    }

    // MARK: The network

    @Test func `a connection that dies under a file is followed by another, to another place`() async throws {
        await setting.cloud.failTransfers(.lostAfter(3), .refused(status: 503))
        #expect(await save([note("a", try file("a"))]).words == ["a": "ok"])
        #expect(await setting.cloud.transfers == ["bytes/to-1", "bytes/to-2", "bytes/to-3"] && setting.time.pauses == [0.25, 1])
    }

    @Test func `a network that stays away is the operation's error, and nothing is said to be lost`() async throws {
        await setting.cloud.failTransfers(.lostAfter(3), .lostAfter(3), .lostAfter(3), .lostAfter(3))
        let result = await save([note("a", try file("a"))])
        #expect(result.end == "networkFailure" && result.words.isEmpty)
        #expect(await !setting.cloud.paths.contains("records/modify"))
    }

    @Test func `a file that the server refuses fails its record alone`() async throws {
        await setting.cloud.failTransfers(.refused(status: 413))
        let result = await save([note("a", try file("a")), note("b", try file("b"))])
        #expect(result.words.values.sorted() == ["limitExceeded", "ok"] && result.end == "ok")
    }

    @Test func `a batch that is too large for one answer is sent in halves, and each file once`() async throws {
        await setting.cloud.limitAnswers(to: 2)
        let records = try (0..<5).map { note("n\($0)", try file("f\($0)")) }
        #expect(await save(records).words.values.allSatisfy { $0 == "ok" })
        #expect(await setting.cloud.transfers.count == 5)
    }

    @Test func `few files are on their way at a time, and their places are asked for two hundred at once`() async throws {
        let url = try file("a", "A")
        let records = (0..<201).map { note("n\($0)", url) }
        #expect(await save(records).words.count == 201)
        #expect(await setting.cloud.paths.count { $0 == "assets/upload" } == 2)
        let most = await setting.cloud.mostTransfers
        #expect(most > 1 && most <= Conversation.transfersMax)
    }

    @Test func `a server that is reached by TLS may not have bytes go in the clear`() throws {
        let url = try #require(URL(string: "https://cloud.test"))
        let settings = try ServerSettings(container: "c", layers: [SettingsLayer(CloudKitServer(url: url))])
        let address = ServerAddress(settings: settings, transport: setting.cloud)
        #expect(throws: Never.self) { try address.fileRequest(.get, "https://bytes.test/1") }
        for text in ["http://bytes.test/1", "file:///etc/passwd", "bytes", ""] {
            #expect(throws: CKError.self) { try address.fileRequest(.get, text) }
        }
    }

    // MARK: Progress and cancelling

    @Test func `progress is the part of a record's bytes, and one when it is saved`() async throws {
        let diary = Diary()
        let a = note("a", try file("a", "0123456789"))
        a["more"] = CKAsset(fileURL: try file("b", "0123456789"))
        _ = await save([a]) { operation in
            operation.perRecordProgressBlock = { record, fraction in diary.note("\(record.recordID.recordName) \(fraction)") }
        }
        let entries = diary.entries
        #expect(entries.last == "a 1.0" && entries.filter { $0 == "a 1.0" }.count == 1)
        #expect(Set(entries).isSuperset(of: ["a 0.25", "a 0.5", "a 0.75"]))
    }

    @Test func `cancelling while a file is sent saves nothing`() async throws {
        await setting.cloud.failTransfers(.hangs)
        let result = await save([note("a", try file("a")), note("b", try file("b"))]) { operation in
            operation.perRecordProgressBlock = { _, _ in operation.cancel() }
        }
        #expect(result.end == "operationCancelled" && result.words.isEmpty)
        #expect(await !setting.cloud.paths.contains("records/modify"))
    }

    @Test func `in a conflict the server's record has assets without files`() async throws {
        let mine = note("a", try file("a"))
        _ = await save([mine])
        let theirs = note("a", try file("b", "theirs"))
        let result = await save([theirs])
        let error = try #require(result.errors["a"])
        #expect(error.code == .serverRecordChanged)
        let server = try #require(error.serverRecord?["photo"] as? CKAsset)
        #expect(server.fileURL == nil && server.known?.size == 10)
        #expect((error.clientRecord?["photo"] as? CKAsset)?.fileURL?.lastPathComponent == "b")
    }
}

extension TemporaryFolder {
    func url(_ name: String) -> URL { URL(fileURLWithPath: path + "/" + name) }
}
