package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A database as its caller may use it. Only this file decides which zone a request means, where its rows are, and what
/// the caller sees of it.
package struct CallerDatabase: Sendable {
    /// The key under which its rows are stored.
    package let id: DatabaseID
    package let key: DatabaseKey
    package let caller: Caller
    package let readRule: ReadRule
    /// Makes the URLs of its assets.
    package let links: AssetLinks
    /// Whether the database belongs to another user, and the caller sees the zones that are shared with them.
    var isOthers = false

    /// Returns the database with its schema and the roles of its caller.
    package func knowing(_ schema: Schema, _ roles: CallerRoles) -> CallerDatabase {
        guard readRule.wantsSchema else { return self }
        return CallerDatabase(id: id, key: key, caller: caller, readRule: ReadRule(schema, roles), links: links, isOthers: isOthers)
    }

    /// Returns the database with the caller's roles from a snapshot, which reads them only if they count and the schema
    /// declares roles.
    package func knowing(_ known: KnownSchema, _ transaction: any ReadTransaction) throws -> CallerDatabase {
        readRule.wantsSchema ? knowing(known.schema, try known.roles(of: caller, transaction)) : self
    }

    /// Resolves a zone ID of a request.
    /// - Throws: `ServerError` if a zone of its owner cannot be in this database, whatever its name.
    package func zone(_ zoneID: ZoneID) throws(ServerError) -> RequestedZone {
        WorkMeter.current?.note(zone: zoneID.zoneName)
        if let fault = ownerVerdict(zoneID, in: key, by: caller) { throw fault }
        return RequestedZone(zoneID: zoneID, database: self)
    }

    /// How records of the database's zone with that name are shown.
    package func showing(zoneNamed name: String, as membership: ZoneMembership = .owner) -> ShownRecords {
        ShownRecords(zoneID: key.zoneID(name), database: key, caller: caller, rule: membership.narrowing(readRule), databaseID: id, links: links)
    }

    /// Resolves a zone of the caller's own database that a transaction did not find by its name.
    package func resolve(_ row: ZoneRow) -> ResolvedZone {
        ResolvedZone(row: row, membership: .owner, showing: showing(zoneNamed: row.name))
    }
}

/// A zone of a caller's database, as a request names it. It may not exist.
package struct RequestedZone: Sendable {
    package let zoneID: ZoneID
    package let database: CallerDatabase

    package var name: String { zoneID.zoneName }
    package var showing: ShownRecords { database.showing(zoneNamed: name) }
    /// CloudKit: custom zones have a feed of changes; the default zone and the public database have none.
    package var hasFeed: Bool { database.key.hasFeed(inZoneNamed: name) }

    /// Looks the zone up, with one call of the store.
    /// - Returns: nil for a default zone in which nothing was saved yet.
    /// - Throws: `ServerError.zoneNotFound`, or an error of the store.
    package func find(_ transaction: any ReadTransaction) throws -> ResolvedZone? {
        try resolve(transaction.zones(in: database.id, named: [name]).first, transaction)
    }

    /// Decides whether a caller may use a zone; no other code does. In another user's database it reads the zone's
    /// share, with one call of the store, or the shares of records, with three. A zone that is not shared with the
    /// caller counts as missing. See `docs/decisions/shares.md`. A missing zone of the caller's own costs one call: its
    /// error says whether the caller purged it.
    /// - Parameter row: The row that the transaction found under the zone's name.
    /// - Returns: nil for a default zone in which nothing was saved yet.
    package func resolve(_ row: ZoneRow?, _ transaction: any ReadTransaction) throws -> ResolvedZone? {
        if database.isOthers {
            guard let row, let user = database.caller.userRecordName, let membership = try transaction.membership(of: user, in: row.address) else {
                throw ServerError.zoneNotFound(zoneID)
            }
            return ResolvedZone(row: row, membership: membership, showing: database.showing(zoneNamed: name, as: membership))
        }
        if let row { return database.resolve(row) }
        if zoneID.isDefault, database.key.scope != .shared { return nil }
        guard database.key.scope == .private else { throw ServerError.zoneNotFound(zoneID) }
        throw try transaction.error(ofMissing: zoneID, in: database.id)
    }
}

/// A zone that a transaction found: its row, and the caller's view of it.
package struct ResolvedZone: Sendable {
    package let row: ZoneRow
    let membership: ZoneMembership
    package let showing: ShownRecords

    package var address: ZoneAddress { row.address }
}

extension Cloud {
    /// The database that a request names, if its caller may use it in this way. Costs a call of the store the first
    /// time that this process meets it.
    /// - Throws: `ServerError`.
    package func database(_ target: DatabaseTarget, for access: Access, by caller: Caller) async throws -> CallerDatabase {
        let key = try databaseVerdict(target, for: access, by: caller).get()
        return CallerDatabase(
            id: try await databaseID(key), key: key, caller: caller, readRule: bounds.readRule.or(ruleOf: key, for: caller), links: assetLinks)
    }

    /// The database that holds a zone of a request. It is the caller's own, or in a request to the shared database that
    /// of the zone's owner. Costs a call of the store the first time that this process meets it.
    /// - Throws: `ServerError`.
    package func database(
        holding zoneID: ZoneID, _ target: DatabaseTarget, for access: Access, by caller: Caller
    ) async throws -> CallerDatabase {
        let key = try databaseVerdict(target, for: access, by: caller).get()
        guard key.scope == .shared else { return try await database(target, for: access, by: caller) }
        guard let owner = zoneID.ownerRecordName, owner != key.owner, Names.isName(owner) else { throw ServerError.zoneNotFound(zoneID) }
        let held = DatabaseKey(container: key.container, environment: key.environment, scope: .private, owner: owner)
        return CallerDatabase(
            id: try await databaseID(held), key: held, caller: caller, readRule: bounds.readRule.or(ruleOf: held, for: caller), links: assetLinks,
            isOthers: true)
    }

    /// Reads a caller's view of a database on one snapshot. `body` gets the database with the grants and the caller's
    /// roles of that snapshot. Costs a call of the store in a public database, and one more if its schema declares
    /// roles.
    /// - Parameter zone: The zone that is read, for the server's log.
    package func read<Value: Sendable>(
        _ database: CallerDatabase, zone: ZoneID, _ body: @escaping @Sendable (CallerDatabase, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        let key = database.key
        guard database.readRule.wantsSchema else {
            return try await stored(of: key, zone: zone) { try await self.store.read { try body(database, $0) } }
        }
        return try await schemas.read(of: key.container, key.environment, met: key, zone: zone) { known, transaction in
            try body(database.knowing(known, transaction), transaction)
        }
    }
}
