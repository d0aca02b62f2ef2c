import NacreCloudServerWire
import NacreCloudWire

// What an answer shows of a record, and what is meant when a client sends it back. See `docs/decisions/an-answer-can-be-saved-back.md`.

/// How the records of a zone are shown to a caller. Whatever of a record goes into an answer comes from here.
struct ShownRecords: Sendable {
    /// The zone, as answers name it.
    let zoneID: ZoneID
    let database: DatabaseKey
    let caller: Caller
    let rule: ReadRule
    let databaseID: DatabaseID
    /// Makes the URLs of assets.
    let links: AssetLinks

    /// A record that is there, for who asked for records and not for this one; nil where it is not for the caller.
    /// - Parameter keys: the fields that are wanted; nil for all.
    func record(_ stored: StoredRecord, keys: [String]?) -> Record? {
        guard case .whole = rule.verdict(on: stored, of: database, by: caller) else { return nil }
        return shown(stored, fields: stored.content.fields.only(keys))
    }

    /// The same of a row whose checksum was found right before.
    ///
    /// - Parameter wanted: `keys`.
    /// - Throws: as `RecordBody.read` does.
    func record(_ row: RecordRow, keys: [String]?, _ wanted: FieldNames?) throws(StoreError) -> Record? {
        record(StoredRecord(row: row, content: try RecordBody.read(row, only: wanted)), keys: keys)
    }

    /// Whether a record goes into a page as it is kept: one that is small, where all of it is shown.
    func keeps(_ row: RecordRow, keys: [String]?) -> Bool {
        keys == nil && showsAll && row.body.count <= Limits.smallBodyBytes
    }

    /// Whether nothing of the zone is kept from the caller.
    var showsAll: Bool { rule.isEverything }

    func shows(_ stored: StoredRecord) -> Bool {
        rule.verdict(on: stored, of: database, by: caller) == .whole
    }

    /// A record that was asked for by its name.
    func result(_ stored: StoredRecord?, named name: String, keys: [String]?) -> RecordResult {
        guard let stored else { return .failure(recordName: name, .recordNotFound) }
        // Of a damaged one nobody knows who may know of it.
        if stored.isDamaged { return .failure(recordName: name, rule.views == nil ? .recordDamaged : .recordNotFound) }
        guard stored.isThere else { return .failure(recordName: name, .recordNotFound) }
        switch rule.verdict(on: stored, of: database, by: caller) {
        case .whole: return .record(shown(stored, fields: stored.content.fields.only(keys)))
        case .refuse(let error): return .failure(recordName: name, error)
        }
    }

    /// A record that the caller has just saved, or saved once and asks of again. One who may save it and not read it hears its new tag, and none of its
    /// fields; and nothing of what others made of it since.
    func saved(_ stored: StoredRecord, keys: [String]?) -> RecordResult {
        switch rule.verdict(on: stored, of: database, by: caller) {
        case .whole: return .record(shown(stored, fields: stored.content.fields.only(keys)))
        case .refuse(let error):
            guard let user = caller.userRecordName, stored.content.modified.userRecordName == user else {
                return .failure(recordName: stored.row.name, error)
            }
            var record = shown(stored, fields: RecordFields())
            record.parent = nil
            // Whoever made it, and when, is not told.
            record.created = record.modified
            return .record(record)
        }
    }

    /// A record that the caller has just deleted, or that was not there. What type it had is told to who may read it, or might have.
    func deleted(_ stored: StoredRecord?, named name: String) -> RecordResult {
        guard let stored, case .whole = rule.verdict(on: stored, of: database, by: caller) else {
            return .deleted(Tombstone(recordName: name, recordType: nil))
        }
        return .deleted(Tombstone(recordName: name, recordType: stored.row.type))
    }

    /// What is wrong with an operation on a record. CloudKit: a conflict comes with the server's record.
    func error(_ error: ServerError, on stored: StoredRecord?) -> ServerError {
        guard error.code == .conflict, let stored, stored.isLive, let record = record(stored, keys: nil) else { return error }
        var error = error
        error.serverRecord = Box(record)
        return error
    }

    /// With its zone, which is the zone of all that it refers to.
    private func shown(_ stored: StoredRecord, fields: RecordFields) -> Record {
        var fields = fields
        fields.setZones(zoneID)
        fields.showAssets { id in caller.credential.flatMap { links.download(id, in: databaseID, as: $0) } }
        var record = Record(
            recordName: stored.row.name, recordType: stored.row.type, recordChangeTag: ChangeTag.text(stored.row.number),
            created: stored.content.created, modified: stored.content.modified,
            parent: stored.row.parent.map { Reference(recordName: $0, action: .none, zoneID: zoneID) }, fields: fields)
        record.zoneID = zoneID
        if let share = stored.content.shared.share {
            record.share = Reference(recordName: share, action: .none, zoneID: zoneID)
            // What a shared root hangs on is not shared.
            if rule.views != nil { record.parent = nil }
        }
        record.sharing = stored.content.sharing.map { Box($0.details(for: caller.userRecordName, owner: database.owner)) }
        return record
    }
}

extension RecordFields {
    /// Costs a walk over the fields, and a copy of those that refer.
    fileprivate mutating func setZones(_ zoneID: ZoneID) {
        // Asked first, because to take a value apart copies it.
        for place in entries.indices where entries[place].value.refers {
            self[entries[place].name] = entries[place].value.referring(to: zoneID)
        }
    }

    /// Says where the bytes of assets are had, in the place of what a record keeps of them.
    fileprivate mutating func showAssets(_ url: (AssetID) -> String?) {
        for place in entries.indices where entries[place].value.holdsAssets {
            var assets = entries[place].value.assets
            for index in assets.indices {
                assets[index].downloadURL = assets[index].receipt.flatMap(AssetID.init(key:)).flatMap(url)
                assets[index].receipt = nil
            }
            if case .asset = entries[place].value, let asset = assets.first {
                self[entries[place].name] = .asset(asset)
            } else {
                self[entries[place].name] = .assetList(assets)
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
    fileprivate var refers: Bool {
        switch self {
        case .reference, .referenceList: true
        default: false
        }
    }

    /// The value, with the zone of what it refers to.
    func referring(to zoneID: ZoneID) -> FieldValue {
        switch self {
        case .reference(let one): .reference(Reference(recordName: one.recordName, action: one.action, zoneID: zoneID))
        case .referenceList(let list): .referenceList(list.map { Reference(recordName: $0.recordName, action: $0.action, zoneID: zoneID) })
        default: self
        }
    }

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
