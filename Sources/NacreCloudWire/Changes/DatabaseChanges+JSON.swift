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
            case token: syncToken = try reader.optionalString()
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
        let page = try reader.zonePage(token: "syncToken") { reader throws(JSONError) in try ChangedZone(from: &reader) }
        self.init(zones: page.zones, syncToken: page.token, moreComing: page.moreComing)
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.writeZonePage(zones, token: "syncToken", syncToken, moreComing: moreComing) { $1.write(to: &$0, form: form) }
    }
}

/// A page of a database's feed, as both of its answers have it: they differ in how they show a zone, and in the key of the token.
extension JSONReader {
    mutating func zonePage<Zone>(
        token: StaticString, _ zone: (inout JSONReader) throws(JSONError) -> Zone
    ) throws(JSONError) -> (zones: [Zone], token: String, moreComing: Bool) {
        var zones: [Zone]?
        var text: String?
        var moreComing = false
        let start = try beginObject()
        while let key = try nextKey() {
            switch key {
            case "zones": zones = try array(zone)
            case token: text = try optionalString()
            case "moreComing": moreComing = try optionalBoolean() ?? false
            default: try skip()
            }
        }
        return (try require(zones, "zones", at: start), try require(text, token, at: start), moreComing)
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

extension ChangesDatabaseResponse.ChangedZone {
    /// A deletion without a reason is a plain one.
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        self.init(zoneID: try draft.zoneID(from: reader), deletion: draft.isDeleted ? draft.details.deletionReason ?? .deleted : nil)
    }

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
