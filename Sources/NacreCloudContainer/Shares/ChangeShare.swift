import NacreCloudWire

// Changes of a share that are not saves of its record: a participant comes, or goes with their account.

extension Cloud {
    /// A zone and its share, as a transaction left them.
    struct ChangedShare: Sendable {
        var zone: ZoneRow
        var record: StoredRecord
        var state: ShareState
    }

    /// Changes what a zone's share permits, in one transaction of its owner's database.
    /// - Parameter next: what it permits then; nil: the same.
    /// - Returns: nil where the zone is not shared.
    func changeShare(
        ofZoneNamed name: String, in key: DatabaseKey, by caller: Caller, _ next: @escaping @Sendable (ZoneRow, ShareState) throws -> ShareState?
    ) async throws -> ChangedShare? {
        let (database, now) = (try await databaseID(key), clock())
        let changed = try await registry.withSchema(of: key.container, key.environment) { schema in
            try await stored(of: key, zone: key.zoneID(name)) {
                try await self.store.write { transaction -> Ending<(share: ChangedShare?, hasMoved: Bool)> in
                    let advance = try transaction.advance(zoneNamed: name, in: database)
                    guard let zone = advance.zone, let record = try transaction.zoneShare(in: zone.address), let state = record.content.sharing else {
                        return .rollback((nil, false))
                    }
                    guard let next = try next(zone, state) else {
                        return .rollback((ChangedShare(zone: zone, record: record, state: state), false))
                    }
                    let rows = RecordPlan(
                        zone: zone.address, number: zone.number, now: now, stamp: record.content.modified, hasFeed: true, isPublic: false,
                        schema: schema.schema)
                    let put = rows.put(record, permitting: next)
                    var plan = WritePlan()
                    plan.records = [put]
                    plan.zonesChanged = [zone.address]
                    plan.addSharing(of: zone, from: state, to: next, by: caller, at: now)
                    try transaction.apply(plan)
                    return .commit((ChangedShare(zone: zone, record: StoredRecord(put.row, in: zone.address), state: next), true))
                }
            }
        }
        if changed.hasMoved { committed(database) }
        return changed.share
    }

    /// Takes a user out of all that is shared with them. Done twice it does no harm.
    func leaveSharedZones(at place: AccountPlace) async throws {
        let user = place.userRecordName
        let key = DatabaseKey(container: place.container, environment: place.environment, scope: .shared, owner: user)
        let database = try await databaseID(key)
        var last: String?
        while true {
            let rows = try await stored(of: key) { [last] in
                try await self.store.read { try $0.zones(in: database, after: last, limit: Limits.resultsPerPage) }
            }
            for row in rows {
                guard let name = SharedZoneName(row.name) else { continue }
                let owner = DatabaseKey(container: key.container, environment: key.environment, scope: .private, owner: name.owner)
                do {
                    _ = try await changeShare(ofZoneNamed: name.zoneName, in: owner, by: Caller(.user(user))) { _, state in
                        let left = state.without(user)
                        return left == state ? nil : left
                    }
                    try await settleSharedZone(name, of: owner, for: user, after: nil)
                } catch let error as ServerError where error == .recordDamaged {
                    // Its owner has to save it anew, and nobody takes part until then.
                }
            }
            guard rows.count == Limits.resultsPerPage else { break }
            last = rows.last?.name
        }
        if let row = try await stored(of: key, { try await self.store.read { try $0.databases([database]).first } }) { _ = try await clear(row) }
    }
}
