package import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The decision on a caller's permission in a public database, and its reasons.
package struct PermissionExplanation: Hashable, Sendable {
    package var isPermitted: Bool
    package var recordType: String
    /// The creator of the record; nil if there is no record.
    package var creator: String?
    /// The caller's roles for this record, with `_creator` if the caller made it.
    package var roles: [String]
    /// The roles to which the type grants the permission.
    package var grantedTo: [String]
    /// The roles that the permission follows from; empty if it is not granted, or follows from no role.
    package var because: [String]
}

extension Cloud {
    /// Explains a permission by the rule that requests use. Costs five calls of the store.
    /// - Parameters:
    ///   - record: The record's name in the default zone; optional for `.create`.
    ///   - type: The type of a record to be made.
    /// - Throws: `NOT_FOUND` if there is no such record.
    package func explainPermission(
        _ permission: Permissions, of caller: Caller, record: String?, type: String?, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> PermissionExplanation {
        try await registry.requireContainer(container)
        let key = DatabaseKey(container: container, environment: environment, scope: .public, owner: "")
        let database = try await databaseID(key)
        return try await schemas.read(of: container, environment, met: key, zone: .defaultZone) { known, transaction in
            let zone = try transaction.zones(in: database, named: [ZoneID.defaultZoneName]).first
            let row = try record.flatMap { name in try zone.flatMap { try transaction.records(in: $0.address, named: [name]).first } }
            let stored = row.flatMap { row in zone.map { StoredRecord(row, in: $0.address, only: FieldNames([])) } }
            if let stored, stored.isDamaged { throw ServerError.recordDamaged }
            let live = stored.flatMap { $0.isThere ? $0 : nil }
            if live == nil, permission != .create { throw record == nil ? ServerError.missing("record") : ServerError.recordNotFound }
            guard let type = permission == .create ? type ?? live?.row.type : live?.row.type else { throw ServerError.missing("recordType") }
            // User records cannot be made by any caller, and in production no type can be.
            let mayBeMade = type != UserRecord.type && (environment == .development || known.schema.definition(of: type) != nil)
            let isCreator = permission != .create && (live?.isMade(by: caller) ?? false)
            let roles = try known.roles(of: caller, transaction)
            let grants = known.schema.definition(of: type)?.grants ?? .defaults(of: type)
            let held = roles.names(asCreator: isCreator)
            let isPermitted =
                grants.permissions(of: roles, asCreator: isCreator).contains(permission)
                && (permission != .create || mayBeMade)
            let grantedTo = grants.roles.filter { grants[$0].contains(permission) }
            return PermissionExplanation(
                isPermitted: isPermitted, recordType: type, creator: live?.creator, roles: held, grantedTo: grantedTo,
                because: isPermitted && !roles.mayAll ? grantedTo.filter(held.contains) : [])
        }
    }
}

extension CallerRoles {
    /// The names of the roles, in the order of their bytes.
    fileprivate func names(asCreator: Bool) -> [String] {
        var names = custom.union([Grants.worldRole])
        if isSignedIn { names.insert(Grants.signedInRole) }
        if asCreator { names.insert(Grants.creatorRole) }
        return names.sorted { ByteOrder.compare($0, $1) < 0 }
    }
}
