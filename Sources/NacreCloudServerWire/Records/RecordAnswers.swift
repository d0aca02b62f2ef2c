package import NacreCloudWire

extension RecordsResponse: WritableAnswer {
    /// Writes the answer. A deleted record is answered by its name alone; only feeds tell its type.
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("records", records) { writer, result in
            if case .deleted(let tombstone) = result {
                RecordResult.deleted(Tombstone(recordName: tombstone.recordName, recordType: nil)).write(to: &writer, form: form)
            } else {
                result.write(to: &writer, form: form)
            }
        }
        writer.write(ifPresent: "syncToken", syncToken)
        writer.endObject()
    }
}

extension RecordsQueryResponse: WritableAnswer {
    /// Writes the answer. Each record shows its own zone, or `form.zoneID` where it has none.
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        write(to: &writer, form: form) { writer in
            var repeated = RepeatedMembers()
            for record in records { record.write(to: &writer, form: form, zoneID: record.zoneID ?? form.zoneID, &repeated) }
        }
    }

    /// Writes the answer.
    /// - Parameter records: Writes the records.
    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm, records: (inout JSONWriter) -> Void) {
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        records(&writer)
        for failure in failures {
            writer.beginObject()
            writer.write("recordName", failure.recordName)
            if let zoneID = failure.zoneID ?? form.zoneID { writer.write("zoneID", zoneID, asAnswer: true) }
            failure.error.writeMembers(to: &writer, form: form)
            writer.endObject()
        }
        writer.endArray()
        writer.write(ifPresent: "continuationMarker", continuationMarker)
        writer.write(ifPresent: "syncToken", syncToken)
        writer.endObject()
    }
}

extension QueryAnswer: RecordAnswerMessage {
    /// The usual bytes of a record beside its values, so that most pages are written without growing the buffer.
    private static let recordBytes = 1024

    package func json(_ form: AnswerForm) -> [UInt8] {
        var writer = JSONWriter(capacity: Self.recordBytes * (page.count + 1) + 2 * page.valueBytes)
        response.write(to: &writer, form: form) { page.write(to: &$0, form: form) }
        return writer.finish()
    }
}

extension LookupAnswer: RecordAnswerMessage {
    package func json(_ form: AnswerForm) -> [UInt8] {
        QueryAnswer(response: RecordsQueryResponse(records: [], syncToken: syncToken), page: page).json(form)
    }
}

extension RecordResult {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
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

/// A record as an answer shows it, decoded or in its stored form.
package protocol AnsweredRecord {
    var recordName: String { get }
    var recordType: String { get }
    /// Writes the member `fields`.
    func writeFields(to writer: inout JSONWriter, form: ValueForm)
    /// Writes the value of `recordChangeTag`.
    func writeChangeTag(to writer: inout JSONWriter)
    /// Writes the members `created` and `modified`.
    /// - Returns: Their times.
    func writeStamps(to writer: inout JSONWriter, _ repeated: inout RepeatedMembers) -> (created: Timestamp, modified: Timestamp)
    /// Writes the members `parent` and `share` where the record has them, and those of a share.
    func writeLinks(to writer: inout JSONWriter, details: Bool)
    /// The details of a share; nil for any other record.
    var sharing: Box<ShareDetails>? { get }
    /// The manifest of the encrypted values; nil for a record without one.
    var manifest: [UInt8]? { get }
}

extension AnsweredRecord {
    /// Writes the record.
    /// - Parameters:
    ///   - zoneID: The zone that the record shows; nil: none.
    ///   - repeated: The members of the records before it.
    package func write(to writer: inout JSONWriter, form: AnswerForm, zoneID: ZoneID?, _ repeated: inout RepeatedMembers) {
        writer.beginObject()
        writer.write("recordName", recordName)
        writer.write("recordType", recordType)
        writeFields(to: &writer, form: ValueForm(details: form.details, numbersAsStrings: form.numbersAsStrings, isAnswer: true))
        // Empty, and still required by clients that decode it.
        writer.members(#""pluginFields":{}"#)
        writer.key("recordChangeTag")
        writeChangeTag(to: &writer)
        let (created, modified) = writeStamps(to: &writer, &repeated)
        writer.members(#""deleted":false"#)
        if let zoneID { repeated.write(zoneID, to: &writer) }
        writeLinks(to: &writer, details: form.details)
        guard form.details else { return writer.endObject() }
        writer.key("nacre")
        writer.beginObject()
        if created.secondsSince2001.isFinite { writer.write("created", created.secondsSince2001) }
        if modified.secondsSince2001.isFinite { writer.write("modified", modified.secondsSince2001) }
        writer.write(ifPresent: "manifest", base64: manifest)
        sharing?.value.writeExtension(to: &writer)
        writer.endObject()
        writer.endObject()
    }

    func write(to writer: inout JSONWriter, form: AnswerForm, zoneID: ZoneID?) {
        var repeated = RepeatedMembers()
        write(to: &writer, form: form, zoneID: zoneID, &repeated)
    }
}

extension Record: AnsweredRecord {
    package func writeFields(to writer: inout JSONWriter, form: ValueForm) { fields.write(to: &writer, form: form) }

    package func writeChangeTag(to writer: inout JSONWriter) { writer.string(recordChangeTag) }

    package func writeStamps(to writer: inout JSONWriter, _ repeated: inout RepeatedMembers) -> (created: Timestamp, modified: Timestamp) {
        writer.key("created")
        created.write(to: &writer)
        writer.key("modified")
        modified.write(to: &writer)
        return (created.timestamp, modified.timestamp)
    }

    package func writeLinks(to writer: inout JSONWriter, details: Bool) {
        if let parent {
            writer.key("parent")
            parent.writeLink(to: &writer, asAnswer: true)
        }
        if let share {
            writer.key("share")
            share.writeLink(to: &writer, asAnswer: true)
        }
        writer.write(ifPresent: "shortGUID", shortGUID)
        sharing?.value.writeMembers(to: &writer, details: details)
    }
}

extension Record.Stamp {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("timestamp", timestamp.millisecondsSince1970)
        writer.write("userRecordName", userRecordName)
        writer.write(ifPresent: "deviceID", deviceID)
        writer.endObject()
    }
}
