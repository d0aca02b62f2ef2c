import Foundation
import NacreCloudServerWire
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of change feeds: pages become one stream, and tokens are delivered only where they are safe.
@Suite struct ChangesTests {
    let setting = Setting()
    let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func page(
        _ names: [String], deleted: [String] = [], token: String, more: Bool, midCommit: Bool = false, data: [UInt8]? = nil
    ) -> ChangesZoneResponse.Result {
        let records = names.map { name in
            RecordResult.record(
                Record(
                    recordName: name, recordType: "Note", recordChangeTag: "t", created: RecordChangeTests.stamp, modified: RecordChangeTests.stamp,
                    fields: ["n": .int64(1)]))
        }
        let tombstones = deleted.map { RecordResult.deleted(Tombstone(recordName: $0, recordType: "Note")) }
        return .page(
            ChangesZoneResponse.Page(
                zoneID: zoneID.wire, records: records + tombstones, syncToken: token, moreComing: more, isMidCommit: midCommit,
                clientChangeToken: data))
    }

    private func operation(_ diary: Diary, since token: CKServerChangeToken? = nil) -> CKFetchRecordZoneChangesOperation {
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: token, resultsLimit: 9, desiredKeys: ["n"])])
        operation.recordWasChangedBlock = { id, result in diary.note("\(id.recordName) \(result.word)") }
        operation.recordWithIDWasDeletedBlock = { id, type in diary.note("-\(id.recordName) \(type)") }
        operation.recordZoneChangeTokensUpdatedBlock = { _, token, data in diary.note("token \(token?.wire ?? "") \(data?.count ?? 0)") }
        operation.recordZoneFetchResultBlock = { id, result in
            let end = result.value
            diary.note("\(id.zoneName) \(result.word) \(end?.serverChangeToken.wire ?? "") \(end?.moreComing ?? false)")
        }
        operation.fetchRecordZoneChangesResultBlock = { diary.note("end \($0.word)") }
        return operation
    }

    private func zoneRequests() async throws -> [ChangesZoneRequest.Item] {
        try await setting.cloud.seen.filter { $0.path == "changes/zone" }.flatMap { try ChangesZoneRequest(json: $0.request.body).zones }
    }

    @Test func `pages are fetched to the end, with a token between them and one last`() async throws {
        await setting.cloud.answerZoneChanges(
            page(["a"], token: "1", more: true, data: [1, 2]), page(["b"], deleted: ["c"], token: "2", more: false))
        let diary = Diary()
        await setting.run(operation(diary, since: CKServerChangeToken(wire: "0")))
        #expect(diary.entries == ["a ok", "token 1 2", "b ok", "-c Note", "Notes ok 2 false", "end ok"])
        let requests = try await zoneRequests()
        #expect(requests.map(\.syncToken) == ["0", "1"])
        #expect(requests.allSatisfy { $0.resultsLimit == 9 && $0.desiredKeys == ["n"] })
    }

    @Test func `inside a commit no token is told, and even one batch goes to its end`() async throws {
        await setting.cloud.answerZoneChanges(
            page(["a"], token: "1", more: true, midCommit: true), page(["b"], token: "2", more: true), page(["c"], token: "3", more: false))
        let diary = Diary()
        let one = operation(diary)
        one.fetchAllChanges = false
        await setting.run(one)
        #expect(diary.entries == ["a ok", "b ok", "Notes ok 2 true", "end ok"])
    }

    @Test func `a zone that fails tells its error, and the next zone follows`() async throws {
        let gone = CKRecordZone.ID(zoneName: "Gone")
        await setting.cloud.answerZoneChanges(
            .failure(gone.wire, ServerError(.zoneNotFound, "Zone does not exist")), page([], token: "9", more: false))
        let diary = Diary()
        let both = operation(diary)
        both.recordZoneIDs = [gone, zoneID]
        await setting.run(both)
        #expect(diary.entries == ["Gone zoneNotFound  false", "Notes ok 9 false", "end ok"])
    }

    @Test func `an expired token is changeTokenExpired`() async throws {
        let expired = ServerError(.badRequest, "token expired", native: .changeTokenExpired)
        await setting.cloud.answerZoneChanges(.failure(zoneID.wire, expired))
        let error = await thrown { try await setting.database.recordZoneChanges(inZoneWith: zoneID, since: CKServerChangeToken(wire: "0")) }
        #expect(error?.code == .changeTokenExpired)
    }

    @Test func `old blocks of zone changes get records, and failed zones as a partial failure`() async throws {
        let gone = CKRecordZone.ID(zoneName: "Gone")
        await setting.cloud.answerZoneChanges(
            page(["a"], token: "1", more: false), .failure(gone.wire, ServerError(.zoneNotFound, "Zone does not exist")))
        let diary = Diary()
        let old = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID, gone], configurationsByRecordZoneID: nil)
        old.recordChangedBlock = { diary.note($0.recordID.recordName) }
        old.recordZoneFetchCompletionBlock = { id, token, _, more, error in
            diary.note("\(id.zoneName) \(token?.wire ?? "") \(more) \((error as? CKError)?.errorCode ?? 0)")
        }
        old.fetchRecordZoneChangesCompletionBlock = { error in
            let error = error as? CKError
            diary.note("\(error?.errorCode ?? 0) \((error?.partialErrorsByItemID?[gone] as? CKError)?.errorCode ?? 0)")
        }
        await setting.run(old)
        #expect(diary.entries == ["a", "Notes 1 false 0", "Gone  false 26", "2 26"])
    }

    @Test(arguments: [
        (#"{"zones":[{"records":[],"syncToken":"a+/=","moreComing":true}]}"#, "a+/=" as String?),
        (#"{"zones":[{"records":[],"syncToken":"1","moreComing":true,"nacre":{"midCommit":true}}]}"#, "1"),
        (#"{"zones":[{"records":[],"syncToken":"1","moreComing":false}]}"#, nil),
        (#"{"zones":[{"syncToken":"1","records":[{"fields":{"a":{"value":"\"syncToken\":\"x\",\"moreComing\":true"}}}]}]}"#, nil),
        (#"{"zones":[{"records":[],"syncToken":"\u0031","moreComing":true}]}"#, nil), (#""syncToken":"#, nil), ("", nil),
    ])
    func `the end of an answer says from where to go on, before the rest of it is read`(json: String, token: String?) {
        let answer = ZoneChangesAnswer(bytes: Array(json.utf8), user: CurrentUser(recordName: nil), moment: 0)
        #expect(answer.tokenOfMore == token)
        let long = ZoneChangesAnswer(bytes: Array((String(repeating: " ", count: 10_000) + json).utf8), user: answer.user, moment: 0)
        #expect(long.tokenOfMore == token)
    }

    @Test func `a page is asked for before the app has heard of the one before it, and only that one`() async throws {
        await setting.cloud.answerZoneChanges(
            page(["a"], token: "1", more: true), page(["b"], token: "2", more: true), page(["c"], token: "3", more: false))
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
        let gate = DispatchSemaphore(value: 0)
        let heard = Diary()
        operation.recordWasChangedBlock = { id, _ in
            heard.note(id.recordName)
            if id.recordName == "a" { gate.wait() }
        }
        let run = Task { await setting.run(operation) }
        while heard.entries.isEmpty { await Task.yield() }
        while try await zoneRequests().count < 2 { await Task.yield() }
        for _ in 0..<1000 { await Task.yield() }
        #expect(try await zoneRequests().map(\.syncToken) == [nil, "1"] && heard.entries == ["a"])
        gate.signal()
        await run.value
        #expect(heard.entries == ["a", "b", "c"])
        #expect(try await zoneRequests().map(\.syncToken) == [nil, "1", "2"])
    }

    @Test func `the single call gives one batch of a zone`() async throws {
        await setting.cloud.answerZoneChanges(page(["a", "b"], deleted: ["c"], token: "1", more: true))
        let changes = try await setting.database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 2 && changes.moreComing && changes.changeToken.wire == "1")
        let recordID = CKRecord.ID(recordName: "a", zoneID: zoneID)
        #expect(try changes.modificationResultsByID[recordID]?.get().record["n"] as? Int == 1)
        #expect(changes.deletions.map(\.recordID.recordName) == ["c"])
        #expect(changes.deletions.map(\.recordType) == ["Note"])
    }

    @Test func `a feed that does not move is an error, and not a loop`() async throws {
        await setting.cloud.answerZoneChanges(page(["a"], token: "1", more: true), page(["a"], token: "1", more: true))
        let diary = Diary()
        await setting.run(operation(diary))
        #expect(diary.entries == ["a ok", "token 1 0", "a ok", "end internalError"])
    }

    @Test func `database changes name zones, and deletions by their reason`() async throws {
        func zone(_ name: String, _ deletion: ZoneDeletionReason? = nil) -> ChangesDatabaseResponse.ChangedZone {
            .init(zoneID: ZoneID(zoneName: name, ownerRecordName: "_alice"), deletion: deletion)
        }
        await setting.cloud.answerChanges(
            ChangesDatabaseResponse(zones: [zone("a"), zone("b", .deleted)], syncToken: "1", moreComing: true),
            ChangesDatabaseResponse(zones: [zone("c", .purged), zone("d", .encryptedDataReset)], syncToken: "2", moreComing: false))
        let diary = Diary()
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        operation.recordZoneWithIDChangedBlock = { diary.note("+\($0.zoneName) \($0.ownerName)") }
        operation.recordZoneWithIDWasDeletedBlock = { diary.note("-\($0.zoneName)") }
        operation.recordZoneWithIDWasPurgedBlock = { diary.note("purged \($0.zoneName)") }
        operation.changeTokenUpdatedBlock = { diary.note("token \($0.wire)") }
        operation.fetchDatabaseChangesResultBlock = { diary.note("end \($0.word) \($0.value?.serverChangeToken.wire ?? "")") }
        await setting.run(operation)
        #expect(diary.entries == ["+a __defaultOwner__", "-b", "token 1", "purged c", "-d", "end ok 2"])
    }

    @Test func `the oldest fetch of changes takes one batch of a zone, and says whether there is more`() async throws {
        await setting.cloud.answerZoneChanges(page(["b", "a"], deleted: ["c"], token: "1", more: true, data: [1, 2]))
        let diary = Diary()
        let operation = CKFetchRecordChangesOperation(recordZoneID: zoneID, previousServerChangeToken: CKServerChangeToken(wire: "0"))
        (operation.resultsLimit, operation.desiredKeys) = (9, ["n"])
        operation.recordChangedBlock = { diary.note($0.recordID.recordName) }
        operation.recordWithIDWasDeletedBlock = { diary.note("-\($0.recordName)") }
        operation.fetchRecordChangesCompletionBlock = { [unowned operation] token, data, error in
            diary.note("\(token?.wire ?? "") \(data?.count ?? 0) \(error == nil) \(operation.moreComing)")
        }
        await setting.run(operation)
        #expect(diary.entries == ["b", "a", "-c", "1 2 true true"])
        let requests = try await zoneRequests()
        #expect(requests.map(\.syncToken) == ["0"])
        #expect(requests.allSatisfy { $0.resultsLimit == 9 && $0.desiredKeys == ["n"] })
    }

    @Test func `the oldest fetch of changes of a zone that is gone, and of none, fails as a whole`() async throws {
        await setting.cloud.answerZoneChanges(.failure(zoneID.wire, ServerError(.zoneNotFound, "Zone does not exist")))
        let diary = Diary()
        for operation in [CKFetchRecordChangesOperation(recordZoneID: zoneID, previousServerChangeToken: nil), CKFetchRecordChangesOperation()] {
            operation.fetchRecordChangesCompletionBlock = { token, _, error in
                diary.note("\(token?.wire ?? "none") \((error as? CKError)?.errorCode ?? 0)")
            }
            await setting.run(operation)
            #expect(!operation.moreComing)
        }
        #expect(diary.entries == ["none 26", "none 12"])
        #expect(try await zoneRequests().count == 1)
    }

    @Test func `zones of a shared database keep their owner`() async throws {
        let shared = ZoneID(zoneName: "s", ownerRecordName: "_bob")
        await setting.cloud.answerChanges(ChangesDatabaseResponse(zones: [.init(zoneID: shared)], syncToken: "1", moreComing: false))
        let changes = try await setting.container.sharedCloudDatabase.databaseChanges(since: nil)
        #expect(changes.modifications.map(\.zoneID) == [CKRecordZone.ID(zoneName: "s", ownerName: "_bob")])
        #expect(!changes.moreComing && changes.changeToken.wire == "1")
    }

    @Test func `the old end of database changes gives a token or an error`() async throws {
        let diary = Diary()
        for isFailing in [false, true] {
            if isFailing {
                let expired = PretendCloud.refusal(ServerError(.badRequest, "token expired", native: .changeTokenExpired))
                await setting.cloud.failNext(.answer(status: expired.status, headers: [:], body: expired.body))
            } else {
                await setting.cloud.answerChanges(ChangesDatabaseResponse(zones: [], syncToken: "1", moreComing: false))
            }
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
            operation.fetchDatabaseChangesCompletionBlock = { token, more, error in
                diary.note("\(token?.wire ?? "") \(more) \((error as? CKError)?.errorCode ?? 0)")
            }
            await setting.run(operation)
        }
        #expect(diary.entries == ["1 false 0", " false 21"])
    }
}
