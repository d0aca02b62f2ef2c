public import CoreLocation
public import Foundation

/// Sorts records by the distance of a location field from a given location, nearest first; altitude does not count.
/// Apple: iOS 8.
open class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    let name: String
    /// The location from which distances are measured.
    public let relativeLocation: CLLocation

    /// Makes a descriptor that sorts the records nearest to `relativeLocation` first.
    public init(key: String, relativeLocation: CLLocation) {
        name = key
        self.relativeLocation = relativeLocation
        // Foundation requires a key path, but never reads a value through it.
        super.init(keyPath: \NSString.length, ascending: true)
    }

    open override func copy(with zone: NSZone? = nil) -> Any { self }

    /// Compares records and dictionaries by their distance; those without a location come last.
    open override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        let distances = [object1, object2].map { object in
            ((try? KeyPathValue.of(name, in: object)) as? CLLocation)?.distance(from: relativeLocation) ?? .infinity
        }
        return distances[0] == distances[1] ? .orderedSame : distances[0] < distances[1] ? .orderedAscending : .orderedDescending
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKLocationSortDescriptor else { return false }
        return name == other.name && relativeLocation == other.relativeLocation
    }

    open override var hash: Int { name.hashValue }
    open override var description: String { "(\(name), nearest to \(relativeLocation) first)" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes a descriptor. Without a key or a location in the archive, its key is empty, and queries reject it.
    public required init(coder aDecoder: NSCoder) {
        name = aDecoder.strings(forKeys: "key")?[0] ?? ""
        let place = aDecoder.containsValue(forKey: "relativeLocation") ? aDecoder.decodeObject(of: CLLocation.self, forKey: "relativeLocation") : nil
        relativeLocation = place ?? CLLocation(latitude: 0, longitude: 0)
        super.init(keyPath: \NSString.length, ascending: true)
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: name), forKey: "key")
        coder.encode(relativeLocation, forKey: "relativeLocation")
    }
}
