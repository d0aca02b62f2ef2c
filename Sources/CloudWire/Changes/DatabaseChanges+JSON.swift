extension JSONReader {
    /// A token of a feed. CloudKit's observers disagree on the empty one: here it is none.
    mutating func optionalSyncToken() throws(JSONError) -> String? {
        let token = try optionalString()
        return token?.isEmpty == true ? nil : token
    }
}

extension ChangesDatabaseRequest: RequestMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        try self.init(from: &reader, token: "syncToken")
    }

    package func write(to writer: inout JSONWriter) {
        write(to: &writer, token: "syncToken")
    }

    /// - Parameter token: the key of the token.
    init(from reader: inout JSONReader, token: StaticString) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case token: syncToken = try reader.optionalSyncToken()
            case "resultsLimit": resultsLimit = try reader.optionalInteger()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout JSONWriter, token: StaticString) {
        writer.beginObject()
        writer.write(ifPresent: token, syncToken)
        writer.write(ifPresent: "resultsLimit", resultsLimit)
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension ChangesDatabaseResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zones: [ChangedZone]?
        var syncToken: String?
        var moreComing = false
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.array { reader throws(JSONError) in try ChangedZone(from: &reader) }
            case "syncToken": syncToken = try reader.optionalString()
            case "moreComing": moreComing = try reader.optionalBoolean() ?? false
            default: try reader.skip()
            }
        }
        self.init(
            zones: try reader.require(zones, "zones", at: start), syncToken: try reader.require(syncToken, "syncToken", at: start),
            moreComing: moreComing)
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for zone in zones { zone.write(to: &writer, form: form) }
        writer.endArray()
        writer.write("syncToken", syncToken)
        writer.write("moreComing", moreComing)
        writer.endObject()
    }
}

extension ChangesDatabaseResponse.ChangedZone {
    /// A deletion without a reason is a plain one.
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        self.init(zoneID: try draft.zoneID(from: reader), deletion: draft.isDeleted ? draft.details.deletionReason ?? .deleted : nil)
    }

    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("zoneID", zoneID, showsType: true)
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
