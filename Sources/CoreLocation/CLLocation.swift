public import Foundation

/// A location as a receiver measured it: coordinate, height, accuracies, course, speed and time. Immutable.
open class CLLocation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: every stored property is a `let` of a value type.

    /// The mean radius of the Earth in metres. Source: IUGG, R1 of GRS 80.
    private static let meanEarthRadius: CLLocationDistance = 6_371_008.8

    public let coordinate: CLLocationCoordinate2D
    /// Metres above sea level.
    public let altitude: CLLocationDistance
    /// Radius of uncertainty in metres; negative: `coordinate` is invalid.
    public let horizontalAccuracy: CLLocationAccuracy
    /// Metres; zero or negative: `altitude` is invalid.
    public let verticalAccuracy: CLLocationAccuracy
    public let course: CLLocationDirection
    public let courseAccuracy: CLLocationDirectionAccuracy
    public let speed: CLLocationSpeed
    public let speedAccuracy: CLLocationSpeedAccuracy
    public let timestamp: Date
    /// The storey of a building.
    ///
    /// On this server: nil, except in a location that was decoded from an archive with a storey. Records do not keep
    /// it.
    public let floor: CLFloor?
    /// Whether software or an accessory made the location; nil if that is unknown. Records do not keep it.
    public let sourceInformation: CLLocationSourceInformation?

    private init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, accuracies: (CLLocationAccuracy, CLLocationAccuracy),
        course: (CLLocationDirection, CLLocationDirectionAccuracy), speed: (CLLocationSpeed, CLLocationSpeedAccuracy), timestamp: Date,
        sourceInformation: CLLocationSourceInformation?
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        (horizontalAccuracy, verticalAccuracy) = accuracies
        (self.course, courseAccuracy) = course
        (self.speed, speedAccuracy) = speed
        self.timestamp = timestamp
        floor = nil
        self.sourceInformation = sourceInformation
        super.init()
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection, courseAccuracy: CLLocationDirectionAccuracy,
        speed: CLLocationSpeed, speedAccuracy: CLLocationSpeedAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, accuracies: (horizontalAccuracy, verticalAccuracy), course: (course, courseAccuracy),
            speed: (speed, speedAccuracy), timestamp: timestamp, sourceInformation: nil)
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection, courseAccuracy: CLLocationDirectionAccuracy,
        speed: CLLocationSpeed, speedAccuracy: CLLocationSpeedAccuracy, timestamp: Date, sourceInfo: CLLocationSourceInformation
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, accuracies: (horizontalAccuracy, verticalAccuracy), course: (course, courseAccuracy),
            speed: (speed, speedAccuracy), timestamp: timestamp, sourceInformation: sourceInfo)
    }

    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0, horizontalAccuracy: 0,
            verticalAccuracy: -1, timestamp: Date())
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy, course: -1, speed: -1,
            timestamp: timestamp)
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy, course: course,
            courseAccuracy: -1, speed: speed, speedAccuracy: -1, timestamp: timestamp)
    }

    /// Returns the great-circle distance in metres on a sphere. The altitude does not count.
    ///
    /// The result differs from the distance on the ellipsoid by at most 0.6 %.
    open func distance(from location: CLLocation) -> CLLocationDistance {
        let radians = Double.pi / 180
        let here = coordinate.latitude * radians
        let there = location.coordinate.latitude * radians
        let latitudes = sin((there - here) / 2)
        let longitudes = sin((location.coordinate.longitude - coordinate.longitude) * radians / 2)
        let haversine = latitudes * latitudes + cos(here) * cos(there) * longitudes * longitudes
        return 2 * Self.meanEarthRadius * asin(min(1, haversine.squareRoot()))
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// Compares all values, the timestamp included.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocation else { return false }
        return values == other.values && timestamp == other.timestamp
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(values)
        hasher.combine(timestamp)
        return hasher.finalize()
    }

    open override var description: String {
        "<\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m (speed \(speed) mps / course \(course)) @ \(timestamp)"
    }

    // MARK: NSSecureCoding

    public static var supportsSecureCoding: Bool { true }

    private static let keys = [
        "latitude", "longitude", "altitude", "horizontalAccuracy", "verticalAccuracy", "course", "courseAccuracy", "speed", "speedAccuracy",
    ]
    private static let timestampKey = "timestamp"
    private static let floorKey = "floor"
    private static let sourceKey = "sourceInformation"
    /// Apple's undocumented keys, in the order of `keys`.
    private static let appleKeys = [
        "CoordinateLatitude", "CoordinateLongitude", "Altitude", "HorizontalAccuracy", "VerticalAccuracy", "Course", "CourseAccuracy", "Speed",
        "SpeedAccuracy",
    ].map { "kCLLocationCodingKey\($0)" }
    private static let appleTimestampKey = "kCLLocationCodingKeyTimestamp"
    /// The defaults for keys that an archive of Apple's lacks, in the order of `keys`; they match
    /// `init(latitude:longitude:)`.
    private static let absent: [Double] = [0, 0, 0, 0, -1, -1, -1, -1, -1]

    /// The values in the order of `keys`.
    private var values: [Double] {
        [
            coordinate.latitude, coordinate.longitude, altitude, horizontalAccuracy, verticalAccuracy, course, courseAccuracy, speed,
            speedAccuracy,
        ]
    }

    /// Decodes a location, also from an archive of Apple's systems; nil if a value that it needs is missing.
    public required init?(coder: NSCoder) {
        let isAppleArchive = coder.containsValue(forKey: Self.appleKeys[0])
        let keys = isAppleArchive ? Self.appleKeys : Self.keys
        let timestampKey = isAppleArchive ? Self.appleTimestampKey : Self.timestampKey
        guard keys.prefix(isAppleArchive ? 2 : keys.count).allSatisfy(coder.containsValue(forKey:)), coder.containsValue(forKey: timestampKey)
        else { return nil }
        let values = zip(keys, Self.absent).map { coder.containsValue(forKey: $0) ? coder.decodeDouble(forKey: $0) : $1 }
        coordinate = CLLocationCoordinate2D(latitude: values[0], longitude: values[1])
        altitude = values[2]
        horizontalAccuracy = values[3]
        verticalAccuracy = values[4]
        course = values[5]
        courseAccuracy = values[6]
        speed = values[7]
        speedAccuracy = values[8]
        timestamp = Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: timestampKey))
        if let source = coder.containsValue(forKey: Self.sourceKey) ? coder.decodeInt64(forKey: Self.sourceKey) : nil {
            sourceInformation = CLLocationSourceInformation(
                softwareSimulationState: source & 1 != 0, andExternalAccessoryState: source & 2 != 0)
        } else {
            sourceInformation = nil
        }
        floor = coder.containsValue(forKey: Self.floorKey) ? CLFloor(level: Int(truncatingIfNeeded: coder.decodeInt64(forKey: Self.floorKey))) : nil
        super.init()
    }

    open func encode(with coder: NSCoder) {
        for (key, value) in zip(Self.keys, values) {
            coder.encode(value, forKey: key)
        }
        coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: Self.timestampKey)
        if let floor { coder.encode(Int64(floor.level), forKey: Self.floorKey) }
        if let source = sourceInformation {
            coder.encode(Int64((source.isSimulatedBySoftware ? 1 : 0) | (source.isProducedByAccessory ? 2 : 0)), forKey: Self.sourceKey)
        }
    }
}
