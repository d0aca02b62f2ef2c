import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of unused indexes of a development schema: when they are removed, what stays, and the removal of their rows.
@Suite struct UnusedIndexesTests {
    private static let month = Limits.recordedQuerySeconds
    private static let fields: [String: FieldType] = ["shelf": .string, "rank": .int64, "body": .string]

    private static let byShelf = Query(recordType: "Note", filters: [QueryFilter(.equals, fieldName: "shelf", value: .string("a"))])
    private static let byShelfAndRank = Query(recordType: "Note", filters: byShelf.filters, sorts: [QuerySort("rank")])

    /// Makes a thousand records in one zone and all indexes that the schema allows.
    private func filled(_ engine: Engine = .memory) async throws -> (TestCloud, TestCloudUser) {
        let test = try await TestCloud(engine)
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        let ann = test.user("_ann")
        try await ann.define(Self.fields)
        try await ann.makeZone("notes")
        for start in stride(from: 0, to: 1000, by: 200) {
            let saves = (start..<start + 200).map { number in
                RecordOperation.make(
                    .create, "n\(number)",
                    RecordFields([
                        .init("shelf", .string(number % 4 == 0 ? "a" : "b")), .init("rank", .int64(Int64(number))),
                        .init("body", .string("a word \(number)")),
                    ]))
            }
            try await ann.modify(saves, zone: "notes")
        }
        return (test, ann)
    }

    private func schema(_ user: TestCloudUser) async throws -> Schema {
        try await user.cloud.schemas.schema(of: user.target.container, user.target.environment)
    }

    /// Returns the made indexes, as `field.kind` or the names of two fields.
    private func made(_ user: TestCloudUser) async throws -> Set<String> {
        guard let type = try await schema(user).types["Note"] else { return [] }
        let ofFields = type.fields.flatMap { name, field in IndexKind.allCases.filter { field[$0] != nil }.map { "\(name).\($0)" } }
        return Set(ofFields + type.pairs.map(\.name))
    }

    /// rows[index]: its rows in the zone of the records; indexes without any are left out.
    private func rows(_ user: TestCloudUser) async throws -> [IndexID: Int] {
        let highest = try await schema(user).nextIndex
        let database = try await user.cloud.databaseID(databaseVerdict(user.target, for: .read, by: user.caller).get())
        return try await user.cloud.store.read { transaction in
            let zone = try #require(try transaction.zones(in: database, named: ["notes"]).first?.address)
            var counts: [IndexID: Int] = [:]
            for index in (1..<highest).map(IndexID.init) {
                let hits = try transaction.search(IndexScan(zone: zone, index: index, limit: 10_000))
                if !hits.isEmpty { counts[index] = hits.count }
            }
            return counts
        }
    }

    private func names(_ query: Query, _ user: TestCloudUser) async throws -> [String] {
        let request = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "notes"), resultsLimit: 200)
        return try await user.cloud.queryRecords(request, in: user.target, by: user.caller).records.map(\.recordName)
    }

    /// Runs due tasks, and tasks that these leave.
    private func work(_ test: TestCloud) async throws {
        while try await test.cloud.runDueTasks().counts.0 > 0 {}
    }

    @Test(arguments: Engine.ofRules)
    func `an index that no query used for a month goes with its rows, and one that a query used stays`(engine: Engine) async throws {
        let (test, ann) = try await filled(engine)
        let all = try await made(ann)
        #expect(all == ["shelf.values", "shelf.tokens", "rank.values", "body.values", "body.tokens"])
        let wanted = try await names(Self.byShelf, ann)
        test.clock.move(bySeconds: Self.month / 2)
        try await work(test)
        await ann.cloud.schemas.note(Self.byShelf, in: ann.target, by: ann.caller)
        #expect(try await made(ann) == all, "half a month is not a month")
        test.clock.move(bySeconds: Self.month / 2 + 1)
        try await work(test)
        #expect(try await made(ann) == ["shelf.values"])
        let kept = try #require(try await schema(ann).types["Note"]?.fields["shelf"]?.values)
        #expect(try await rows(ann) == [kept.index: 1000], "the rows of the others are gone, and none of its own")
        #expect(try await names(Self.byShelf, ann) == wanted)
        // The last index is removed too, after a month without a query.
        test.clock.move(bySeconds: Self.month)
        try await work(test)
        #expect(try await made(ann) == [])
        #expect(try await rows(ann) == [:])
        #expect(try await names(Self.byShelf, ann) == wanted, "without it all records are looked through")
    }

    @Test func `an index that went is made again when a query needs it, under another number, and says which query that was`() async throws {
        let (test, ann) = try await filled()
        let before = try await schema(ann).nextIndex
        test.clock.move(bySeconds: Self.month + 1)
        try await work(test)
        #expect(try await made(ann) == [])
        let found = try await names(Self.byShelf, ann)
        try await ann.buildIndexes()
        #expect(try await made(ann) == ["shelf.values"])
        let index = try #require(try await schema(ann).types["Note"]?.fields["shelf"]?.values)
        #expect(index.id >= before)
        #expect(index.query == "Note where shelf EQUALS STRING")
        #expect(index.made == test.clock.now.secondsSince2001)
        #expect(try await names(Self.byShelf, ann) == found)
    }

    @Test func `an index of two fields stays as long as a query compares the one and sorts by the other`() async throws {
        let (test, ann) = try await filled()
        _ = try await ann.makePair(for: Self.byShelfAndRank)
        try await ann.buildIndexes()
        test.clock.move(bySeconds: Self.month / 2)
        await ann.cloud.schemas.note(Self.byShelfAndRank, in: ann.target, by: ann.caller)
        test.clock.move(bySeconds: Self.month / 2 + 1)
        try await work(test)
        #expect(try await made(ann) == ["shelf.values", "rank.values", "shelf+rank"])
        await ann.cloud.schemas.note(Self.byShelf, in: ann.target, by: ann.caller)
        test.clock.move(bySeconds: Self.month - 10)
        try await work(test)
        #expect(try await made(ann) == ["shelf.values"])
    }

    @Test func `a pinned index stays, and so does each where more queries were recorded than are kept`() async throws {
        let (test, ann) = try await filled()
        let rank = try #require(try await schema(ann).types["Note"]?.fields["rank"]?.values)
        try await ann.cloud.schemas.changeSchema(of: ann.target.container, .development) { schema in
            schema.change([rank.index]) { $0?.isPinned = true }
        }
        test.clock.move(bySeconds: Self.month - 10)
        for number in 0..<Limits.recordedQueriesKept {
            let filters = (0..<8).filter { number & (1 << $0) != 0 }.map { QueryFilter(.equals, fieldName: "f\($0)", value: .string("")) }
            await ann.cloud.schemas.note(Query(recordType: "Note", filters: filters), in: ann.target, by: ann.caller)
        }
        test.clock.move(bySeconds: 11)
        try await work(test)
        #expect(try await made(ann).count == 5)
        test.clock.move(bySeconds: Self.month)
        try await work(test)
        #expect(try await made(ann) == ["rank.values"])
    }

    @Test func `an index without a noted time has a month from now, as the next look says`() {
        let now = Timestamp(secondsSince2001: 1000)
        let index = IndexDefinition(id: 1, state: .usable)
        var schema = Schema(
            version: 1, types: ["Note": RecordTypeDefinition(name: "Note", fields: ["a": FieldDefinition(type: .string, values: index)])])
        #expect(schema.unusedAtTheEarliest(from: now) == now + Self.month)
        schema.dropUnused(by: [], of: TestCloud.container, at: now)
        #expect(schema.indexes == [index.index])
        schema.note(madeAt: now)
        schema.dropUnused(by: [], of: TestCloud.container, at: now + Self.month)
        #expect(schema.indexes.isEmpty)
    }

    @Test func `production keeps its indexes, whatever nobody asks`() async throws {
        let (test, ann) = try await filled()
        _ = try await ann.cloud.schemas.deploySchema(of: ann.target.container, isDryRun: false)
        test.clock.move(bySeconds: 3 * Self.month)
        try await work(test)
        #expect(try await made(ann) == [])
        let production = try await ann.cloud.schemas.schema(of: ann.target.container, .production)
        #expect(production.types["Note"]?.indexes.count == 5)
    }

    @Test(arguments: Engine.ofRules) func `the rows of an index that lost its option go from every zone, and no others`(engine: Engine) async throws {
        let (test, ann) = try await filled(engine)
        let fields = try #require(try await schema(ann).types["Note"]?.fields)
        let before = try await rows(ann)
        let gone = try #require(fields["rank"]?.values?.index)
        #expect(before[gone] == 1000)
        _ = try await ann.cloud.schemas.setIndexes([], of: "Note", field: "rank", in: ann.target.container)
        try await work(test)
        #expect(try await rows(ann) == before.filter { $0.key != gone })
        #expect(try await IndexCensus(ann).isWhole())
    }
}
