import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of pages of queries by distance over random maps: the cost of each page, and the complete answer of all.
@Suite struct DistancePageTests {
    /// The number of small maps; with `NACRE_MAPS` more, and large ones among them.
    private static let maps = ProcessInfo.processInfo.environment["NACRE_MAPS"].flatMap { Int($0) }
    private static let sizes = [(300, 1), (180, 60), (2_500, 1)] + (maps == nil ? [] : [(2_500, 60), (12_000, 1)])

    /// The distribution of a map's records.
    private enum Shape: CaseIterable {
        case everywhere, clusters, spot, antimeridian, poles, ring, line

        /// Returns the location of a record.
        /// - Parameter number: The record's number.
        func location(_ number: Int, around from: GeoPoint, _ map: inout Map) -> Location {
            func near(_ latitude: Double, _ longitude: Double, _ degrees: Double, _ map: inout Map) -> Location {
                Location(
                    latitude: min(90, max(-90, latitude + Double.random(in: -degrees...degrees, using: &map.random))),
                    longitude: longitude + Double.random(in: -degrees...degrees, using: &map.random))
            }
            let longitude = Double.random(in: -180...180, using: &map.random)
            let center = map.centers[number % map.centers.count]
            return switch self {
            case .everywhere: near(0, 0, 90, &map)
            case .clusters: near(center.latitude, center.longitude, map.spread, &map)
            case .spot: map.centers[0]
            case .antimeridian: near(center.latitude, number % 2 == 0 ? 180 : -180, map.spread, &map)
            case .poles: Location(latitude: (number % 3 == 0 ? -1 : 1) * Double.random(in: 89.9...90, using: &map.random), longitude: longitude)
            // At equal distances, except for rounding.
            case .ring: Location(latitude: center.latitude, longitude: from.latitude.magnitude == 90 ? longitude : center.longitude)
            case .line: Location(latitude: center.latitude, longitude: Double(number) / 1000 - 180)
            }
        }
    }

    private struct Map {
        var random: SeededRandom
        var centers: [Location] = []
        /// Degrees.
        var spread = 0.0
    }

    private struct Entry {
        var name: String
        var location: Location?
        var number: Int64
    }

    private struct Answer {
        var names: [String] = []
        var pages = 0
        var mostCalls = 0
    }

    private func answer(_ query: Query, zone: String?, limit: Int, _ ann: TestCloudUser, _ store: CountingStore) async throws -> Answer {
        var answer = Answer()
        var request = RecordsQueryRequest(
            query: query, zoneID: zone.map { ZoneID(zoneName: $0) }, zoneWide: zone == nil, resultsLimit: limit, desiredKeys: [])
        repeat {
            store.reset()
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            answer.names += page.records.map(\.recordName)
            answer.pages += 1
            answer.mostCalls = max(answer.mostCalls, store.transactions.reduce(0) { $0 + $1.verbs.count })
            request.continuationMarker = page.continuationMarker
            try #require(answer.pages < 5000, "the query never ends: \(query)")
        } while request.continuationMarker != nil
        return answer
    }

    /// Makes a user with the records in so many zones.
    private func user(_ store: CountingStore, _ entries: [Entry], zones: Int) async throws -> TestCloudUser {
        let ann = TestCloud(store).user("_ann")
        try await ann.define(["n": .int64, "at": .location])
        _ = try await ann.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            try $0.setIndexes(.queryable, of: "Note", field: SystemField.recordName.rawValue)
        }
        try await ann.makeIndexes()
        for zone in 0..<zones { try await ann.makeZone("Z\(zone)") }
        for zone in 0..<zones {
            let mine = entries.indices.filter { $0 % zones == zone }
            for start in stride(from: 0, to: mine.count, by: 400) {
                let operations = mine[start..<min(start + 400, mine.count)].map { index in
                    var fields = [RecordFields.Field("n", .int64(entries[index].number))]
                    if let location = entries[index].location { fields.append(.init("at", .location(location))) }
                    return RecordOperation.make(.create, entries[index].name, RecordFields(fields))
                }
                try await ann.modify(operations, zone: "Z\(zone)")
            }
        }
        return ann
    }

    /// Returns the query's meaning, without any index.
    private func expected(_ entries: [Entry], from: GeoPoint, isAscending: Bool, radius: Double?, under limit: Int64?) -> [String] {
        let found = entries.compactMap { entry -> (key: [UInt8], name: String)? in
            if let limit, entry.number >= limit { return nil }
            guard let location = entry.location else { return radius == nil ? (SortTerm.farthest, entry.name) : nil }
            let distance = GeoPoint(location).distance(to: from)
            return radius.map { distance > $0 } ?? false ? nil : (IndexKey.number(distance), entry.name)
        }
        let sorted = found.sorted { left, right in
            left.key != right.key
                ? ByteOrder.precedes(left.key, right.key, ascending: isAscending) : ByteOrder.precedes(left.name, right.name, ascending: isAscending)
        }
        return sorted.map(\.name)
    }

    @Test(arguments: sizes)
    func `pages by distance ask six times at most, and together are the answer, whatever the map`(most: Int, zones: Int) async throws {
        let seed = HistorySeed.value
        // Large maps are fewer, because they cost as much.
        for number in 0..<max(1, (Self.maps ?? 4) * (zones == 1 ? 300 : 100) / most) {
            var map = Map(random: SeededRandom(seed: seed &+ UInt64(number * 100 + zones + most)))
            func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &map.random)] }
            let anywhere: (inout Map) -> Location = { map in
                Location(latitude: Double.random(in: -90...90, using: &map.random), longitude: Double.random(in: -180...180, using: &map.random))
            }
            map.centers = (0..<pick([1, 1, 3, 7])).map { _ in anywhere(&map) }
            map.spread = pow(10.0, Double.random(in: -6...1, using: &map.random))
            let shape = pick(Shape.allCases)
            let from: GeoPoint
            switch pick([0, 1, 2, 3]) {
            case 0: from = GeoPoint(latitude: 90, longitude: 0)
            case 1: from = GeoPoint(map.centers[0])
            case 2: from = GeoPoint(latitude: -map.centers[0].latitude, longitude: map.centers[0].longitude + 180)
            default: from = GeoPoint(anywhere(&map))
            }
            let nowhereOneIn = pick([3, 50, Int.max])
            // Records that pass a filter are far from the place, or anywhere.
            let isByRank = pick([true, false])
            var entries: [Entry] = []
            for number in 0..<most {
                let isNowhere = nowhereOneIn != .max && Int.random(in: 0..<nowhereOneIn, using: &map.random) == 0
                let location = isNowhere ? nil : shape.location(number, around: from, &map)
                entries.append(Entry(name: "r\(number)", location: location, number: Int64.random(in: 0..<Int64(most), using: &map.random)))
            }
            if isByRank {
                let ranked = entries.indices.sorted { left, right in
                    let distances = [left, right].map { entries[$0].location.map { GeoPoint($0).distance(to: from) } ?? .infinity }
                    return distances[0] > distances[1]
                }
                for (rank, place) in ranked.enumerated() { entries[place].number = Int64(rank) }
            }
            let store = CountingStore(try await Engine.memory.makeStore())
            let ann = try await user(store, entries, zones: zones)
            let here = Location(latitude: from.latitude, longitude: from.longitude)
            for isAscending in [true, false] {
                let radius = pick([Double?.none, nil, 10, 10_000, 3_000_000, 15_000_000])
                let under = pick([Int64?.none, nil, Int64(most / 6), Int64(most / 100 + 1)])
                let limit = pick(zones == 1 ? [10, 50, 200] : [50, 200])
                var filters: [QueryFilter] = []
                if let radius { filters.append(QueryFilter(.near, fieldName: "at", value: .location(here), distance: radius)) }
                if let under { filters.append(QueryFilter(.lessThan, fieldName: "n", value: .int64(under))) }
                let query = Query(
                    recordType: "Note", filters: filters, sorts: [QuerySort("at", isAscending: isAscending, relativeLocation: here)])
                let found = try await answer(query, zone: zones == 1 ? "Z0" : nil, limit: limit, ann, store)
                let expected = expected(entries, from: from, isAscending: isAscending, radius: radius, under: under)
                let context = """
                    NACRE_SEED=\(seed), map \(number) of \(most) records in \(zones) zones: \(shape) \(map.centers.count) \(map.spread), from \(from), \
                    \(isAscending ? "nearest" : "farthest") first, radius \(radius ?? -1), under \(under ?? -1), \(expected.count) found, \
                    \(found.pages) pages of \(limit), \(found.mostCalls) calls
                    """
                #expect(found.mostCalls <= QueryCallTests.mostCallsOfPage, "\(context)")
                #expect(found.names == expected, "\(context)")
                // Full pages, and pages of records of which none passes.
                let looked = filters.isEmpty ? 0 : most
                #expect(found.pages <= 4 + 2 * expected.count / limit + looked / 100, "\(context)")
            }
        }
    }
}
