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
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for record in records { record.write(to: &writer, form: form, zoneID: record.zoneID ?? form.zoneID) }
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
