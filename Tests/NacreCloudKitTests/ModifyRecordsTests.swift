import Foundation
import NacreCloudServerWire
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of saves and deletions: requests, results, and the order of the blocks.
@Suite struct ModifyRecordsTests {
    let setting = Setting()

    private func note(_ name: String, zone: String? = nil, text: String = "x") -> CKRecord {
        let zoneID = zone.map { CKRecordZone.ID(zoneName: $0) } ?? .default
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["text"] = text
        return record
    }

    @Test func `a saved record comes back as a new instance with system fields, and fetches equal`() async throws {
        let record = note("a")
        let date = Date(timeIntervalSinceReferenceDate: 1234.567_890_123)
        record["when"] = date
        let saved = try await setting.database.save(record)
        #expect(saved !== record)
        #expect(saved.recordChangeTag == "tag1")
        #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(saved.modificationDate == Date(timeIntervalSinceReferenceDate: 1001.125))
        #expect(saved.changedKeys().isEmpty)
        let fetched = try await setting.database.record(for: record.recordID)
        #expect(fetched["text"] as? String == "x")
        #expect(fetched["when"] as? Date == date)
    }

    @Test func `the record passed in takes the new system fields, so it can be saved again`() async throws {
        let record = note("a")
        try await setting.database.save(record)
        #expect(record.recordChangeTag == "tag1" && record.changedKeys().isEmpty)
        record["text"] = "y"
        try await setting.database.save(record)
        #expect(record.recordChangeTag == "tag2")
        #expect(await setting.cloud.stored("a")?.fields == ["text": .string("y")])
    }

    @Test func `what is too large for one answer is sent in halves where it need not be done whole`() async throws {
        let records = (0..<7).map { note("r\($0)") }
        try await setting.database.save(note("old"))
        await setting.cloud.limitAnswers(to: 2)
        let (saved, deleted) = try await setting.database.modifyRecords(
            saving: records, deleting: [CKRecord.ID(recordName: "old")], savePolicy: .allKeys, atomically: false)
        #expect(saved.count == 7 && saved.values.allSatisfy { (try? $0.get()) != nil })
        #expect(deleted.count == 1 && deleted.values.allSatisfy { (try? $0.get()) != nil })
        for record in records { #expect(await setting.cloud.stored(record.recordID.recordName) != nil) }
        #expect(await setting.cloud.stored("old") == nil)
    }

    @Test func `a zone that is to be all or nothing is not split`() async throws {
        await setting.cloud.addZone("A")
        await setting.cloud.limitAnswers(to: 2)
        let records = (0..<3).map { note("r\($0)", zone: "A") }
        let (saved, _) = try await setting.database.modifyRecords(saving: records, deleting: [], atomically: true)
        #expect(saved.count == 3 && saved.values.allSatisfy { $0.word == "limitExceeded" })
        #expect(await setting.cloud.paths == ["records/modify"])
    }

    @Test func `of halves, what was done is told though the rest fails`() async throws {
        let records = (0..<4).map { note("r\($0)") }
        await setting.cloud.limitAnswers(to: 2)
        let refusal = ErrorResponse(uuid: "00000000", error: ServerError(.accessDenied, "no")).json(AnswerForm(details: true))
        await setting.cloud.failNext(.none, .none, .answer(status: 403, headers: [:], body: refusal))
        let (saved, _) = try await setting.database.modifyRecords(saving: records, deleting: [], atomically: false)
        #expect(records.map { (try? saved[$0.recordID]?.get()) != nil } == [true, true, false, false])
    }

    @Test func `the request goes where the API says, with both tokens and an operation ID`() async throws {
        try await setting.database.save(note("a"))
        let seen = try #require(await setting.cloud.seen.first)
        #expect(
            seen.request.url.absoluteString
                == "http://cloud.test/api/database/1/iCloud.test/development/private/records/modify?ckAPIToken=app%2Btoken")
        #expect(seen.request.headers["Authorization"] == "Bearer account")
        let request = try RecordsModifyRequest(json: seen.request.body)
        #expect(request.extension.wantsDetails)
        #expect(request.extension.operationID.flatMap(UUID.init(uuidString:)) != nil)
    }

    @Test func `a stale record is a conflict with the three versions`() async throws {
        let first = try await setting.database.save(note("a", text: "base"))
        let other = try await setting.database.record(for: first.recordID)
        other["text"] = "theirs"
        try await setting.database.save(other)
        first["text"] = "mine"
        let error = try #require(await thrown { try await setting.database.save(first) })
        #expect(error.code == .serverRecordChanged)
        #expect(error.internalCode == 2004)
        #expect(error.localizedDescription == "client oplock error updating record")
        #expect(error.clientRecord === first)
        #expect(error.serverRecord?["text"] as? String == "theirs")
        #expect(error.serverRecord?.recordChangeTag == "tag2")
        #expect(error.ancestorRecord?["text"] as? String == "base")
        let server = try #require(error.serverRecord)
        server["text"] = "merged"
        try await setting.database.save(server)
        #expect(await setting.cloud.stored("a")?.fields == ["text": .string("merged")])
    }

    @Test func `a new record over an existing one is a conflict whose ancestor is empty`() async throws {
        try await setting.database.save(note("a"))
        let error = try #require(await thrown { try await setting.database.save(note("a")) })
        #expect(error.code == .serverRecordChanged)
        #expect(error.ancestorRecord?.allKeys() == [])
    }

    @Test func `an operation tells each item, then ends once, last`() async throws {
        await setting.cloud.addZone("Z")
        let diary = Diary()
        let operation = CKModifyRecordsOperation(
            recordsToSave: [note("a", zone: "Z"), note("b", zone: "Z")],
            recordIDsToDelete: [CKRecord.ID(recordName: "c", zoneID: CKRecordZone.ID(zoneName: "Z"))])
        operation.perRecordProgressBlock = { record, progress in diary.note("progress \(record.recordID.recordName) \(progress)") }
        operation.perRecordSaveBlock = { id, result in diary.note("save \(id.recordName) \(result.word)") }
        operation.perRecordDeleteBlock = { id, result in diary.note("delete \(id.recordName) \(result.word)") }
        operation.modifyRecordsResultBlock = { diary.note("end \($0.word)") }
        operation.perRecordCompletionBlock = { _, _ in diary.note("old item") }
        operation.modifyRecordsCompletionBlock = { _, _, _ in diary.note("old end") }
        await setting.run(operation)
        #expect(diary.entries == ["progress a 1.0", "save a ok", "progress b 1.0", "save b ok", "delete c ok", "end ok"])
        #expect(operation.isFinished && !operation.isExecuting)
    }

    @Test func `old blocks hear of failed items as a partial failure, new ones as success`() async throws {
        try await setting.database.save(note("taken"))
        let diary = Diary()
        let old = CKModifyRecordsOperation(recordsToSave: [note("new"), note("taken")])
        old.perRecordCompletionBlock = { record, error in diary.note("\(record.recordID.recordName) \((error as? CKError)?.errorCode ?? 0)") }
        old.modifyRecordsCompletionBlock = { saved, deleted, error in
            let error = error as? CKError
            diary.note("end \(saved?.map(\.recordID.recordName) ?? []) \(deleted ?? []) \(error?.errorCode ?? 0)/\(error?.internalCode ?? 0)")
            let item = error?.partialErrorsByItemID?[CKRecord.ID(recordName: "taken")] as? CKError
            diary.note("\(item?.code == .serverRecordChanged) \("\(error?.description ?? "")".contains("taken"))")
        }
        await setting.run(old)
        #expect(diary.entries == ["new 0", "taken 14", "end [\"new\"] [] 2/1011", "true true"])

        let new = CKModifyRecordsOperation(recordsToSave: [note("taken")])
        let end = Diary()
        new.modifyRecordsResultBlock = { end.note($0.word) }
        await setting.run(new)
        #expect(end.entries == ["ok"])
    }

    @Test func `each zone is one request, and the default zone is not atomic`() async throws {
        await setting.cloud.addZone("A")
        await setting.cloud.addZone("B")
        let results = try await setting.database.modifyRecords(
            saving: [note("1", zone: "A"), note("2"), note("3", zone: "B"), note("4", zone: "A")],
            deleting: [CKRecord.ID(recordName: "5", zoneID: CKRecordZone.ID(zoneName: "B"))])
        #expect(results.saveResults.count == 4 && results.deleteResults.count == 1)
        let requests = try await setting.cloud.modifications()
        #expect(requests.map(\.zoneID.zoneName) == ["A", "_defaultZone", "B"])
        #expect(requests.map(\.atomic) == [true, false, true])
        #expect(requests.map(\.operations.count) == [2, 1, 2])
        #expect(Set(requests.map(\.extension.operationID)).count == 3)
    }

    @Test func `in a failed atomic zone the innocents are told so, and other zones go on`() async throws {
        await setting.cloud.addZone("A")
        await setting.cloud.addZone("B")
        try await setting.database.save(note("taken", zone: "A"))
        let results = try await setting.database.modifyRecords(
            saving: [note("innocent", zone: "A"), note("taken", zone: "A"), note("b", zone: "B")], deleting: [])
        #expect(results.saveResults[note("innocent", zone: "A").recordID]?.word == "batchRequestFailed")
        #expect(results.saveResults[note("taken", zone: "A").recordID]?.word == "serverRecordChanged")
        #expect(results.saveResults[note("b", zone: "B").recordID]?.word == "ok")
        #expect(await setting.cloud.stored("innocent", in: ZoneID(zoneName: "A")) == nil)
    }

    @Test func `an unknown zone fails its items and not the others`() async throws {
        let results = try await setting.database.modifyRecords(saving: [note("a", zone: "Nowhere"), note("b")], deleting: [])
        #expect(results.saveResults[note("a", zone: "Nowhere").recordID]?.word == "zoneNotFound")
        #expect(results.saveResults[note("b").recordID]?.word == "ok")
    }

    @Test func `a record with a fault is never sent, and an atomic zone falls with it`() async throws {
        await setting.cloud.addZone("A")
        let faulty = note("faulty", zone: "A")
        faulty["bad"] = Double.nan
        let innocent = note("innocent", zone: "A")
        let results = try await setting.database.modifyRecords(saving: [faulty, innocent], deleting: [])
        let fault = try #require(results.saveResults[faulty.recordID]?.error as? CKError)
        #expect(fault.code == .invalidArguments)
        #expect(fault.localizedDescription.contains("'bad'"))
        #expect(results.saveResults[innocent.recordID]?.word == "batchRequestFailed")
        #expect(await setting.cloud.paths == [])
        let free = try await setting.database.modifyRecords(saving: [faulty, innocent], deleting: [], atomically: false)
        #expect(free.saveResults[faulty.recordID]?.word == "invalidArguments")
        #expect(free.saveResults[innocent.recordID]?.word == "ok")
    }

    @Test func `names that cannot be are errors, not traps`() async throws {
        let unnamed = note("")
        #expect(await thrown { try await setting.database.save(unnamed) }?.code == .invalidArguments)
        let untyped = CKRecord(recordType: "no type")
        #expect(await thrown { try await setting.database.save(untyped) }?.code == .invalidArguments)
        let homeless = note("a", zone: "")
        #expect(await thrown { try await setting.database.save(homeless) }?.code == .invalidArguments)
        #expect(await thrown { try await setting.database.record(for: unnamed.recordID) }?.code == .invalidArguments)
        #expect(await setting.cloud.paths == [])
    }

    @Test func `more than 400 items are refused before anything is sent`() async throws {
        let records = (0..<401).map { note("r\($0)") }
        let error = try #require(await thrown { _ = try await setting.database.modifyRecords(saving: records, deleting: []) })
        #expect(error.code == .limitExceeded && error.internalCode == 1020)
        #expect(error.localizedDescription.hasPrefix("Your request contains 401 items which is more than the maximum number of items"))
        #expect(await setting.cloud.paths == [])
        _ = try await setting.database.modifyRecords(saving: Array(records.dropLast()), deleting: [])
        #expect(await setting.cloud.paths.count == 1)
    }

    @Test func `more than 2 MB of values are refused before anything is sent`() async throws {
        let records = (0..<3).map { note("r\($0)", text: String(repeating: "x", count: 700_000)) }
        #expect(await thrown { _ = try await setting.database.modifyRecords(saving: records, deleting: []) }?.code == .limitExceeded)
        #expect(await setting.cloud.paths == [])
    }

    @Test func `a record twice in one operation is refused`() async throws {
        let error = await thrown {
            _ = try await setting.database.modifyRecords(saving: [note("a")], deleting: [CKRecord.ID(recordName: "a")])
        }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `policies decide what is sent and whether the tag is asked for`() async throws {
        let record = note("a")
        record["other"] = 1
        try await setting.database.save(record)
        for policy in [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys] {
            record["text"] = "\(policy)"
            _ = try await setting.database.modifyRecords(saving: [record], deleting: [], savePolicy: policy)
        }
        let operations = try await setting.cloud.modifications().compactMap { try $0.operations.first?.get() }
        #expect(operations.map(\.type) == [.create, .update, .forceUpdate, .forceUpdate])
        #expect(operations.map { $0.change.set.count } == [2, 1, 1, 2])
        #expect(operations.map(\.change.recordChangeTag) == [nil, "tag1", nil, nil])
    }

    @Test func `deleting asks for no version`() async throws {
        try await setting.database.save(note("a"))
        #expect(try await setting.database.deleteRecord(withID: CKRecord.ID(recordName: "a")).recordName == "a")
        #expect(await setting.cloud.stored("a") == nil)
        try await setting.database.deleteRecord(withID: CKRecord.ID(recordName: "never there"))
    }

    @Test func `an operation without items succeeds without a request`() async throws {
        let diary = Diary()
        let operation = CKModifyRecordsOperation()
        operation.modifyRecordsResultBlock = { diary.note($0.word) }
        await setting.run(operation)
        #expect(diary.entries == ["ok"])
        #expect(await setting.cloud.paths == [])
    }

    @Test func `client change tokens travel with the request`() async throws {
        let operation = CKModifyRecordsOperation(recordsToSave: [note("a")])
        operation.clientChangeTokenData = Data([1, 2])
        await setting.run(operation)
        #expect(try await setting.cloud.modifications().first?.extension.clientChangeToken == [1, 2])
    }

    @Test func `completion handlers say the same as async functions`() async throws {
        let record = note("a")
        let saved = await withCheckedContinuation { continuation in
            setting.database.save(record) { saved, error in continuation.resume(returning: (saved, error == nil)) }
        }
        #expect(saved.0?.recordChangeTag == "tag1" && saved.1)
        let deleted = await withCheckedContinuation { continuation in
            setting.database.delete(withRecordID: record.recordID) { id, error in continuation.resume(returning: (id, error == nil)) }
        }
        #expect(deleted.0 == record.recordID && deleted.1)
        let missing = await withCheckedContinuation { continuation in
            setting.database.fetch(withRecordID: record.recordID) { record, error in continuation.resume(returning: (record, error as? CKError)) }
        }
        #expect(missing.0 == nil && missing.1?.code == .unknownItem)
    }
}

/// Returns the `CKError` that `body` throws; nil if it throws none.
func thrown<Value>(_ body: () async throws -> Value) async -> CKError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? CKError
    }
}
