extension ZonesLookupRequest: RequestMessage {
    /// The elements are zone IDs, or objects whose `zoneID` is one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zones: [ZoneID]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.array { reader throws(JSONError) in try Self.zoneID(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(zones: try reader.require(zones, "zones", at: start), extension: `extension`)
    }

    private static func zoneID(from reader: inout JSONReader) throws(JSONError) -> ZoneID {
        var draft = ZoneID.Draft()
        var wrapped: ZoneID?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": wrapped = try reader.optionalZoneID()
            default:
                if try draft.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        if let wrapped { return wrapped }
        return try draft.zoneID(from: reader, at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zones", zones) { $1.write(to: &$0, asAnswer: false) }
        writer.endObject()
    }
}

extension ZonesModifyRequest: RequestMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var operations: [ZoneOperation]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operations": operations = try reader.array { reader throws(JSONError) in try ZoneOperation(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(operations: try reader.require(operations, "operations", at: start), extension: `extension`)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("operations", operations) { $1.write(to: &$0) }
        writer.endObject()
    }
}

extension ZoneOperation {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var type: OperationType?
        var zoneID: ZoneID?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": type = try reader.takeNull() ? nil : try reader.name(of: OperationType.self)
            case "zone": zoneID = try reader.takeNull() ? nil : try Self.zoneID(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(try reader.require(type, "operationType", at: start), try reader.require(zoneID, "zone", at: start))
    }

    private static func zoneID(from reader: inout JSONReader) throws(JSONError) -> ZoneID {
        var zoneID: ZoneID?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            default: try reader.skip()
            }
        }
        return try reader.require(zoneID, "zoneID", at: start)
    }

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

/// An entry of `zones`, collected in any order: a zone, what is left of one, or an error; in feeds, a page of one.
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

    /// - Returns: a zone without `atomic` is atomic unless it is the default zone.
    func zone(from reader: borrowing JSONReader) throws(JSONError) -> Zone {
        let zoneID = try zoneID(from: reader)
        return Zone(zoneID: zoneID, syncToken: syncToken, atomic: atomic ?? !zoneID.isDefault)
    }
}

extension ZoneResult {
    init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        let zoneID = try draft.zoneID(from: reader)
        if let error = draft.error {
            self = .failure(zoneID, error)
        } else {
            self = draft.isDeleted ? .deleted(zoneID) : .zone(try draft.zone(from: reader))
        }
    }

    func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        switch self {
        case .zone(let zone):
            writer.write("zoneID", zone.zoneID, asAnswer: true)
            writer.write(ifPresent: "syncToken", zone.syncToken)
            writer.write("atomic", zone.atomic)
        case .deleted(let zoneID):
            writer.write("zoneID", zoneID, asAnswer: true)
            writer.write("deleted", true)
        case .failure(let zoneID, let error):
            writer.write("zoneID", zoneID, asAnswer: true)
            error.writeMembers(to: &writer, form: form)
        }
        writer.endObject()
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

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("zones", zones) { $1.write(to: &$0, form: form) }
        writer.endObject()
    }
}
