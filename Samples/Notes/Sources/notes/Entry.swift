import CloudKit

/// A folder or a note on this device, with the state of its sync.
struct Entry: Equatable {
    enum Kind: String {
        case folder = "Folder"
        case note = "Note"
    }

    enum Key {
        static let title: CKRecord.FieldKey = "title"
        static let text: CKRecord.FieldKey = "text"
        static let folder: CKRecord.FieldKey = "folder"
    }

    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    /// The name of its record.
    let name: String
    let kind: Kind
    var title: String
    var text = ""
    /// The name of a note's folder.
    var folder: String?
    /// The system fields of the server's version that this one was made from; nil: the server has none yet.
    var systemFields: Data?
    /// Whether it was changed here and is not sent yet.
    var isUnsent = true
    /// Whether it was deleted here and the server does not know yet.
    var isGone = false

    static func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }
    var recordID: CKRecord.ID { Self.recordID(name) }
}

extension Entry {
    /// Makes an entry of the server's record; nil where the record is neither a folder nor a note.
    init?(_ record: CKRecord) {
        guard let kind = Kind(rawValue: record.recordType), let title = record[Key.title] as? String else { return nil }
        name = record.recordID.recordName
        self.kind = kind
        self.title = title
        text = record[Key.text] as? String ?? ""
        folder = (record[Key.folder] as? CKRecord.Reference)?.recordID.recordName
        systemFields = Self.systemFields(of: record)
        isUnsent = false
    }

    static func systemFields(of record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        return coder.encodedData
    }

    /// The record to send, with the change tag of the version it was made from, by which the server detects a
    /// conflict.
    var record: CKRecord {
        let record = known ?? CKRecord(recordType: kind.rawValue, recordID: recordID)
        record[Key.title] = title
        if kind == .note {
            record[Key.text] = text
            // The server deletes the notes with their folder.
            record[Key.folder] = folder.map { CKRecord.Reference(recordID: Self.recordID($0), action: .deleteSelf) }
        }
        return record
    }

    private var known: CKRecord? {
        guard let systemFields, let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        coder.requiresSecureCoding = true
        return CKRecord(coder: coder)
    }
}
