import CoreLocation
import Foundation
import NacreCloudWire

/// A type that a field can hold, with its conversion to a wire value.
private protocol FieldConvertible {
    /// The wire value of an empty list of this type.
    static var emptyList: FieldValue { get }
    /// - Parameter zone: the zone of the record that will hold the value.
    func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue
}

extension FieldValue {
    /// Converts an object that is set in a record of `zone`. Its numbers may be infinite or NaN, which no server takes.
    init(setting object: any __CKRecordObjCValue, in zone: CKRecordZone.ID) throws(ValueFault.Reason) {
        guard let convertible = object as? any FieldConvertible else { throw .unsupportedType }
        self = try convertible.fieldValue(in: zone)
    }

    /// - Parameter elements: the elements of an `NSArray` or a Swift array.
    fileprivate init(list elements: some Sequence<Any>, emptyList: FieldValue, in zone: CKRecordZone.ID) throws(ValueFault.Reason) {
        var values: [FieldValue] = []
        for element in elements {
            guard let convertible = element as? any FieldConvertible else { throw .unsupportedElement }
            values.append(try convertible.fieldValue(in: zone))
        }
        self = values.isEmpty ? emptyList : try FieldValue(list: values)
    }
}

extension String: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .stringList([]) }
    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .string(self) }
}

extension NSString: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .stringList([]) }
    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .string(String(self)) }
}

extension FieldConvertible where Self: FixedWidthInteger {
    fileprivate static var emptyList: FieldValue { .int64List([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        guard let integer = Int64(exactly: self) else { throw .beyondInt64 }
        return .int64(integer)
    }
}

extension Int: FieldConvertible {}
extension UInt: FieldConvertible {}
extension Int8: FieldConvertible {}
extension UInt8: FieldConvertible {}
extension Int16: FieldConvertible {}
extension UInt16: FieldConvertible {}
extension Int32: FieldConvertible {}
extension UInt32: FieldConvertible {}
extension Int64: FieldConvertible {}
extension UInt64: FieldConvertible {}

extension Bool: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .int64List([]) }
    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .int64(self ? 1 : 0) }
}

extension FieldConvertible where Self: BinaryFloatingPoint {
    fileprivate static var emptyList: FieldValue { .doubleList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .double(Double(self)) }
}

extension Double: FieldConvertible {}
extension Float: FieldConvertible {}

extension NSNumber: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .emptyList }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): return doubleValue.fieldValue(in: zone)
        case UInt8(ascii: "Q"): return try uint64Value.fieldValue(in: zone)
        default: return .int64(int64Value)
        }
    }
}

extension Date: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .timestampList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .timestamp(timestamp) }

    fileprivate var timestamp: Timestamp { Timestamp(secondsSince2001: timeIntervalSinceReferenceDate) }
}

extension NSDate: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .timestampList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue {
        .timestamp(Timestamp(secondsSince2001: timeIntervalSinceReferenceDate))
    }
}

extension Data: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .bytesList([]) }
    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .bytes([UInt8](self)) }
}

extension NSData: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .bytesList([]) }
    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .bytes([UInt8](Data(referencing: self))) }
}

extension CKReference: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .referenceList([]) }
    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .reference(wire(from: zone)) }
}

extension CLLocation: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .locationList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue {
        .location(
            Location(
                latitude: coordinate.latitude, longitude: coordinate.longitude, horizontalAccuracy: horizontalAccuracy,
                verticalAccuracy: verticalAccuracy, altitude: altitude, speed: speed, course: course, timestamp: timestamp.timestamp))
    }
}

extension CKAsset: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .assetList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) -> FieldValue { .asset(known ?? .unsent) }
}

extension Array: FieldConvertible where Element: CKRecordValueProtocol {
    fileprivate static var emptyList: FieldValue { .emptyList }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        let empty = (Element.self as? any FieldConvertible.Type)?.emptyList ?? .emptyList
        return try FieldValue(list: self.lazy.map { $0 as Any }, emptyList: empty, in: zone)
    }
}

extension NSArray: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .emptyList }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        try FieldValue(list: self, emptyList: .emptyList, in: zone)
    }
}
