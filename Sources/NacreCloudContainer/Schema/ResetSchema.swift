import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The parts that a reset of a development environment removes.
package struct SchemaReset: Hashable, Sendable {
    /// Roles that production does not have. Roles that it has stay, but their users lose them.
    package var roles: [String] = []
    /// Types that production does not have, and below all fields that it does not have, as `Type.field`. Both sorted.
    package var types: [String]
    package var fields: [String]
    /// The number of databases whose records and zones are removed.
    package var databases: Int
}

extension Cloud {
    /// Gives a container's development environment the schema of its production, and removes its records.
    ///
    /// CloudKit: "Reset Environment" of its console. All records and zones of development are removed, of all users,
    /// who get new user records afterwards. Production is not touched. Records are removed first, each database in a
    /// transaction of its own. An interrupted reset can be run again.
    /// - Parameter isDryRun: only returns what would be removed.
    package func resetSchema(of container: String, isDryRun: Bool, by author: String? = nil) async throws -> SchemaReset {
        try await registry.requireContainer(container)
        let production = try await schemas.schema(of: container, .production)
        var reset = try await schemas.schema(of: container, .development).lost(to: production)
        var last: DatabaseID?
        var users: [String] = []
        while let row = try await nextDatabase(of: container, .development, after: last) {
            last = row.id
            if row.key.scope == .registry { continue }
            let isEmpty = isDryRun ? try await !hasZones(row) : try await !clear(row)
            if isEmpty { continue }
            reset.databases += 1
            // An empty one belongs to a deleted account, or its owner gets the records with the next visit.
            if row.key.scope == .private { users.append(row.key.owner) }
        }
        if isDryRun { return reset }
        admitted.removeAll()
        try await replaceSchema(of: container, with: production, by: author)
        for user in users { try await admit(user, to: container, .development) }
        return reset
    }

    func nextDatabase(of container: String, _ environment: DatabaseKey.Environment, after last: DatabaseID?) async throws -> DatabaseRow? {
        try await stored {
            try await self.store.read { try $0.databases(of: container, environment, after: last, limit: 1).first }
        }
    }

    private func hasZones(_ row: DatabaseRow) async throws -> Bool {
        try await stored { try await self.store.read { try !$0.zones(in: row.id, after: nil, limit: 1).isEmpty } }
    }

    /// Deletes all zones of a database, the default one too, and all subscriptions. Returns whether there were any.
    package func clear(_ row: DatabaseRow) async throws -> Bool {
        let now = clock()
        var cleared = false
        while let moved = try await deleteZones(of: row, at: now) {
            cleared = true
            if moved { committed(row.id) }
        }
        while try await stored({ try await self.store.write { .commit(try $0.removeSubscriptions(of: nil, from: row.id)) } }) { cleared = true }
        while try await stored({ try await self.store.write { .commit(try $0.forgetPurgedZones(of: row.id)) } }) { cleared = true }
        while try await stored({ try await self.store.write { .commit(try $0.forgetWebhookChanges(of: row.id)) } }) { cleared = true }
        return cleared
    }

    /// Deletes some zones of a database.
    /// - Returns: nil if there are none, otherwise whether its feed changed.
    private func deleteZones(of row: DatabaseRow, at now: Timestamp) async throws -> Bool? {
        try await schemas.withSchema(of: row.key.container, row.key.environment) { schema in
            try await stored { try await self.store.write { try $0.deleteZones(of: row.id, with: schema, at: now) } }
        }
    }

    /// Replaces the development schema by production's. Looks for records again: records saved during the reset have no
    /// rows in the new indexes.
    private func replaceSchema(of container: String, with production: Schema, by author: String?) async throws {
        let part = Registry.Part.schema(container: container, .development)
        let (database, schema) = try await registry.write(part) { database, now, transaction -> Ending<(DatabaseID, Schema)> in
            let before = try transaction.schema(in: database)
            var after = before
            after.types = [:]
            // Roles come back under new numbers, so that their former users do not have them.
            after.roles = [:]
            after.hasOlderRecords = try transaction.hasRecords(of: container, .development)
            _ = try after.deploy(production)
            return .commit(
                (database, try transaction.put(after, over: before, in: database, at: now, noting: SchemaNote(kind: .reset, author: author))))
        }
        schemas.memory.learn(schema, of: database)
    }
}

extension Schema {
    /// Returns the parts that are lost if this schema becomes the other one.
    fileprivate func lost(to other: Schema) -> SchemaReset {
        let gone = differences(to: other).filter { $0.after == nil }
        let fields = gone.compactMap { gone -> String? in
            guard let type = gone.recordType, let field = gone.field, SystemField(rawValue: field) == nil else { return nil }
            return "\(type).\(field)"
        }
        let types = gone.filter { $0.field == nil && $0.before == "" }.compactMap(\.recordType)
        return SchemaReset(roles: gone.compactMap(\.role), types: types, fields: fields, databases: 0)
    }
}

extension WriteTransaction {
    /// Deletes some zones of a database. Returns nil if there are none, otherwise whether its feed changed.
    fileprivate func deleteZones(of database: DatabaseID, with schema: KnownSchema, at now: Timestamp) throws -> Ending<Bool?> {
        let advance = try lock(zoneNamed: nil, in: database, operation: nil, entries: [schema.versionKey])
        guard let row = advance.database else { return .rollback(nil) }
        guard schema.isCurrent(by: advance.entries) else { throw SchemaInterruption.moved }
        let zones = try zones(in: database, after: nil, limit: Limits.resultsPerPage)
        if zones.isEmpty { return .rollback(nil) }
        var plan = WritePlan()
        var lastSeq = row.lastSeq
        for zone in zones {
            // The lock includes what was saved into the zone meanwhile.
            guard let zone = try lock(zoneNamed: zone.name, in: database).zone else { continue }
            let hasFeed = row.key.hasFeed(inZoneNamed: zone.name)
            plan.add(deletionOf: zone, at: row.lastSeq + 1, now: now, isToldOf: hasFeed)
            try plan.add(
                endOf: zone, as: .deleted, for: schema.schema.webhooks(watching: row.key, zoneNamed: zone.name), at: now, self)
            if hasFeed, row.key.scope == .private {
                try plan.addEndOfSharing(of: zone, by: Caller(.user(row.key.owner)), at: now, self)
            }
            // A new zone of this name starts above that number, so that no change tag is ever used twice.
            if !hasFeed { lastSeq = max(lastSeq, zone.lastSeq) }
        }
        plan.databaseChanges.append(DatabaseChange(database, lastSeq: lastSeq))
        try apply(plan)
        return .commit(!plan.zonesChanged.isEmpty)
    }
}
