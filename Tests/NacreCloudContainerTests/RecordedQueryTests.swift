import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of which queries a change of a schema breaks.
@Suite struct RecordedQueryTests {
    private static let container = TestCloud.container
    private static let world = Caller(.world)
    private static let user = Caller(.user("_ann"))

    private static func schema(_ items: String, more: String = "") throws -> Schema {
        try SchemaText.schema(
            from: "DEFINE SCHEMA CREATE ROLE Team; RECORD TYPE Note (\(items)); \(more) RECORD TYPE Users (roles LIST<INT64>);")
    }

    private static func query(_ filters: [QueryFilter], sorts: [QuerySort] = []) -> Query {
        Query(recordType: "Note", filters: filters, sorts: sorts)
    }

    private static let queries: [(query: Query, scope: DatabaseKey.Scope, caller: Caller, words: String)] = [
        (query([]), .public, world, "Note"),
        (
            query([QueryFilter(.beginsWith, fieldName: "title", value: .string("a secret"))], sorts: [QuerySort("stars", isAscending: false)]),
            .public, user,
            "Note where title BEGINS_WITH STRING, sorted by stars"
        ),
        (
            query([QueryFilter(.in, fieldName: "stars", value: .int64List([1, 2])), QueryFilter(.equals, fieldName: "owner", value: .string("x"))]),
            .private, user, "Note where owner EQUALS STRING, stars IN INT64_LIST"
        ),
        (query([QueryFilter(.containsAllTokens, fieldName: nil, value: .string("olives"))]), .public, world, "Note where CONTAINS_ALL_TOKENS STRING"),
        (
            query(
                [QueryFilter(.near, fieldName: "place", value: .location(Location(latitude: 1, longitude: 2)), distance: 3)],
                sorts: [QuerySort("place", relativeLocation: Location(latitude: 1, longitude: 2))]), .public, user,
            "Note where place NEAR LOCATION, sorted by distance of place"
        ),
    ]

    private static let whole = """
        "___recordID" REFERENCE QUERYABLE, title STRING QUERYABLE SEARCHABLE, stars INT64 QUERYABLE SORTABLE, owner STRING QUERYABLE, \
        place LOCATION QUERYABLE SORTABLE
        """

    /// The error of each query; `-`: none.
    @Test(arguments: [
        (whole, "- - - - -"),
        (whole + ", GRANT READ, WRITE TO \"_creator\"", "READ READ - READ READ"),
        (whole + ", GRANT READ TO \"_icloud\"", "READ - - READ -"),
        (whole + ", GRANT READ TO Team", "READ READ - READ READ"),
        (whole + ", GRANT READ TO \"_world\", GRANT CREATE TO Team", "- - - - -"),
        ("title STRING, stars INT64, owner STRING, place LOCATION", "indexable indexable indexable indexable indexable"),
        (
            "title STRING QUERYABLE, stars INT64 QUERYABLE, owner STRING QUERYABLE, place LOCATION QUERYABLE",
            "queryable sortable - searchable sortable"
        ),
        (whole.replacing("owner STRING QUERYABLE, ", with: ""), "- - Unknown - -"),
        (whole.replacing("owner STRING", with: "owner INT64"), "- - value - -"),
        (whole.replacing("title STRING QUERYABLE SEARCHABLE", with: "title ENCRYPTED STRING"), "- value - searchable -"),
    ])
    func `each query hears what the next schema would answer it`(items: String, heard: String) throws {
        let before = try Self.schema(Self.whole)
        let next = try Self.schema(items)
        for (asked, expected) in zip(Self.queries, heard.split(separator: " ").map(String.init)) {
            let recorded = RecordedQuery(asked.query, in: asked.scope, by: asked.caller)
            #expect(recorded.fault(in: before, after: before, of: Self.container) == nil)
            let fault = recorded.fault(in: next, after: before, of: Self.container)
            #expect(expected == "-" ? fault == nil : fault?.reason.contains(expected) == true, "\(recorded.words): \(fault?.reason ?? "nothing")")
        }
    }

    @Test func `what is kept of a query is in words, and has no value`() {
        for (query, scope, caller, words) in Self.queries {
            #expect(RecordedQuery(query, in: scope, by: caller).words == words)
        }
        var administrator = Caller(.serverKey("_key"))
        administrator.isAdministrator = true
        #expect(RecordedQuery(Self.queries[0].query, in: .public, by: administrator).asker == .owner)
        // All filters must hold: in any order, it is the same query.
        let filters = Self.queries[2].query.filters
        #expect(
            RecordedQuery(Self.query(filters), in: .public, by: Self.world)
                == RecordedQuery(Self.query(filters.reversed()), in: .public, by: Self.world))
    }

    @Test func `a type that goes breaks its queries, and a query that was refused before is not broken`() throws {
        let recorded = RecordedQuery(Self.queries[1].query, in: .public, by: Self.world)
        let whole = try Self.schema(Self.whole)
        let none = try SchemaText.schema(from: "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>);")
        #expect([recorded].broken(by: none, after: whole, of: Self.container).map(\.fault.reason) == ["Did not find record type: Note"])
        let without = try Self.schema("title STRING QUERYABLE")
        #expect([recorded].broken(by: none, after: without, of: Self.container).isEmpty)
    }

    private func bring(_ items: String, _ schemas: Schemas, isDryRun: Bool = false) async throws -> SchemaImport {
        try await schemas.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note (\(items)); RECORD TYPE Users (roles LIST<INT64>);", to: Self.container, isDryRun: isDryRun)
    }

    @Test(arguments: Engine.ofRules) func `previews of imports and deployments name the queries that they break`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let registry = test.cloud.registry
        let schemas = test.cloud.schemas
        _ = try await registry.createContainer(Self.container)
        #expect(try await bring(Self.whole, schemas).broken.isEmpty)
        _ = try await schemas.deploySchema(of: Self.container, isDryRun: false)
        for environment in [DatabaseKey.Environment.development, .production] {
            for asked in Self.queries {
                await schemas.note(
                    asked.query, in: DatabaseTarget(container: Self.container, environment: environment, scope: asked.scope), by: asked.caller)
            }
        }
        let closed = Self.whole.replacing("stars INT64 QUERYABLE SORTABLE", with: "stars INT64 QUERYABLE") + ", GRANT READ TO \"_icloud\""
        for isDryRun in [true, false] {
            let broken = try await bring(closed, schemas, isDryRun: isDryRun).broken
            #expect(broken.map(\.query.words) == [0, 3, 1].map { Self.queries[$0].words }.sorted())
            #expect(broken.contains { $0.fault.reason == "Field 'stars' is not marked sortable" })
            #expect(broken.filter { $0.fault.reason.contains("_world may not READ") }.count == 2)
        }
        // Production keeps its indexes: a deployment removes only grants.
        for isDryRun in [true, false] {
            let broken = try await schemas.deploySchema(of: Self.container, isDryRun: isDryRun).broken
            #expect(broken.map(\.query.words) == [Self.queries[0].words, Self.queries[3].words])
        }
        #expect(try await schemas.deploySchema(of: Self.container, isDryRun: false).broken.isEmpty)
    }

    @Test func `a query is kept for a month after it was asked last, and so many of an environment`() async throws {
        let test = try await TestCloud(.memory)
        let registry = test.cloud.registry
        let schemas = test.cloud.schemas
        _ = try await registry.createContainer(Self.container)
        _ = try await bring(Self.whole, schemas)
        let target = DatabaseTarget(container: Self.container, environment: .development, scope: .public)
        func kept() async throws -> Int { try await schemas.recordedQueries(of: Self.container, .development).count }
        await schemas.note(Self.queries[0].query, in: target, by: Self.world)
        await schemas.note(Self.queries[1].query, in: target, by: Self.world)
        #expect(try await kept() == 2)
        test.clock.move(bySeconds: Limits.recordedQuerySeconds - 1)
        await schemas.note(Self.queries[1].query, in: target, by: Self.world)
        test.clock.move(bySeconds: 2)
        #expect(try await kept() == 1)
        for number in 0..<(Limits.recordedQueriesKept + 5) {
            await schemas.note(Self.query([QueryFilter(.equals, fieldName: "f\(number)", value: .int64(1))]), in: target, by: Self.world)
        }
        #expect(try await kept() == Limits.recordedQueriesKept)
        // At the limit recording pauses for a while, so that a client with ever new queries causes no writes.
        let counted = CountingStore(test.cloud.registry.store)
        let other = Schemas(registry: Registry(store: counted, clock: { test.clock.now }, random: { 1 }))
        for number in 0..<3 {
            await other.note(Self.query([QueryFilter(.equals, fieldName: "g\(number)", value: .int64(1))]), in: target, by: Self.world)
        }
        #expect(counted.transactions.count { $0.kind == .write } == 1)
        let long = Self.query([QueryFilter(.equals, fieldName: String(repeating: "x", count: Limits.recordedQueryBytes), value: .int64(1))])
        test.clock.move(bySeconds: Limits.recordedQuerySeconds + 1)
        await schemas.note(long, in: target, by: Self.world)
        #expect(try await kept() == 0)
    }
}
