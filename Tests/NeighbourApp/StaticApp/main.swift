import CloudKit
import Foundation

// Checks that an app with Swift's libraries linked in reads every list of a record as Swift's types, and prints the
// others.
let now = Date(timeIntervalSinceReferenceDate: 0)
let record = CKRecord(recordType: "Note")
let place = CLLocation(latitude: 42.5, longitude: 1.5)
let other = CKRecord.Reference(recordID: CKRecord.ID(recordName: "other"), action: .none)
let file = URL(fileURLWithPath: CommandLine.arguments[0])
record["texts"] = ["AD", "FR"]
record["integers"] = [1, 2]
record["doubles"] = [0.5, 1.5]
record["dates"] = [now]
record["bytes"] = [Data([1, 2])]
record["places"] = [place]
record["references"] = [other]
record["assets"] = [CKAsset(fileURL: file)]

// The value as `Any`, without a static type: the cast checks at run time.
@MainActor func value(_ key: String) -> Any? { record[key] as (any CKRecordValue)? }
let isRead = [
    "texts": value("texts") as? [String] == ["AD", "FR"],
    "integers": value("integers") as? [Int] == [1, 2],
    "doubles": value("doubles") as? [Double] == [0.5, 1.5],
    "dates": value("dates") as? [Date] == [now],
    "bytes": value("bytes") as? [Data] == [Data([1, 2])],
    "places": (value("places") as? [CLLocation])?.map(\.coordinate.latitude) == [42.5],
    "references": (value("references") as? [CKRecord.Reference])?.map(\.recordID) == [other.recordID],
    "assets": (value("assets") as? [CKAsset])?.map(\.fileURL) == [file],
]
let unread = isRead.filter { !$0.value }.keys.sorted()
print(unread.isEmpty ? "all lists are read" : "not read: \(unread.joined(separator: ", "))")
