import Foundation

/// Key-value coding, which Foundation on Linux lacks. Fields are read and set by name, as with the subscript.
extension CKRecord {
    /// Returns the field's value, or the record's own property of that name; nil if there is neither.
    public func value(forKey key: String) -> Any? {
        gettable(object(forKey: key)) ?? property(key)
    }

    /// Sets a field; nil and `NSNull` clear it. A value that cannot be stored fails the record's next save.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = Self.unwrapped(value), !(value is NSNull) else { return setObject(nil, forKey: key) }
        setObject((value as? any __CKRecordObjCValue) ?? UnsupportedValue(value: value), forKey: key)
    }

    /// Sets many fields, each as `setValue` does.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(value, forKey: key) }
    }

    /// Returns the values of these keys, with `NSNull` for missing ones.
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

    /// Unwraps a value that an app passes as `Any?` and that may be a nested optional.
    private static func unwrapped(_ value: Any?) -> Any? {
        guard let value else { return nil }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return unwrapped(mirror.children.first?.value)
    }
}
