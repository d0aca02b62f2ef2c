import CNacreStart
import CoreLocation
import Foundation
import NacreCloudWire

// Reads archives from Apple's systems. Their keys are undocumented; for sources see
// `docs/decisions/archives-apple.md`.

@_cdecl("nacre_before_main")
func beforeMain() {
    CompoundPrinting.install()
    nameArchivedClasses()
}

private func nameArchivedClasses() {
    let classes: KeyValuePairs<String, AnyClass> = [
        "CKRecord": AppleWholeRecord.self, "CKRecordID": CKRecordID.self, "CKRecordZoneID": CKRecordZoneID.self, "CKReference": CKReference.self,
        "CLLocation": CLLocation.self, "CKAsset": CKAsset.self, "CKServerChangeToken": CKServerChangeToken.self,
        "CKRecordValueStore": AppleValueStore.self, "CKEncryptedRecordValueStore": AppleValueStore.self,
    ]
    for (name, `class`): (String, AnyClass) in classes { NSKeyedUnarchiver.setClass(`class`, forClassName: name) }
    // Foundation ends the process when a class without a registered name is decoded and no failure policy is set.
    for name in AppleUnreadable.classNames { NSKeyedUnarchiver.setClass(AppleUnreadable.self, forClassName: name) }
}

extension RecordState {
    fileprivate enum AppleKey {
        static let recordType = "RecordType"
        static let recordID = "RecordID"
        static let changeTag = "ETag"
        static let created = "RecordCtime"
        static let modified = "RecordMtime"
        static let creator = "CreatorUserRecordID"
        static let modifier = "LastModifiedUserRecordID"
        static let device = "ModifiedByDevice"
        static let parent = "ParentReference"
        static let share = "ShareReference"
        static let values = "ValueStore"
        static let encrypted = "EncryptedValueStore"
    }

    /// Decodes an archive of Apple's `CKRecord`; nil if it is another archive, or a whole record with an unreadable
    /// value.
    init?(appleCoder coder: NSCoder) {
        guard let recordType = coder.strings(forKeys: AppleKey.recordType)?[0],
            let recordID = coder.object(of: CKRecordID.self, forKey: AppleKey.recordID)
        else { return nil }
        self.init(recordType: recordType, recordID: recordID)
        recordChangeTag = coder.strings(forKeys: AppleKey.changeTag)?[0]
        created = Self.stamp(coder, AppleKey.created, AppleKey.creator, device: nil)
        modified = Self.stamp(coder, AppleKey.modified, AppleKey.modifier, device: coder.strings(forKeys: AppleKey.device)?[0])
        share = coder.object(of: CKReference.self, forKey: AppleKey.share)?.wire(from: recordID.zoneID)
        parent = coder.object(of: CKReference.self, forKey: AppleKey.parent)?.wire(from: recordID.zoneID)
        fetchedParent = parent
        // System fields have no values.
        guard coder.containsValue(forKey: AppleKey.values) else { return }
        if let secrets = coder.object(of: AppleValueStore.self, forKey: AppleKey.encrypted), secrets.values?.isEmpty != true { return nil }
        guard let store = coder.object(of: AppleValueStore.self, forKey: AppleKey.values), let values = store.values, let originals = store.originals
        else { return nil }
        for (key, value) in originals { set(value, forKey: key) }
        fetchedFields = fields
        (fields, assets, held) = (RecordFields(), [:], [:])
        changed = []
        for (key, value) in values { set(value, forKey: key) }
        changed = store.changedKeys.filter { fields[$0] != nil || fetchedFields[$0] != nil }
        for field in fields.entries where !changed.contains(field.name) { fetchedFields[field.name] = field.value }
        guard faults.isEmpty, coder.error == nil else { return nil }
    }

    private static func stamp(_ coder: NSCoder, _ dateKey: String, _ userKey: String, device: String?) -> Record.Stamp? {
        coder.object(of: NSDate.self, forKey: dateKey).map { date in
            Record.Stamp(
                timestamp: Timestamp(secondsSince2001: date.timeIntervalSinceReferenceDate),
                userRecordName: coder.object(of: CKRecordID.self, forKey: userKey)?.recordName ?? "", deviceID: device)
        }
    }
}

/// A record that is an object in an archive of Apple's, and so has values: system fields are encoded into the coder
/// itself. Decoded, it is like any other record.
private final class AppleWholeRecord: CKRecord, @unchecked Sendable {
    // Sendable: as `CKRecord`; it adds no property.

    required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: ArchivedRecord.key) || coder.containsValue(forKey: RecordState.AppleKey.values) else { return nil }
        super.init(coder: coder)
    }

    override var classForCoder: AnyClass { CKRecord.self }
}

/// The fields of a record in an archive of Apple's.
private final class AppleValueStore: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    /// nil if they are missing or if one cannot be read.
    let values: [String: any __CKRecordObjCValue]?
    /// The server's values of the changed keys; nil if one cannot be read.
    let originals: [String: any __CKRecordObjCValue]?
    let changedKeys: Set<String>

    required init?(coder: NSCoder) {
        values = coder.containsValue(forKey: "Values") ? Self.dictionary(coder, "Values") : nil
        originals = Self.dictionary(coder, "OriginalValues")
        let keys =
            coder.containsValue(forKey: "ChangedKeys")
            ? coder.decodeObject(of: [NSSet.self, NSArray.self, NSString.self], forKey: "ChangedKeys") : nil
        changedKeys = Set(((keys as? NSSet)?.allObjects ?? keys as? [Any] ?? []).compactMap { $0 as? String })
        super.init()
    }

    /// Does nothing: the class is only read.
    func encode(with coder: NSCoder) {}

    /// Decodes the values; nil if one cannot be read.
    private static func dictionary(_ coder: NSCoder, _ key: String) -> [String: any __CKRecordObjCValue]? {
        guard coder.containsValue(forKey: key) else { return [:] }
        let classes: [AnyClass] = [
            NSDictionary.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSArray.self, CLLocation.self, CKReference.self,
            CKRecordID.self, CKRecordZoneID.self, CKAsset.self, AppleUnreadable.self,
        ]
        guard let decoded = coder.decodeObject(of: classes, forKey: key) else { return [:] }
        guard let found = decoded as? [String: Any] else { return nil }
        let values = found.compactMapValues { value -> (any __CKRecordObjCValue)? in
            (value as? [Any]).map { NSArray(array: $0) } ?? value as? any __CKRecordObjCValue
        }
        return values.count == found.count ? values : nil
    }
}

/// Stands for a value whose class this version lacks.
private final class AppleUnreadable: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true
    static let classNames =
        ["CKPackage"]
        + ["Object", "Data", "String", "Date", "Double", "LongLong", "Location", "Reference", "Array", "EmptyArray"].map { "CKEncrypted\($0)" }

    required init?(coder: NSCoder) { super.init() }
    func encode(with coder: NSCoder) {}
}

extension NSCoder {
    func object<Object: NSObject & NSCoding>(of type: Object.Type, forKey key: String) -> Object? {
        containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }
}
