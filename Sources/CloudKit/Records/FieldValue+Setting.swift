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
    /// Converts an object that is set in a record of `zone`.
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

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        guard isFinite else { throw .notFinite }
        return .double(Double(self))
    }
}

extension Double: FieldConvertible {}
extension Float: FieldConvertible {}

extension NSNumber: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .emptyList }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): return try doubleValue.fieldValue(in: zone)
        case UInt8(ascii: "Q"): return try uint64Value.fieldValue(in: zone)
        default: return .int64(int64Value)
        }
    }
}

extension Date: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .timestampList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        .timestamp(try Timestamp(finite: self))
    }
}

extension NSDate: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .timestampList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        .timestamp(try Timestamp(finite: Date(timeIntervalSinceReferenceDate: timeIntervalSinceReferenceDate)))
    }
}

extension Timestamp {
    init(finite date: Date) throws(ValueFault.Reason) {
        guard date.timeIntervalSinceReferenceDate.isFinite else { throw .notFinite }
        self.init(secondsSince2001: date.timeIntervalSinceReferenceDate)
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

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        let numbers = [coordinate.latitude, coordinate.longitude, horizontalAccuracy, verticalAccuracy, altitude, speed, course]
        guard numbers.allSatisfy(\.isFinite) else { throw .notFinite }
        return .location(
            Location(
                latitude: coordinate.latitude, longitude: coordinate.longitude, horizontalAccuracy: horizontalAccuracy,
                verticalAccuracy: verticalAccuracy, altitude: altitude, speed: speed, course: course, timestamp: try Timestamp(finite: timestamp)))
    }
}

extension CKAsset: FieldConvertible {
    fileprivate static var emptyList: FieldValue { .assetList([]) }

    fileprivate func fieldValue(in zone: CKRecordZone.ID) throws(ValueFault.Reason) -> FieldValue {
        guard fileURL?.isFileURL ?? true else { throw .assetURL }
        return .asset(known ?? .unsent)
    }
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
