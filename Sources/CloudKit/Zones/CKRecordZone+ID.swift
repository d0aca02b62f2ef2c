// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
import NacreCloudWire

/// The name of the current user in an app: the owner of zones, and the name of the user's record.
public let CKCurrentUserDefaultName: String = "__defaultOwner__"
/// The old form of `CKCurrentUserDefaultName`. Apple: iOS 8, deprecated in iOS 10.
public let CKOwnerDefaultName: String = "__defaultOwner__"

extension CKRecordZone {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias ID = CKRecordZoneID
}

/// The name of a zone in a database: its own name and its owner's. Compares by value; immutable.
///
/// Written `CKRecordZone.ID`. Apple: iOS 8.
open class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: both properties are `let`s of a value type.

    /// The name of the zone that every database has: "_defaultZone".
    public static let defaultZoneName: String = ZoneID.defaultZoneName
    /// The current user's default zone.
    public static let `default` = CKRecordZoneID(zoneName: ZoneID.defaultZoneName, ownerName: CKCurrentUserDefaultName)

    /// The zone's name, unique among its owner's zones.
    public let zoneName: String
    /// The owner's user record name; `CKCurrentUserDefaultName` for zones of the current user.
    public let ownerName: String

    /// Makes the ID of a zone. `zoneName` is ASCII with at most 255 characters. An invalid ID makes requests that carry
    /// it fail; it never traps.
    public init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName) {
        self.zoneName = zoneName
        self.ownerName = ownerName
        super.init()
    }

    /// Makes the ID of a zone; a nil owner stands for the current user. Apple: deprecated in iOS 10.
    @_disfavoredOverload
    public convenience init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String? = CKOwnerDefaultName) {
        self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return zoneName == other.zoneName && ownerName == other.ownerName
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(zoneName)
        hasher.combine(ownerName)
        return hasher.finalize()
    }

    open override var description: String { "<CKRecordZoneID: \(zoneName):\(ownerName)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let names = coder.strings(forKeys: "ZoneName", "ownerName") else { return nil }
        zoneName = names[0]
        ownerName = names[1]
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: zoneName), forKey: "ZoneName")
        coder.encode(NSString(string: ownerName), forKey: "ownerName")
    }
}

extension NSCoder {
    /// Returns the strings under these keys; nil if one is missing or not a string.
    func strings(forKeys keys: String...) -> [String]? {
        let strings = keys.compactMap { key in
            containsValue(forKey: key) ? decodeObject(of: NSString.self, forKey: key).map { String($0) } : nil
        }
        return strings.count == keys.count ? strings : nil
    }
}

extension CKRecordZoneID {
    /// The zone ID in its wire form.
    var wire: ZoneID { ZoneID(zoneName: zoneName, ownerRecordName: ownerName) }

    /// - Parameter zone: the wire form; without an owner it is the current user's.
    convenience init(wire zone: ZoneID) {
        self.init(zoneName: zone.zoneName, ownerName: zone.ownerRecordName ?? CKCurrentUserDefaultName)
    }

    /// Makes the ID of a zone that the server names in a database of this scope.
    ///
    /// The server names owners by their user records. An app uses `CKCurrentUserDefaultName` for its own zones, and
    /// private and public databases have no others.
    convenience init(wire zone: ZoneID, in scope: CKDatabase.Scope) {
        self.init(wire: scope == .shared ? zone : ZoneID(zoneName: zone.zoneName))
    }
}
