public import Foundation
import NacreCloudWire
import NacreLocks

/// Reports changes in one zone of a private database. Apple: iOS 10.
open class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    // Sendable: see `CKSubscription`.

    /// The zone's ID. It must be a custom zone: the default zone has no changes to fetch.
    public let zoneID: CKRecordZone.ID
    private let watchedType: Locked<CKRecord.RecordType?>

    /// Makes a subscription to all changes of a zone.
    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.zoneID = zoneID
        watchedType = Locked(nil)
        super.init(subscriptionID: subscriptionID, type: .recordZone)
    }

    /// Makes a subscription with a new ID. Apple: deprecated in iOS 10.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    /// The type of the records whose changes are reported; nil for any type.
    open var recordType: CKRecord.RecordType? {
        get { watchedType.withLock { $0 } }
        set { watchedType.withLock { $0 = newValue } }
    }

    override func kind(now: Timestamp) throws(CKError) -> Subscription.Kind {
        if let fault = zoneID.fault { throw CKError(fault) }
        return .zone(zoneID.wire, recordType: recordType)
    }

    override func copied() -> CKSubscription {
        let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
        copy.recordType = recordType
        return copy
    }

    // MARK: NSSecureCoding

    /// Decodes a subscription. If the archive holds none, its ID is empty, and operations reject it.
    public required init(coder aDecoder: NSCoder) {
        zoneID = aDecoder.object(of: CKRecordZoneID.self, forKey: Key.zoneID) ?? .default
        watchedType = Locked(aDecoder.strings(forKeys: Key.recordType)?[0])
        super.init(coder: aDecoder, type: .recordZone)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(zoneID, forKey: Key.zoneID)
        if let recordType { coder.encode(NSString(string: recordType), forKey: Key.recordType) }
    }
}
