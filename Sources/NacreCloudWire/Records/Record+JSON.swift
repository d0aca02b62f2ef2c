extension Record.Stamp {
    init(from reader: inout JSONReader) throws(JSONError) {
        var timestamp: Timestamp?
        var userRecordName: String?
        var deviceID: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "timestamp": timestamp = try reader.takeNull() ? nil : try reader.timestampValue()
            case "userRecordName": userRecordName = try reader.optionalString()
            case "deviceID": deviceID = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(
            timestamp: try reader.require(timestamp, "timestamp", at: start),
            userRecordName: try reader.require(userRecordName, "userRecordName", at: start), deviceID: deviceID)
    }
}

/// An entry of `records`, collected in any order: a record, the remains of one, or an error.
struct RecordDraft {
    private let start: Int
    private var recordName: String?
    private var recordType: String?
    private var recordChangeTag: String?
    private(set) var zoneID: ZoneID?
    private var created: Record.Stamp?
    private var modified: Record.Stamp?
    private var parent: Reference?
    private var share: Reference?
    private var sharing = ShareDraft()
    private var isDeleted = false
    private var fields = RecordFields()
    private var error = ErrorDraft()
    private var details = ItemExtension()

    init(from reader: inout JSONReader) throws(JSONError) {
        start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "recordType": recordType = try reader.optionalString()
            case "recordChangeTag": recordChangeTag = try reader.optionalString()
            case "fields": fields = try RecordFields(from: &reader)
            case "created": created = try reader.takeNull() ? nil : try Record.Stamp(from: &reader)
            case "modified": modified = try reader.takeNull() ? nil : try Record.Stamp(from: &reader)
            case "deleted": isDeleted = try reader.optionalBoolean() ?? false
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "parent": parent = try reader.optionalLink()
            case "share": share = try reader.optionalLink()
            case "nacre": details = try ItemExtension(from: &reader)
            default:
                if try error.take(key, from: &reader) { continue }
                if try sharing.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
    }

    func result(from reader: borrowing JSONReader) throws(JSONError) -> RecordResult {
        if let error = error.error(details) { return .failure(recordName: recordName, error) }
        guard isDeleted else { return .record(try record(from: reader)) }
        return .deleted(
            Tombstone(
                recordName: try reader.require(recordName, "recordName", at: start), recordType: details.recordType ?? recordType, zoneID: zoneID))
    }

    func record(from reader: borrowing JSONReader) throws(JSONError) -> Record {
        var created = try reader.require(created, "created", at: start)
        var modified = try reader.require(modified, "modified", at: start)
        if let seconds = details.created { created.timestamp = Timestamp(secondsSince2001: seconds) }
        if let seconds = details.modified { modified.timestamp = Timestamp(secondsSince2001: seconds) }
        var record = Record(
            recordName: try reader.require(recordName, "recordName", at: start),
            recordType: try reader.require(recordType, "recordType", at: start), zoneID: zoneID,
            recordChangeTag: try reader.require(recordChangeTag, "recordChangeTag", at: start), created: created, modified: modified,
            parent: parent, share: share, sharing: sharing.details(details), fields: fields)
        record.manifest = details.manifest
        return record
    }
}

extension Record {
    init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try RecordDraft(from: &reader)
        self = try draft.record(from: reader)
    }
}

extension RecordResult {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try RecordDraft(from: &reader)
        self = try draft.result(from: reader)
    }
}
