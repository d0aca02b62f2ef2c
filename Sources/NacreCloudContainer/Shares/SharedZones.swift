package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

// The shared database is a view: its zones are other users', and each has one row here, in this database's feed.

/// A zone that is shared with a user, as the rows of their shared database name it.
struct SharedZoneName: Hashable, Sendable {
    package var owner: String
    package var zoneName: String

    /// The name of the row: owner, space, zone name. User record names have no space.
    package var text: String { owner + " " + zoneName }

    package init(owner: String, zoneName: String) {
        self.owner = owner
        self.zoneName = zoneName
    }

    /// Reads the name of a row; nil for text without an owner before its first space.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        (owner, zoneName) = (String(parts[0]), String(parts[1]))
    }

    package var zoneID: ZoneID { ZoneID(zoneName: zoneName, ownerRecordName: owner) }
}

extension DatabaseKey {
    /// Returns the ID by which answers name a zone of this database's feed; nil for a malformed row.
    package func zoneID(ofRow row: ZoneRow) -> ZoneID? {
        scope == .shared ? SharedZoneName(row.name)?.zoneID : zoneID(row.name)
    }
}

extension Cloud {
    /// `zones/list` in the shared database: zones shared with the caller now. Costs two calls of the store for each.
    func listSharedZones(in database: CallerDatabase, _ target: DatabaseTarget, by caller: Caller) async throws -> ZonesResponse {
        let rows = try await stored(of: database.key) { try await self.store.read { try $0.allZones(in: database.id) } }
        WorkMeter.current?.add(rows: rows.count)
        let zones = try await lookupSharedZones(rows.compactMap { database.key.zoneID(ofRow: $0) }, target, by: caller).zones
        return ZonesResponse(
            zones: zones.filter { result in
                if case .failure(_, let error) = result { error.code != .zoneNotFound } else { true }
            })
    }

    /// `zones/lookup` in the shared database. The answer keeps the order asked.
    func lookupSharedZones(_ zoneIDs: [ZoneID], _ target: DatabaseTarget, by caller: Caller) async throws -> ZonesResponse {
        let asked = try await requested(zoneIDs, target, for: .read, by: caller)
        let found = try await stored { try await self.store.read { transaction in try asked.map { try $0.found(transaction) } } }
        var zones: [ZoneResult] = []
        for (zoneID, found) in zip(zoneIDs, found) {
            switch found {
            case .success(let zone): zones.append(.zone(try shown(zone)))
            case .failure(let error): zones.append(.failure(zoneID, error))
            }
        }
        return ZonesResponse(zones: zones)
    }

    /// Resolves zones that a request names, each to the database that holds it.
    package func requested(
        _ zoneIDs: [ZoneID], _ target: DatabaseTarget, for access: Access, by caller: Caller
    ) async throws -> [Result<RequestedZone, ServerError>] {
        var zones: [Result<RequestedZone, ServerError>] = []
        for zoneID in zoneIDs {
            do {
                zones.append(.success(try await database(holding: zoneID, target, for: access, by: caller).zone(zoneID)))
            } catch let error as ServerError where error.code == .zoneNotFound || error.code == .badRequest {
                zones.append(.failure(error))
            }
        }
        return zones
    }
}

extension Result<RequestedZone, ServerError> {
    /// Finds the zone. A `ServerError` becomes the result of this zone alone.
    fileprivate func found(_ transaction: any ReadTransaction) throws -> Result<ResolvedZone, ServerError> {
        do {
            let zone = try get()
            guard let found = try zone.find(transaction) else { return .failure(.zoneNotFound(zone.zoneID)) }
            return .success(found)
        } catch let error as ServerError {
            return .failure(error)
        }
    }
}

extension Cloud {
    /// Brings a zone's row in a user's shared database up to date with the zone's share: adds, marks or removes it.
    ///
    /// The share is in another database, which an engine may show as it was when the transaction began. A row that came
    /// or went is therefore checked once more afterwards. Callers call this after they change a share, so the last call
    /// agrees with the last change.
    /// - Parameters:
    ///   - author: the user and device that made the change; nil: no subscription fires.
    ///   - tookPart: the share named the user when it was read last. A row that is there is marked without another
    ///     look. A user who has left since has a task of their own.
    func settleSharedZone(
        _ name: SharedZoneName, of ownerKey: DatabaseKey, for user: String, after author: FireSubscriptions.Author?, tookPart: Bool = false
    ) async throws {
        let key = DatabaseKey(container: ownerKey.container, environment: ownerKey.environment, scope: .shared, owner: user)
        let (database, holder) = (try await databaseID(key), try await databaseID(ownerKey))
        let (now, newZone) = (clock(), Int64(bitPattern: random() >> 1))
        for _ in 0..<Self.settlingsOfSharedZone {
            let step = try await store.write { transaction in
                try transaction.settleSharedZone(name, heldBy: holder, for: user, tookPart, in: (database, key), newZone, author, at: now)
            }
            if step.hasMoved { committed(database) }
            guard step.isToBeChecked else { return }
            let agrees = try await store.read { transaction in
                try transaction.isShared(name, heldBy: holder, with: user) != transaction.zones(in: database, named: [name.text]).isEmpty
            }
            if agrees { return }
        }
    }

    /// On this server: attempts. A second one is needed only where others change the share meanwhile, and settle it
    /// too.
    private static let settlingsOfSharedZone = 4
}

extension ReadTransaction {
    /// Whether a zone is shared with a user now.
    fileprivate func isShared(_ name: SharedZoneName, heldBy holder: DatabaseID, with user: String) throws -> Bool {
        guard let zone = try zones(in: holder, named: [name.zoneName]).first else { return false }
        return try membership(of: user, in: zone.address) != nil
    }
}

extension WriteTransaction {
    fileprivate func settleSharedZone(
        _ name: SharedZoneName, heldBy holder: DatabaseID, for user: String, _ tookPart: Bool, in place: (id: DatabaseID, key: DatabaseKey),
        _ newZone: Int64, _ author: FireSubscriptions.Author?, at now: Timestamp
    ) throws -> Ending<(hasMoved: Bool, isToBeChecked: Bool)> {
        let advance = try lock(zoneNamed: nil, in: place.id, operation: nil, entries: [SubscriptionCounts.key(SubscriptionCounts.all, in: place.id)])
        let row = try zones(in: place.id, named: [name.text]).first
        let next = (advance.database?.lastSeq ?? 0) + 1
        var plan = WritePlan()
        let isShared = tookPart && row != nil ? true : try isShared(name, heldBy: holder, with: user)
        switch (isShared, row) {
        case (false, nil): return .rollback((false, false))
        case (true, let row?): plan.zonesChanged = [row.address]
        case (false, let row?): plan.add(deletionOf: row, at: next, now: now)
        case (true, nil):
            let zone = ZoneRow(
                address: ZoneAddress(database: place.id, zone: newZone), name: name.text, run: advance.run, lastSeq: advance.database?.lastSeq ?? 0)
            if advance.database == nil { plan.databases = [DatabaseRow(id: place.id, key: place.key, run: advance.run, lastSeq: 0)] }
            plan.zones = [zone]
            plan.zonesChanged = [zone.address]
        }
        if let author, !advance.entries.isEmpty {
            var caller = Caller(.user(author.user))
            caller.deviceID = author.deviceID
            plan.tasks.append(
                FireSubscriptions.task(ofZonesIn: place.id, at: ChangeNumber(run: advance.run, seq: next), by: caller, due: now))
        }
        let isMark = row != nil && plan.zoneChanges.isEmpty
        try apply(plan)
        return .commit((true, !isMark))
    }
}
