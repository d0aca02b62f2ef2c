import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A schema as this process last saw it, and the database that tells whether it has changed.
package struct KnownSchema: Hashable, Sendable {
    package let schema: Schema
    /// The database of the registry that holds it.
    package let database: DatabaseID

    /// The key of its version, which a transaction reads.
    var versionKey: EntryKey { Self.versionKey(in: database) }

    static func versionKey(in database: DatabaseID) -> EntryKey { EntryKey(database, .schemaVersion, SchemaVersionEntry.key) }

    /// The key of the quota of the container's databases in this environment. The entry may not exist.
    var quotaKey: EntryKey { EntryKey(database, .quota, QuotaEntry.key) }

    /// Whether the schema knows all indexes of the zone. A save that does not know an index would leave its record out
    /// of it for ever. The number in the zone's locked row is reliable. The schema's version may be read in a state
    /// before the build's walk through the zone.
    func knowsIndexes(of zone: ZoneRow) -> Bool { schema.nextIndex >= zone.indexesBelow }

    /// - Parameter entries: the entries that a transaction read, with the schema's version among them.
    package func isCurrent(by entries: [EntryRow]) -> Bool {
        entries.first { $0.key == versionKey }?.value ?? [] == schema.entry
    }
}

/// The reasons to run a transaction that saves records again, with another schema.
package enum SchemaInterruption: Error {
    /// The schema has changed since it was read.
    case moved
    /// The schema must get these types and fields first.
    case lacks(SchemaAdditions)
}

extension Schemas {
    /// Returns the current record types of a container in one environment.
    package func schema(of container: String, _ environment: DatabaseKey.Environment) async throws -> Schema {
        try await readSchema(of: container, environment).schema
    }

    /// Reads on one snapshot, with the schema that is current in it.
    /// - Parameters:
    ///   - key: the database that is read, for the server's log.
    ///   - zone: the zone that is read, for the server's log.
    package func read<Value: Sendable>(
        of container: String, _ environment: DatabaseKey.Environment,
        met key: DatabaseKey? = nil, zone: ZoneID? = nil, _ body: @escaping @Sendable (KnownSchema, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        let database = try await schemaDatabase(of: container, environment)
        let known = memory[database]
        let (schema, value) = try await stored(of: key, zone: zone) {
            try await self.store.read { transaction -> (Schema, Value) in
                let schema = try transaction.schema(in: database, knowing: known)
                return (schema, try body(KnownSchema(schema: schema, database: database), transaction))
            }
        }
        memory.learn(schema, of: database)
        return value
    }

    /// Runs `body`, which saves records, until its schema was current and lacked nothing.
    ///
    /// The repetitions end: each one means that the schema changed, and schemas have limits.
    package func withSchema<Value>(
        of container: String, _ environment: DatabaseKey.Environment, _ body: (KnownSchema) async throws -> Value
    ) async throws -> Value {
        var known = try await knownSchema(of: container, environment)
        while true {
            do {
                return try await body(known)
            } catch SchemaInterruption.moved {
                known = try await readSchema(of: container, environment)
            } catch SchemaInterruption.lacks(let additions) {
                WorkMeter.current?.add(rows: additions.count)
                for portion in additions.portions(of: Limits.fieldsAddedAtOnce) {
                    try await changeSchema(of: container, environment) { $0.add(portion) }
                }
                known = try await knownSchema(of: container, environment)
            }
        }
    }

    /// Changes a schema in its own transaction. Writes nothing if it stays as it is, unless `note` is an undo.
    /// - Parameters:
    ///   - note: the administrator's action, for the schema's history.
    ///   - change: may run twice.
    func changeSchema<Value: Sendable>(
        of container: String, _ environment: DatabaseKey.Environment, noting note: SchemaNote? = nil,
        _ change: @escaping @Sendable (inout Schema) throws -> Value
    ) async throws -> Value {
        try await changeSchema(of: container, environment, noting: note) { schema, _ in try change(&schema) }
    }

    /// Changes a schema, with a transaction in which `change` reads other data. The schema before is read outside the
    /// write transaction, because a large one takes long.
    func changeSchema<Value: Sendable>(
        of container: String, _ environment: DatabaseKey.Environment, noting note: SchemaNote? = nil,
        _ change: @escaping @Sendable (inout Schema, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        let part = Registry.Part.schema(container: container, environment)
        let known = try await readSchema(of: container, environment).schema
        let (database, schema, value) = try await registry.write(part) { database, now, transaction -> Ending<(DatabaseID, Schema, Value)> in
            let before = try transaction.schema(in: database, knowing: known)
            var after = before
            if before.version == 0 { after.hasOlderRecords = try transaction.hasRecords(of: container, environment) }
            let value = try change(&after, transaction)
            let hasChanged =
                after.types != before.types || after.roles != before.roles || after.justInTime != before.justInTime
                || after.webhooks != before.webhooks
            guard hasChanged || note?.kind == .undo else {
                return .rollback((database, before, value))
            }
            return .commit((database, try transaction.put(after, over: before, in: database, at: now, noting: note), value))
        }
        memory.learn(schema, of: database)
        return value
    }

    /// The database of the registry that holds a schema.
    func schemaDatabase(of container: String, _ environment: DatabaseKey.Environment) async throws -> DatabaseID {
        try await databaseID(Registry.Part.schema(container: container, environment).key)
    }

    private func knownSchema(of container: String, _ environment: DatabaseKey.Environment) async throws -> KnownSchema {
        let database = try await schemaDatabase(of: container, environment)
        if let schema = memory[database] { return KnownSchema(schema: schema, database: database) }
        return try await readSchema(of: container, environment)
    }

    private func readSchema(of container: String, _ environment: DatabaseKey.Environment) async throws -> KnownSchema {
        try await read(of: container, environment) { schema, _ in schema }
    }
}
