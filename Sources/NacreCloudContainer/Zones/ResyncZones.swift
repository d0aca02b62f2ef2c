import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Expires the change tokens of a zone, those of participants too. Every device that follows the zone hears of a
    /// change, and fetches the zone from the beginning. Nothing is deleted.
    ///
    /// - Returns: false where the owner has no zone of that name.
    /// - Throws: `ServerError` for the default zone, which has no change tokens.
    package func resyncZone(
        _ name: String, of owner: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> Bool {
        let resync = try await resync(of: owner, in: container, environment)
        let isFound = try await stored(of: resync.key) {
            try await self.store.write { try resync.expireTokens(ofZoneNamed: name, isAlone: true, $0) }
        }
        if isFound { committed(resync.database) }
        return isFound
    }

    /// Expires the change tokens of a user's private database and of each zone in it. The zones follow each other, each
    /// in a transaction of its own; done again, the command expires them again.
    ///
    /// - Returns: the number of zones.
    package func resyncZones(of owner: String, in container: String, _ environment: DatabaseKey.Environment) async throws -> Int {
        let resync = try await resync(of: owner, in: container, environment)
        let zones = try await stored(of: resync.key) { try await self.store.read { try $0.allZones(in: resync.database) } }
        var count = 0
        for name in zones.map(\.name) where name != ZoneID.defaultZoneName {
            let isFound = try await stored(of: resync.key) {
                try await self.store.write { try resync.expireTokens(ofZoneNamed: name, isAlone: false, $0) }
            }
            if isFound { count += 1 }
        }
        // A database without a zone has nothing to fetch, and its feed has not moved.
        guard count > 0 else { return 0 }
        try await stored(of: resync.key) { try await self.store.write { try resync.expireTokensOfDatabase($0) } }
        committed(resync.database)
        return count
    }

    private func resync(of owner: String, in container: String, _ environment: DatabaseKey.Environment) async throws -> Resync {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: owner)
        return Resync(key: key, database: try await databaseID(key), caller: Caller(.user(owner)), now: clock(), handed: handed)
    }
}

/// One resync of a private database or a zone of it. Its transactions may run more than once.
private struct Resync: Sendable {
    var key: DatabaseKey
    var database: DatabaseID
    /// The owner, on no device: each of the owner's devices is notified.
    var caller: Caller
    var now: Timestamp
    var handed: HandedTasks

    /// Takes a change number without a record, and forgets everything up to it, as if tombstones had gone: tokens of
    /// earlier numbers expire (`ChangeToken.OfZone.isValid`).
    /// - Parameter isAlone: whether subscriptions to the zone and the database are to fire.
    func expireTokens(ofZoneNamed name: String, isAlone: Bool, _ transaction: any WriteTransaction) throws -> Ending<Bool> {
        guard name != ZoneID.defaultZoneName else { throw ServerError.noFeedInDefaultZone }
        let subscribed = SubscriptionCounts.key(SubscriptionCounts.all, in: database)
        let advance = try transaction.advance(
            zoneNamed: name, in: database, operation: nil, entries: [subscribed, EntryKey(database, .zoneShare, name)])
        guard let zone = advance.zone else { return .rollback(false) }
        var plan = WritePlan()
        plan.zoneChanges = [ZoneChange(zone.address, forgotten: zone.number)]
        plan.zonesChanged = [zone.address]
        if isAlone, advance.entries.contains(where: { $0.key == subscribed }) {
            try notify(with: FireSubscriptions.task(ofResyncOf: zone, by: caller, due: now), in: &plan, transaction)
        }
        if advance.entries.contains(where: { $0.marksSharing(of: zone) }) {
            plan.tasks.append(TellParticipants.task(ofResyncOf: zone, by: caller, due: now))
        }
        try transaction.apply(plan)
        return .commit(true)
    }

    /// Forgets all positions of the database's feed. Call it once a zone has moved since the command began: a token
    /// given before that is of an earlier position.
    func expireTokensOfDatabase(_ transaction: any WriteTransaction) throws -> Ending<Void> {
        let subscribed = SubscriptionCounts.key(SubscriptionCounts.all, in: database)
        let advance = try transaction.lock(zoneNamed: nil, in: database, operation: nil, entries: [subscribed])
        guard let row = advance.database else { return .rollback(()) }
        var plan = WritePlan()
        plan.databaseChanges = [DatabaseChange(database, forgottenSeq: row.lastSeq)]
        if !advance.entries.isEmpty {
            try notify(with: FireSubscriptions.task(ofZonesIn: database, at: row.number, by: caller, due: now), in: &plan, transaction)
        }
        try transaction.apply(plan)
        return .commit(())
    }

    private func notify(with task: TaskRow, in plan: inout WritePlan, _ transaction: any WriteTransaction) throws {
        try FireSubscriptions.requireRoom(for: FireSubscriptions.Author(caller), isOwn: true, leaving: [task], within: handed, transaction)
        plan.tasks.append(task)
    }
}
