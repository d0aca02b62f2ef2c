import CloudKit
import Foundation
import Testing

/// Tests of references over a real server: the records deleted with a target, and the error for a missing one.
@Suite(.timeLimit(.minutes(5)))
struct ReferenceTests {
    private static func child(_ name: String, of target: String) -> CKRecord {
        let record = Device.note(name, "child")
        record["owner"] = CKRecord.Reference(recordID: Device.recordID(target), action: .deleteSelf)
        return record
    }

    private func code(_ work: () async throws -> Void) async -> CKError.Code? {
        await #expect(throws: CKError.self) { try await work() }?.code
    }

    @Test func `the holder of a deleteSelf reference goes with its target, and the other device is told of both`() async throws {
        try await Device.pair { a, b, _ in
            let link = Self.child("link", of: "child")
            _ = try await a.database.modifyRecords(saving: [link, Self.child("child", of: "target"), Device.note("target", "t")], deleting: [])
            let seen = try await b.database.record(for: link.recordID)
            let owner = try #require(seen["owner"] as? CKRecord.Reference)
            #expect(owner.action == .deleteSelf && owner.recordID == Device.recordID("child"))
            let token = try await b.changes().token

            let results = try await a.database.modifyRecords(saving: [], deleting: [Device.recordID("target")])
            #expect(Set(results.deleteResults.keys) == [Device.recordID("target")])
            let changes = try await b.changes(since: token)
            #expect(Set(changes.deleted) == Set(["target", "child", "link"].map(Device.recordID)) && changes.records.isEmpty)
        }
    }

    @Test func `a missing target or parent, and a parent that goes before its child, are reference violations`() async throws {
        try await Device.pair { a, _, _ in
            #expect(await code { try await a.database.save(Self.child("child", of: "nobody")) } == .referenceViolation)
            let orphan = Device.note("orphan", "o")
            orphan.setParent(Device.recordID("nobody"))
            #expect(await code { try await a.database.save(orphan) } == .referenceViolation)

            orphan.setParent(Device.recordID("parent"))
            let parent = Device.note("parent", "p")
            let saved = try await a.database.modifyRecords(saving: [orphan, parent], deleting: [])
            for (_, result) in saved.saveResults { _ = try result.get() }
            #expect(await code { try await a.database.deleteRecord(withID: parent.recordID) } == .referenceViolation)
            _ = try await a.database.record(for: parent.recordID)

            let dangling = Device.note("dangling", "d")
            dangling["other"] = CKRecord.Reference(recordID: Device.recordID("nobody"), action: .none)
            try await a.database.save(dangling)
        }
    }

    @Test func `an old completion block prints each item of an atomic batch that failed`() async throws {
        try await Device.pair { a, _, _ in
            try await a.database.save(Device.note("taken", "first"))
            let operation = CKModifyRecordsOperation(recordsToSave: [Device.note("taken", "second"), Device.note("new", "third")])
            let error = await withCheckedContinuation { continuation in
                operation.modifyRecordsCompletionBlock = { _, _, error in continuation.resume(returning: error as? CKError) }
                a.database.add(operation)
            }
            let partial = try #require(error)
            #expect(partial.code == .partialFailure)
            let conflict = try #require(partial.partialErrorsByItemID?[Device.recordID("taken")] as? CKError)
            #expect(conflict.serverRecord?["text"] as? String == "first" && conflict.clientRecord?["text"] as? String == "second")
            #expect(conflict.ancestorRecord?.allKeys() == [])
            let text = partial.description
            #expect(text.hasPrefix("<CKError: \"Partial Failure\" (2/1011); \"Failed to modify some records\"; partial errors: {\n"))
            #expect(text.contains("    new:(Notes:__defaultOwner__) = <CKError: \"Batch Request Failed\" (22/"))
            #expect(text.contains("    taken:(Notes:__defaultOwner__) = <CKError: \"Server Record Changed\" (14/2004)"))
        }
    }
}
