extension ChangesZoneRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zones", zones) { writer, item in
            writer.beginObject()
            item.writeMembers(to: &writer)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension ChangesZoneRequest.Item {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "syncToken", syncToken)
        writer.write(ifPresent: "resultsLimit", resultsLimit)
        writer.write(ifPresent: "desiredKeys", desiredKeys)
        writer.write(ifPresent: "desiredRecordTypes", desiredRecordTypes)
        if reverse { writer.write("reverse", true) }
        if numbersAsStrings { writer.write("numberAsStrings", true) }
    }
}

extension ChangesZoneResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zones: [Result]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.array { reader throws(JSONError) in try Result(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(zones: try reader.require(zones, "zones", at: start))
    }
}

extension ChangesZoneResponse.Result {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        let zoneID = try draft.zoneID(from: reader)
        if let error = draft.error {
            self = .failure(zoneID, error)
            return
        }
        self = .page(
            ChangesZoneResponse.Page(
                zoneID: zoneID, records: try reader.require(draft.records, "records", at: draft.start),
                syncToken: try reader.require(draft.syncToken, "syncToken", at: draft.start), moreComing: draft.moreComing,
                isMidCommit: draft.details.isMidCommit, clientChangeToken: draft.details.clientChangeToken))
    }
}
