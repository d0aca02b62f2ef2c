import CloudKit
import Foundation

/// All that a device holds of a record, as a value: two devices hold the same record if these are equal.
struct HeldRecord: Equatable {
    let recordType: String
    let changeTag: String?
    let created: Date?
    let modified: Date?
    let creator: String?
    let fields: [String: HeldValue]

    /// Copies a record.
    /// - Parameter user: Whose device holds it, to compare two users' copies: each sees itself as the current user.
    init(_ record: CKRecord, heldBy user: CKRecord.ID? = nil) {
        recordType = record.recordType
        changeTag = record.recordChangeTag
        created = record.creationDate
        modified = record.modificationDate
        let name = record.creatorUserRecordID?.recordName
        creator = name == CKCurrentUserDefaultName ? user?.recordName ?? name : name
        var fields: [String: HeldValue] = [:]
        for key in record.allKeys() { fields[key] = HeldValue(record[key]) }
        self.fields = fields
    }

    /// Returns the first part in which the two differ, in words.
    func difference(from other: HeldRecord) -> String? {
        if recordType != other.recordType { return "the record type" }
        if changeTag != other.changeTag { return "the change tag" }
        if created != other.created || modified != other.modified || creator != other.creator { return "who saved it and when" }
        return Set(fields.keys).union(other.fields.keys).sorted().first { fields[$0] != other.fields[$0] }.map { "the field \($0)" }
    }
}

/// The value of a field.
enum HeldValue: Equatable {
    case text(String)
    case texts([String])
    case number(Double)
    case date(Date)
    case place(HeldLocation)
    /// A value of a kind that the demo does not write.
    case other(String)

    init?(_ value: (any __CKRecordObjCValue)?) {
        guard let value else { return nil }
        if let place = value as? CLLocation {
            self = .place(HeldLocation(place))
        } else if let text = value as? String {
            self = .text(text)
        } else if let texts = value as? [String] {
            self = .texts(texts)
        } else if let date = value as? Date {
            self = .date(date)
        } else if let number = value as? NSNumber {
            self = .number(number.doubleValue)
        } else {
            self = .other("\(value)")
        }
    }
}

/// A location with all its properties.
struct HeldLocation: Equatable {
    let coordinate: ISO6709
    /// Altitude, both accuracies, course and speed.
    let numbers: [Double]
    let time: Date

    init(_ place: CLLocation) {
        coordinate = ISO6709(latitude: place.coordinate.latitude, longitude: place.coordinate.longitude)
        numbers = [place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.course, place.speed]
        time = place.timestamp
    }
}
