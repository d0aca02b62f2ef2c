import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Deletes a zone for a user who acts outside the app. CloudKit: a user who removes an app's data in the storage
    /// settings purges its zones. One who loses the keys of encrypted fields has the zones reset. Apps learn the reason
    /// from the database's changes.
    ///
    /// - Returns: false where the owner has no zone of that name.
    package func removeZone(
        _ name: String, of owner: String, in container: String, _ environment: DatabaseKey.Environment, because reason: ZoneRow.State
    ) async throws -> Bool {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: owner)
        let database = try await databaseID(key)
        let now = clock()
        let isGone = try await stored(of: key) {
            try await self.store.write { transaction -> Ending<Bool> in
                let entry = EntryKey(database, .zoneShare, name)
                let advance = try transaction.lock(zoneNamed: nil, in: database, operation: nil, entries: [entry])
                guard name != ZoneID.defaultZoneName, let zone = try transaction.zones(in: database, named: [name]).first else {
                    return .rollback(false)
                }
                var plan = WritePlan()
                plan.add(deletionOf: zone, at: (advance.database?.lastSeq ?? 0) + 1, now: now, reason: reason)
                if advance.entries.contains(where: { $0.isShare(of: zone) }) {
                    try plan.addEndOfSharing(of: zone, by: Caller(.user(owner)), at: now, transaction)
                }
                try transaction.apply(plan)
                return .commit(true)
            }
        }
        if isGone { committed(database) }
        return isGone
    }
}
