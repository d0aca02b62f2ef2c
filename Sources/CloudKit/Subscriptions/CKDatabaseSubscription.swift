public import Foundation
import NacreCloudWire
import NacreLocks

/// Reports changes in any zone of a private or shared database, except the default zone. Apple: iOS 10.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    // Sendable: see `CKSubscription`.

    private let watchedType: Locked<CKRecord.RecordType?>

    /// Makes a subscription with an ID of the app's. Saving it again replaces the one of the same ID.
    public init(subscriptionID: CKSubscription.ID) {
        watchedType = Locked(nil)
        super.init(subscriptionID: subscriptionID, type: .database)
    }

    /// Makes a subscription with a new ID. Apple: deprecated in iOS 10.
    public convenience init() {
        self.init(subscriptionID: UUID().uuidString)
    }

    /// The type of the records whose changes are reported; nil for any type.
    open var recordType: CKRecord.RecordType? {
        get { watchedType.withLock { $0 } }
        set { watchedType.withLock { $0 = newValue } }
    }

    override func kind(now: Timestamp) throws(CKError) -> Subscription.Kind { .database(recordType: recordType) }

    override func copied() -> CKSubscription {
        let copy = CKDatabaseSubscription(subscriptionID: subscriptionID)
        copy.recordType = recordType
        return copy
    }

    // MARK: NSSecureCoding

    /// Decodes a subscription. If the archive holds none, its ID is empty, and operations reject it.
    public required init(coder aDecoder: NSCoder) {
        watchedType = Locked(aDecoder.strings(forKeys: Key.recordType)?[0])
        super.init(coder: aDecoder, type: .database)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        if let recordType { coder.encode(NSString(string: recordType), forKey: Key.recordType) }
    }
}
