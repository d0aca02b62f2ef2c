public import Foundation

// Foundation on Linux has only sort descriptors by key path, and a Swift key path does not reveal a field's name.

/// Lets an initializer return a subclass, as Apple's do.
public protocol __NSSortDescriptorKeyed {}

extension NSSortDescriptor: __NSSortDescriptorKeyed {}

extension __NSSortDescriptorKeyed where Self == NSSortDescriptor {
    /// Makes a descriptor for a record's field, or for a key of `CKRecord.SystemFieldKey`.
    public init(key: String?, ascending: Bool) {
        self = KeySortDescriptor(key: key, ascending: ascending)
    }
}

// This is not an extension of the class: in optimized apps it would conflict with Foundation's own unavailable `key`.
extension __NSSortDescriptorKeyed where Self: NSSortDescriptor {
    /// The key; nil if there is none, as in descriptors by key path.
    public var key: String? {
        switch self as NSSortDescriptor {
        case let descriptor as KeySortDescriptor: descriptor.name
        case let descriptor as CKLocationSortDescriptor: descriptor.name
        default: nil
        }
    }
}

/// The result of `NSSortDescriptor(key:ascending:)`.
final class KeySortDescriptor: NSSortDescriptor {
    let name: String?

    init(key: String?, ascending: Bool) {
        name = key
        // Foundation requires a key path, but never reads a value through it.
        super.init(keyPath: \NSString.length, ascending: ascending)
    }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override var reversedSortDescriptor: Any { KeySortDescriptor(key: name, ascending: !ascending) }

    /// Compares records and dictionaries by the value under the key, and values themselves if the key is nil. Objects
    /// without a value come first.
    override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        LocalUse.compare(object1, object2, by: name, isAscending: ascending)
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? KeySortDescriptor else { return false }
        return name == other.name && ascending == other.ascending
    }

    override var hash: Int { name.hashValue }
    override var description: String { "(\(name ?? "nil"), \(ascending ? "ascending" : "descending"))" }
}
