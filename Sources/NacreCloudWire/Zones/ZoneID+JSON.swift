extension ZoneID {
    /// Reads a zone ID. Only `zoneName` is required. Old clients say `ownerName` for `ownerRecordName`; `zoneType` is
    /// ignored.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var draft = Draft()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try draft.take(key, from: &reader) { continue }
            try reader.skip()
        }
        self = try draft.zoneID(from: reader, at: start)
    }

    /// Writes the zone ID.
    /// - Parameter asAnswer: Whether to write `zoneType`, and always an owner, which clients need to decode an
    ///   answer.
    package func write(to writer: inout JSONWriter, asAnswer: Bool) {
        writer.beginObject()
        writer.write("zoneName", zoneName)
        writer.write(ifPresent: "ownerRecordName", ownerRecordName ?? (asAnswer ? Self.defaultOwnerName : nil))
        if asAnswer { writer.write("zoneType", isDefault ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE") }
        writer.endObject()
    }

    /// Returns whether the two can be one zone: a missing owner is the caller, whose record name is not on the wire.
    package func mayBe(_ other: ZoneID) -> Bool {
        guard zoneName == other.zoneName else { return false }
        guard let owner = ownerRecordName, let otherOwner = other.ownerRecordName else { return true }
        return owner == otherOwner
    }

    /// The keys of a zone ID, collected in any order.
    package struct Draft {
        var zoneName: String?
        var ownerRecordName: String?
        var ownerName: String?

        package init() {}

        /// Reads the value if the key is one of a zone ID's.
        package mutating func take(_ key: JSONText, from reader: inout JSONReader) throws(JSONError) -> Bool {
            switch key {
            case "zoneName": zoneName = try reader.optionalString()
            case "ownerRecordName": ownerRecordName = try reader.optionalString()
            case "ownerName": ownerName = try reader.optionalString()
            default: return false
            }
            return true
        }

        package func zoneID(from reader: borrowing JSONReader, at start: Int) throws(JSONError) -> ZoneID {
            ZoneID(zoneName: try reader.require(zoneName, "zoneName", at: start), ownerRecordName: ownerRecordName ?? ownerName)
        }
    }
}

extension JSONReader {
    package mutating func optionalZoneID() throws(JSONError) -> ZoneID? {
        try takeNull() ? nil : try ZoneID(from: &self)
    }
}
