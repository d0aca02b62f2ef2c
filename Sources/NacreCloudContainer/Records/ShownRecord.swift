import NacreCloudWire

// What an answer shows of a record, and what is meant when a client sends it back. See `docs/decisions/an-answer-can-be-saved-back.md`.

extension Record {
    /// As an answer shows it: with its zone, which is the zone of all that it refers to.
    func shown(in zoneID: ZoneID) -> Record {
        var shown = self
        shown.zoneID = zoneID
        shown.parent?.zoneID = zoneID
        shown.share?.zoneID = zoneID
        shown.fields.setZones(zoneID)
        return shown
    }
}

extension ServerError {
    /// As an answer shows it: the server's record with its zone.
    func shown(in zoneID: ZoneID) -> ServerError {
        guard let record = serverRecord?.value else { return self }
        var error = self
        error.serverRecord = Box(record.shown(in: zoneID))
        return error
    }
}

extension RecordFields {
    /// Costs a walk over the fields, and a copy of those that refer.
    fileprivate mutating func setZones(_ zoneID: ZoneID) {
        for place in entries.indices {
            switch entries[place].value {
            case .reference(var reference):
                guard reference.zoneID != zoneID else { continue }
                reference.zoneID = zoneID
                self[entries[place].name] = .reference(reference)
            case .referenceList(let list):
                guard list.contains(where: { $0.zoneID != zoneID }) else { continue }
                self[entries[place].name] = .referenceList(list.map { Reference(recordName: $0.recordName, action: $0.action, zoneID: zoneID) })
            default: break
            }
        }
    }

    /// Puts a value that is there in place of one that shows as the same: a client that is not shown all of a value does not mean to change it.
    mutating func restore(from there: RecordFields) {
        for place in entries.indices where entries[place].value.mayHideMore {
            guard let value = there[entries[place].name], entries[place].value.showsAs(value) else { continue }
            self[entries[place].name] = value
        }
    }
}

extension FieldValue {
    /// Answers without our extension show less than the whole of such a value.
    fileprivate var mayHideMore: Bool {
        switch self {
        case .timestamp, .timestampList, .location, .locationList, .sealed: true
        default: false
        }
    }

    /// Whether a client without our extension sees the two as one value: moments in milliseconds, and encrypted values without their keys.
    fileprivate func showsAs(_ other: FieldValue) -> Bool {
        switch (self, other) {
        case (.timestamp(let one), .timestamp(let other)): one.showsAs(other)
        case (.timestampList(let one), .timestampList(let other)): one.elementsEqual(other) { $0.showsAs($1) }
        case (.location(let one), .location(let other)): one.showsAs(other)
        case (.locationList(let one), .locationList(let other)): one.elementsEqual(other) { $0.showsAs($1) }
        case (.sealed(let one), .sealed(let other)): one.keyID == nil && one.type == other.type && one.bytes == other.bytes
        default: false
        }
    }
}

extension Timestamp {
    fileprivate func showsAs(_ other: Timestamp) -> Bool { millisecondsSince1970 == other.millisecondsSince1970 }
}

extension Location {
    fileprivate func showsAs(_ other: Location) -> Bool {
        guard timestamp?.millisecondsSince1970 == other.timestamp?.millisecondsSince1970 else { return false }
        var same = self
        same.timestamp = other.timestamp
        return same == other
    }
}
