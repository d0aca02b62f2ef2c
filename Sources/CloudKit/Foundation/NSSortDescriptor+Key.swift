public import Foundation

// Foundation on Linux has sort descriptors by key path alone: a Swift key path tells no field's name.

/// Lets an initializer hand out a subclass, as Apple's do.
public protocol __NSSortDescriptorKeyed {}

extension NSSortDescriptor: __NSSortDescriptorKeyed {}

extension __NSSortDescriptorKeyed where Self == NSSortDescriptor {
    /// By a record's field, or by one of `CKRecord.SystemFieldKey`.
    public init(key: String?, ascending: Bool) {
        self = KeySortDescriptor(key: key, ascending: ascending)
    }
}

// Not an extension of the class: beside Foundation's own `key`, which is unavailable, an optimized app could not tell which is meant.
extension __NSSortDescriptorKeyed where Self: NSSortDescriptor {
    /// nil where there is none, as in descriptors by key path.
    public var key: String? {
        switch self as NSSortDescriptor {
        case let descriptor as KeySortDescriptor: descriptor.name
        case let descriptor as CKLocationSortDescriptor: descriptor.name
        default: nil
        }
    }
}

/// What `NSSortDescriptor(key:ascending:)` makes.
final class KeySortDescriptor: NSSortDescriptor {
    let name: String?

    init(key: String?, ascending: Bool) {
        name = key
        // Foundation wants a key path; nobody asks it for a value.
        super.init(keyPath: \NSString.length, ascending: ascending)
    }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override var reversedSortDescriptor: Any { KeySortDescriptor(key: name, ascending: !ascending) }

    /// Records and dictionaries by what is under the key, and values themselves where it is nil; those without a value come first.
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
