package import NacreCloudWire

extension RecordsChangesRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zoneID: ZoneID?
        var syncToken: String?
        var options = FeedOptions()
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "syncToken": syncToken = try reader.optionalString()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default:
                if try options.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        self.init(options.item(try reader.require(zoneID, "zoneID", at: start), after: syncToken), extension: `extension`)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        item.writeMembers(to: &writer)
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension RecordsChangesResponse: WritableAnswer {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var records: [RecordResult]?
        var syncToken: String?
        var moreComing = false
        var reverse = false
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": records = try reader.array { reader throws(JSONError) in try RecordResult(from: &reader) }
            case "syncToken": syncToken = try reader.optionalString()
            case "moreComing": moreComing = try reader.optionalBoolean() ?? false
            case "reverse": reverse = try reader.optionalBoolean() ?? false
            default: try reader.skip()
            }
        }
        self.init(
            records: try reader.require(records, "records", at: start), syncToken: try reader.require(syncToken, "syncToken", at: start),
            moreComing: moreComing, reverse: reverse)
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("records", records) { $1.write(to: &$0, form: form) }
        writer.write("syncToken", syncToken)
        writer.write("moreComing", moreComing)
        writer.write("reverse", reverse)
        writer.endObject()
    }
}

extension ZonesChangesRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init(try ChangesDatabaseRequest(from: &reader, token: "metaSyncToken"))
    }

    package func write(to writer: inout JSONWriter) {
        changes.write(to: &writer, token: "metaSyncToken")
    }
}

extension ZonesChangesResponse: WritableAnswer {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let page = try reader.zonePage(token: "metaSyncToken") { reader throws(JSONError) in try ZoneResult(from: &reader) }
        self.init(zones: page.zones, metaSyncToken: page.token, moreComing: page.moreComing)
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.writeZonePage(zones, token: "metaSyncToken", metaSyncToken, moreComing: moreComing) { $1.write(to: &$0, form: form) }
    }
}
