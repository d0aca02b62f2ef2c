package import NacreCloudAccounts
import NacreCloudServerWire
package import NacreCloudStorage
package import NacreCloudWire

// The form in which answers show records, and its meaning when a client sends it back. See
// `docs/decisions/records-answers.md`.

/// Shows the records of a zone to a caller. Everything that answers contain of a record is made here.
package struct ShownRecords: Sendable {
    /// The zone, as answers name it.
    package let zoneID: ZoneID
    package let database: DatabaseKey
    package let caller: Caller
    package let rule: ReadRule
    package let databaseID: DatabaseID
    /// Makes the URLs of assets.
    package let links: AssetLinks

    /// Shows a live record that was not asked for by name; nil where the caller may not read it.
    /// - Parameter keys: the wanted fields; nil for all.
    package func record(_ stored: StoredRecord, keys: [String]?) -> Record? {
        guard case .whole = rule.verdict(on: stored, of: database, by: caller) else { return nil }
        return shown(stored, fields: stored.content.fields.only(keys))
    }

    /// Shows a row whose checksum was checked before; nil where the caller may not read it.
    ///
    /// - Parameter wanted: `keys`.
    /// - Throws: as `RecordBody.read` does.
    package func record(_ row: RecordRow, keys: [String]?, _ wanted: FieldNames?) throws(StoreError) -> Record? {
        record(StoredRecord(row: row, content: try RecordBody.read(row, only: wanted)), keys: keys)
    }

    /// Whether a record goes into a page as it is kept: a small one of which everything is shown.
    package func keeps(_ row: RecordRow, keys: [String]?) -> Bool {
        keys == nil && showsAll && row.body.count <= Limits.smallBodyBytes
    }

    /// Whether the caller sees everything in the zone.
    var showsAll: Bool { rule.isEverything }

    package func shows(_ stored: StoredRecord) -> Bool {
        rule.verdict(on: stored, of: database, by: caller) == .whole
    }

    /// Answers for a record that was asked for by name.
    package func result(_ stored: StoredRecord?, named name: String, keys: [String]?) -> RecordResult {
        guard let stored else { return .failure(recordName: name, .recordNotFound) }
        // The readers of a damaged record are unknown: a guest does not learn that it exists.
        if stored.isDamaged { return .failure(recordName: name, rule.views == nil ? .recordDamaged : .recordNotFound) }
        guard stored.isThere else { return .failure(recordName: name, .recordNotFound) }
        switch rule.verdict(on: stored, of: database, by: caller) {
        case .whole: return .record(shown(stored, fields: stored.content.fields.only(keys)))
        case .refuse(let error): return .failure(recordName: name, error)
        }
    }

    /// Answers for a record that the caller has just saved, or asks about again after a save. A caller who may not read
    /// it gets its new tag and no field; after another user's change, an error.
    package func saved(_ stored: StoredRecord, keys: [String]?) -> RecordResult {
        switch rule.verdict(on: stored, of: database, by: caller) {
        case .whole: return .record(shown(stored, fields: stored.content.fields.only(keys)))
        case .refuse(let error):
            guard let user = caller.userRecordName, stored.content.modified.userRecordName == user else {
                return .failure(recordName: stored.row.name, error)
            }
            var record = shown(stored, fields: RecordFields())
            record.parent = nil
            // Hides who made the record, and when.
            record.created = record.modified
            return .record(record)
        }
    }

    /// Answers for a record that the caller has just deleted, or that was not there. Its type is told to a caller who
    /// may read it, or might have.
    package func deleted(_ stored: StoredRecord?, named name: String) -> RecordResult {
        guard let stored, case .whole = rule.verdict(on: stored, of: database, by: caller) else {
            return .deleted(Tombstone(recordName: name, recordType: nil))
        }
        return .deleted(Tombstone(recordName: name, recordType: stored.row.type))
    }

    /// Adds the stored record to a conflict that the caller may read. CloudKit: a conflict comes with the server's
    /// record.
    package func error(_ error: ServerError, on stored: StoredRecord?) -> ServerError {
        guard error.code == .conflict, let stored, stored.isLive, let record = record(stored, keys: nil) else { return error }
        var error = error
        error.serverRecord = Box(record)
        return error
    }

    /// Returns the record with its zone, which is the zone of all its references.
    private func shown(_ stored: StoredRecord, fields: RecordFields) -> Record {
        var fields = fields
        fields.setZones(zoneID)
        fields.showAssets { id in caller.credential.flatMap { links.download(id, in: databaseID, as: $0) } }
        var record = Record(
            recordName: stored.row.name, recordType: stored.row.type, recordChangeTag: ChangeTag.text(stored.row.number),
            created: stored.content.created, modified: stored.content.modified,
            parent: stored.row.parent.map { Reference(recordName: $0, action: .none) }, fields: fields)
        record.zoneID = zoneID
        record.manifest = stored.content.manifest
        if let share = stored.content.shared.share {
            record.share = Reference(recordName: share, action: .none, zoneID: zoneID)
            // The parent of a shared root is not shared.
            if rule.views != nil { record.parent = nil }
        }
        record.sharing = stored.content.sharing.map { Box($0.details(for: caller.userRecordName, owner: database.owner)) }
        return record
    }
}

extension RecordFields {
    /// Gives all references their zone. Costs a walk over the fields, and a copy of those that refer.
    fileprivate mutating func setZones(_ zoneID: ZoneID) {
        // Asked first, because to take a value apart copies it.
        for index in entries.indices where entries[index].value.refers {
            self[entries[index].name] = entries[index].value.referring(to: zoneID)
        }
    }

    /// Gives assets the URLs of their bytes, in place of their keys in the store.
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

    /// Replaces values by stored ones that show the same: a client that is not shown all of a value does not mean to
    /// change it.
    package mutating func restore(from there: RecordFields) {
        for index in entries.indices where entries[index].value.mayHideMore {
            guard let value = there[entries[index].name], entries[index].value.showsAs(value) else { continue }
            self[entries[index].name] = value
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

    /// Returns the value with the zone of what it refers to.
    func referring(to zoneID: ZoneID) -> FieldValue {
        switch self {
        case .reference(let one): .reference(Reference(recordName: one.recordName, action: one.action, zoneID: zoneID))
        case .referenceList(let list): .referenceList(list.map { Reference(recordName: $0.recordName, action: $0.action, zoneID: zoneID) })
        default: self
        }
    }

    /// Answers without our extension may show less than the whole value.
    fileprivate var mayHideMore: Bool {
        switch self {
        case .timestamp, .timestampList, .location, .locationList, .sealed: true
        default: false
        }
    }

    /// Whether two values look the same without our extension: times in milliseconds, encrypted values without keys.
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
