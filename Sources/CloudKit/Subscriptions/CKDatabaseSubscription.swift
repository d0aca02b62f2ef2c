public import Foundation
import NacreCloudWire
import NacreLocks

/// Tells of any change in the zones of a private or shared database, its default zone excepted. Apple: iOS 10.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    // Sendable: as `CKSubscription` says.

    private let watchedType: Locked<CKRecord.RecordType?>

    /// A subscription under a name of the app's, by which saving it again finds it.
    public init(subscriptionID: CKSubscription.ID) {
        watchedType = Locked(nil)
        super.init(subscriptionID: subscriptionID, type: .database)
    }

    /// With an ID of its own. Apple: deprecated in iOS 10.
    public convenience init() {
        self.init(subscriptionID: UUID().uuidString)
    }

    /// nil: changes of records of any type.
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

    /// An archive that holds no database subscription reads as one without an ID, which no operation takes.
    public required init(coder aDecoder: NSCoder) {
        watchedType = Locked(aDecoder.strings(forKeys: Key.recordType)?[0])
        super.init(coder: aDecoder, type: .database)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        if let recordType { coder.encode(NSString(string: recordType), forKey: Key.recordType) }
    }
}
