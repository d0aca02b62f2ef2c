import Foundation

/// Key-value coding without Objective-C, for records, their IDs and references, and dictionaries.
enum KeyPathValue {
    /// Returns the value under a key or a dotted path; nil if there is none. For a list it returns the list of its
    /// elements' values.
    static func of(_ path: String, in object: Any?) throws(PredicateFault) -> Any? {
        var value = object
        for (index, key) in path.split(separator: ".").enumerated() where index > 0 || key.uppercased() != "SELF" {
            value = try step(String(key), in: value)
        }
        return value
    }

    private static func step(_ key: String, in object: Any?) throws(PredicateFault) -> Any? {
        switch object {
        case nil, is NSNull: return nil
        case let record as CKRecord: return record.value(forKey: properties[key] ?? key)
        case let fields as any CKRecordKeyValueSetting: return fields.object(forKey: key)
        case let id as CKRecord.ID where key == "recordName": return id.recordName
        case let reference as CKRecord.Reference where key == "recordID": return reference.recordID
        case let dictionary as [String: Any]: return dictionary[key]
        case let dictionary as NSDictionary: return dictionary.object(forKey: NSString(string: key))
        case let list as [Any]:
            if key == "@count" { return list.count }
            var values: [Any] = []
            for element in list { values.append(try step(key, in: element) ?? NSNull()) }
            return values
        case let object?:
            throw PredicateFault(problem: "Keys of records and dictionaries can be read here, and of no \(type(of: object))", part: key)
        }
    }

    /// The property names of the keys in `CKRecord.SystemFieldKey`.
    private static let properties: [String: String] = [
        CKRecord.SystemFieldKey.recordID: "recordID", CKRecord.SystemFieldKey.creatorUserRecordID: "creatorUserRecordID",
        CKRecord.SystemFieldKey.creationDate: "creationDate", CKRecord.SystemFieldKey.lastModifiedUserRecordID: "lastModifiedUserRecordID",
        CKRecord.SystemFieldKey.modificationDate: "modificationDate", CKRecord.SystemFieldKey.parent: "parent",
        CKRecord.SystemFieldKey.share: "share",
    ]
}
