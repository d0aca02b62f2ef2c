import CloudKit
import Foundation
import Testing

/// Tests of two devices of one user over a server in its own process: each sees the other's changes.
struct TwoDeviceTests {
    @Test func `a save on one device arrives on the other by the changes of the database and of the zone`() async throws {
        try await Device.pair { a, b, _ in
            let first = try await b.database.databaseChanges(since: nil)
            #expect(first.modifications.map(\.zoneID.zoneName) == ["Notes"])
            let quiet = try await b.database.databaseChanges(since: first.changeToken)
            #expect(quiet.modifications.isEmpty && quiet.deletions.isEmpty && !quiet.moreComing)

            let saved = try await a.database.save(Device.note("one", "bread"))
            let news = try await b.database.databaseChanges(since: quiet.changeToken)
            #expect(news.modifications.map(\.zoneID) == [Device.zoneID])
            let changes = try await b.changes()
            let seen = try #require(changes.records[Device.recordID("one")])
            #expect(seen["text"] as? String == "bread")
            #expect(seen.recordChangeTag == saved.recordChangeTag)
            #expect(seen.modificationDate == saved.modificationDate && seen.creationDate == saved.creationDate)
            #expect(seen.creatorUserRecordID == saved.creatorUserRecordID)
            #expect(try await b.changes(since: changes.token).records.isEmpty)
        }
    }

    @Test func `a deletion arrives with the record's type`() async throws {
        try await Device.pair { a, b, _ in
            try await a.database.save(Device.note("one", "bread"))
            let before = try await b.changes()
            try await a.database.deleteRecord(withID: Device.recordID("one"))
            let page = try await b.database.recordZoneChanges(inZoneWith: Device.zoneID, since: before.token)
            #expect(page.deletions.map(\.recordID) == [Device.recordID("one")])
            #expect(page.deletions.map(\.recordType) == ["Note"])
            let error = await #expect(throws: CKError.self) { try await b.database.record(for: Device.recordID("one")) }
            #expect(error?.code == .unknownItem)
        }
    }

    @Test func `two edits of one version: the second is told of the server's, its own and their ancestor, and its merge is saved`() async throws {
        try await Device.pair { a, b, _ in
            try await a.database.save(Device.note("one", "bread"))
            let mine = try await a.database.record(for: Device.recordID("one"))
            let yours = try await b.database.record(for: Device.recordID("one"))
            mine["text"] = "bread, olives"
            let winner = try await a.database.save(mine)
            yours["text"] = "bread, wine"
            let error = try #require(await #expect(throws: CKError.self) { try await b.database.save(yours) })
            #expect(error.code == .serverRecordChanged)
            #expect(error.serverRecord?["text"] as? String == "bread, olives")
            #expect(error.serverRecord?.recordChangeTag == winner.recordChangeTag)
            #expect(error.clientRecord?["text"] as? String == "bread, wine")
            #expect(error.ancestorRecord?["text"] as? String == "bread")

            let merged = try #require(error.serverRecord)
            merged["text"] = "bread, olives, wine"
            try await b.database.save(merged)
            #expect(try await a.database.record(for: Device.recordID("one"))["text"] as? String == "bread, olives, wine")
        }
    }

    @Test func `one item that fails takes its atomic batch with it, and what was not at fault says so`() async throws {
        try await Device.pair { a, b, _ in
            try await a.database.save(Device.note("taken", "first"))
            let batch = [Device.note("new", "second"), Device.note("taken", "third"), Device.note("other", "fourth")]
            let results = try await b.database.modifyRecords(saving: batch, deleting: [])
            let codes = results.saveResults.mapValues { result -> CKError.Code? in
                if case .failure(let error as CKError) = result { error.code } else { nil }
            }
            #expect(
                codes == [
                    Device.recordID("new"): .batchRequestFailed, Device.recordID("taken"): .serverRecordChanged,
                    Device.recordID("other"): .batchRequestFailed,
                ])
            #expect(try await b.changes().records.mapValues { $0["text"] as? String } == [Device.recordID("taken"): "first"])

            let loose = try await b.database.modifyRecords(
                saving: [Device.note("new", "second"), Device.note("taken", "third")], deleting: [], atomically: false)
            #expect((try? loose.saveResults[Device.recordID("new")]?.get()) != nil)
            #expect((try? loose.saveResults[Device.recordID("taken")]?.get()) == nil)
        }
    }

    @Test func `the save policies: changed keys and all keys win over a newer version, and leave what only the server has`() async throws {
        try await Device.pair { a, b, _ in
            let record = Device.note("one", "bread")
            record["place"] = "market"
            try await a.database.save(record)
            let stale = try await b.database.record(for: Device.recordID("one"))
            let other = try await b.database.record(for: Device.recordID("one"))
            record["place"] = "harbour"
            record["count"] = 3
            try await a.database.save(record)
            stale["text"] = "olives"
            let changed = try await b.database.modifyRecords(saving: [stale], deleting: [], savePolicy: .changedKeys)
            let saved = try #require(try changed.saveResults[Device.recordID("one")]?.get())
            #expect(saved["text"] as? String == "olives")
            #expect(saved["place"] as? String == "harbour")
            let all = try await b.database.modifyRecords(saving: [other], deleting: [], savePolicy: .allKeys)
            let whole = try #require(try all.saveResults[Device.recordID("one")]?.get())
            #expect(whole["place"] as? String == "market")
            #expect(whole["count"] as? Int == 3)
        }
    }

    @Test func `a zone that goes, and comes again under its name, expires the tokens of the first`() async throws {
        try await Device.pair { a, b, _ in
            try await a.database.save(Device.note("one", "bread"))
            let known = try await b.changes()
            let database = try await b.database.databaseChanges(since: nil)
            try await a.database.deleteRecordZone(withID: Device.zoneID)
            let gone = try await b.database.databaseChanges(since: database.changeToken)
            #expect(gone.deletions.map(\.zoneID) == [Device.zoneID])
            #expect(gone.deletions.map(\.reason) == [.deleted])
            let missing = await #expect(throws: CKError.self) { try await b.changes(since: known.token) }
            #expect(missing?.code == .zoneNotFound)
            let unsaved = await #expect(throws: CKError.self) { try await b.database.save(Device.note("two", "olives")) }
            #expect(unsaved?.code == .zoneNotFound)

            try await a.database.save(CKRecordZone(zoneID: Device.zoneID))
            let again = try await b.database.databaseChanges(since: gone.changeToken)
            #expect(again.modifications.map(\.zoneID) == [Device.zoneID])
            let expired = await #expect(throws: CKError.self) { try await b.changes(since: known.token) }
            #expect(expired?.code == .changeTokenExpired)
            #expect(try await b.changes().records.isEmpty)
            #expect(try await b.database.allRecordZones().map(\.zoneID.zoneName).sorted() == ["Notes", "_defaultZone"])
        }
    }

    @Test func `four hundred records are one batch and come in pages, and one more is over the limit`() async throws {
        try await Device.pair { a, b, _ in
            let names = (0..<400).map { "note-\($0)" }
            let results = try await a.database.modifyRecords(saving: names.map { Device.note($0, "text of \($0)") }, deleting: [])
            #expect(results.saveResults.count == 400)
            for result in results.saveResults.values { _ = try result.get() }
            try await a.database.save(Device.note("last", "alone"))
            // A commit is never split: the page of 50 has all 400.
            let changes = try await b.changes(pageSize: 50)
            #expect(Set(changes.records.keys.map(\.recordName)) == Set(names + ["last"]))
            #expect(changes.pages == 2)

            let over = names.map { Device.note("more-\($0)", "x") } + [Device.note("one-too-many", "x")]
            let error = await #expect(throws: CKError.self) { try await a.database.modifyRecords(saving: over, deleting: []) }
            #expect(error?.code == .limitExceeded)
            #expect(try await b.changes(since: changes.token).records.isEmpty)

            let deleted = try await a.database.modifyRecords(saving: [], deleting: names.map(Device.recordID))
            #expect(deleted.deleteResults.count == 400)
            #expect(Set(try await b.changes(since: changes.token).deleted.map(\.recordName)) == Set(names))
        }
    }
}
