import Glibc
import NacreCloudStorage
package import NacreCloudWire

/// A location for queries: a latitude in -90…90 and a longitude from -180 to below 180, in degrees.
package struct GeoPoint: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double

    /// The mean radius of the Earth in metres, as in `CLLocation.distance(from:)`. Source: IUGG, R1 of GRS 80.
    package static let meanEarthRadius: Double = 6_371_008.8
    private static let radians = Double.pi / 180

    /// Normalizes a location. Longitudes wrap around, and 180 becomes -180. Latitudes end at the poles. -0 becomes 0.
    package init(latitude: Double, longitude: Double) {
        self.latitude = min(max(latitude, -90), 90) + 0
        let around = abs(longitude) <= 180 ? longitude : longitude.remainder(dividingBy: 360)
        self.longitude = around == 180 ? -180 : around + 0
    }

    package init(_ location: Location) {
        self.init(latitude: location.latitude, longitude: location.longitude)
    }

    /// Returns the metres along the great circle.
    package func distance(to other: GeoPoint) -> Double {
        let here = latitude * Self.radians
        let there = other.latitude * Self.radians
        let latitudes = sin((there - here) / 2)
        let longitudes = sin((other.longitude - longitude) * Self.radians / 2)
        let haversine = latitudes * latitudes + cos(here) * cos(there) * longitudes * longitudes
        return 2 * Self.meanEarthRadius * asin(min(1, haversine.squareRoot()))
    }

    /// Returns the least and the greatest distance to a rectangle of latitudes and longitudes, with room for rounding.
    package func distances(to cell: GeoCell) -> ClosedRange<Double> {
        let near = bestLatitude(towards: cell.longitudeDistances(to: longitude).lowerBound, in: cell.latitudes, isNearest: true)
        let far = bestLatitude(towards: cell.longitudeDistances(to: longitude).upperBound, in: cell.latitudes, isNearest: false)
        return max(0, near - Self.rounding(at: near))...(max(near, far) + Self.rounding(at: max(near, far)))
    }

    /// Returns the most metres by which a computed distance may be wrong. Near the opposite point of the Earth the sine
    /// hardly changes.
    private static func rounding(at distance: Double) -> Double { distance > 15_000_000 ? 1 : 0.01 }

    /// Returns the least or the greatest distance to a piece of a meridian that is `degrees` of longitude away.
    ///
    /// Along a meridian the cosine of the distance is a sine curve over the latitude. Its extreme is at the turn of the
    /// curve or at an end.
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

/// A location's key in an index: 32 levels of quarters from coarse to fine, and then the exact location.
struct GeoKey: Hashable, Sendable {
    package private(set) var bytes: [UInt8]

    package init(_ point: GeoPoint) {
        bytes = IndexKey.eight(GeoCell.code(of: point)) + point.latitude.bitPattern.bigEndianBytes + point.longitude.bitPattern.bigEndianBytes
    }

    /// Returns the location of a key; nil if the key is not that of a location.
    package static func point(of key: [UInt8]) -> GeoPoint? {
        guard key.count == 25, key.starts(with: IndexKey.firstValue) else { return nil }
        func double(_ bytes: ArraySlice<UInt8>) -> Double { Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }) }
        return GeoPoint(latitude: double(key[9..<17]), longitude: double(key[17..<25]))
    }
}

/// A rectangle of the map, made by dividing the world into quarters `depth` times.
package struct GeoCell: Hashable, Sendable {
    /// The top bits that the codes of its places share.
    package var code: UInt64
    package var depth: Int

    package static let world = GeoCell(code: 0, depth: 0)
    static let deepest = 32

    var quarters: [GeoCell] {
        guard depth < Self.deepest else { return [] }
        return (0..<4).map { GeoCell(code: code | UInt64($0) << UInt64(62 - 2 * depth), depth: depth + 1) }
    }

    var lowerKey: [UInt8] { IndexKey.eight(code) }

    /// The first key after the cell; nil: the cell goes to the end of the index.
    var upperKey: [UInt8]? {
        let (next, wraps) = code.addingReportingOverflow(1 << UInt64(max(0, 64 - 2 * depth)))
        guard depth > 0, !wraps else { return IndexKey.end(ofPrefix: IndexKey.firstValue) }
        return IndexKey.eight(next)
    }

    package var latitudes: ClosedRange<Double> {
        let (low, high) = Self.range(of: code >> 1, depth: depth)
        return (low * 180 - 90)...(high * 180 - 90)
    }

    package var longitudes: ClosedRange<Double> {
        let (low, high) = Self.range(of: code, depth: depth)
        return (low * 360 - 180)...(high * 360 - 180)
    }

    /// Returns the fewest and the most degrees of longitude, 0…180, to a point of the cell.
    func longitudeDistances(to longitude: Double) -> ClosedRange<Double> {
        let ends = [longitudes.lowerBound, longitudes.upperBound].map { abs(($0 - longitude).remainder(dividingBy: 360)) }
        let inside = longitudes.contains(longitude)
        let opposite = longitudes.contains(longitude > 0 ? longitude - 180 : longitude + 180)
        let near = inside ? 0 : min(ends[0], ends[1])
        return near...max(near, opposite ? 180 : max(ends[0], ends[1]))
    }

    /// Returns latitude and longitude in 32 bits each, interleaved, beginning with a bit of the latitude.
    package static func code(of point: GeoPoint) -> UInt64 {
        spread(bits((point.latitude + 90) / 180)) << 1 | spread(bits((point.longitude + 180) / 360))
    }

    /// Returns the code in a location's key; for a key that is too short, the first code after it.
    package static func code(ofKey key: [UInt8]) -> UInt64 {
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

    /// Returns the part of 0…1 that every other bit of a code, beginning with the second, describes.
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
