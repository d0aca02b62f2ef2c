package import NacreCloudWire

extension ZonesListRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
    }
}

extension ZonesLookupRequest: ReadableRequest {
    /// Reads a request. Its elements are zone IDs, or objects whose `zoneID` is one.
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
}

extension ZonesModifyRequest: ReadableRequest {
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
}
