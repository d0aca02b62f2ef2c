extension ChangesDatabaseRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        write(to: &writer, token: "syncToken")
    }

    package func write(to writer: inout JSONWriter, token: StaticString) {
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
}

/// Reads a page of a database's feed for both of its answers, which differ in how they show a zone, and in the key of
/// the token.
extension JSONReader {
    package mutating func zonePage<Zone>(
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

extension ChangesDatabaseResponse.ChangedZone {
    /// Reads a zone. A deletion without a reason has the reason `.deleted`.
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        self.init(zoneID: try draft.zoneID(from: reader), deletion: draft.isDeleted ? draft.details.deletionReason ?? .deleted : nil)
    }
}
