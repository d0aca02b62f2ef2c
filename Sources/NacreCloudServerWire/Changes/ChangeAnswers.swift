package import NacreCloudWire

extension ChangesZoneResponse: WritableAnswer {
    /// Writes the answer without `form.zoneID`: the records of a page show the page's zone, or their own.
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        write(to: &writer, details: form.details) { _ in form.numbersAsStrings }
    }

    /// Writes the answer.
    /// - Parameter numbersAsStrings: By the index in `zones`, since each zone of a request may choose.
    package func write(to writer: inout JSONWriter, details: Bool, numbersAsStrings: (Int) -> Bool) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for (index, zone) in zones.enumerated() {
            zone.write(to: &writer, form: AnswerForm(details: details, numbersAsStrings: numbersAsStrings(index)))
        }
        writer.endArray()
        writer.endObject()
    }
}

extension ChangesZoneResponse.Result {
    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        switch self {
        case .page(let page): page.writeMembers(to: &writer, form: form)
        case .failure(let zoneID, let error):
            writer.write("zoneID", zoneID, asAnswer: true)
            error.writeMembers(to: &writer, form: form)
        }
        writer.endObject()
    }
}

extension ChangesZoneResponse.Page {
    fileprivate func writeMembers(to writer: inout JSONWriter, form: AnswerForm) {
        var form = form
        form.zoneID = zoneID
        writer.write("zoneID", zoneID, asAnswer: true)
        writer.write("records", records) { $1.write(to: &$0, form: form) }
        writer.write("syncToken", syncToken)
        writer.write("moreComing", moreComing)
        guard form.details, isMidCommit || clientChangeToken != nil else { return }
        writer.key("nacre")
        writer.beginObject()
        if isMidCommit { writer.write("midCommit", true) }
        writer.write(ifPresent: "clientChangeToken", base64: clientChangeToken)
        writer.endObject()
    }
}

extension ChangesDatabaseResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.writeZonePage(zones, token: "syncToken", syncToken, moreComing: moreComing) { $1.write(to: &$0, form: form) }
    }
}

extension ChangesDatabaseResponse.ChangedZone {
    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("zoneID", zoneID, asAnswer: true)
        if let deletion {
            writer.write("deleted", true)
            if form.details {
                writer.key("nacre")
                writer.beginObject()
                writer.write("reason", deletion.rawValue)
                writer.endObject()
            }
        }
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func writeZonePage<Zone>(
        _ zones: [Zone], token: StaticString, _ text: String, moreComing: Bool, _ zone: (inout JSONWriter, Zone) -> Void
    ) {
        beginObject()
        write("zones", zones, zone)
        write(token, text)
        write("moreComing", moreComing)
        endObject()
    }
}
