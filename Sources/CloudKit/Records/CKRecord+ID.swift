public import Foundation

extension CKRecord {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias ID = CKRecordID
}

/// The name of a record in a database: its own name and its zone. Compares by value; immutable.
///
/// Written `CKRecord.ID`. Apple: iOS 8.
open class CKRecordID: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: both properties are `let`s of sendable types.

    /// The record's name, unique in its zone.
    public let recordName: String
    /// The zone in which the record is.
    public let zoneID: CKRecordZone.ID

    /// Makes the ID of a record in the default zone.
    public convenience init(recordName: String) {
        self.init(recordName: recordName, zoneID: .default)
    }

    /// Makes the ID of a record in a zone. `recordName` is ASCII with 1 to 255 characters. An invalid ID makes requests
    /// that carry it fail; it never traps.
    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = CKRecordZone.ID.default) {
        self.recordName = recordName
        self.zoneID = zoneID
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return recordName == other.recordName && zoneID == other.zoneID
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID)
        return hasher.finalize()
    }

    open override var description: String { "<CKRecordID: \(recordName):(\(zoneID.zoneName):\(zoneID.ownerName))>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let names = coder.strings(forKeys: "RecordName"), coder.containsValue(forKey: "ZoneID"),
            let zoneID = coder.decodeObject(of: CKRecordZoneID.self, forKey: "ZoneID")
        else { return nil }
        recordName = names[0]
        self.zoneID = zoneID
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: recordName), forKey: "RecordName")
        coder.encode(zoneID, forKey: "ZoneID")
    }
}
