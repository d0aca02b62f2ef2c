import Foundation

/// An operation that another process can run, because an archive holds its whole request. Blocks are not archived.
protocol ArchivedOperation: CKDatabaseOperation {
    /// The permanent name of the operation's type in archives.
    static var kind: String { get }
    init()
    /// Encodes the request. Returns false if a part is of the app's own class, which an agent does not know and an
    /// archive may be unable to name.
    func encodeRequest(with coder: NSCoder) -> Bool
    /// Decodes the request; returns false if a part is invalid.
    func decodeRequest(with coder: NSCoder) -> Bool
}

/// The types of operations that outlive their app. A subclass of the app is decoded as the framework's class.
enum ArchivedOperations {
    private static let kinds: [any ArchivedOperation.Type] = [
        CKModifyRecordsOperation.self, CKFetchRecordsOperation.self, CKQueryOperation.self, CKFetchRecordZoneChangesOperation.self,
        CKFetchDatabaseChangesOperation.self, CKModifyRecordZonesOperation.self, CKFetchRecordZonesOperation.self,
        CKModifySubscriptionsOperation.self, CKFetchSubscriptionsOperation.self,
    ]

    static func archive(_ operation: CKDatabaseOperation) -> (kind: String, data: Data)? {
        guard let archived = operation as? any ArchivedOperation else { return nil }
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        let isOurs = archived.encodeRequest(with: archiver)
        archiver.finishEncoding()
        guard isOurs, archiver.error == nil else { return nil }
        return (type(of: archived).kind, archiver.encodedData)
    }

    static func operation(_ kind: String, _ data: Data) -> CKDatabaseOperation? {
        guard let type = kinds.first(where: { $0.kind == kind }), let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        unarchiver.requiresSecureCoding = true
        unarchiver.decodingFailurePolicy = .setErrorAndReturn
        defer { unarchiver.finishDecoding() }
        let operation = type.init()
        return operation.decodeRequest(with: unarchiver) && unarchiver.error == nil ? operation : nil
    }
}

extension NSCoder {
    /// Encodes a list if all of it is of the framework's own classes; otherwise returns false and encodes nothing.
    fileprivate func encode<Item: NSObject>(list: [Item]?, _ key: String) -> Bool {
        guard let list else { return true }
        guard list.allSatisfy(Self.isOurs) else { return false }
        encode(NSArray(array: list), forKey: key)
        return true
    }

    fileprivate func encode<Item: NSObject>(part: Item?, _ key: String) -> Bool {
        guard let part else { return true }
        guard Self.isOurs(part) else { return false }
        encode(part, forKey: key)
        return true
    }

    private static func isOurs(_ object: NSObject) -> Bool {
        let name = String(reflecting: type(of: object)).split(separator: ".")
        return name.count == 2 && name[0] == "CloudKit"
    }

    /// Decodes a list; nil if there is none.
    fileprivate func list<Item: NSObject & NSSecureCoding>(_ key: String, of type: Item.Type, besides: [AnyClass] = []) -> [Item]? {
        guard containsValue(forKey: key) else { return nil }
        return (decodeObject(of: [NSArray.self, type] + besides, forKey: key) as? NSArray)?.compactMap { $0 as? Item }
    }

    fileprivate func encode(texts: [String]?, _ key: String) {
        if let texts { encode(NSArray(array: texts.map { NSString(string: $0) }), forKey: key) }
    }

    fileprivate func texts(_ key: String) -> [String]? { list(key, of: NSString.self)?.map { String($0) } }

    fileprivate func object<Item: NSObject & NSSecureCoding>(_ key: String, of type: Item.Type) -> Item? {
        containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }
}

extension CKModifyRecordsOperation: ArchivedOperation {
    static var kind: String { "modifyRecords" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(savePolicy.rawValue, forKey: "policy")
        coder.encode(isAtomic, forKey: "atomic")
        if let clientChangeTokenData { coder.encode(NSData(data: clientChangeTokenData), forKey: "clientChangeToken") }
        return coder.encode(list: recordsToSave, "save") && coder.encode(list: recordIDsToDelete, "delete")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        recordsToSave = coder.list("save", of: CKRecord.self, besides: [CKShare.self])
        recordIDsToDelete = coder.list("delete", of: CKRecord.ID.self)
        isAtomic = coder.decodeBool(forKey: "atomic")
        clientChangeTokenData = coder.object("clientChangeToken", of: NSData.self).map { Data(referencing: $0) }
        guard let policy = RecordSavePolicy(rawValue: coder.decodeInteger(forKey: "policy")) else { return false }
        savePolicy = policy
        return true
    }
}

extension CKFetchRecordsOperation: ArchivedOperation {
    static var kind: String { "fetchRecords" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(texts: desiredKeys, "keys")
        coder.encode(fetchesCurrentUser, forKey: "currentUser")
        return coder.encode(list: recordIDs, "records")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        recordIDs = coder.list("records", of: CKRecord.ID.self)
        desiredKeys = coder.texts("keys")
        fetchesCurrentUser = coder.decodeBool(forKey: "currentUser")
        return true
    }
}

extension CKQueryOperation: ArchivedOperation {
    static var kind: String { "query" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(resultsLimit, forKey: "limit")
        coder.encode(texts: desiredKeys, "keys")
        return coder.encode(part: query, "query") && coder.encode(part: cursor, "cursor") && coder.encode(part: zoneID, "zone")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        query = coder.object("query", of: CKQuery.self)
        cursor = coder.object("cursor", of: CKQueryOperation.Cursor.self)
        zoneID = coder.object("zone", of: CKRecordZone.ID.self)
        resultsLimit = coder.decodeInteger(forKey: "limit")
        desiredKeys = coder.texts("keys")
        return query != nil || cursor != nil
    }
}

extension CKFetchRecordZoneChangesOperation: ArchivedOperation {
    static var kind: String { "fetchRecordZoneChanges" }

    /// Encodes the request. Options, the old form of configurations, are decoded as configurations.
    func encodeRequest(with coder: NSCoder) -> Bool {
        var configurations = (optionsByRecordZoneID ?? [:]).mapValues {
            ZoneConfiguration(
                previousServerChangeToken: $0.previousServerChangeToken, resultsLimit: $0.resultsLimit, desiredKeys: $0.desiredKeys)
        }
        configurations.merge(configurationsByRecordZoneID ?? [:]) { _, new in new }
        let zones = configurations.keys.sorted { $0.zoneName < $1.zoneName }
        coder.encode(fetchAllChanges, forKey: "all")
        return coder.encode(list: recordZoneIDs, "zones") && coder.encode(list: zones, "configured")
            && coder.encode(list: zones.compactMap { configurations[$0] }, "configurations")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        recordZoneIDs = coder.list("zones", of: CKRecordZone.ID.self)
        fetchAllChanges = coder.decodeBool(forKey: "all")
        guard let zones = coder.list("configured", of: CKRecordZone.ID.self),
            let configurations = coder.list("configurations", of: ZoneConfiguration.self, besides: [CKServerChangeToken.self, NSString.self]),
            zones.count == configurations.count
        else { return false }
        configurationsByRecordZoneID = Dictionary(zip(zones, configurations)) { first, _ in first }
        return true
    }
}

extension CKFetchDatabaseChangesOperation: ArchivedOperation {
    static var kind: String { "fetchDatabaseChanges" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(resultsLimit, forKey: "limit")
        coder.encode(fetchAllChanges, forKey: "all")
        return coder.encode(part: previousServerChangeToken, "token")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        previousServerChangeToken = coder.object("token", of: CKServerChangeToken.self)
        resultsLimit = coder.decodeInteger(forKey: "limit")
        fetchAllChanges = coder.decodeBool(forKey: "all")
        return true
    }
}

extension CKModifyRecordZonesOperation: ArchivedOperation {
    static var kind: String { "modifyRecordZones" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(list: recordZonesToSave, "save") && coder.encode(list: recordZoneIDsToDelete, "delete")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        recordZonesToSave = coder.list("save", of: CKRecordZone.self)
        recordZoneIDsToDelete = coder.list("delete", of: CKRecordZone.ID.self)
        return true
    }
}

extension CKFetchRecordZonesOperation: ArchivedOperation {
    static var kind: String { "fetchRecordZones" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(fetchesAll, forKey: "all")
        return coder.encode(list: recordZoneIDs, "zones")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        recordZoneIDs = coder.list("zones", of: CKRecordZone.ID.self)
        fetchesAll = coder.decodeBool(forKey: "all")
        return true
    }
}

extension CKModifySubscriptionsOperation: ArchivedOperation {
    static var kind: String { "modifySubscriptions" }

    private static let classes: [AnyClass] = [CKQuerySubscription.self, CKRecordZoneSubscription.self, CKDatabaseSubscription.self]

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(texts: subscriptionIDsToDelete, "delete")
        return coder.encode(list: subscriptionsToSave, "save")
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        subscriptionsToSave = coder.list("save", of: CKSubscription.self, besides: Self.classes)
        subscriptionIDsToDelete = coder.texts("delete")
        return true
    }
}

extension CKFetchSubscriptionsOperation: ArchivedOperation {
    static var kind: String { "fetchSubscriptions" }

    func encodeRequest(with coder: NSCoder) -> Bool {
        coder.encode(texts: subscriptionIDs, "subscriptions")
        coder.encode(fetchesAll, forKey: "all")
        return true
    }

    func decodeRequest(with coder: NSCoder) -> Bool {
        subscriptionIDs = coder.texts("subscriptions")
        fetchesAll = coder.decodeBool(forKey: "all")
        return true
    }
}
