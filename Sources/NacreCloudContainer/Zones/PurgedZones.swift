import NacreCloudStorage
import NacreCloudWire

// CloudKit: a user who removes an app's data in the storage settings purges its zones. Each request about such a zone
// fails with `userDeletedZone`, until the app saves the zone anew. A reset of the user's encrypted data does the same
// with `zoneNotFound`, whose `CKErrorUserDidResetEncryptedDataKey` is true.

extension EntryRow {
    /// The mark of a zone that its user has removed, and not its app.
    /// - Parameter reason: `purged` or `encryptedDataReset`; nil for other states, which leave no mark.
    init?(markOf zone: String, in database: DatabaseID, reason: ZoneRow.State) {
        guard reason == .purged || reason == .encryptedDataReset else { return nil }
        self.init(key: .purgedZone(zone, in: database), value: reason == .purged ? [] : [UInt8(reason.rawValue)])
    }

    /// The reason of such a mark.
    var zoneEnd: ZoneRow.State { value.isEmpty ? .purged : .encryptedDataReset }
}

extension EntryKey {
    static func purgedZone(_ name: String, in database: DatabaseID) -> EntryKey { EntryKey(database, .purgedZone, name) }
}

extension ReadTransaction {
    /// Returns the reasons of the ends of zones among these that the database's user removed, by their names. Costs a
    /// call of the store, if there are names.
    func purgedZones(among names: [String], in database: DatabaseID) throws -> [String: ZoneRow.State] {
        let rows = names.isEmpty ? [] : try entries(in: database, .purgedZone, keys: names)
        return Dictionary(rows.map { ($0.key.key, $0.zoneEnd) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the error for a zone that is not in a database of the caller's own.
    func error(ofMissing zoneID: ZoneID, in database: DatabaseID) throws -> ServerError {
        .zoneNotFound(zoneID, end: try purgedZones(among: [zoneID.zoneName], in: database)[zoneID.zoneName])
    }
}

extension WriteTransaction {
    /// Forgets purged zones of a database, `Limits.resultsPerPage` at most.
    /// - Returns: whether there were any.
    func forgetPurgedZones(of database: DatabaseID) throws -> Bool {
        let rows = try entries(in: database, .purgedZone, after: nil, limit: Limits.resultsPerPage)
        if rows.isEmpty { return false }
        var plan = WritePlan()
        plan.entriesRemoved = rows.map(\.key)
        try apply(plan)
        return true
    }
}
