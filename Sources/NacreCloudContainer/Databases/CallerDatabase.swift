import NacreCloudWire

/// A database as its caller may use it. Which zone a request means, where its rows are, and what of it the caller sees is asked here, and nowhere
/// else.
package struct CallerDatabase: Sendable {
    /// Where its own rows are kept.
    package let id: DatabaseID
    let key: DatabaseKey
    let caller: Caller
    let readRule: ReadRule
    /// Makes the URLs of its assets.
    let links: AssetLinks
    /// It is another user's, of which the caller sees the zones that are shared with them.
    var isOthers = false

    /// The same, once its schema and the roles of its caller are known.
    func knowing(_ schema: Schema, _ roles: CallerRoles) -> CallerDatabase {
        guard readRule.wantsSchema else { return self }
        return CallerDatabase(id: id, key: key, caller: caller, readRule: ReadRule(schema, roles), links: links, isOthers: isOthers)
    }

    /// The same on a snapshot, which has the roles of the caller: it is asked for them where they count and the schema declares some.
    func knowing(_ known: KnownSchema, _ transaction: any ReadTransaction) throws -> CallerDatabase {
        readRule.wantsSchema ? knowing(known.schema, try known.roles(of: caller, transaction)) : self
    }

    /// - Throws: `ServerError` where a zone of that owner cannot be one of this database, whatever its name.
    func zone(_ zoneID: ZoneID) throws(ServerError) -> RequestedZone {
        WorkMeter.current?.note(zone: zoneID.zoneName)
        if let fault = ownerVerdict(zoneID, in: key, by: caller) { throw fault }
        return RequestedZone(zoneID: zoneID, database: self)
    }

    /// How records of its zone of that name are shown.
    func showing(zoneNamed name: String, as seat: ZoneSeat = .owner) -> ShownRecords {
        ShownRecords(zoneID: key.zoneID(name), database: key, caller: caller, rule: seat.narrowing(readRule), databaseID: id, links: links)
    }

    /// A zone of the caller's own database that a transaction found by other means than its name.
    func resolve(_ row: ZoneRow) -> ResolvedZone {
        ResolvedZone(row: row, seat: .owner, showing: showing(zoneNamed: row.name))
    }
}

/// A zone of a caller's database, as a request names it. Nothing is known yet of whether it is there.
struct RequestedZone: Sendable {
    let zoneID: ZoneID
    let database: CallerDatabase

    var name: String { zoneID.zoneName }
    var showing: ShownRecords { database.showing(zoneNamed: name) }
    /// CloudKit: custom zones have a feed of changes; the default zone and the public database have none.
    var hasFeed: Bool { database.key.hasFeed(inZoneNamed: name) }

    /// Looks for it, with one call of the store.
    /// - Returns: nil for a default zone in which nothing was saved yet.
    /// - Throws: `ServerError.zoneNotFound`; what the store throws.
    func find(_ transaction: any ReadTransaction) throws -> ResolvedZone? {
        try resolve(transaction.zones(in: database.id, named: [name]).first, transaction)
    }

    /// The one place where it is decided whether a caller may use a zone. Of another user's database it reads the zone's share, with one call of the
    /// store, or those of records, with three; a zone that is not shared with the caller is not there. See `docs/decisions/sharing.md`.
    /// - Parameter row: what the transaction found under its name.
    /// - Returns: nil for a default zone in which nothing was saved yet.
    func resolve(_ row: ZoneRow?, _ transaction: any ReadTransaction) throws -> ResolvedZone? {
        if database.isOthers {
            guard let row, let user = database.caller.userRecordName, let seat = try transaction.seat(of: user, in: row.address) else {
                throw ServerError.zoneNotFound(zoneID)
            }
            return ResolvedZone(row: row, seat: seat, showing: database.showing(zoneNamed: name, as: seat))
        }
        if let row { return database.resolve(row) }
        guard zoneID.isDefault, database.key.scope != .shared else { throw ServerError.zoneNotFound(zoneID) }
        return nil
    }
}

/// A zone that a transaction found: its row, and what its caller sees of it.
struct ResolvedZone: Sendable {
    let row: ZoneRow
    let seat: ZoneSeat
    let showing: ShownRecords

    var address: ZoneAddress { row.address }
}

extension Cloud {
    /// The database that a request names, where its caller may use it so. Costs a call of the store the first time that this process hears of it.
    /// - Throws: `ServerError`.
    package func database(_ target: DatabaseTarget, for access: Access, by caller: Caller) async throws -> CallerDatabase {
        let key = try databaseVerdict(target, for: access, by: caller).get()
        return CallerDatabase(
            id: try await databaseID(key), key: key, caller: caller, readRule: readRule.or(ruleOf: key, for: caller), links: assetLinks)
    }

    /// The database that holds a zone which a request names: the caller's own, or that of the zone's owner where the request is to the shared database.
    /// Costs a call of the store the first time that this process hears of it.
    /// - Throws: `ServerError`.
    func database(
        holding zoneID: ZoneID, _ target: DatabaseTarget, for access: Access, by caller: Caller
    ) async throws -> CallerDatabase {
        let key = try databaseVerdict(target, for: access, by: caller).get()
        guard key.scope == .shared else { return try await database(target, for: access, by: caller) }
        guard let owner = zoneID.ownerRecordName, owner != key.owner, Names.isName(owner) else { throw ServerError.zoneNotFound(zoneID) }
        let held = DatabaseKey(container: key.container, environment: key.environment, scope: .private, owner: owner)
        return CallerDatabase(
            id: try await databaseID(held), key: held, caller: caller, readRule: readRule.or(ruleOf: held, for: caller), links: assetLinks,
            isOthers: true)
    }

    /// Reads on one snapshot what a caller sees of a database: `body` gets it with the grants and the caller's roles of that very snapshot. Costs a
    /// call of the store in a public database, and one more where its schema declares roles.
    /// - Parameter zone: that is read, for the server's log.
    func read<Value: Sendable>(
        _ database: CallerDatabase, zone: ZoneID, _ body: @escaping @Sendable (CallerDatabase, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        let key = database.key
        guard database.readRule.wantsSchema else {
            return try await stored(of: key, zone: zone) { try await self.store.read { try body(database, $0) } }
        }
        return try await registry.read(of: key.container, key.environment, met: key, zone: zone) { known, transaction in
            try body(database.knowing(known, transaction), transaction)
        }
    }
}
