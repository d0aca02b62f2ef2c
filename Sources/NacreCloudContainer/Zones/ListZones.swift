package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `zones/list`: returns the default zone and all others, by name.
    /// - Parameter wantsDetails: also returns which zones are shared as a whole. In a private database that costs
    ///   another call of the store.
    package func listZones(in target: DatabaseTarget, by caller: Caller, wantsDetails: Bool = false) async throws -> ZonesResponse {
        let database = try await database(target, for: .read, by: caller)
        let key = database.key
        if key.scope == .shared { return try await listSharedZones(in: database, target, by: caller) }
        let (rows, shares) = try await stored(of: key) {
            try await self.store.read { transaction -> ([ZoneRow], [EntryRow]) in
                let rows = try transaction.allZones(in: database.id)
                guard wantsDetails, key.scope == .private, !rows.isEmpty else { return (rows, []) }
                return (rows, try transaction.entries(in: database.id, .zoneShare, after: nil, limit: Limits.zonesPerList + 2))
            }
        }
        let custom = try rows.filter { $0.name != ZoneID.defaultZoneName }.map { ZoneResult.zone(try shown($0, of: database, shares)) }
        return ZonesResponse(zones: [.zone(defaultZone(in: key))] + custom)
    }

    /// `zones/lookup`: returns zones by name, in the order asked; a missing one is an error of its own.
    package func lookupZones(_ request: ZonesLookupRequest, in target: DatabaseTarget, by caller: Caller) async throws -> ZonesResponse {
        let database = try await database(target, for: .read, by: caller)
        let key = database.key
        if let fault = RequestShape.fault(count: request.zones.count, field: "zones", by: caller) { throw fault }
        if let fault = RequestShape.fault(ofZones: request.zones, field: "zones", in: key, by: caller) { throw fault }
        if key.scope == .shared { return try await lookupSharedZones(request.zones, target, by: caller) }
        let names = request.zones.map(\.zoneName)
        let wantsShares = request.extension.wantsDetails && key.scope == .private
        let (found, purged, shares) = try await stored(of: key) {
            try await self.store.read { transaction -> ([String: ZoneRow], [String: ZoneRow.State], [EntryRow]) in
                let rows = try transaction.zones(in: database.id, named: names)
                let found = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
                let missing = key.scope == .private ? names.filter { found[$0] == nil && $0 != ZoneID.defaultZoneName } : []
                let purged = try transaction.purgedZones(among: missing, in: database.id)
                guard wantsShares, !rows.isEmpty else { return (found, purged, []) }
                return (found, purged, try transaction.entries(in: database.id, .zoneShare, keys: rows.map(\.name)))
            }
        }
        return ZonesResponse(
            zones: try request.zones.map { zoneID in
                do {
                    guard case let named = try database.zone(zoneID), !zoneID.isDefault else { return .zone(defaultZone(in: key)) }
                    guard let row = found[named.name] else { throw ServerError.zoneNotFound(zoneID, end: purged[named.name]) }
                    return .zone(try shown(row, of: database, shares))
                } catch let fault as ServerError {
                    return .failure(key.shown(zoneID), fault)
                }
            })
    }

    /// Returns a zone as clients see it: custom zones are atomic and have a feed.
    package func shown(_ zone: ResolvedZone) throws -> Zone {
        Zone(
            zoneID: zone.showing.zoneID, syncToken: try tokens.seal(ChangeToken.caughtUp(with: zone.row, views: zone.membership.views).bytes),
            atomic: true, isSharedWhole: zone.membership.isOfWholeZone)
    }

    /// Returns a zone of the caller's own database as clients see it.
    /// - Parameter shares: entries, among which is the zone's own where it is shared.
    private func shown(_ row: ZoneRow, of database: CallerDatabase, _ shares: [EntryRow]) throws -> Zone {
        var zone = try shown(database.resolve(row))
        zone.isSharedWhole = shares.contains { $0.isShare(of: row) }
        return zone
    }

    /// Returns the default zone. CloudKit: it exists without being saved, and has neither batches nor a feed.
    package func defaultZone(in key: DatabaseKey) -> Zone {
        Zone(zoneID: key.zoneID(ZoneID.defaultZoneName), syncToken: nil, atomic: false)
    }
}

extension ReadTransaction {
    /// Returns all live zones of a database, by name. See `docs/decisions/zones-feeds.md`.
    /// - Throws: `ServerError` when there are more than one answer may have.
    func allZones(in database: DatabaseID) throws -> [ZoneRow] {
        // The default zone may come on top of the most that can be made.
        let rows = try zones(in: database, after: nil, limit: Limits.zonesPerList + 2)
        guard rows.count <= Limits.zonesPerList + 1 else { throw ServerError.tooManyZones }
        return rows
    }
}
