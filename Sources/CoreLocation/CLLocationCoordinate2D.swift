// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Degrees of latitude or longitude.
public typealias CLLocationDegrees = Double
/// Metres.
public typealias CLLocationDistance = Double
/// Metres. A negative number marks the value that it belongs to as invalid.
public typealias CLLocationAccuracy = Double
/// Metres per second; negative is invalid.
public typealias CLLocationSpeed = Double
/// Metres per second; negative is invalid.
public typealias CLLocationSpeedAccuracy = Double
/// Degrees clockwise from true north, 0 up to 360; negative is invalid.
public typealias CLLocationDirection = Double
/// Degrees; negative is invalid.
public typealias CLLocationDirectionAccuracy = Double

/// A `distanceFilter` that filters nothing.
public let kCLDistanceFilterNone: CLLocationDistance = -1
/// The best accuracy of a receiver with other sensors beside it. This is a constant, not a number of metres.
public let kCLLocationAccuracyBestForNavigation: CLLocationAccuracy = -2
/// The best accuracy of a receiver. This is a constant, not a number of metres.
public let kCLLocationAccuracyBest: CLLocationAccuracy = -1
public let kCLLocationAccuracyNearestTenMeters: CLLocationAccuracy = 10
public let kCLLocationAccuracyHundredMeters: CLLocationAccuracy = 100
public let kCLLocationAccuracyKilometer: CLLocationAccuracy = 1000
public let kCLLocationAccuracyThreeKilometers: CLLocationAccuracy = 3000
/// The largest distance that can be expressed.
public let CLLocationDistanceMax: CLLocationDistance = .greatestFiniteMagnitude
/// An invalid coordinate: `CLLocationCoordinate2DIsValid` is false for it.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// A point on the WGS 84 ellipsoid.
public struct CLLocationCoordinate2D: Sendable {
    /// Degrees north of the equator.
    public var latitude: CLLocationDegrees
    /// Degrees east of Greenwich.
    public var longitude: CLLocationDegrees

    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// Returns whether the latitude is within ±90 and the longitude within ±180.
public func CLLocationCoordinate2DIsValid(_ coord: CLLocationCoordinate2D) -> Bool {
    abs(coord.latitude) <= 90 && abs(coord.longitude) <= 180
}

/// Returns a coordinate of any two numbers, without validation.
public func CLLocationCoordinate2DMake(_ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}
