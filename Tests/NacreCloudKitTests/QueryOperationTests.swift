import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of queries: their requests, page by page, and the order of the blocks.
@Suite struct QueryOperationTests {
    let setting = Setting()

    private func record(_ name: String, zone: String = "_defaultZone") -> Record {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: "_alice", deviceID: nil)
        return Record(
            recordName: name, recordType: "Note", zoneID: ZoneID(zoneName: zone, ownerRecordName: "_alice"), recordChangeTag: "1", created: stamp,
            modified: stamp, fields: ["text": .string(name)])
    }

    private func query(_ format: String = "TRUEPREDICATE") -> CKQuery {
        CKQuery(recordType: "Note", predicate: NSPredicate(format: format))
    }

    private func run(_ operation: CKQueryOperation, on database: CKDatabase) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
    }

    /// Returns the single request of a query without results.
    private func asked(_ query: CKQuery, in zoneID: CKRecordZone.ID? = nil) async throws -> RecordsQueryRequest {
        await setting.cloud.answerQueries(RecordsQueryResponse(records: []))
        _ = try await setting.database.records(matching: query, inZoneWith: zoneID, resultsLimit: 7)
        return try #require(try await setting.cloud.queries().last)
    }

    // MARK: Requests

    @Test func `filters, sorts, limit and keys go out as the app said them`() async throws {
        let query = query("text BEGINSWITH 'A' AND stars BETWEEN {1, 3}")
        query.sortDescriptors = [
            NSSortDescriptor(key: "stars", ascending: false), NSSortDescriptor(key: "creationDate", ascending: true),
            CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 50, longitude: 10)),
        ]
        await setting.cloud.answerQueries(RecordsQueryResponse(records: []))
        _ = try await setting.database.records(matching: query, desiredKeys: ["text"], resultsLimit: 7)
        let request = try #require(try await setting.cloud.queries().first)
        #expect(
            request.query
                == Query(
                    recordType: "Note",
                    filters: [
                        QueryFilter(.beginsWith, fieldName: "text", value: .string("A")),
                        QueryFilter(.greaterThanOrEquals, fieldName: "stars", value: .int64(1)),
                        QueryFilter(.lessThanOrEquals, fieldName: "stars", value: .int64(3)),
                    ],
                    sorts: [
                        QuerySort("stars", isAscending: false), QuerySort("___createTime"),
                        QuerySort("place", relativeLocation: Location(latitude: 50, longitude: 10)),
                    ]))
        #expect(request.resultsLimit == 7 && request.desiredKeys == ["text"] && request.continuationMarker == nil)
        #expect(request.extension.wantsDetails)
        #expect(await setting.cloud.paths == ["records/query"])
    }

    @Test func `no zone is every zone of a private database and the one zone of a public one`() async throws {
        let everywhere = try await asked(query())
        #expect(everywhere.zoneWide && everywhere.zoneID == nil)
        let one = try await asked(query(), in: CKRecordZone.ID(zoneName: "Notes"))
        #expect(!one.zoneWide && one.zoneID?.zoneName == "Notes")
        await setting.cloud.answerQueries(RecordsQueryResponse(records: []))
        _ = try await setting.container.publicCloudDatabase.records(matching: query())
        let open = try #require(try await setting.cloud.queries().last)
        #expect(!open.zoneWide && open.zoneID == nil)
    }

    @Test func `a shared database needs a zone`() async throws {
        let error = try #require(await thrown { _ = try await setting.container.sharedCloudDatabase.records(matching: query()) })
        #expect(error.code == .invalidArguments)
        #expect(error.localizedDescription == "SharedDB does not support Zone Wide queries")
        #expect(await setting.cloud.paths.isEmpty)
    }

    @Test func `FALSEPREDICATE finds nothing, and nobody is asked`() async throws {
        let answer = try await setting.database.records(matching: query("a = 1 AND FALSEPREDICATE"))
        #expect(answer.matchResults.isEmpty && answer.queryCursor == nil)
        #expect(await setting.cloud.paths.isEmpty)
    }

    @Test(arguments: [
        ("a = 1 OR b = 2", "Invalid predicate: OR is not supported: 'a == 1 OR b == 2'", "a == 1 OR b == 2"),
        ("a = ", "Invalid predicate: Expected a key or a value at the end", ""),
        ("a ~ 2", "Invalid predicate: Unexpected character at character 3: '~'", "~"),
    ])
    func `what CloudKit does not take fails before anything is sent, and names the part`(format: String, text: String, part: String) async throws {
        let error = try #require(await thrown { _ = try await setting.database.records(matching: query(format)) })
        #expect(error.code == .invalidArguments)
        #expect(error.localizedDescription == text)
        #expect(error.userInfo["CKErrorField"] as? String == part)
        #expect(await setting.cloud.paths.isEmpty)
    }

    @Test func `a query needs a type, a descriptor a key, and an operation a query`() async throws {
        let untyped = CKQuery(recordType: "", predicate: NSPredicate(value: true))
        #expect(await thrown { _ = try await setting.database.records(matching: untyped) }?.code == .invalidArguments)
        let sorted = query()
        for descriptor in [
            NSSortDescriptor(key: nil, ascending: true), NSSortDescriptor(key: "a.b", ascending: true),
            NSSortDescriptor(keyPath: \NSString.length, ascending: true),
            CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: .nan, longitude: 0)),
        ] {
            sorted.sortDescriptors = [descriptor]
            let error = await thrown { _ = try await setting.database.records(matching: sorted) }
            #expect(error?.code == .invalidArguments && error?.localizedDescription.contains("sort descriptor") == true)
        }
        let operation = CKQueryOperation()
        let diary = Diary()
        operation.queryResultBlock = { diary.note($0.word) }
        await run(operation, on: setting.database)
        #expect(diary.entries == ["invalidArguments"])
        #expect(await setting.cloud.paths.isEmpty)
    }

    // MARK: Pages

    @Test func `a cursor carries query, zone and marker, also through an archive`() async throws {
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        await setting.cloud.answerQueries(
            RecordsQueryResponse(records: [record("a", zone: "Notes"), record("b", zone: "Notes")], continuationMarker: "m1"),
            RecordsQueryResponse(records: [record("c", zone: "Notes")]))
        let query = query("at > %@")
        let dated = CKQuery(recordType: "Note", predicate: NSPredicate(format: "at > %@", Date(timeIntervalSinceReferenceDate: 1.0 / 3)))
        let first = try await setting.database.records(matching: dated, inZoneWith: zoneID, desiredKeys: ["text"], resultsLimit: 2)
        #expect(first.matchResults.map(\.0) == ["a", "b"].map { CKRecord.ID(recordName: $0, zoneID: zoneID) })
        let data = try NSKeyedArchiver.archivedData(withRootObject: try #require(first.queryCursor), requiringSecureCoding: true)
        let cursor = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryOperation.Cursor.self, from: data))
        #expect(cursor == first.queryCursor)
        let operation = CKQueryOperation(cursor: cursor)
        operation.query = query
        operation.zoneID = CKRecordZone.ID(zoneName: "Other")
        let diary = Diary()
        operation.recordMatchedBlock = { diary.note("\($0.recordName) \($0.zoneID.zoneName) \($1.word)") }
        operation.queryResultBlock = { diary.note("end \($0.word) \($0.value.flatMap { $0 } == nil)") }
        await run(operation, on: setting.database)
        #expect(diary.entries == ["c Notes ok", "end ok true"])
        let requests = try await setting.cloud.queries()
        #expect(requests[1].query == requests[0].query && requests[1].zoneID == requests[0].zoneID)
        #expect(requests[1].continuationMarker == "m1" && requests[1].resultsLimit == nil && requests[1].desiredKeys == nil)
    }

    @Test func `a page without records is not the end`() async throws {
        await setting.cloud.answerQueries(
            RecordsQueryResponse(records: [], continuationMarker: "m1"), RecordsQueryResponse(records: [], continuationMarker: "m2"),
            RecordsQueryResponse(records: [record("a")], continuationMarker: "m3"))
        let answer = try await setting.database.records(matching: query())
        #expect(answer.matchResults.count == 1 && answer.queryCursor?.request.continuationMarker == "m3")
        #expect(try await setting.cloud.queries().map(\.continuationMarker) == [nil, "m1", "m2"])
    }

    @Test func `a server that does not move is an error, and not a loop`() async throws {
        await setting.cloud.answerQueries(
            RecordsQueryResponse(records: [], continuationMarker: "m1"), RecordsQueryResponse(records: [], continuationMarker: "m1"))
        #expect(await thrown { _ = try await setting.database.records(matching: query()) }?.code == .internalError)
    }

    @Test func `records of every zone say which they are in`() async throws {
        await setting.cloud.answerQueries(RecordsQueryResponse(records: [record("a"), record("b", zone: "Notes")]))
        let answer = try await setting.database.records(matching: query())
        let inNotes = CKRecord.ID(recordName: "b", zoneID: CKRecordZone.ID(zoneName: "Notes"))
        #expect(answer.matchResults.map(\.0) == [CKRecord.ID(recordName: "a"), inNotes])
    }

    // MARK: Blocks

    @Test func `the blocks come in the order of the query, the end last, and new ones instead of old ones`() async throws {
        let page = RecordsQueryResponse(records: [record("b"), record("a")], continuationMarker: "m")
        await setting.cloud.answerQueries(page, page)
        let both = CKQueryOperation(query: query())
        let diary = Diary()
        both.recordMatchedBlock = { id, result in diary.note("matched \(id.recordName) \(result.word)") }
        both.recordFetchedBlock = { diary.note("fetched \($0.recordID.recordName)") }
        both.queryResultBlock = { result in diary.note("result \((try? result.get()) != nil)") }
        both.queryCompletionBlock = { _, _ in diary.note("completion") }
        await run(both, on: setting.database)
        #expect(diary.entries == ["matched b ok", "matched a ok", "result true"])
        let old = CKQueryOperation(query: query())
        let older = Diary()
        old.recordFetchedBlock = { older.note("fetched \($0.recordID.recordName)") }
        old.queryCompletionBlock = { cursor, error in older.note("completion \(cursor != nil) \(error == nil)") }
        await run(old, on: setting.database)
        #expect(older.entries == ["fetched b", "fetched a", "completion true true"])
    }

    @Test func `an error of the server ends the operation, without a cursor`() async throws {
        let refusal = PretendCloud.refusal(ServerError(.badRequest, "Field 'a' is not marked queryable", internalCode: 2015, field: "a"))
        await setting.cloud.failNext(.answer(status: refusal.status, headers: [:], body: refusal.body))
        let error = try #require(await thrown { _ = try await setting.database.records(matching: query("a = 1")) })
        #expect(error.code == .invalidArguments && error.internalCode == 2015)
        #expect(error.localizedDescription == "Field 'a' is not marked queryable")
    }

    @Test func `the old functions give the records of the first page`() async throws {
        let page = RecordsQueryResponse(records: [record("a"), record("b")], continuationMarker: "m")
        await setting.cloud.answerQueries(page, page, page, page)
        let database = setting.database
        #expect(try await database.perform(query(), inZoneWith: nil).map(\.recordID.recordName) == ["a", "b"])
        let records: [CKRecord] = try await database.records(matching: query(), inZoneWith: nil)
        #expect(records.count == 2)
        let query = query()
        let names = await withCheckedContinuation { continuation in
            database.perform(query, inZoneWith: nil) { records, error in
                continuation.resume(returning: error == nil ? records?.map(\.recordID.recordName) : nil)
            }
        }
        #expect(names == ["a", "b"])
        let count = await withCheckedContinuation { continuation in
            database.fetch(withQuery: query) { continuation.resume(returning: (try? $0.get())?.matchResults.count) }
        }
        #expect(count == 2)
    }
}
