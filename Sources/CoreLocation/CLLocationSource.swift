public import Foundation

/// The storey of a building: 0 is the ground floor.
open class CLFloor: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: the only stored property is a `let` of a value type.

    public let level: Int

    init(level: Int) {
        self.level = level
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }
    open override func isEqual(_ object: Any?) -> Bool { (object as? CLFloor)?.level == level }
    open override var hash: Int { level.hashValue }

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "level") else { return nil }
        level = Int(truncatingIfNeeded: coder.decodeInt64(forKey: "level"))
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(Int64(level), forKey: "level")
    }
}

/// The kind of source that a location comes from. Apple: iOS 15.
open class CLLocationSourceInformation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: both properties are `let`s of value types.

    /// Whether software made the location up, as `CLLocationManager` does here.
    public let isSimulatedBySoftware: Bool
    /// Whether an accessory supplied the location.
    public let isProducedByAccessory: Bool

    public init(softwareSimulationState isSoftware: Bool, andExternalAccessoryState isAccessory: Bool) {
        isSimulatedBySoftware = isSoftware
        isProducedByAccessory = isAccessory
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocationSourceInformation else { return false }
        return isSimulatedBySoftware == other.isSimulatedBySoftware && isProducedByAccessory == other.isProducedByAccessory
    }

    open override var hash: Int { (isSimulatedBySoftware ? 1 : 0) | (isProducedByAccessory ? 2 : 0) }

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        isSimulatedBySoftware = coder.decodeBool(forKey: "isSimulatedBySoftware")
        isProducedByAccessory = coder.decodeBool(forKey: "isProducedByAccessory")
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(isSimulatedBySoftware, forKey: "isSimulatedBySoftware")
        coder.encode(isProducedByAccessory, forKey: "isProducedByAccessory")
    }
}
