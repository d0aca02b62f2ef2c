import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of a page's cost in calls of the store, for queries and feeds. See `StoreCallTests`.
@Suite struct QueryCallTests {
    /// The limit for any values, words, map cells and zones.
    static let mostCallsOfPage = 6

    static let records = 800

    private static func query(_ filters: [QueryFilter] = [], _ sorts: [QuerySort] = []) -> Query {
        Query(recordType: "Note", filters: filters, sorts: sorts)
    }

    private static func numbers(_ values: Range<Int>) -> FieldValue { .int64List(values.map { Int64($0) }) }
    private static let place = FieldValue.location(Location(latitude: 48, longitude: 2))
    private static let queries: [(String, Query)] = [
        ("all", query()),
        ("in 250 values", query([QueryFilter(.in, fieldName: "n", value: numbers(0..<250))])),
        ("in 250 values, one of which has all", query([QueryFilter(.in, fieldName: "few", value: numbers(0..<250))])),
        ("any of 250 elements", query([QueryFilter(.listContainsAny, fieldName: "tags", value: .stringList((0..<250).map { "tag\($0)" }))])),
        (
            "any of 20 words",
            query([QueryFilter(.containsAnyTokens, fieldName: nil, value: .string((0..<20).map { "word\($0)" }.joined(separator: " ")))])
        ),
        ("all of 3 words", query([QueryFilter(.containsAllTokens, fieldName: nil, value: .string("word1 every all"))])),
        ("a circle", query([QueryFilter(.near, fieldName: "at", value: place, distance: 2_000_000)])),
        ("nearest first", query([], [QuerySort("at", relativeLocation: Location(latitude: 48, longitude: 2))])),
        ("farthest first", query([], [QuerySort("at", isAscending: false, relativeLocation: Location(latitude: 48, longitude: 2))])),
        ("by a number", query([], [QuerySort("n", isAscending: false)])),
        ("few of many, by a number", query([QueryFilter(.lessThan, fieldName: "n", value: .int64(40))], [QuerySort("few")])),
        (
            "two filters, nearest first",
            query(
                [QueryFilter(.greaterThan, fieldName: "n", value: .int64(100)), QueryFilter(.equals, fieldName: "few", value: .int64(3))],
                [QuerySort("at", relativeLocation: Location(latitude: 48, longitude: 2))])
        ),
    ]

    private func fields(_ index: Int) -> RecordFields {
        RecordFields([
            .init("n", .int64(Int64(index))), .init("few", .int64(Int64(index % 5))),
            .init("tags", .stringList(["tag\(index % 250)", "tag\(index % 7)"])), .init("text", .string("every all word\(index % 40)")),
            .init("at", .location(Location(latitude: Double(index % 170) - 85, longitude: Double(index * 7 % 360) - 180))),
        ])
    }

    private func user(_ store: CountingStore, in scope: DatabaseKey.Scope = .private) async throws -> TestCloudUser {
        let ann = TestCloud(store).user("_ann", in: scope)
        try await ann.define(["n": .int64, "few": .int64, "tags": .stringList, "text": .string, "at": .location])
        _ = try await ann.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            try $0.setIndexes(.queryable, of: "Note", field: SystemField.recordName.rawValue)
        }
        try await ann.makeIndexes()
        return ann
    }

    private func calls(_ store: CountingStore, _ body: () async throws -> Void) async throws -> Int {
        store.reset()
        try await body()
        #expect(store.transactions.count == 1)
        return store.transactions.reduce(0) { $0 + $1.verbs.count }
    }

    @Test func `a page of a query asks the store a few times, whatever it asks for`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = try await user(store)
        try await ann.makeZone("Z")
        try await expectFewCalls(of: ann, in: ZoneID(zoneName: "Z"), store)
    }

    /// The roles are a call too.
    @Test func `a page for somebody who has a role asks the store no more often`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = try await editor(store)
        try await expectFewCalls(of: ann, in: .defaultZone, store)
    }

    /// The page with the most calls has none left for roles.
    @Test func `a page by distance for somebody who has a role asks the store no more often`() async throws {
        let store = CountingStore(try await Engine.sqlite.makeStore())
        try await expectFewCalls(of: try await editor(store), in: .defaultZone, .farSpot, isAscending: true, store)
    }

    private func editor(_ store: CountingStore) async throws -> TestCloudUser {
        let ann = try await user(store, in: .public)
        let registry = ann.cloud.registry
        let schemas = ann.cloud.schemas
        try await schemas.changeSchema(of: TestCloud.container, .development) { $0.declare(role: "Editor") }
        _ = try await registry.createContainer(TestCloud.container)
        _ = try await schemas.assign("Editor", to: "_ann", in: TestCloud.container, .development)
        return ann
    }

    private func expectFewCalls(of ann: TestCloudUser, in zone: ZoneID, _ store: CountingStore) async throws {
        for start in stride(from: 0, to: Self.records, by: 400) {
            try await ann.modify((start..<start + 400).map { .make(.create, "r\($0)", fields($0)) }, zone: zone.zoneName)
        }
        for (name, query) in Self.queries {
            var marker: String?
            var found = 0
            var page = 0
            repeat {
                page += 1
                let request = RecordsQueryRequest(query: query, zoneID: zone, continuationMarker: marker)
                let calls = try await calls(store) {
                    let answer = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
                    marker = answer.continuationMarker
                    found += answer.records.count
                }
                #expect(calls <= Self.mostCallsOfPage, "\(name), page \(page): \(store.transactions.flatMap(\.verbs))")
            } while marker != nil
            #expect(found > 0, "\(name)")
        }
    }

    @Test func `a page over many zones asks the store no more often than one over one zone`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = try await user(store)
        let zones = (0..<60).map { "Z\($0)" }
        for (number, zone) in zones.enumerated() {
            try await ann.makeZone(zone)
            try await ann.modify((0..<5).map { .make(.create, "r\($0)", fields(number * 5 + $0)) }, zone: zone)
        }
        for (name, query) in Self.queries {
            for limit in [200, 29] {
                var request = RecordsQueryRequest(query: query, zoneWide: true, resultsLimit: limit)
                var found = 0
                repeat {
                    let calls = try await calls(store) {
                        let answer = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
                        found += answer.records.count
                        request.continuationMarker = answer.continuationMarker
                    }
                    #expect(calls <= Self.mostCallsOfPage, "\(name): \(store.transactions.flatMap(\.verbs))")
                } while request.continuationMarker != nil
                #expect(found > 0, "\(name)")
            }
        }
    }

    /// The distribution of records on a map.
    enum Map: CaseIterable, Sendable {
        case everywhere, oneSpot, farSpot, fourFarSpots, everFarther, line

        func location(_ number: Int, _ random: inout some RandomNumberGenerator) -> Location {
            func near(_ latitude: Double, _ longitude: Double, _ degrees: Double) -> Location {
                Location(
                    latitude: latitude + Double.random(in: -degrees...degrees, using: &random),
                    longitude: longitude + Double.random(in: -degrees...degrees, using: &random))
            }
            return switch self {
            case .everywhere: near(0, 0, 85)
            case .oneSpot: Location(latitude: 12, longitude: 34)
            // Off every edge of the map's quarters, and on the edge of the largest.
            case .farSpot: near(-33.3, -120.7, 0.001)
            case .fourFarSpots: near(0, number % 2 == 0 ? 0 : 90, number % 4 < 2 ? 0.001 : 0.0001)
            case .everFarther: Location(latitude: 48 - 130 / Double(number + 1), longitude: 2)
            case .line: Location(latitude: 48, longitude: Double(number % 360) - 180 + Double(number) / 10_000)
            }
        }
    }

    @Test(arguments: Map.allCases, [true, false])
    func `a page by distance asks the store a few times, wherever the records are`(map: Map, isAscending: Bool) async throws {
        let store = CountingStore(try await Engine.sqlite.makeStore())
        let ann = try await user(store)
        try await ann.makeZone("Z")
        try await expectFewCalls(of: ann, in: ZoneID(zoneName: "Z"), map, isAscending: isAscending, store)
    }

    private func expectFewCalls(of ann: TestCloudUser, in zone: ZoneID, _ map: Map, isAscending: Bool, _ store: CountingStore) async throws {
        var data = QueryData(seed: HistorySeed.value)
        var distances: [String: Double] = [:]
        let here = GeoPoint(latitude: 48, longitude: 2)
        for start in stride(from: 0, to: Self.records, by: 400) {
            let operations = (start..<start + 400).map { number in
                let location = map.location(number, &data.random)
                distances["r\(number)"] = GeoPoint(location).distance(to: here)
                return RecordOperation.make(.create, "r\(number)", RecordFields([.init("at", .location(location))]))
            }
            try await ann.modify(operations, zone: zone.zoneName)
        }
        for limit in [10, 200] {
            let sort = QuerySort("at", isAscending: isAscending, relativeLocation: Location(latitude: 48, longitude: 2))
            var request = RecordsQueryRequest(query: Self.query([], [sort]), zoneID: zone, resultsLimit: limit)
            var found: [Double] = []
            var pages = 0
            var most = 0
            repeat {
                let calls = try await calls(store) {
                    let answer = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
                    found += answer.records.compactMap { distances[$0.recordName] }
                    request.continuationMarker = answer.continuationMarker
                }
                pages += 1
                most = max(most, calls)
            } while request.continuationMarker != nil
            #expect(most <= Self.mostCallsOfPage, "\(map), \(pages) pages of \(limit)")
            #expect(pages <= Self.records / limit * 5 / 4 + 1, "\(map), pages of \(limit)")
            #expect(found == distances.values.sorted { ($0 < $1) == isAscending && $0 != $1 })
        }
    }

    @Test func `a page of the changes of many zones asks the store three times`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = try await user(store)
        let zones = (0..<60).map { "Z\($0)" }
        for zone in zones {
            try await ann.makeZone(zone)
            try await ann.modify((0..<5).map { .create("r\($0)") }, zone: zone)
        }
        for limit in [1, 3, 200] {
            let items = zones.map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: $0), resultsLimit: limit) }
            var pages: [ChangesZoneResponse.Result] = []
            let calls = try await calls(store) {
                pages = try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: items), in: ann.target, by: ann.caller).zones
            }
            #expect(calls <= 4 && pages.count == 60, "limit \(limit): \(store.transactions.flatMap(\.verbs))")
            for case .page(let page) in pages { #expect(page.records.count == 5 && !page.moreComing) }
        }
    }
}
