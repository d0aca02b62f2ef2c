package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A database as a request names it. Its owner depends on the caller.
package struct DatabaseTarget: Hashable, Sendable {
    package var container: String
    package var environment: DatabaseKey.Environment
    package var scope: DatabaseKey.Scope

    package init(container: String, environment: DatabaseKey.Environment, scope: DatabaseKey.Scope) {
        self.container = container
        self.environment = environment
        self.scope = scope
    }
}

/// An intended use of a database.
package enum Access: Hashable, Sendable, CaseIterable {
    case read
    case write
    /// Making or deleting zones.
    case zones
    /// Following the changes of the database.
    case changes
}

/// Decides whether a caller may use a database, and which one it is.
///
/// CloudKit: the public database is readable by all and writable with an account. The private one belongs to its user,
/// and the shared one holds what others share with an account. Server-to-server keys are for the public database only.
/// The public database has no custom zones and no change feeds.
package func databaseVerdict(_ target: DatabaseTarget, for access: Access, by caller: Caller) -> Result<DatabaseKey, ServerError> {
    switch (target.scope, caller.identity, access) {
    case (.registry, _, _):
        return .failure(.authenticationRequired)
    case (.public, _, .zones), (.public, _, .changes):
        return .failure(.notInPublicDatabase)
    case (.private, .serverKey, _), (.shared, .serverKey, _):
        return .failure(.keyIsForPublicDatabase)
    case (.shared, _, .zones):
        return .failure(.notInSharedDatabase)
    case (.public, .world, .write), (.private, .world, _), (.shared, .world, _):
        return .failure(caller.noUser)
    case (.public, _, _):
        return .success(DatabaseKey(container: target.container, environment: target.environment, scope: .public, owner: ""))
    case (let scope, .user(let name), _), (let scope, .serverKey(let name), _):
        return .success(DatabaseKey(container: target.container, environment: target.environment, scope: scope, owner: name))
    }
}

/// Checks that a zone ID can belong to the caller's database, whatever its name. In the public database, which has no
/// owner, the zone's owner may be the caller.
package func ownerVerdict(_ zoneID: ZoneID, in database: DatabaseKey, by caller: Caller) -> ServerError? {
    guard let owner = zoneID.ownerRecordName, owner != database.owner, owner != caller.userRecordName else { return nil }
    switch database.scope {
    case .private: return .anotherUsersZone(zoneID)
    case .public, .shared, .registry: return .zoneNotFound(zoneID)
    }
}
