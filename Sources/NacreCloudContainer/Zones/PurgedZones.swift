import NacreCloudStorage
import NacreCloudWire

// CloudKit: a user who removes an app's data in the storage settings purges its zones. Each request about such a zone
// fails with `userDeletedZone`, until the app saves the zone anew.

extension EntryKey {
    static func purgedZone(_ name: String, in database: DatabaseID) -> EntryKey { EntryKey(database, .purgedZone, name) }
}

extension ReadTransaction {
    /// Returns the names among these of zones that the database's user purged. Costs a call of the store, if there are
    /// names.
    func purgedZones(among names: [String], in database: DatabaseID) throws -> Set<String> {
        names.isEmpty ? [] : Set(try entries(in: database, .purgedZone, keys: names).map(\.key.key))
    }

    /// Returns the error for a zone that is not in a database of the caller's own.
    func error(ofMissing zoneID: ZoneID, in database: DatabaseID) throws -> ServerError {
        .zoneNotFound(zoneID, isPurged: try !purgedZones(among: [zoneID.zoneName], in: database).isEmpty)
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
