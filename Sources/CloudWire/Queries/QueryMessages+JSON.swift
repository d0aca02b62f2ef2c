extension RecordsQueryRequest: RequestMessage {
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
        if let zoneID { writer.write("zoneID", zoneID, showsType: false) }
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
        var records: [Record]?
        self.init(records: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": records = try reader.array { reader throws(JSONError) in try Record(from: &reader) }
            case "continuationMarker": continuationMarker = try reader.optionalString()
            case "syncToken": syncToken = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.records = try reader.require(records, "records", at: start)
    }

    /// Each record shows its own zone, or `form.zoneID` where it says none.
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("records", records) { $1.write(to: &$0, form: form, zoneID: $1.zoneID ?? form.zoneID) }
        writer.write(ifPresent: "continuationMarker", continuationMarker)
        writer.write(ifPresent: "syncToken", syncToken)
        writer.endObject()
    }
}
