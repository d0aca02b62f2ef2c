public import Foundation
import NacreCloudWire
import NacreLocks

/// Reports when records of one type that match a predicate are created, changed or deleted. For public and private
/// databases. Apple: iOS 10.
open class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    // Sendable: see `CKSubscription`; predicates are immutable.

    /// The changes that are reported. At least one of creation, update and deletion is needed, or saving fails with
    /// `invalidArguments`.
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// A new record matches.
        public static var firesOnRecordCreation: Options { Options(rawValue: 1 << 0) }
        /// A changed record matches after the change.
        public static var firesOnRecordUpdate: Options { Options(rawValue: 1 << 1) }
        /// A record that matched was deleted.
        public static var firesOnRecordDeletion: Options { Options(rawValue: 1 << 2) }
        /// The server deletes the subscription after its first notification.
        public static var firesOnce: Options { Options(rawValue: 1 << 3) }
    }

    /// The type of the records.
    public let recordType: CKRecord.RecordType?
    /// A predicate that queries support, checked when the subscription is saved. In a fetched subscription it is an
    /// equivalent predicate.
    public let predicate: NSPredicate
    /// The changes that are reported.
    public let querySubscriptionOptions: Options
    private let watchedZone: Locked<CKRecordZone.ID?>

    init(
        recordType: CKRecord.RecordType?, predicate: NSPredicate, id: CKSubscription.ID, zoneID: CKRecordZone.ID?, options: Options
    ) {
        self.recordType = recordType
        self.predicate = predicate
        querySubscriptionOptions = options
        watchedZone = Locked(zoneID)
        super.init(subscriptionID: id, type: .query)
    }

    /// Makes a subscription to the records of a type that match a predicate.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(recordType: recordType, predicate: predicate, id: subscriptionID, zoneID: nil, options: querySubscriptionOptions)
    }

    /// Makes a subscription with a new ID. Apple: deprecated in iOS 10.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString, options: querySubscriptionOptions)
    }

    /// The zone; nil for every zone of the database.
    open var zoneID: CKRecordZone.ID? {
        get { watchedZone.withLock { $0 } }
        set { watchedZone.withLock { $0 = newValue } }
    }

    override func kind(now: Timestamp) throws(CKError) -> Subscription.Kind {
        guard !querySubscriptionOptions.firesOn.isEmpty else {
            throw .malformed("A query subscription needs one of firesOnRecordCreation, firesOnRecordUpdate and firesOnRecordDeletion")
        }
        if let fault = zoneID?.fault { throw CKError(fault) }
        guard let query = try CKQuery(recordType: recordType ?? "", predicate: predicate).wire(now: now) else {
            throw .malformed("The predicate of the query subscription matches nothing")
        }
        return .query(
            SubscribedQuery(
                query: query, zoneID: zoneID?.wire, firesOn: querySubscriptionOptions.firesOn,
                firesOnce: querySubscriptionOptions.contains(.firesOnce)))
    }

    override func copied() -> CKSubscription {
        CKQuerySubscription(
            recordType: recordType, predicate: predicate, id: subscriptionID, zoneID: zoneID, options: querySubscriptionOptions)
    }

    // MARK: NSSecureCoding

    /// Decodes a subscription. If the archive holds none, operations reject the result.
    public required init(coder aDecoder: NSCoder) {
        let query = aDecoder.object(of: CKQuery.self, forKey: Key.query)
        recordType = query?.recordType
        predicate = query?.predicate ?? NSPredicate(value: false)
        querySubscriptionOptions = Options(rawValue: UInt(truncatingIfNeeded: aDecoder.decodeInt64(forKey: Key.options)))
        watchedZone = Locked(aDecoder.object(of: CKRecordZoneID.self, forKey: Key.zoneID))
        super.init(coder: aDecoder, type: .query)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(CKQuery(recordType: recordType ?? "", predicate: predicate), forKey: Key.query)
        coder.encode(Int64(truncatingIfNeeded: querySubscriptionOptions.rawValue), forKey: Key.options)
        if let zoneID { coder.encode(zoneID, forKey: Key.zoneID) }
    }
}

extension CKQuerySubscription {
    convenience init(wire subscribed: SubscribedQuery, id: CKSubscription.ID, in scope: CKDatabase.Scope) {
        var options = Options(rawValue: subscribed.firesOn.rawValue)
        if subscribed.firesOnce { options.insert(.firesOnce) }
        self.init(
            recordType: subscribed.query.recordType, predicate: FormatPredicate(PredicateTree(subscribed.query.filters)), id: id,
            zoneID: subscribed.zoneID.map { CKRecordZone.ID(wire: $0, in: scope) }, options: options)
    }
}

extension CKQuerySubscription.Options {
    /// The reported changes in their wire form, which has the same numbers.
    fileprivate var firesOn: FiresOn { FiresOn(rawValue: rawValue).intersection(.all) }
}
