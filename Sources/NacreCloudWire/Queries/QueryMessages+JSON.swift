/// Decoding, by the server, and by the framework from the archive of a cursor.
extension RecordsQueryRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var query: Query?
        self.init(query: Query(recordType: ""))
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "query": query = try reader.takeNull() ? nil : try Query(from: &reader)
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "zoneWide": zoneWide = try reader.optionalBoolean() ?? false
            case "resultsLimit": resultsLimit = try reader.optionalInteger()
            case "continuationMarker": continuationMarker = try reader.optionalString()
            case "desiredKeys": desiredKeys = try reader.optionalNames()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.optionalBoolean() ?? false
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.query = try reader.require(query, "query", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("query")
        query.write(to: &writer)
        if let zoneID { writer.write("zoneID", zoneID, asAnswer: false) }
        if zoneWide { writer.write("zoneWide", true) }
        writer.write(ifPresent: "resultsLimit", resultsLimit)
        writer.write(ifPresent: "continuationMarker", continuationMarker)
        writer.write(ifPresent: "desiredKeys", desiredKeys)
        if numbersAsStrings { writer.write("numbersAsStrings", true) }
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension RecordsQueryResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var entries: [(result: RecordResult, zoneID: ZoneID?)]?
        self.init(records: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records":
                entries = try reader.array { reader throws(JSONError) in
                    let draft = try RecordDraft(from: &reader)
                    return (try draft.result(from: reader), draft.zoneID)
                }
            case "continuationMarker": continuationMarker = try reader.optionalString()
            case "syncToken": syncToken = try reader.optionalString()
            default: try reader.skip()
            }
        }
        for (result, zoneID) in try reader.require(entries, "records", at: start) {
            switch result {
            case .record(let record): records.append(record)
            case .failure(let name, let error): failures.append(Failure(recordName: name ?? "", zoneID: zoneID, error: error))
            case .deleted: throw JSONError(.missingKey, at: start, missingKey: "recordChangeTag")
            }
        }
    }
}
