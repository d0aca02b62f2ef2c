package import NacreCloudWire

extension RecordsModifyRequest: ReadableRequest {
    /// Reads a request. A record may name its zone: the first one named is the request's where that names none.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var drafts: [OperationDraft]?
        var zoneID: ZoneID?
        self.init(operations: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operations":
                drafts = try reader.array { reader throws(JSONError) in try OperationDraft(from: &reader) }
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "atomic": atomic = try reader.optionalBoolean()
            case "desiredKeys": desiredKeys = try reader.optionalNames()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.optionalBoolean() ?? false
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        let found = try reader.require(drafts, "operations", at: start)
        let zone = zoneID ?? found.lazy.compactMap(\.zoneID).first ?? .defaultZone
        self.zoneID = zone
        operations = found.map { $0.operation(in: zone) }
    }
}

extension RecordsLookupRequest: ReadableRequest {
    /// Reads a request. One record may stand in place of an array of one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var records: [Item]?
        var zoneID: ZoneID?
        var recordsZoneID: ZoneID?
        self.init(records: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records":
                records = try reader.arrayOrSingle { reader throws(JSONError) in try Item(from: &reader, zoneID: &recordsZoneID) }
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "desiredKeys": desiredKeys = try reader.optionalNames()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.optionalBoolean() ?? false
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        if let zoneID, let recordsZoneID, !recordsZoneID.mayBe(zoneID) { throw JSONError(.zonesDiffer, at: start) }
        self.records = try reader.require(records, "records", at: start)
        self.zoneID = zoneID ?? recordsZoneID ?? .defaultZone
    }
}

extension RecordsLookupRequest.Item {
    /// Reads an item.
    /// - Parameter zoneID: The zone that all records so far agree on.
    fileprivate init(from reader: inout JSONReader, zoneID: inout ZoneID?) throws(JSONError) {
        var recordName: String?
        var desiredKeys: [String]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "desiredKeys": desiredKeys = try reader.optionalNames()
            case "zoneID":
                guard let own = try reader.optionalZoneID() else { continue }
                if let zoneID, !own.mayBe(zoneID) { throw JSONError(.zonesDiffer, at: start) }
                zoneID = zoneID ?? own
            default: try reader.skip()
            }
        }
        self.init(recordName: try reader.require(recordName, "recordName", at: start), desiredKeys: desiredKeys)
    }
}
