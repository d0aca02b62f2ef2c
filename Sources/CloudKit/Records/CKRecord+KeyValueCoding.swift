import Foundation

/// Key-value coding, which Foundation on Linux has not: fields under their names, as the subscript reads and sets them.
extension CKRecord {
    /// The field's value; where there is no such field, the record's own property of that name; nil where there is neither.
    public func value(forKey key: String) -> Any? {
        object(forKey: key) ?? property(key)
    }

    /// Sets a field. nil and `NSNull` clear it. A value that no record takes is remembered, and fails the record's next save.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = Self.unwrapped(value), !(value is NSNull) else { return setObject(nil, forKey: key) }
        setObject((value as? any __CKRecordObjCValue) ?? UnsupportedValue(), forKey: key)
    }

    /// Sets many fields, each as `setValue` does.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(value, forKey: key) }
    }

    /// The values of these keys, with `NSNull` where there is none.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { first, _ in first }
    }

    private func property(_ name: String) -> Any? {
        switch name {
        case "recordID": recordID
        case "recordType": recordType
        case "recordChangeTag": recordChangeTag
        case "creationDate": creationDate
        case "creatorUserRecordID": creatorUserRecordID
        case "modificationDate": modificationDate
        case "lastModifiedUserRecordID": lastModifiedUserRecordID
        case "parent": parent
        case "share": share
        default: nil
        }
    }

    /// What an app's optional holds: `Any?` may hold another optional.
    private static func unwrapped(_ value: Any?) -> Any? {
        guard let value else { return nil }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return unwrapped(mirror.children.first?.value)
    }
}
