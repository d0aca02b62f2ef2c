public import Foundation
import NacreCloudWire

extension CKRecord {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias Reference = CKReference

    /// The effect on a record when the target of its reference is deleted.
    public enum ReferenceAction: UInt, Sendable {
        /// The reference stays, without a target.
        case none = 0
        /// The record with the reference is deleted too, and in turn records that refer to it with this action.
        case deleteSelf = 1
    }
}

/// Apple: deprecated.
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction

/// A link from one record's field to another record of the same zone. Compares by value; immutable.
///
/// Written `CKRecord.Reference`. Apple: iOS 8.
open class CKReference: NSObject, NSSecureCoding, NSCopying, __CKRecordObjCValue, CKRecordValueProtocol, @unchecked Sendable {
    // Sendable: both properties are `let`s of sendable types.

    /// Apple: deprecated.
    public typealias Action = CKRecord.ReferenceAction

    /// The ID of the target.
    public let recordID: CKRecord.ID
    /// The effect on the record with the reference when the target is deleted.
    public let action: CKRecord.ReferenceAction

    /// Makes a reference to a record by its ID.
    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
        super.init()
    }

    /// Makes a reference to a record.
    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID == other.recordID && action == other.action
    }

    open override var hash: Int { recordID.hash }
    open override var description: String { "<CKReference: \(recordID), action=\(action)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "RecordID"), let recordID = coder.decodeObject(of: CKRecordID.self, forKey: "RecordID"),
            let action = CKRecord.ReferenceAction(rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "ReferenceAction")))
        else { return nil }
        self.recordID = recordID
        self.action = action
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: "RecordID")
        coder.encode(Int64(action.rawValue), forKey: "ReferenceAction")
    }
}

extension CKReference {
    /// The wire form of a reference in a record of `zone`. It names a zone only if the target is in another one.
    func wire(from zone: CKRecordZone.ID) -> Reference {
        Reference(
            recordName: recordID.recordName, action: action == .deleteSelf ? .deleteSelf : .none,
            zoneID: recordID.zoneID == zone ? nil : recordID.zoneID.wire)
    }

    /// Makes the reference of a record in `zone`.
    ///
    /// References stay inside a zone. A reference to a zone of the same name is therefore one to `zone`, however the
    /// server spells its owner.
    convenience init(wire reference: Reference, from zone: CKRecordZone.ID) {
        let target = reference.zoneID.flatMap { $0.zoneName == zone.zoneName ? nil : CKRecordZone.ID(wire: $0) } ?? zone
        self.init(
            recordID: CKRecord.ID(recordName: reference.recordName, zoneID: target), action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }
}
