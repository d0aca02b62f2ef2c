extension RecordsModifyRequest: RequestMessage {
    /// Writes the request without the operations that could not be read.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "atomic", atomic)
        writer.write(ifPresent: "desiredKeys", desiredKeys)
        if numbersAsStrings { writer.write("numbersAsStrings", true) }
        `extension`.write(to: &writer)
        writer.write("operations", operations) { writer, item in
            if case .success(let operation) = item { operation.write(to: &writer, details: `extension`.wantsDetails) }
        }
        writer.endObject()
    }
}

extension RecordsLookupRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "desiredKeys", desiredKeys)
        if numbersAsStrings { writer.write("numbersAsStrings", true) }
        `extension`.write(to: &writer)
        writer.write("records", records) { writer, item in
            writer.beginObject()
            writer.write("recordName", item.recordName)
            writer.write(ifPresent: "desiredKeys", item.desiredKeys)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension RecordsResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var records: [RecordResult]?
        var syncToken: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": records = try reader.array { reader throws(JSONError) in try RecordResult(from: &reader) }
            case "syncToken": syncToken = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(records: try reader.require(records, "records", at: start), syncToken: syncToken)
    }
}
