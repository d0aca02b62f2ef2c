import CoreLocation
import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of the values that a record takes and returns, and of its faults.
@Suite struct RecordValueTests {
    let record = CKRecord(recordType: "Note")

    @Test func `Swift values read back as what they were`() {
        record["string"] = "héllo"
        record["int"] = 5
        record["double"] = 1.5
        record["bool"] = true
        let date = Date(timeIntervalSinceReferenceDate: 1234.567_890_123)
        record["date"] = date
        record["data"] = Data([1, 2, 3])
        record["strings"] = ["a", "b"]
        record["ints"] = [1, 2]
        record["dates"] = [date]
        #expect(record["string"] as? String == "héllo")
        #expect(record["int"] as? Int == 5)
        #expect(record["double"] as? Double == 1.5)
        #expect(record["bool"] as? Bool == true)
        #expect(record["date"] as? Date == date)
        #expect(record["data"] as? Data == Data([1, 2, 3]))
        #expect(record["strings"] as? [String] == ["a", "b"])
        #expect(record["ints"] as? [Int] == [1, 2])
        #expect(record["dates"] as? [Date] == [date])
    }

    @Test func `a number reads back as every numeric type that holds it`() {
        record["n"] = 1
        #expect(record["n"] as? Int == 1)
        #expect(record["n"] as? Int64 == 1)
        #expect(record["n"] as? UInt8 == 1)
        #expect(record["n"] as? Double == 1)
        #expect(record["n"] as? Bool == true)
        #expect((record["n"] as? NSNumber)?.intValue == 1)
        record["n"] = 2.5
        #expect(record["n"] as? Double == 2.5)
        #expect(record["n"] as? Int == nil)
        record["n"] = Double(7)
        #expect(record["n"] as? Int == 7)
        record["n"] = 300
        #expect(record["n"] as? UInt8 == nil)
    }

    @Test func `typed reading needs no cast`() {
        record["title"] = "Groceries"
        record["count"] = 3
        let title: String? = record["title"]
        let count: Int? = record["count"]
        let wrong: Date? = record["title"]
        #expect(title == "Groceries")
        #expect(count == 3)
        #expect(wrong == nil)
    }

    @Test func `Foundation's classes are taken and given`() {
        record["s"] = "text" as NSString
        record["n"] = NSNumber(value: 4)
        record["d"] = NSDate(timeIntervalSinceReferenceDate: 9)
        record["b"] = NSData(data: Data([9]))
        record["a"] = NSArray(array: [NSString("x"), NSString("y")])
        record["v"] = 5 as any CKRecordValue
        #expect((record["s"] as? NSString)?.length == 4)
        #expect(record["n"] as? Int == 4)
        #expect((record["d"] as? NSDate)?.timeIntervalSinceReferenceDate == 9)
        #expect(record["b"] as? Data == Data([9]))
        #expect(record["a"] as? [String] == ["x", "y"])
        #expect(record["v"] as? Int == 5)
    }

    @Test func `locations and references come back equal`() throws {
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), altitude: 34, horizontalAccuracy: 5, verticalAccuracy: 6, course: 90,
            speed: 2, timestamp: Date(timeIntervalSinceReferenceDate: 77.7))
        let target = CKRecord.Reference(recordID: CKRecord.ID(recordName: "list"), action: .deleteSelf)
        record["place"] = place
        record["list"] = target
        record["lists"] = [target]
        #expect(record["place"] as? CLLocation == place)
        #expect(record["list"] as? CKRecord.Reference == target)
        #expect(record["lists"] as? [CKRecord.Reference] == [target])
    }

    nonisolated(unsafe) static let storedTable: [(String, any CKRecordValueProtocol, FieldValue)] = [
        ("string", "a", .string("a")),
        ("true", true, .int64(1)),
        ("uint64", UInt64(9), .int64(9)),
        ("float", Float(0.5), .double(0.5)),
        ("number of a double", NSNumber(value: 3.0), .double(3)),
        ("number of a bool", NSNumber(value: true), .int64(1)),
        ("no strings", [String](), .stringList([])),
        ("no doubles", [Double](), .doubleList([])),
        ("no elements", NSArray(), .emptyList),
        ("mixed numbers", NSArray(array: [NSNumber(value: 1), NSNumber(value: 2.5)]), .doubleList([1, 2.5])),
        ("bools", [true, false], .int64List([1, 0])),
        ("data", [Data([1])], .bytesList([[1]])),
    ]

    @Test(arguments: storedTable.indices)
    func `a value is stored as its wire type`(row: Int) {
        let (name, value, stored) = Self.storedTable[row]
        record["f"] = value
        #expect(record.snapshot.fields["f"] == stored, "\(name)")
        #expect(record.snapshot.fault == nil, "\(name)")
    }

    nonisolated(unsafe) static let refusedTable: [(String, any CKRecordValueProtocol, ValueFault.Reason)] = [
        ("not a number", Double.nan, .notFinite),
        ("infinite", Float.infinity, .notFinite),
        ("an infinite date", Date(timeIntervalSinceReferenceDate: .infinity), .notFinite),
        ("a date that is no number", NSDate(timeIntervalSinceReferenceDate: .nan), .notFinite),
        ("a place that is no number", CLLocation(latitude: .nan, longitude: 0), .notFinite),
        ("no number in a list", [1.0, .nan], .notFinite),
        ("too large", UInt64.max, .beyondInt64),
        ("too large a number", NSNumber(value: UInt64.max), .beyondInt64),
        ("a list of lists", [["a"]], .nestedList),
        ("text and number", NSArray(array: [NSString("a"), NSNumber(value: 1)]), .mixedList),
        ("another class in a list", NSArray(array: [NSObject()]), .unsupportedElement),
        ("a type of one's own", OwnValue(), .unsupportedType),
    ]

    @Test(arguments: refusedTable.indices)
    func `a value that cannot be saved reads as it was set, also from a copy and an archive, and is a fault`(row: Int) throws {
        let (name, value, reason) = Self.refusedTable[row]
        record["f"] = "before"
        record["f"] = value
        let copy = try #require(record.copy() as? CKRecord)
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        for kept in [record, copy, read] {
            #expect(kept.snapshot.fault == ValueFault(key: "f", reason: reason), "\(name)")
            #expect(kept.changedKeys() == ["f"], "\(name)")
            let isOfNoType = kept === read && [.unsupportedType, .unsupportedElement].contains(reason)
            let found = kept.object(forKey: "f").map { Self.text(of: gettable($0)) }
            #expect(found == (isOfNoType ? nil : Self.text(of: value)), "\(name)")
            #expect(kept.allKeys() == (isOfNoType ? [] : ["f"]), "\(name)")
            kept["f"] = "after"
            #expect(kept.snapshot.fault == nil && kept["f"] as? String == "after", "\(name)")
        }
    }

    /// Returns a text that is the same for a Swift value and for the object that a record returns for it.
    private static func text(of value: Any?) -> String {
        switch value {
        case let place as CLLocation: "\(place.coordinate.latitude) \(place.coordinate.longitude)"
        case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
        case let date as NSDate: "\(date.timeIntervalSinceReferenceDate)"
        case let text as String: text
        case let number as Float: "\(number)"
        case let number as Double: "\(number)"
        case let number as NSNumber: "\(number)"
        case let list as [Any]: "\(list.map { text(of: $0) })"
        default: "\(value.map { "\($0)" } ?? "nil")"
        }
    }

    @Test(arguments: ["", "_private", "1st", "a b", "naïve", "a-b", String(repeating: "a", count: 256)])
    func `a key of another shape is a fault, and reads as it was set`(key: String) throws {
        record[key] = 5
        let data = try NSKeyedArchiver.archivedData(withRootObject: try #require(record.copy() as? CKRecord), requiringSecureCoding: true)
        let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        for kept in [record, read] {
            #expect(kept[key] as? Int == 5)
            #expect(kept.allKeys() == [key] && kept.changedKeys() == [key])
            #expect(kept.snapshot.fault == ValueFault(key: key, reason: .invalidKey))
            kept[key] = nil
            #expect(kept[key] == nil && kept.changedKeys().isEmpty && kept.snapshot.fault == nil)
        }
    }

    @Test func `a value that cannot be sent is refused, also if another use of its key hides its fault`() {
        let parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p"), action: .deleteSelf)
        let values: [(String, any CKRecordValueProtocol, ValueFault.Reason)] = [
            ("number", Double.infinity, .notFinite), ("a b", 5, .invalidKey), ("list", NSArray(array: [1, "x" as NSString]), .mixedList),
        ]
        for (key, value, reason) in values {
            let record = CKRecord(recordType: "Note")
            record[key] = value
            record.encryptedValues[key] = parent
            record.encryptedValues[key] = nil
            #expect(record.snapshot.fault == ValueFault(key: key, reason: reason))
        }
        let record = CKRecord(recordType: "Note")
        record.parent = parent
        record[CKRecord.SystemFieldKey.parent] = "x"
        record[CKRecord.SystemFieldKey.parent] = nil
        #expect(record.snapshot.fault == ValueFault(key: "parent", reason: .parentAction))
        record["photo"] = URL(string: "https://example.com/a.png").map { CKAsset(fileURL: $0) }
        record.parent = nil
        record.encryptedValues["photo"] = parent
        record.encryptedValues["photo"] = nil
        #expect(record.snapshot.fault == ValueFault(key: "photo", reason: .assetURL))
    }

    @Test(arguments: ["a", "Z9", "a_b", String(repeating: "a", count: 255)])
    func `a key of the right shape is none`(key: String) {
        record[key] = "x"
        #expect(record[key] as? String == "x")
        #expect(record.snapshot.fault == nil)
    }
}

private struct OwnValue: CKRecordValueProtocol {}
