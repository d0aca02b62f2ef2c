import CloudKit
import Foundation

/// One line of the demo's input as a record: the fields to write, and to find again on another device.
struct AtlasEntry {
    enum Content: Equatable {
        case text(String)
        case texts([String])
        case place(ISO6709)
    }

    /// ASCII, made from the entry's own key, so that every run finds the records of the last one.
    let recordName: String
    let recordType: CKRecord.RecordType
    let fields: [String: Content]

    init(_ zone: TimeZoneTable.Zone) {
        recordName = "zone." + zone.name.replacingOccurrences(of: "/", with: ".")
        recordType = "TimeZone"
        var fields: [String: Content] = ["name": .text(zone.name), "countries": .texts(zone.countries), "place": .place(zone.place)]
        fields["comment"] = zone.comment.map(Content.text)
        self.fields = fields
    }

    init(_ language: LanguageTable.Language) {
        recordName = "language." + language.code
        recordType = "Language"
        let all = [
            "code": language.code, "name": language.name, "scope": language.scope, "type": language.type, "twoLetterCode": language.twoLetterCode,
            "bibliographicCode": language.bibliographicCode, "commonName": language.commonName, "invertedName": language.invertedName,
        ]
        fields = all.compactMapValues { $0.map(Content.text) }
    }

    /// Reads all entries: time zones, then languages.
    static func read() throws -> (zones: [AtlasEntry], languages: [AtlasEntry]) {
        let zones = try TimeZoneTable.parse(String(decoding: try TimeZoneTable.file.read(), as: UTF8.self)).map(AtlasEntry.init)
        let languages = try LanguageTable.parse(try LanguageTable.file.read()).map(AtlasEntry.init)
        return (zones, languages)
    }

    /// Sets the fields that differ in the record, and clears those that the input no longer has.
    func write(to record: CKRecord, besides others: Set<String>) {
        for (key, content) in fields where Self.content(of: record, key) != content {
            switch content {
            case .text(let text): record[key] = text
            case .texts(let texts): record[key] = texts
            case .place(let place): record[key] = CLLocation(latitude: place.latitude, longitude: place.longitude)
            }
        }
        for key in record.allKeys() where fields[key] == nil && !others.contains(key) { record[key] = nil as String? }
    }

    /// Returns the first key whose value is not the input's.
    /// - Parameter others: The demo's own keys, which are not compared.
    func difference(from record: CKRecord, besides others: Set<String>) -> String? {
        let keys = Set(fields.keys).union(record.allKeys()).subtracting(others)
        return keys.sorted().first { Self.content(of: record, $0) != fields[$0] }
    }

    private static func content(of record: CKRecord, _ key: String) -> Content? {
        switch HeldValue(record[key]) {
        case .text(let text): .text(text)
        case .texts(let texts): .texts(texts)
        case .place(let place): .place(place.coordinate)
        default: nil
        }
    }
}
