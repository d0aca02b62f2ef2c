public import CoreLocation
public import Foundation

/// A value that a record's field can hold, as `CKRecord`'s subscript takes and returns it.
///
/// On Apple's platforms this inherits `NSObjectProtocol` and only classes conform. Here Swift's value types conform
/// too, so that `record["n"] as? Int` and `5 as CKRecordValue` compile. Records return `NSString`, `NSNumber` and
/// similar objects. A type of your own may conform, and is read as it was set, but saving its record fails.
public protocol __CKRecordObjCValue {}

/// Apple: iOS 8.
public typealias CKRecordValue = __CKRecordObjCValue

/// A value that a record's field can hold, as a Swift type. Apple: iOS 8.
public protocol CKRecordValueProtocol {}

/// An object with fields under keys. Apple: iOS 9.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    /// Returns the value under a key; nil if there is none.
    func object(forKey key: String) -> (any __CKRecordObjCValue)?
    /// Sets the value under a key; nil clears the field.
    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: String)
    /// The value under a key; nil clears the field.
    subscript(key: String) -> (any __CKRecordObjCValue)? { get set }
    /// Returns the keys that have a value.
    func allKeys() -> [String]
    /// Returns the keys that were set or cleared since the last fetch or save.
    func changedKeys() -> [String]
}

extension CKRecordKeyValueSetting {
    /// The value under a key; nil if there is none or if it does not fit `T`. A number fits every numeric type that can
    /// hold it exactly.
    public subscript<T>(key: CKRecord.FieldKey) -> T? where T: CKRecordValueProtocol {
        get { gettable(object(forKey: key)) as? T }
        set { setObject(newValue.map(settable), forKey: key) }
    }

    /// The value under a key; nil clears the field.
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { gettable(object(forKey: key)) as? any CKRecordValueProtocol }
        set { setObject(newValue.map(settable), forKey: key) }
    }
}

/// Returns a Swift value in the form that `setObject` takes.
private func settable(_ value: any CKRecordValueProtocol) -> any __CKRecordObjCValue {
    (value as? any __CKRecordObjCValue) ?? UnsupportedValue(value: value)
}

/// Returns a value as the app set it, also one of a type that is none for fields.
func gettable(_ object: (any __CKRecordObjCValue)?) -> Any? {
    if let unsupported = object as? UnsupportedValue { return unsupported.value }
    return object
}

/// Holds a value that is of no type for fields. Setting it is a fault, and does not clear the field.
struct UnsupportedValue: __CKRecordObjCValue {
    let value: Any
}

extension String: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Date: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Data: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Bool: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Double: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Float: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Int: __CKRecordObjCValue, CKRecordValueProtocol {}
extension UInt: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Int8: __CKRecordObjCValue, CKRecordValueProtocol {}
extension UInt8: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Int16: __CKRecordObjCValue, CKRecordValueProtocol {}
extension UInt16: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Int32: __CKRecordObjCValue, CKRecordValueProtocol {}
extension UInt32: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Int64: __CKRecordObjCValue, CKRecordValueProtocol {}
extension UInt64: __CKRecordObjCValue, CKRecordValueProtocol {}
extension Array: __CKRecordObjCValue, CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension NSString: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSNumber: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSArray: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSDate: __CKRecordObjCValue, CKRecordValueProtocol {}
extension NSData: __CKRecordObjCValue, CKRecordValueProtocol {}
extension CLLocation: __CKRecordObjCValue, CKRecordValueProtocol {}
