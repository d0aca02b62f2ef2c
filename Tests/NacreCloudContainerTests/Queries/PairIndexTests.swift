import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of indexes of two fields: when one is made, a query's reads by it, and when it is removed.
@Suite struct PairIndexTests {
    private static let fields: [String: FieldType] = [
        "shelf": .string, "rank": .int64, "tags": .stringList, "place": .location, "body": .string,
    ]

    private func query(_ shelf: String = "a", _ sorts: [QuerySort] = [QuerySort("rank")], more: [QueryFilter] = []) -> Query {
        Query(recordType: "Note", filters: [QueryFilter(.equals, fieldName: "shelf", value: .string(shelf))] + more, sorts: sorts)
    }

    private static func fields(of number: Int) -> RecordFields {
        RecordFields([
            .init("shelf", .string(number % 4 == 0 ? "a" : "b")), .init("rank", .int64(Int64(number * 37 % 400))),
            .init("tags", .stringList(["t\(number % 5)", "all"])),
        ])
    }

    /// Makes 400 records, of which every fourth is on shelf "a".
    private func filled(_ engine: Engine = .memory) async throws -> TestCloudUser {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.define(Self.fields)
        try await ann.makeZone("notes")
        for start in stride(from: 0, to: 400, by: 100) {
            try await ann.modify((start..<start + 100).map { .make(.create, "n\($0)", Self.fields(of: $0)) }, zone: "notes")
        }
        return ann
    }

    private func page(_ query: Query, of user: TestCloudUser, limit: Int = 20) async throws -> QueryPage {
        let request = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "notes"), resultsLimit: limit)
        return try await user.cloud.queryPage(
            request, in: user.target, by: user.caller, scanning: Limits.queryScanRows, Limits.queryScanBytes
        ).page
    }

    private func ask(_ query: Query, of user: TestCloudUser, limit: Int = 20) async throws -> [String] {
        let request = RecordsQueryRequest(query: query, zoneID: ZoneID(zoneName: "notes"), resultsLimit: limit)
        return try await user.cloud.queryRecords(request, in: user.target, by: user.caller).records.map(\.recordName)
    }

    private func pairs(of user: TestCloudUser) async throws -> [String] {
        try await user.cloud.schemas.schema(of: user.target.container, user.target.environment).types["Note"]?.pairs.map(\.name) ?? []
    }

    @Test(arguments: Engine.ofRules)
    func `a query that reads many records in vain gets an index of its two fields, and reads no more than it answers`(engine: Engine) async throws {
        let ann = try await filled(engine)
        let before = try await page(query(), of: ann)
        #expect(before.considered == 100)
        let names = try await ask(query(), of: ann)
        #expect(try await pairs(of: ann) == ["shelf+rank"])
        // The index is not used before it is complete.
        #expect(try await page(query(), of: ann).considered == 100)
        try await ann.buildIndexes()
        let after = try await page(query(), of: ann)
        #expect(after.recordsRead <= 21)
        #expect(after.steps == ["notes: walk the index of shelf and rank, 21 rows"])
        #expect(after.records.all.map(\.recordName) == names)
        let down = try await page(query("a", [QuerySort("rank", isAscending: false)]), of: ann)
        #expect(down.recordsRead <= 21)
        #expect(down.records.all.first?.recordName == "n108")
        let range = try await page(
            query(more: [QueryFilter(.greaterThan, fieldName: "rank", value: .int64(150))]), of: ann)
        #expect(range.recordsRead <= 21)
        #expect(range.records.all.first?.recordName == "n296")
        #expect(try await page(query("c"), of: ann).rowsRead == 0)
        // Later saves are in it.
        try await ann.modify(
            [.make(.create, "new", RecordFields([.init("shelf", .string("a")), .init("rank", .int64(-1))])), .delete("n108")], zone: "notes")
        #expect(try await ask(query(), of: ann, limit: 1) == ["new"])
        #expect(try await ask(query("a", [QuerySort("rank", isAscending: false)]), of: ann, limit: 1) != ["n108"])
    }

    @Test(arguments: Engine.ofRules)
    func `a query that began without indexes goes on over each as it comes, and without them again, and tells each record once`(engine: Engine)
        async throws
    {
        let ann = try await filled(engine)
        let schemas = ann.cloud.schemas
        func changePairs(_ body: @escaping @Sendable (inout RecordTypeDefinition, inout Int64) -> Void) async throws {
            try await schemas.changeSchema(of: TestCloud.container, .development) { schema in
                guard var type = schema.types["Note"] else { return }
                body(&type, &schema.nextIndex)
                schema.types["Note"] = type
            }
        }
        try await ann.changeIndexes(drop: { _, _ in true }, make: { _, _ in false })
        var (names, marker): ([String], String?) = ([], nil)
        var ways: [String] = []
        for number in 0..<10 {
            let request = RecordsQueryRequest(
                query: query(), zoneID: ZoneID(zoneName: "notes"), resultsLimit: 10, continuationMarker: marker)
            ways += try await ann.cloud.explainQuery(request, in: ann.target, by: ann.caller).lines.filter { $0.hasPrefix("notes: ") }
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            names += page.records.map(\.recordName)
            marker = page.continuationMarker
            switch number {
            case 1: try await ann.changeIndexes(drop: { _, _ in false }, make: { field, _ in field == "rank" })
            case 2: try await ann.buildIndexes()
            case 4:
                try await changePairs { $0.makePair("shelf", "rank", nextIndex: &$1) }
                try await ann.buildIndexes()
            case 6:
                try await ann.changeIndexes(drop: { _, _ in true }, make: { _, _ in false })
                try await changePairs { type, _ in type.pairs = [] }
            default: break
            }
            // Other records come and go, before the page and behind it.
            let fields = RecordFields([.init("shelf", .string("a")), .init("rank", .int64(Int64(number % 2 == 0 ? -1 : 1_000)))])
            try await ann.modify([.make(.create, "new\(number)", fields)], zone: "notes")
        }
        for way in ["whole zone", "the index of rank", "the index of shelf and rank"] { #expect(ways.contains { $0.contains(way) }, "\(ways)") }
        let kept = names.filter { !$0.hasPrefix("new") }
        let expected = stride(from: 0, to: 400, by: 4).sorted { ($0 * 37 % 400, "n\($0)") < ($1 * 37 % 400, "n\($1)") }.map { "n\($0)" }
        #expect(kept == expected, "\(ways)")
        #expect(Set(names).count == names.count)
        #expect(!names.contains("new0"))
    }

    @Test(arguments: Engine.ofRules)
    func `a page that found too many matches on every side leaves its marker on the walk, and the next one reads no more than that`(engine: Engine)
        async throws
    {
        // The filter's matches are the last of the order.
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.define(["side": .int64, "rank": .int64])
        try await ann.makeZone("notes")
        for start in stride(from: 0, to: 600, by: 200) {
            try await ann.modify(
                (start..<start + 200).map {
                    .make(.create, "n\($0)", RecordFields([.init("side", .int64($0 < 400 ? 0 : 1)), .init("rank", .int64(Int64($0)))]))
                }, zone: "notes")
        }
        let wanted = Query(
            recordType: "Note", filters: [QueryFilter(.greaterThan, fieldName: "side", value: .int64(0))], sorts: [QuerySort("rank")])
        var (marker, names): (String?, [String]) = (nil, [])
        var (rows, bodies): ([Int], [Int]) = ([], [])
        repeat {
            let request = RecordsQueryRequest(
                query: wanted, zoneID: ZoneID(zoneName: "notes"), resultsLimit: 20, continuationMarker: marker)
            let page = try await ann.cloud.queryPage(
                request, in: ann.target, by: ann.caller, scanning: 100, Limits.queryScanBytes
            ).page
            rows.append(page.rowsRead)
            bodies.append(page.recordsRead)
            names += page.records.all.compactMap(\.recordName)
            marker = try page.cursor.map { try ann.cloud.tokens.seal($0.bytes) }
        } while marker != nil
        #expect(names == (400..<600).map { "n\($0)" })
        // The first page searches for a match; the others walk on from its end.
        #expect(rows[0] > 150, "\(rows)")
        #expect(rows.dropFirst().allSatisfy { $0 <= 101 } && bodies.allSatisfy { $0 <= 101 }, "\(rows), \(bodies)")
        // Rows without a match are read once, and rows read ahead of a page's end twice.
        #expect(bodies.prefix(4).reduce(0, +) <= 404, "\(bodies)")
    }

    @Test func `elements of a list have their places in it, each in the order asked for`() async throws {
        let ann = try await filled()
        let wanted = Query(
            recordType: "Note", filters: [QueryFilter(.listContains, fieldName: "tags", value: .string("t0"))], sorts: [QuerySort("rank")])
        let names = try await ask(wanted, of: ann)
        try await ann.buildIndexes()
        let after = try await page(wanted, of: ann)
        #expect(try await pairs(of: ann) == ["tags+rank"])
        #expect(after.recordsRead <= 21)
        #expect(after.records.all.map(\.recordName) == names)
    }

    @Test func `a query that finds what it reads gets none, nor does one that lacks an index of its own`() async throws {
        let ann = try await filled()
        _ = try await ask(query("b"), of: ann)
        _ = try await ask(query(), of: ann, limit: 200)
        _ = try await ask(query("a", []), of: ann)
        _ = try await ask(query("a", [QuerySort("place", relativeLocation: Location(latitude: 1, longitude: 1))]), of: ann)
        #expect(try await pairs(of: ann) == [])
        try await ann.changeIndexes(drop: { field, _ in field == "rank" }, make: { _, _ in false })
        _ = try await ask(query(), of: ann)
        #expect(try await pairs(of: ann) == [])
    }

    @Test func `a type has three, and the fourth query goes on as before`() async throws {
        var type = RecordTypeDefinition(name: "Note")
        for name in ["a", "b", "c", "d"] { type.fields[name] = FieldDefinition(type: .int64, isQueryable: true, isSortable: true) }
        var next: Int64 = 9
        for (first, second) in [("a", "b"), ("a", "b"), ("b", "a"), ("a", "c"), ("a", "d")] { type.makePair(first, second, nextIndex: &next) }
        #expect(type.pairs.map(\.name) == ["a+b", "b+a", "a+c"])
        #expect(type.pairs.map(\.definition.id) == [9, 10, 11])
        #expect(next == 12)
    }

    @Test(arguments: [
        ("shelf", "rank", true), ("tags", "rank", true), ("rank", "shelf", true), ("rank", "rank", false), ("shelf", "tags", false),
        ("shelf", "place", false), ("secret", "rank", false), ("shelf", "secret", false), ("shelf", "none", false), ("plain", "rank", false),
        ("rank", "plain", false),
    ])
    func `which fields may have one`(first: String, second: String, isAllowed: Bool) {
        var type = RecordTypeDefinition(name: "Note")
        for (name, kind) in Self.fields { type.fields[name] = FieldDefinition(type: kind, isQueryable: true, isSortable: !kind.isList) }
        type.fields["secret"] = FieldDefinition(type: .string, isEncrypted: true)
        type.fields["plain"] = FieldDefinition(type: .int64)
        #expect(type.allowsPair(first, second) == isAllowed)
    }

    @Test func `it goes with an option of its fields, and with a field that becomes another one`() async throws {
        let ann = try await filled()
        _ = try await ask(query(), of: ann)
        try await ann.buildIndexes()
        #expect(try await pairs(of: ann) == ["shelf+rank"])
        let schemas = ann.cloud.schemas
        _ = try await schemas.changeSchema(of: TestCloud.container, .development) {
            try $0.setIndexes([.queryable, .sortable], of: "Note", field: "shelf")
        }
        #expect(try await pairs(of: ann) == ["shelf+rank"])
        _ = try await schemas.changeSchema(of: TestCloud.container, .development) { try $0.setIndexes(.queryable, of: "Note", field: "rank") }
        #expect(try await pairs(of: ann) == [])
        var (before, after) = (Schema(), Schema())
        var type = RecordTypeDefinition(name: "Note")
        for name in ["a", "b"] { type.fields[name] = FieldDefinition(type: .int64, isQueryable: true, isSortable: true) }
        var next: Int64 = 1
        type.makePair("a", "b", nextIndex: &next)
        before.types["Note"] = type
        type.fields["b"] = FieldDefinition(type: .string, isQueryable: true, isSortable: true)
        after.types["Note"] = type
        after.dropPairs(over: before)
        #expect(after.types["Note"]?.pairs == [])
    }

    @Test func `production takes those that development has made`() async throws {
        let ann = try await filled()
        _ = try await ask(query(), of: ann)
        let source = try await ann.cloud.schemas.schema(of: TestCloud.container, .development)
        let deployed = Schema().deployment(of: source).schema
        #expect(deployed.types["Note"]?.pairs.map(\.name) == ["shelf+rank"])
        #expect(deployed.types["Note"]?.pairs.map(\.definition.state) == [.building])
        #expect(deployed.deployment(of: source).schema.types == deployed.types)
    }
}
