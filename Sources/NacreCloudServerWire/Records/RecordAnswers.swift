package import NacreCloudWire

extension RecordsResponse: WritableAnswer {
    /// What was deleted is answered by its name alone; its type is said in feeds.
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
    /// Each record shows its own zone, or `form.zoneID` where it says none.
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        write(to: &writer, form: form, unread: [])
    }

    /// - Parameter unread: fields of the first records, in the place of their own; nil for one that has its own.
    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm, unread: [(any UnreadFields)?]) {
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for place in records.indices {
            let fields = place < unread.count ? unread[place] : nil
            records[place].write(to: &writer, form: form, zoneID: records[place].zoneID ?? form.zoneID, unread: fields)
        }
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
    package func json(_ form: AnswerForm) -> [UInt8] {
        var writer = JSONWriter()
        response.write(to: &writer, form: form, unread: unread)
        return writer.finish()
    }
}

extension RecordResult {
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

extension Record {
    /// - Parameters:
    ///   - zoneID: shown as the record's; nil shows none.
    ///   - unread: its fields, where it has none of its own.
    func write(to writer: inout JSONWriter, form: AnswerForm, zoneID: ZoneID?, unread: (any UnreadFields)? = nil) {
        writer.beginObject()
        writer.write("recordName", recordName)
        writer.write("recordType", recordType)
        let values = ValueForm(details: form.details, numbersAsStrings: form.numbersAsStrings, isAnswer: true)
        if let unread { unread.write(to: &writer, form: values) } else { fields.write(to: &writer, form: values) }
        // Empty, and still required by clients that decode it.
        writer.members(#""pluginFields":{}"#)
        writer.write("recordChangeTag", recordChangeTag)
        writer.key("created")
        created.write(to: &writer)
        writer.key("modified")
        modified.write(to: &writer)
        writer.members(#""deleted":false"#)
        if let zoneID { writer.write("zoneID", zoneID, asAnswer: true) }
        if let parent {
            writer.key("parent")
            parent.writeLink(to: &writer, asAnswer: true)
        }
        if let share {
            writer.key("share")
            share.writeLink(to: &writer, asAnswer: true)
        }
        sharing?.value.writeMembers(to: &writer, details: form.details)
        if form.details { writeExtension(to: &writer) }
        writer.endObject()
    }

    private func writeExtension(to writer: inout JSONWriter) {
        writer.key("nacre")
        writer.beginObject()
        if created.timestamp.secondsSince2001.isFinite { writer.write("created", created.timestamp.secondsSince2001) }
        if modified.timestamp.secondsSince2001.isFinite { writer.write("modified", modified.timestamp.secondsSince2001) }
        sharing?.value.writeExtension(to: &writer)
        writer.endObject()
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
