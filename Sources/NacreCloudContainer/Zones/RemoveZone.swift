import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// Deletes a zone for a user who acts outside the app. CloudKit: a user who removes an app's data in the storage
    /// settings purges its zones. One who loses the keys of encrypted fields has the zones reset. Apps learn the reason
    /// from the database's changes, and from the errors of requests about a purged zone.
    ///
    /// - Returns: false where the owner has no zone of that name.
    package func removeZone(
        _ name: String, of owner: String, in container: String, _ environment: DatabaseKey.Environment, because reason: ZoneRow.State
    ) async throws -> Bool {
        let key = DatabaseKey(container: container, environment: environment, scope: .private, owner: owner)
        let database = try await databaseID(key)
        let change = ZoneModification(
            operations: [ZoneOperation(.delete, ZoneID(zoneName: name))], database: database, key: key, caller: Caller(.user(owner)), now: clock(),
            newKeys: [], log: nil, handed: handed, reason: reason)
        let (_, isGone) = try await carryOut(change)
        if isGone { committed(database) }
        return isGone
    }
}
