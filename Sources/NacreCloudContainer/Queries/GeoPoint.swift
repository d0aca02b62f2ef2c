import Glibc
import NacreCloudWire

/// A location as queries see it: a latitude in -90…90 and a longitude from -180 to before 180, in degrees.
struct GeoPoint: Hashable, Sendable {
    var latitude: Double
    var longitude: Double

    /// The mean radius of the Earth in metres, as `CLLocation.distance(from:)` has it. Source: IUGG, R1 of GRS 80.
    static let meanEarthRadius: Double = 6_371_008.8
    private static let radians = Double.pi / 180

    /// Longitudes go round, and 180 is -180; latitudes end at the poles. -0 is 0.
    init(latitude: Double, longitude: Double) {
        self.latitude = min(max(latitude, -90), 90) + 0
        let around = abs(longitude) <= 180 ? longitude : longitude.remainder(dividingBy: 360)
        self.longitude = around == 180 ? -180 : around + 0
    }

    init(_ location: Location) {
        self.init(latitude: location.latitude, longitude: location.longitude)
    }

    /// Metres along the great circle.
    func distance(to other: GeoPoint) -> Double {
        let here = latitude * Self.radians
        let there = other.latitude * Self.radians
        let latitudes = sin((there - here) / 2)
        let longitudes = sin((other.longitude - longitude) * Self.radians / 2)
        let haversine = latitudes * latitudes + cos(here) * cos(there) * longitudes * longitudes
        return 2 * Self.meanEarthRadius * asin(min(1, haversine.squareRoot()))
    }

    /// The nearest and the farthest that a point of a rectangle of latitudes and longitudes can be, with room for rounding.
    func distances(to cell: GeoCell) -> ClosedRange<Double> {
        let near = bestLatitude(towards: cell.longitudeDistances(to: longitude).lowerBound, in: cell.latitudes, isNearest: true)
        let far = bestLatitude(towards: cell.longitudeDistances(to: longitude).upperBound, in: cell.latitudes, isNearest: false)
        return max(0, near - Self.rounding(at: near))...(max(near, far) + Self.rounding(at: max(near, far)))
    }

    /// Metres by which a computed distance may be wrong: towards the other side of the Earth the sine hardly changes any more.
    private static func rounding(at distance: Double) -> Double { distance > 15_000_000 ? 1 : 0.01 }

    /// The least or the greatest distance to a piece of a meridian that is so many degrees of longitude away.
    ///
    /// Along a meridian the cosine of the distance is a sine curve over the latitude: its extreme is where the curve turns, or at an end.
    private func bestLatitude(towards degrees: Double, in latitudes: ClosedRange<Double>, isNearest: Bool) -> Double {
        let meridian = degrees * Self.radians
        let turn = atan2(sin(latitude * Self.radians), cos(latitude * Self.radians) * cos(meridian)) / Self.radians
        let turns = isNearest ? [turn] : [turn - 180, turn + 180]
        let candidates = [latitudes.lowerBound, latitudes.upperBound] + turns.filter(latitudes.contains)
        let here = GeoPoint(latitude: latitude, longitude: 0)
        let found = candidates.map { here.distance(to: GeoPoint(latitude: $0, longitude: degrees)) }
        return (isNearest ? found.min() : found.max()) ?? 0
    }
}

/// A location's key in an index: its cell of 32 times 4, first the coarse quarters and then ever finer ones, and the exact location behind it.
struct GeoKey: Hashable, Sendable {
    private(set) var bytes: [UInt8]

    init(_ point: GeoPoint) {
        bytes = IndexKey.eight(GeoCell.code(of: point)) + point.latitude.bitPattern.bigEndianBytes + point.longitude.bitPattern.bigEndianBytes
    }

    /// The place that a key says; nil for a key of something else.
    static func point(of key: [UInt8]) -> GeoPoint? {
        guard key.count == 25, key.starts(with: IndexKey.firstValue) else { return nil }
        func double(_ bytes: ArraySlice<UInt8>) -> Double { Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }) }
        return GeoPoint(latitude: double(key[9..<17]), longitude: double(key[17..<25]))
    }
}

/// A square of the map: a quarter of a quarter … `depth` times.
struct GeoCell: Hashable, Sendable {
    /// The bits of its places' codes that they share, at the top.
    var code: UInt64
    var depth: Int

    static let world = GeoCell(code: 0, depth: 0)
    static let deepest = 32

    var quarters: [GeoCell] {
        guard depth < Self.deepest else { return [] }
        return (0..<4).map { GeoCell(code: code | UInt64($0) << UInt64(62 - 2 * depth), depth: depth + 1) }
    }

    var lowerKey: [UInt8] { IndexKey.eight(code) }

    /// The first key beyond; nil: to the end of the index.
    var upperKey: [UInt8]? {
        let (next, wraps) = code.addingReportingOverflow(1 << UInt64(max(0, 64 - 2 * depth)))
        guard depth > 0, !wraps else { return IndexKey.end(ofPrefix: IndexKey.firstValue) }
        return IndexKey.eight(next)
    }

    var latitudes: ClosedRange<Double> {
        let (low, high) = Self.range(of: code >> 1, depth: depth)
        return (low * 180 - 90)...(high * 180 - 90)
    }

    var longitudes: ClosedRange<Double> {
        let (low, high) = Self.range(of: code, depth: depth)
        return (low * 360 - 180)...(high * 360 - 180)
    }

    /// The fewest and the most degrees of longitude, 0…180, to a point of the cell.
    func longitudeDistances(to longitude: Double) -> ClosedRange<Double> {
        let ends = [longitudes.lowerBound, longitudes.upperBound].map { abs(($0 - longitude).remainder(dividingBy: 360)) }
        let inside = longitudes.contains(longitude)
        let opposite = longitudes.contains(longitude > 0 ? longitude - 180 : longitude + 180)
        let near = inside ? 0 : min(ends[0], ends[1])
        return near...max(near, opposite ? 180 : max(ends[0], ends[1]))
    }

    /// Latitude and longitude in 32 bits each, interleaved, a bit of the latitude first.
    static func code(of point: GeoPoint) -> UInt64 {
        spread(bits((point.latitude + 90) / 180)) << 1 | spread(bits((point.longitude + 180) / 360))
    }

    /// The code in a place's key; of a key that is too short, the first code behind it.
    static func code(ofKey key: [UInt8]) -> UInt64 {
        (1...8).reduce(0) { $0 << 8 | UInt64($1 < key.count ? key[$1] : 0) }
    }

    private static func bits(_ fraction: Double) -> UInt64 {
        UInt64(min(max(fraction, 0) * 0x1p32, 0x1p32 - 1))
    }

    /// Puts a zero before each of 32 bits.
    private static func spread(_ bits: UInt64) -> UInt64 {
        var spread = bits
        for (shift, mask) in [
            (16, 0x0000_ffff_0000_ffff), (8, 0x00ff_00ff_00ff_00ff), (4, 0x0f0f_0f0f_0f0f_0f0f), (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ] as [(UInt64, UInt64)] {
            spread = (spread | spread << shift) & mask
        }
        return spread
    }

    /// The part of 0…1 in which every other bit of a code, from its second on, puts a place.
    private static func range(of code: UInt64, depth: Int) -> (low: Double, high: Double) {
        var bits: UInt64 = 0
        for level in 0..<depth {
            let bit: UInt64 = code >> UInt64(62 - 2 * level) & 1
            bits = bits << 1 | bit
        }
        let width = 1 / Double(UInt64(1) << UInt64(depth))
        return (Double(bits) * width, Double(bits + 1) * width)
    }
}
