extension ZonesListRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension ZonesLookupRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zones", zones) { $1.write(to: &$0, asAnswer: false) }
        writer.endObject()
    }
}

extension ZonesModifyRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("operations", operations) { $1.write(to: &$0) }
        writer.endObject()
    }
}

extension ZoneOperation {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("operationType", type.rawValue)
        writer.key("zone")
        writer.beginObject()
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.endObject()
        writer.endObject()
    }
}

/// An entry of `zones`, collected in any order: a zone, a deleted one, or an error; in feeds, a page of one.
struct ZoneDraft {
    let start: Int
    private var zoneID: ZoneID?
    private(set) var syncToken: String?
    private(set) var isDeleted = false
    private var atomic: Bool?
    private(set) var records: [RecordResult]?
    private(set) var moreComing = false
    private var errorDraft = ErrorDraft()
    private(set) var details = ItemExtension()

    init(from reader: inout JSONReader) throws(JSONError) {
        start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "syncToken": syncToken = try reader.optionalString()
            case "deleted": isDeleted = try reader.optionalBoolean() ?? false
            case "atomic": atomic = try reader.optionalBoolean()
            case "records": records = try reader.array { reader throws(JSONError) in try RecordResult(from: &reader) }
            case "moreComing": moreComing = try reader.optionalBoolean() ?? false
            case "nacre": details = try ItemExtension(from: &reader)
            default:
                if try errorDraft.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
    }

    var error: ServerError? { errorDraft.error(details) }

    func zoneID(from reader: borrowing JSONReader) throws(JSONError) -> ZoneID {
        try reader.require(zoneID, "zoneID", at: start)
    }

    /// Returns the zone. A zone without `atomic` is atomic unless it is the default zone.
    func zone(from reader: borrowing JSONReader) throws(JSONError) -> Zone {
        let zoneID = try zoneID(from: reader)
        return Zone(
            zoneID: zoneID, syncToken: syncToken, atomic: atomic ?? !zoneID.isDefault, isSharedWhole: details.isSharedWhole)
    }
}

extension ZoneResult {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        let zoneID = try draft.zoneID(from: reader)
        if let error = draft.error {
            self = .failure(zoneID, error)
        } else {
            self = draft.isDeleted ? .deleted(zoneID) : .zone(try draft.zone(from: reader))
        }
    }
}

extension ZonesResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zones: [ZoneResult]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.array { reader throws(JSONError) in try ZoneResult(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(zones: try reader.require(zones, "zones", at: start))
    }
}
