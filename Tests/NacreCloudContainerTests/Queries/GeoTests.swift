import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of places: cells, circles and the order of distances, over the date line and the poles.
struct GeoTests {
    private static let places = [
        GeoPoint(latitude: 0, longitude: 0), GeoPoint(latitude: 0, longitude: 180), GeoPoint(latitude: 10, longitude: -179.99),
        GeoPoint(latitude: 90, longitude: 17), GeoPoint(latitude: -90, longitude: 0), GeoPoint(latitude: 89.9, longitude: 120),
        GeoPoint(latitude: 51.5, longitude: -0.12), GeoPoint(latitude: -33.9, longitude: 151.2),
    ]

    private static func random(_ data: inout QueryData) -> GeoPoint { GeoPoint(data.location()) }

    @Test func `a place comes back out of its key, and is in its cell at every depth`() {
        var data = QueryData(seed: HistorySeed.value)
        for _ in 0..<200 {
            let point = Self.random(&data)
            #expect(GeoKey.point(of: GeoKey(point).bytes) == point)
            var cell = GeoCell.world
            while cell.depth < 24 {
                let key = GeoKey(point).bytes
                let quarters = cell.quarters.filter { quarter in
                    !key.lexicographicallyPrecedes(quarter.lowerKey) && quarter.upperKey.map(key.lexicographicallyPrecedes) ?? true
                }
                guard let quarter = quarters.first, quarters.count == 1 else {
                    Issue.record("\(point) is in \(quarters.count) quarters of \(cell)")
                    return
                }
                cell = quarter
                #expect(cell.latitudes.contains(point.latitude) && cell.longitudes.contains(point.longitude), "\(point) \(cell)")
            }
        }
    }

    @Test(arguments: places) func `no point of a cell is nearer or farther than the cell says`(from: GeoPoint) {
        var data = QueryData(seed: HistorySeed.value)
        for _ in 0..<300 {
            let point = Self.random(&data)
            var cell = GeoCell.world
            for _ in 0..<Int.random(in: 0...20, using: &data.random) {
                cell = cell.quarters.first { $0.latitudes.contains(point.latitude) && $0.longitudes.contains(point.longitude) } ?? cell
            }
            let inside = GeoPoint(
                latitude: Double.random(in: cell.latitudes, using: &data.random),
                longitude: Double.random(in: cell.longitudes, using: &data.random))
            for other in [point, inside] {
                let distance = from.distance(to: other)
                #expect(from.distances(to: cell).contains(distance), "\(from) \(other) \(cell) NACRE_SEED=\(HistorySeed.value)")
            }
        }
    }

    @Test(arguments: places, [0.0, 1, 10_000, 1_000_000, 20_100_000]) func `a circle's pieces hold all of it, and are few`(
        from: GeoPoint, radius: Double
    ) {
        var data = QueryData(seed: HistorySeed.value)
        let spans = GeoCover.spans(of: GeoCover.cells(around: from, within: radius), in: IndexID(rawValue: 1))
        #expect((1...24).contains(spans.count))
        for _ in 0..<300 {
            let near = GeoPoint(
                latitude: from.latitude + Double.random(in: -0.2...0.2, using: &data.random),
                longitude: from.longitude + Double.random(in: -0.2...0.2, using: &data.random))
            for point in [Self.random(&data), near] where point.distance(to: from) <= radius {
                let key = GeoKey(point).bytes
                let covering = spans.count { !key.lexicographicallyPrecedes($0.lower) && $0.upper.map(key.lexicographicallyPrecedes) ?? true }
                #expect(covering == 1, "\(point) of \(from) within \(radius)")
            }
        }
    }

    @Test func `distances are those of the great circle`() {
        let london = GeoPoint(latitude: 51.5074, longitude: -0.1278)
        let paris = GeoPoint(latitude: 48.8566, longitude: 2.3522)
        #expect(abs(london.distance(to: paris) - 343_556) < 10)
        #expect(GeoPoint(latitude: 0, longitude: 190) == GeoPoint(latitude: 0, longitude: -170))
        #expect(GeoPoint(latitude: 0, longitude: 180) == GeoPoint(latitude: 0, longitude: -180))
    }

    @Test(arguments: Engine.ofRules, [true, false])
    func `the nearest and the farthest of many come in order, whatever a page may look at`(engine: Engine, isAscending: Bool) async throws {
        var data = QueryData(seed: HistorySeed.value)
        var cloud = try await QueryCloud(engine, zones: ["a"], names: 0, data: &data)
        for number in 0..<90 {
            // Many at one place, some without any.
            let somewhere = number % 3 == 0 ? Location(latitude: 1, longitude: 1) : data.location()
            let place: RecordFields = number % 10 == 0 ? [:] : ["place": .location(somewhere)]
            try await cloud.save("n\(number)", place, in: "a")
        }
        for from in Self.places.prefix(5) {
            let sort = QuerySort("place", isAscending: isAscending, relativeLocation: Location(latitude: from.latitude, longitude: from.longitude))
            let query = Query(recordType: QueryData.type, sorts: [sort])
            for (rows, limit) in [(20, 7), (10_000, 10), (10_000, 200)] {
                let found = try await cloud.pages(query, zone: "a", limit: limit, rows: rows)
                #expect(
                    found.map(\.recordName) == cloud.expected(query, zone: "a").map(\.recordName),
                    "\(from) \(rows) \(limit) NACRE_SEED=\(HistorySeed.value)")
            }
        }
    }
}
