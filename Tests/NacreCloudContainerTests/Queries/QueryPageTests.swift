import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of pages of queries: their ends, their continuation, and changes in between.
struct QueryPageTests {
    private static let all = Query(recordType: QueryData.type)

    @Test(arguments: Engine.ofRules) func `a last match that fits the page leaves no marker`(engine: Engine) async throws {
        var data = QueryData(seed: 1)
        let cloud = try await QueryCloud(engine, zones: ["notes"], names: 6, data: &data)
        for query in [Self.all, Query(recordType: QueryData.type, sorts: [QuerySort("count")])] {
            #expect(try await cloud.page(query, zone: "notes", limit: 6).continuationMarker == nil)
            let page = try await cloud.page(query, zone: "notes", limit: 5)
            #expect(page.records.count == 5)
            #expect(page.continuationMarker != nil)
        }
    }

    @Test func `a marker is good for its own query, zone, database and user alone`() async throws {
        var data = QueryData(seed: 2)
        let cloud = try await QueryCloud(.memory, zones: ["notes", "more"], names: 8, data: &data)
        let marker = try #require(try await cloud.page(Self.all, zone: "notes", limit: 2).continuationMarker)
        let other = Query(recordType: QueryData.type, sorts: [QuerySort("count")])
        func refusal(_ body: () async throws -> RecordsQueryResponse) async -> String? {
            do {
                _ = try await body()
                return nil
            } catch { return (error as? ServerError)?.reason }
        }
        #expect(await refusal { try await cloud.page(Self.all, zone: "notes", limit: 3, after: marker) } == nil)
        #expect(await refusal { try await cloud.page(other, zone: "notes", limit: 2, after: marker) } == "Invalid continuation format")
        #expect(await refusal { try await cloud.page(Self.all, zone: "more", limit: 2, after: marker) } == "Invalid continuation format")
        #expect(await refusal { try await cloud.page(Self.all, zone: nil, limit: 2, after: marker) } == "Invalid continuation format")
        #expect(await refusal { try await cloud.page(Self.all, zone: "notes", limit: 2, after: "garbage") } == "Unknown sync continuation type")
        let token = try await cloud.user.changes("notes").syncToken
        #expect(await refusal { try await cloud.page(Self.all, zone: "notes", limit: 2, after: token) } == "Unknown sync continuation type")
        let bob = cloud.cloud.user("_bob")
        try await bob.makeZone("notes")
        let request = RecordsQueryRequest(query: Self.all, zoneID: ZoneID(zoneName: "notes"), continuationMarker: marker)
        #expect(
            await refusal { try await bob.cloud.queryRecords(request, in: bob.target, by: bob.caller) } == "Invalid continuation format")
    }

    @Test(arguments: 0..<200) func `cursors come back as they were, and other bytes are none`(seed: Int) throws {
        var data = QueryData(seed: UInt64(seed))
        let keys = data.some(0...3) { $0.some(0...5) { UInt8.random(in: 0...255, using: &$0.random) } }
        let spot = data.one(of: [QueryPosition.Spot.before, .behind, .record(name: "n1", zone: .min)])
        let cursor = QueryCursor(
            digest: data.random.next(), order: data.one(of: [.asked, .ofFilter(0), .ofFilter(7)]), position: QueryPosition(keys: keys, spot: spot),
            seen: QueryCursor.Seen(zone: ChangeNumber(run: .max, seq: 3), database: data.one(of: [.zero, ChangeNumber(run: 1, seq: .max)])))
        #expect(QueryCursor(cursor.bytes) == cursor)
        #expect(QueryCursor(cursor.bytes.dropLast()) == nil)
        #expect(QueryCursor(cursor.bytes + [0]) == nil)
        #expect(ChangeToken(cursor.bytes) == nil)
    }

    /// Records named "stay" keep their sort key. Others come, go and change between the pages.
    @Test(arguments: Engine.ofRules, 0..<3)
    func `a record that matches throughout appears exactly once while others change`(engine: Engine, number: Int) async throws {
        let seed = HistorySeed.value &+ UInt64(number)
        var data = QueryData(seed: seed)
        var cloud = try await QueryCloud(engine, zones: ["a", "b"], names: 30, data: &data)
        var staying: Set<String> = []
        for number in 0..<20 {
            let zone = data.one(of: ["a", "b"])
            var fields = data.recordFields()
            fields["count"] = .int64(Int64(data.one(of: [1, 2, 3])))
            fields["place"] = .location(data.location())
            try await cloud.save("stay\(number)", fields, in: zone)
            staying.insert("\(zone)/stay\(number)")
        }
        let present = QueryFilter(.greaterThan, fieldName: "count", value: .int64(-1))
        let from = data.location()
        let queries = [
            Query(recordType: QueryData.type), Query(recordType: QueryData.type, filters: [present]),
            Query(recordType: QueryData.type, filters: [present], sorts: [QuerySort("count", isAscending: false)]),
            Query(recordType: QueryData.type, sorts: [QuerySort("count"), QuerySort("___recordID", isAscending: false)]),
            Query(recordType: QueryData.type, filters: [present], sorts: [QuerySort("place", relativeLocation: from)]),
            Query(recordType: QueryData.type, filters: [QueryFilter(.in, fieldName: "count", value: .int64List([1, 2, 3]))]),
        ]
        for query in queries {
            for rows in [7, 40, 10_000] {
                var found: [String] = []
                var marker: String?
                repeat {
                    let page = try await cloud.page(query, zone: nil, limit: 4, rows: rows, after: marker)
                    found += page.records.map { "\($0.zoneID?.zoneName ?? "")/\($0.recordName)" }
                    marker = page.continuationMarker
                    let name = "n\(Int.random(in: 0..<34, using: &data.random))"
                    let zone = data.one(of: ["a", "b"])
                    if data.chance(40) { try await cloud.delete(name, in: zone) } else { try await cloud.save(name, data.recordFields(), in: zone) }
                } while marker != nil
                let context = "NACRE_SEED=\(seed &- UInt64(number)) \(engine) \(number) \(rows) rows \(query)"
                #expect(found.filter { $0.contains("/stay") }.sorted() == staying.sorted(), "\(context)")
            }
        }
    }

    @Test func `records of all zones come in one order, and a zone by name wins over all zones`() async throws {
        var data = QueryData(seed: 5)
        let cloud = try await QueryCloud(.memory, zones: [ZoneID.defaultZoneName, "a", "b"], names: 20, data: &data)
        let query = Query(recordType: QueryData.type, sorts: [QuerySort("count")])
        let whole = try await cloud.pages(query, zone: nil, limit: 3, rows: 10_000)
        #expect(whole.map(\.recordName) == cloud.expected(query, zone: nil).map(\.recordName))
        #expect(Set(whole.compactMap(\.zoneID?.zoneName)).count == 3)
        let both = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "a"), zoneWide: true)
        let answer = try await cloud.user.cloud.queryRecords(both, in: cloud.user.target, by: cloud.user.caller)
        #expect(answer.records.allSatisfy { $0.zoneID?.zoneName == "a" })
        let neither = RecordsQueryRequest(query: query)
        let standard = try await cloud.user.cloud.queryRecords(neither, in: cloud.user.target, by: cloud.user.caller)
        #expect(standard.records.allSatisfy { $0.zoneID?.isDefault == true })
        await #expect(throws: ServerError.self) { try await cloud.page(query, zone: "nowhere", limit: 3) }
    }

    @Test func `only the keys that are desired are answered`() async throws {
        var data = QueryData(seed: 6)
        let cloud = try await QueryCloud(.memory, zones: ["a"], names: 10, data: &data)
        let request = RecordsQueryRequest(query: Self.all, zoneID: ZoneID(zoneName: "a"), desiredKeys: ["text"])
        let answer = try await cloud.user.cloud.queryRecords(request, in: cloud.user.target, by: cloud.user.caller)
        #expect(!answer.records.isEmpty)
        #expect(answer.records.allSatisfy { $0.fields.entries.allSatisfy { $0.name == "text" } })
    }

    @Test func `the public database is asked by anybody, and answers with its one zone`() async throws {
        var data = QueryData(seed: 7)
        let cloud = try await QueryCloud(.memory, zones: [ZoneID.defaultZoneName], names: 5, data: &data, scope: .public)
        let world = cloud.cloud.world()
        let request = RecordsQueryRequest(query: Self.all, zoneWide: true)
        let answer = try await world.cloud.queryRecords(request, in: world.target, by: world.caller)
        #expect(answer.records.count == 5)
        #expect(answer.records.allSatisfy { $0.zoneID?.ownerRecordName == nil })
    }

    @Test(arguments: [true, false])
    func `an index that is not made, or being built, is done without, and an order of many records waits for it`(isBuilding: Bool) async throws {
        var data = QueryData(seed: 8)
        let cloud = try await QueryCloud(.memory, zones: ["a"], names: 20, data: &data)
        try await cloud.user.modify([.make(.forceUpdate, "n1", type: QueryData.type, ["late": .int64(1)])], zone: "a")
        if isBuilding { try await cloud.user.askForIndexes() }
        let queries = [
            Query(recordType: QueryData.type, filters: [QueryFilter(.equals, fieldName: "late", value: .int64(1))]),
            Query(
                recordType: QueryData.type, filters: [QueryFilter(.equals, fieldName: "late", value: .int64(1))],
                sorts: [QuerySort("late", isAscending: false)]),
        ]
        for query in queries { #expect(try await cloud.page(query, zone: "a", limit: 10).records.map(\.recordName) == ["n1"]) }
        #expect(try await cloud.pages(queries[0], zone: "a", limit: 10, rows: 5).map(\.recordName) == ["n1"], "in the order of names")
        #expect(try await cloud.page(queries[1], zone: "a", limit: 10, rows: 5).records.map(\.recordName) == ["n1"], "sorted in portions")
        var waiting = try await cloud.page(queries[1], zone: "a", limit: 10, rows: 5, portions: 2)
        for turn in 0..<3 {
            #expect(waiting.records.isEmpty && waiting.continuationMarker != nil)
            waiting = try await cloud.page(queries[1], zone: "a", limit: 10, rows: 5, after: waiting.continuationMarker)
            let read = try await cloud.explain(queries[1], zone: "a", limit: 10, rows: 5, after: waiting.continuationMarker).last
            #expect(read == "read 0 rows, 0 of them with their records; answered 0, more to come", "turn \(turn)")
        }
        try await cloud.cloud.buildIndexes()
        #expect(try await cloud.user.cloud.schemas.schema(of: TestCloud.container, .development).building.isEmpty)
        #expect(try await cloud.pages(queries[1], zone: "a", limit: 10, rows: 5, from: waiting.continuationMarker).map(\.recordName) == ["n1"])
        #expect(try await cloud.pages(queries[1], zone: "a", limit: 10, rows: 5).map(\.recordName) == ["n1"])
    }

    /// Some records are so large that their bodies are not kept between the portions.
    @Test(arguments: zip([Engine.memory, .sqlite], [2, 7])) func `a page without its index sorts large zones in portions, while others change them`(
        engine: Engine, limit: Int
    ) async throws {
        let interrupted = InterruptedReads(try await engine.makeStore())
        let ann = TestCloud(interrupted).user("_ann")
        try await ann.makeZone("a", "b")
        let text = String(repeating: "x", count: Limits.recordBytes - 1_000)
        for zone in ["a", "b"] {
            let operations = (0..<12 as Range<Int64>).map { number -> RecordOperation in
                var fields: RecordFields = ["n": .int64((number * 5) % 12)]
                if zone == "a", number < 9 { fields["text"] = .string(text) }
                return .create("\(zone)\(number)", fields)
            }
            for operation in operations { #expect(try await ann.modify([operation], zone: zone).allSatisfy { $0.error == nil }) }
        }
        let some = QueryFilter(.greaterThanOrEquals, fieldName: "n", value: .int64(0))
        let query = Query(recordType: "Note", filters: [some], sorts: [QuerySort("n")])
        func pages(_ zone: String?, mayBeEmpty: Bool = false) async throws -> [String] {
            var (names, marker) = ([String](), String?.none)
            repeat {
                let request = RecordsQueryRequest(
                    query: query, zoneID: zone.map { ZoneID(zoneName: $0) }, zoneWide: zone == nil, resultsLimit: limit,
                    continuationMarker: marker, desiredKeys: ["n"])
                let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller, scanning: 4)
                #expect(!page.records.isEmpty || page.continuationMarker == nil || mayBeEmpty)
                names += page.records.map(\.recordName)
                marker = page.continuationMarker
            } while marker != nil
            return names
        }
        let sorted = ["a", "b"].flatMap { zone in (0..<12).map { (zone, $0) } }.sorted {
            (($0.1 * 5) % 12, $0.0, $0.1) < (($1.1 * 5) % 12, $1.0, $1.1)
        }.map { "\($0.0)\($0.1)" }
        #expect(try await pages("a") == sorted.filter { $0.hasPrefix("a") })
        #expect(try await pages(nil) == sorted)
        // After each read others delete earlier records, move records and add some.
        let turn = Locked(0)
        interrupted.after {
            let number = turn.withLock { turn in
                turn += 1
                return turn
            }
            try await ann.modify([.create("new\(number)", ["n": .int64(0)])], zone: "a")
            try await ann.modify([.delete("a\(number)")], zone: "a", atomic: false)
            try await ann.modify([.make(.forceUpdate, "a11", ["n": .int64(Int64(number))])], zone: "a")
        }
        let found = try await pages("a", mayBeEmpty: true)
        interrupted.after(nil)
        let still = found.filter { $0 != "a11" }
        #expect(Set(still).count == still.count, "none that keeps its place comes twice: \(found)")
        let left = Set(try await pages("a"))
        #expect(left.subtracting(found).allSatisfy { $0 == "a11" || $0.hasPrefix("new") }, "\(found)")
    }

    @Test func `a page that is in the way of what others write is made of fewer rows, and not refused`() async throws {
        let interrupted = InterruptedReads(try await Engine.memory.makeStore())
        let ann = TestCloud(interrupted).user("_ann")
        let text = String(repeating: "x", count: 300)
        try await ann.modify((0..<60).map { .create("r\($0)", ["n": .int64(Int64($0 % 2)), "text": .string(text)]) })
        interrupted.endReads(ofMoreThan: 5_000)
        let query = Query(recordType: "Note", filters: [QueryFilter(.equals, fieldName: "n", value: .int64(1))])
        var (names, marker) = (Set<String>(), String?.none)
        repeat {
            let request = RecordsQueryRequest(query: query, resultsLimit: 200, continuationMarker: marker)
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            names.formUnion(page.records.map(\.recordName))
            marker = page.continuationMarker
        } while marker != nil
        #expect(names.count == 30 && interrupted.readsEnded > 0)
        // In an order without an index.
        let request = RecordsQueryRequest(query: Query(recordType: "Note", filters: query.filters, sorts: [QuerySort("n")]), resultsLimit: 5)
        #expect(try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller).records.count == 5)
    }

    @Test func `an index is made once a query has read many records without it, and not before`() async throws {
        let cloud = try await TestCloud(.memory)
        let ann = cloud.user("_ann")
        func indexes() async throws -> [String: [IndexKind]] {
            let fields = try await ann.cloud.schemas.schema(of: TestCloud.container, .development).types["Note"]?.fields ?? [:]
            return fields.mapValues { field in IndexKind.allCases.filter { field[$0] != nil } }
        }
        func ask(_ filters: [QueryFilter], _ sorts: [QuerySort] = []) async throws {
            let request = RecordsQueryRequest(query: Query(recordType: "Note", filters: filters, sorts: sorts))
            _ = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
        }
        func save(_ numbers: Range<Int>) async throws {
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 200) {
                try await ann.modify(
                    (start..<min(start + 200, numbers.upperBound)).map {
                        .create("r\($0)", ["n": .int64(Int64($0)), "text": .string("word \($0)"), "other": .int64(1)])
                    })
            }
        }
        let one = QueryFilter(.equals, fieldName: "n", value: .int64(7))
        try await save(0..<Limits.rowsWithoutIndex - 1)
        try await ask([one], [QuerySort("text")])
        #expect(try await indexes() == ["n": [], "text": [], "other": []])
        try await save(Limits.rowsWithoutIndex..<Limits.rowsWithoutIndex + 200)
        let request = RecordsQueryRequest(query: Query(recordType: "Note", filters: [one]))
        _ = try await ann.cloud.explainQuery(request, in: ann.target, by: ann.caller)
        #expect(try await indexes()["n"] == [], "to explain a query makes nothing")
        try await ask([one])
        #expect(try await indexes() == ["n": [.values], "text": [], "other": []])
        try await ask([one])
        try await ann.makesNothingMore { try await ask([one]) }
        _ = try await cloud.cloud.runDueTasks()
        try await ask([one], [QuerySort("text")])
        #expect(try await indexes()["text"] == [], "the other index left few records to be sorted")
        try await ask([QueryFilter(.containsAnyTokens, fieldName: nil, value: .string("650"))])
        #expect(try await indexes() == ["n": [.values], "text": [.tokens], "other": []])
        try await cloud.runAllTasks()
        #expect(try await IndexCensus(ann).isWhole())
    }

    @Test func `the plan is told in lines`() async throws {
        var data = QueryData(seed: 9)
        let cloud = try await QueryCloud(.sqlite, zones: ["a"], names: 30, data: &data)
        let query = Query(
            recordType: QueryData.type, filters: [QueryFilter(.equals, fieldName: "count", value: .int64(1))], sorts: [QuerySort("date")])
        let lines = try await cloud.explain(query, zone: "a", limit: 3, rows: 10_000)
        #expect(lines.first == "records of type Thing, ordered by date ascending, name")
        #expect(lines.contains { $0.hasPrefix("filter count EQUALS: index ") })
        #expect(lines.contains { $0.hasPrefix("a: collect count EQUALS, ") })
        #expect(lines.last?.hasPrefix("read ") == true)
    }
}
