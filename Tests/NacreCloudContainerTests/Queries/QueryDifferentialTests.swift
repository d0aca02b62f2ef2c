import FoundationEssentials
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests with random queries over random records: the planner's answers equal a search through every record.
@Suite(.serialized) struct QueryDifferentialTests {
    /// Queries over each engine; `NACRE_QUERIES` sets another number.
    static let queries = LongSearch.rounds("NACRE_QUERIES", part: 150, whole: 250)

    @Test(arguments: Engine.ofHistories)
    func `every random query is answered as if all records were looked at and sorted`(engine: Engine) async throws {
        let seed = HistorySeed.value
        var data = QueryData(seed: seed)
        let one = try await QueryCloud(engine, zones: ["notes"], names: 48, data: &data)
        let many = try await QueryCloud(engine, zones: [ZoneID.defaultZoneName, "a", "b"], names: 24, data: &data)
        var answered = 0
        var shapes: Set<String> = []
        for number in 0..<Self.queries {
            let query = data.query()
            let cloud = data.chance(70) ? one : many
            let zone = cloud.zones.count == 1 ? cloud.zones[0] : data.one(of: [nil, nil, "a"])
            // Tiny pages are slow in an order with several keys: they are walks within walks.
            let rows = data.one(of: [query.sorts.count < 2 ? 1 : 16, 16, 40, 10_000, 10_000, 10_000])
            let limit = data.one(of: [1, 7, 30, 30, 200])
            let bytes = data.one(of: [query.sorts.count < 2 ? 1 : 20_000, 20_000, 200_000, Limits.queryScanBytes, Limits.queryScanBytes])
            let context = "NACRE_SEED=\(seed), query \(number), \(rows) rows, \(bytes) bytes, \(limit) records, \(engine), \(query)"
            do {
                if data.chance(70), try await cloud.user.makePair(for: query) { try await cloud.user.buildIndexes() }
                let found = try await cloud.pages(query, zone: zone, limit: limit, rows: rows, bytes: bytes)
                check(found, cloud.expected(query, zone: zone), query, context)
                answered += 1
                if number % 4 == 0 { shapes.formUnion(Self.shapes(try await cloud.explain(query, zone: zone, limit: limit, rows: rows))) }
            } catch {
                // A match of everything is allowed here, and so is every drawn filter and sort.
                Issue.record("\(error) \(context)")
            }
        }
        #expect(answered == Self.queries)
        // A short run need not use every plan.
        if Self.queries >= 500 { #expect(shapes.isSuperset(of: ["collect", "walk", "by name", "has", " and "]), "\(shapes)") }
    }

    @Test(arguments: Engine.ofHistories)
    func `every random query is answered as if all records were looked at and sorted, while indexes go, come and are built`(engine: Engine)
        async throws
    {
        let seed = HistorySeed.value
        var data = QueryData(seed: seed)
        let one = try await QueryCloud(engine, zones: ["notes"], names: 40, data: &data)
        let many = try await QueryCloud(engine, zones: [ZoneID.defaultZoneName, "a", "b"], names: 16, data: &data)
        var (laterPages, scans, pairs) = (0, 0, 0)
        for number in 0..<Self.queries / 2 {
            let query = data.query()
            let cloud = data.chance(70) ? one : many
            let zone = cloud.zones.count == 1 ? cloud.zones[0] : data.one(of: [nil, nil, "a"])
            let rows = data.one(of: [8, 16, 40, 10_000, 10_000])
            let limit = data.one(of: [3, 7, 30, 200])
            let share = data.one(of: [0, 50, 100])
            try await cloud.user.changeIndexes(drop: { _, _ in !data.chance(share) }, make: { _, _ in data.chance(30) })
            if data.chance(30) || pairs == 0 { pairs += try await cloud.user.makePair(for: query) ? 1 : 0 }
            let context = "NACRE_SEED=\(seed), query \(number), \(rows) rows, \(limit) records, \(share) of 100 indexes, \(engine), \(query)"
            do {
                scans += try await cloud.explain(query, zone: zone, limit: limit, rows: rows).contains { $0.contains("whole zone") } ? 1 : 0
                let found = try await cloud.pages(query, zone: zone, limit: limit, rows: rows) {
                    laterPages += 1
                    if data.chance(30) { try await cloud.user.changeIndexes(drop: { _, _ in false }, make: { _, _ in data.chance(20) }) }
                    if data.chance(30) || pairs == 0 { pairs += try await cloud.user.makePair(for: query) ? 1 : 0 }
                    if data.chance(30) { _ = try await cloud.cloud.cloud.runDueTasks() }
                }
                check(found, cloud.expected(query, zone: zone), query, context)
            } catch {
                Issue.record("\(error) \(context)")
            }
        }
        #expect(laterPages > 10 && scans > 10, "\(laterPages) pages behind others, \(scans) scans")
        #expect(pairs > 0, "indexes of two fields")
    }

    @Test(arguments: Engine.ofHistories)
    func `every random query tells what stays as it is once and in order, while others are saved and deleted and indexes come and go`(
        engine: Engine
    ) async throws {
        let seed = HistorySeed.value
        var data = QueryData(seed: seed)
        var cloud = try await QueryCloud(engine, zones: [ZoneID.defaultZoneName, "a"], names: 40, data: &data)
        var (saves, deletions, laterPages, pairs) = (0, 0, 0, 0)
        for number in 0..<Self.queries / 5 {
            let query = data.query()
            let zone: String? = data.one(of: [nil, "a", "a"])
            let (rows, limit) = (data.one(of: [16, 40, 10_000, 10_000]), data.one(of: [3, 7]))
            let share = data.one(of: [0, 50, 100])
            try await cloud.user.changeIndexes(drop: { _, _ in !data.chance(share) }, make: { _, _ in data.chance(30) })
            if data.chance(30) || pairs == 0 { pairs += try await cloud.user.makePair(for: query) ? 1 : 0 }
            let context = "NACRE_SEED=\(seed), query \(number), \(rows) rows, \(limit) records, \(share) of 100 indexes, \(engine), \(query)"
            var touched: Set<String> = []
            var (found, marker): ([Record], String?) = ([], nil)
            repeat {
                let page = try await cloud.page(query, zone: zone, limit: limit, rows: rows, after: marker)
                found += page.records
                marker = page.continuationMarker
                guard marker != nil else { break }
                laterPages += 1
                // A limit, so that most records stay unchanged.
                if touched.count < 12 {
                    let (name, place) = ("n\(Int.random(in: 0..<44, using: &data.random))", data.one(of: cloud.zones))
                    touched.insert("\(place)/\(name)")
                    if data.chance(30) { try await cloud.delete(name, in: place) } else { try await cloud.save(name, data.recordFields(), in: place) }
                    if cloud.records[place]?[name] == nil { deletions += 1 } else { saves += 1 }
                }
                if data.chance(20) { try await cloud.user.changeIndexes(drop: { _, _ in data.chance(10) }, make: { _, _ in data.chance(20) }) }
                if data.chance(20) { pairs += try await cloud.user.makePair(for: query) ? 1 : 0 }
                if data.chance(30) { _ = try await cloud.cloud.cloud.runDueTasks() }
            } while true
            func stays(_ record: Record) -> Bool { !touched.contains("\(record.zoneID?.zoneName ?? "?")/\(record.recordName)") }
            check(found.filter(stays), cloud.expected(query, zone: zone).filter(stays), query, context)
            // A record saved again may be in two places, but none of its versions is.
            let states = found.map { "\($0.zoneID?.zoneName ?? "?")/\($0.recordName)/\($0.recordChangeTag)" }
            #expect(Set(states).count == states.count, "A state of a record twice: \(context)")
        }
        #expect(laterPages > 50 && saves > 20 && deletions > 5 && pairs > 0, "\(laterPages) pages behind others, \(saves), \(deletions), \(pairs)")
    }

    private func check(_ found: [Record], _ expected: [Record], _ query: Query, _ context: String) {
        let places = found.map { "\($0.zoneID?.zoneName ?? "?")/\($0.recordName)" }
        #expect(Set(places).count == places.count, "A record twice: \(context)")
        guard found.count == expected.count else {
            let missing = Set(expected.map(\.recordName)).symmetricDifference(found.map(\.recordName)).sorted()
            Issue.record("\(found.count) instead of \(expected.count), \(missing): \(context)")
            return
        }
        #expect(found.map(\.recordName).sorted() == expected.map(\.recordName).sorted(), "\(context)")
        // Records of one name in several zones may be in any order.
        if !query.sorts.isEmpty { #expect(found.map(\.recordName) == expected.map(\.recordName), "The order: \(context)") }
    }

    private static func shapes(_ lines: [String]) -> [String] {
        ["collect", "walk", "by name", "has", "not in the order of names", "the index of recordName", " and "].filter { shape in
            lines.contains { $0.contains(shape) }
        }
    }
}
