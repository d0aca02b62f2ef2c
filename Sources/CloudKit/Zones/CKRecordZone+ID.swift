// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
import NacreCloudWire

/// The name under which an app says "the current user": as the owner of zones and as the name of their user record.
public let CKCurrentUserDefaultName: String = "__defaultOwner__"
/// Apple: iOS 8, deprecated in iOS 10 in favour of `CKCurrentUserDefaultName`.
public let CKOwnerDefaultName: String = "__defaultOwner__"

extension CKRecordZone {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias ID = CKRecordZoneID
}

/// Names a zone in a database: its name, and who owns it. Compares by value; immutable.
///
/// Written `CKRecordZone.ID`. Apple: iOS 8.
open class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: both properties are `let`s of a value type.

    /// "_defaultZone": the zone that every database has.
    public static let defaultZoneName: String = ZoneID.defaultZoneName
    /// The current user's default zone.
    public static let `default` = CKRecordZoneID(zoneName: ZoneID.defaultZoneName, ownerName: CKCurrentUserDefaultName)

    /// The zone's name, unique among its owner's.
    public let zoneName: String
    /// A user record name; `CKCurrentUserDefaultName` for zones of the current user.
    public let ownerName: String

    /// A zone of a user. `zoneName` is ASCII, at most 255 characters; what breaks these rules is an error when a request carries it, never a trap.
    public init(zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName) {
        self.zoneName = zoneName
        self.ownerName = ownerName
        super.init()
    }

    /// Apple: deprecated in iOS 10.
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

    /// True: an archive is decoded by its class.
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
    /// The strings under these keys, or nil when one is missing or is none.
    func strings(forKeys keys: String...) -> [String]? {
        let strings = keys.compactMap { key in
            containsValue(forKey: key) ? decodeObject(of: NSString.self, forKey: key).map { String($0) } : nil
        }
        return strings.count == keys.count ? strings : nil
    }
}

extension CKRecordZoneID {
    /// The zone as the wire says it.
    var wire: ZoneID { ZoneID(zoneName: zoneName, ownerRecordName: ownerName) }

    /// - Parameter zone: without an owner it is the current user's.
    convenience init(wire zone: ZoneID) {
        self.init(zoneName: zone.zoneName, ownerName: zone.ownerRecordName ?? CKCurrentUserDefaultName)
    }

    /// A zone that the server names in a database of this scope.
    ///
    /// The server names owners by their user records. An app knows its own zones by `CKCurrentUserDefaultName`, and in a private or
    /// public database there are no others.
    convenience init(wire zone: ZoneID, in scope: CKDatabase.Scope) {
        self.init(wire: scope == .shared ? zone : ZoneID(zoneName: zone.zoneName))
    }
}
