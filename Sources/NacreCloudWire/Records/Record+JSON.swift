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

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("timestamp", timestamp.millisecondsSince1970)
        writer.write("userRecordName", userRecordName)
        writer.write(ifPresent: "deviceID", deviceID)
        writer.endObject()
    }
}

/// An entry of `records`, collected in any order: a record, what is left of one, or an error.
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
    private var isDeleted = false
    private var fields = FieldsDraft()
    private var error = ErrorDraft()
    private var details = ItemExtension()

    init(from reader: inout JSONReader) throws(JSONError) {
        start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "recordType": recordType = try reader.optionalString()
            case "recordChangeTag": recordChangeTag = try reader.optionalString()
            case "fields": fields = try FieldsDraft(readingState: &reader)
            case "created": created = try reader.takeNull() ? nil : try Record.Stamp(from: &reader)
            case "modified": modified = try reader.takeNull() ? nil : try Record.Stamp(from: &reader)
            case "deleted": isDeleted = try reader.optionalBoolean() ?? false
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "parent": parent = try reader.optionalLink()
            case "share": share = try reader.optionalLink()
            case "nacre": details = try ItemExtension(from: &reader)
            default:
                if try error.take(key, from: &reader) { continue }
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
        return Record(
            recordName: try reader.require(recordName, "recordName", at: start),
            recordType: try reader.require(recordType, "recordType", at: start), zoneID: zoneID,
            recordChangeTag: try reader.require(recordChangeTag, "recordChangeTag", at: start), created: created, modified: modified,
            parent: parent, share: share, fields: fields.fields)
    }
}

extension Record {
    init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try RecordDraft(from: &reader)
        self = try draft.record(from: reader)
    }

    /// - Parameter zoneID: shown as the record's; nil shows none.
    func write(to writer: inout JSONWriter, form: AnswerForm, zoneID: ZoneID?) {
        writer.beginObject()
        writer.write("recordName", recordName)
        writer.write("recordType", recordType)
        fields.write(to: &writer, form: ValueForm(details: form.details, numbersAsStrings: form.numbersAsStrings, isAnswer: true))
        // Empty, and still required by clients that decode it.
        writer.key("pluginFields")
        writer.beginObject()
        writer.endObject()
        writer.write("recordChangeTag", recordChangeTag)
        writer.key("created")
        created.write(to: &writer)
        writer.key("modified")
        modified.write(to: &writer)
        writer.write("deleted", false)
        if let zoneID { writer.write("zoneID", zoneID, asAnswer: true) }
        if let parent {
            writer.key("parent")
            parent.writeLink(to: &writer, asAnswer: true)
        }
        if let share {
            writer.key("share")
            share.writeLink(to: &writer, asAnswer: true)
        }
        if form.details { writeExtension(to: &writer) }
        writer.endObject()
    }

    private func writeExtension(to writer: inout JSONWriter) {
        writer.key("nacre")
        writer.beginObject()
        if created.timestamp.secondsSince2001.isFinite { writer.write("created", created.timestamp.secondsSince2001) }
        if modified.timestamp.secondsSince2001.isFinite { writer.write("modified", modified.timestamp.secondsSince2001) }
        writer.endObject()
    }
}

extension RecordResult {
    init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try RecordDraft(from: &reader)
        self = try draft.result(from: reader)
    }

    func write(to writer: inout JSONWriter, form: AnswerForm) {
        switch self {
        case .record(let record):
            record.write(to: &writer, form: form, zoneID: form.zoneID.map { record.zoneID ?? $0 })
        case .deleted(let tombstone):
            writer.beginObject()
            writer.write("recordName", tombstone.recordName)
            writer.write("deleted", true)
            if form.details, let recordType = tombstone.recordType {
                writer.key("nacre")
                writer.beginObject()
                writer.write("recordType", recordType)
                writer.endObject()
            }
            writer.endObject()
        case .failure(let recordName, let error):
            writer.beginObject()
            writer.write(ifPresent: "recordName", recordName)
            error.writeMembers(to: &writer, form: form)
            writer.endObject()
        }
    }
}
