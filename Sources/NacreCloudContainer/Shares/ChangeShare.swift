package import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire

// Changes of a share that are not saves of its record: a participant comes, or goes with their account.

extension Cloud {
    /// A share and its zone, as a snapshot found them or a transaction left them.
    struct ReadShare: Sendable {
        package var zone: ZoneRow
        package var record: StoredRecord
        package var state: ShareState
    }

    /// Changes what a share permits, in one transaction of its owner's database.
    /// - Parameters:
    ///   - share: the name of the share's record.
    ///   - next: returns what the share permits from now on; nil: no change.
    /// - Returns: the share afterwards; nil where there is none.
    func changeShare(
        _ share: String = ShareNames.ofZone, ofZoneNamed name: String, in key: DatabaseKey, by caller: Caller,
        _ next: @escaping @Sendable (ZoneRow, ShareState) throws -> ShareState?
    ) async throws -> ReadShare? {
        let (database, now) = (try await databaseID(key), clock())
        let changed = try await schemas.withSchema(of: key.container, key.environment) { schema in
            try await stored(of: key, zone: key.zoneID(name)) {
                try await self.store.write { transaction -> Ending<(share: ReadShare?, hasMoved: Bool)> in
                    let advance = try transaction.advance(zoneNamed: name, in: database)
                    guard let zone = advance.zone, let record = try transaction.share(share, in: zone.address), let state = record.content.sharing
                    else {
                        return .rollback((nil, false))
                    }
                    guard let next = try next(zone, state) else {
                        return .rollback((ReadShare(zone: zone, record: record, state: state), false))
                    }
                    var rows = RecordPlan(
                        zone: zone.address, number: zone.number, now: now, stamp: record.content.modified, hasFeed: true, isPublic: false,
                        schema: schema.schema)
                    let put = rows.put(record, permitting: next)
                    var plan = WritePlan()
                    plan.records = [put]
                    plan.zonesChanged = [zone.address]
                    plan.addSharing(of: zone, share: share, from: state, to: next, by: caller, at: now)
                    try transaction.apply(plan)
                    return .commit((ReadShare(zone: zone, record: StoredRecord(put.row, in: zone.address), state: next), true))
                }
            }
        }
        if changed.hasMoved { committed(database) }
        return changed.share
    }

    /// Removes a user from everything that is shared with them. Idempotent.
    package func leaveSharedZones(at appUser: AppUser) async throws {
        let user = appUser.userRecordName
        let key = DatabaseKey(container: appUser.container, environment: appUser.environment, scope: .shared, owner: user)
        let database = try await databaseID(key)
        let secret = uuid
        var last: String?
        while true {
            let rows = try await stored(of: key) { [last] in
                try await self.store.read { try $0.zones(in: database, after: last, limit: Limits.resultsPerPage) }
            }
            for row in rows {
                guard let name = SharedZoneName(row.name) else { continue }
                let owner = DatabaseKey(container: key.container, environment: key.environment, scope: .private, owner: name.owner)
                do {
                    for share in try await sharesToLeave(name, of: owner, user) {
                        _ = try await changeShare(share, ofZoneNamed: name.zoneName, in: owner, by: Caller(.user(user))) { _, state in
                            let left = state.without(user, secret: secret)
                            return left == state ? nil : left
                        }
                    }
                    try await settleSharedZone(name, of: owner, for: user, after: nil)
                } catch let error as ServerError where error == .recordDamaged {
                    // The owner has to save a damaged share anew. No participant has access until then.
                }
            }
            guard rows.count == Limits.resultsPerPage else { break }
            last = rows.last?.name
        }
        if let row = try await stored(of: key, { try await self.store.read { try $0.databases([database]).first } }) { _ = try await clear(row) }
    }

    /// Returns the names of the shares by which a user takes part in a zone, and that of the whole zone in any case.
    private func sharesToLeave(_ name: SharedZoneName, of owner: DatabaseKey, _ user: String) async throws -> [String] {
        let holder = try await databaseID(owner)
        return try await stored(of: owner) {
            try await self.store.read { transaction in
                guard let zone = try transaction.zones(in: holder, named: [name.zoneName]).first else { return [] }
                return [ShareNames.ofZone] + (try transaction.recordShares(of: user, in: zone.address).map(\.row.name))
            }
        }
    }
}
