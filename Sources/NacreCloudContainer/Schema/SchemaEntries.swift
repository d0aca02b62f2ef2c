import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// The entry that changes with every change of a schema, so that every process notices it.
package struct SchemaVersionEntry: RegistryEntry {
    package static let kind = EntryKind.schemaVersion
    package static let key = "schema"

    package var version: Int64
    package var nextIndex: Int64
    package var hasOlderRecords: Bool
    package var justInTime: JustInTime
    /// nil: it declares none.
    package var roles: [String: Int64]?
    /// nil: it never declared a role.
    package var nextRole: Int64?
    /// nil: no change since the history is kept.
    package var changes: Int64?
    /// The number of webhooks; nil: there are none.
    package var webhooks: Int?
}

extension RecordTypeDefinition: RegistryEntry {
    package static let kind = EntryKind.recordType
}

extension ReadTransaction {
    /// Whether this is the schema that a database of the registry holds.
    package func isCurrent(_ schema: Schema, in database: DatabaseID) throws -> Bool {
        try entries(in: database, .schemaVersion, keys: [SchemaVersionEntry.key]).first?.value ?? [] == schema.entry
    }

    /// Returns the schema that a database of the registry holds. Reads one row if that is `known`.
    package func schema(in database: DatabaseID, knowing known: Schema?) throws -> Schema {
        if let known, try isCurrent(known, in: database) { return known }
        return try schema(in: database)
    }

    /// Reads the whole schema that a database of the registry holds.
    package func schema(in database: DatabaseID) throws -> Schema {
        guard let row = try entries(in: database, .schemaVersion, keys: [SchemaVersionEntry.key]).first else { return Schema() }
        let entry = try SchemaVersionEntry(row)
        var schema = Schema(version: entry.version)
        schema.nextIndex = entry.nextIndex
        schema.hasOlderRecords = entry.hasOlderRecords
        schema.justInTime = entry.justInTime
        schema.roles = entry.roles ?? [:]
        schema.nextRole = entry.nextRole ?? 1
        schema.changes = entry.changes ?? 0
        schema.entry = row.value
        if entry.webhooks != nil {
            for row in try allEntries(.webhook, in: database) { schema.webhooks[row.key.key] = try Webhook(row) }
        }
        for row in try allEntries(.recordType, in: database) { schema.types[row.key.key] = try RecordTypeDefinition(row) }
        return schema
    }

    /// Whether an app saved anything in a container's environment.
    /// - Parameter most: the most zones and databases to look at. If there are as many, it returns true without looking
    ///   at the rest, and its caller may build indexes in vain.
    package func hasRecords(
        of container: String, _ environment: DatabaseKey.Environment, lookingAt most: Int = Limits.resultsPerPage
    ) throws -> Bool {
        var zonesLeft = most
        var last: DatabaseID?
        while let database = try databases(of: container, environment, after: last, limit: 1).first {
            for zone in try zones(in: database.id, after: nil, limit: min(zonesLeft, Limits.zonesPerDatabase + 1)) {
                zonesLeft -= 1
                guard let first = try records(in: zone.address, after: nil, limit: 1).first else { continue }
                // Users have records before there is any type.
                if !Names.isReserved(first.name) { return true }
                if try !records(in: zone.address, after: UserRecord.afterAllNames, limit: 1).isEmpty { return true }
            }
            zonesLeft -= 1
            guard zonesLeft > 0 else { return true }
            last = database.id
        }
        return false
    }
}

extension WriteTransaction {
    /// Writes the changes of a schema under the next version, and starts builds of indexes without rows. Looks at the
    /// changed types only, and at all types if one of these has an index.
    /// - Parameter note: the administrator's action, for the history; nil: there was none.
    /// - Returns: the schema as it is kept.
    package func put(
        _ after: Schema, over before: Schema, in database: DatabaseID, at now: Timestamp, noting note: SchemaNote? = nil,
        finishing task: TaskKey? = nil
    ) throws -> Schema {
        var kept = after
        kept.version = before.version + 1
        kept.assignments = AssignmentMemory()
        kept.dropPairs(over: before)
        let touched = Set(kept.types.keys).union(before.types.keys).filter { kept.types[$0] != before.types[$0] }
        let changesIndexed = task != nil || touched.contains { kept.types[$0]?.hasIndex == true || before.types[$0]?.hasIndex == true }
        if changesIndexed { kept.note(madeAt: now) }
        var plan = WritePlan()
        if let note { try kept.add(note, over: before, at: now, in: &plan, of: database) }
        let entry = SchemaVersionEntry(
            version: kept.version, nextIndex: kept.nextIndex, hasOlderRecords: kept.hasOlderRecords, justInTime: kept.justInTime,
            roles: kept.roles.isEmpty ? nil : kept.roles, nextRole: kept.nextRole == 1 ? nil : kept.nextRole,
            changes: kept.changes == 0 ? nil : kept.changes, webhooks: kept.webhooks.isEmpty ? nil : kept.webhooks.count)
        let row = try entry.row(SchemaVersionEntry.key, in: database)
        plan.entries.append(row)
        kept.entry = row.value
        for (name, type) in kept.types where before.types[name] != type { plan.entries.append(try type.row(name, in: database)) }
        plan.entriesRemoved += before.types.keys.filter { kept.types[$0] == nil }.map { EntryKey(database, .recordType, $0) }
        for (id, webhook) in kept.webhooks where before.webhooks[id] != webhook { plan.entries.append(try webhook.row(id, in: database)) }
        plan.entriesRemoved += before.webhooks.keys.filter { kept.webhooks[$0] == nil }.map { EntryKey(database, .webhook, $0) }
        if changesIndexed {
            let isBuilt = task?.kind == .buildIndexes
            let isToBuild = !kept.building.isSubset(of: before.building) || (isBuilt && !kept.building.isEmpty)
            if isToBuild { plan.tasks.append(BuildIndexes.task(in: database, due: now)) }
            let gone = before.indexes.subtracting(kept.indexes)
            if !gone.isEmpty { plan.tasks.append(ClearIndexes.task(for: gone, since: kept.version, in: database, due: now)) }
            let look = try dueLook(at: kept, in: database, at: now, finishing: task)
            if let look { plan.tasks.append(look) }
        }
        if let task, !plan.tasks.contains(where: { $0.key == task }) { plan.tasksFinished = [task] }
        try apply(plan)
        return kept
    }

    /// Returns the task that looks for unused indexes; nil outside development, or if none is due or one exists.
    private func dueLook(at schema: Schema, in database: DatabaseID, at now: Timestamp, finishing task: TaskKey?) throws -> TaskRow? {
        guard let look = DropIndexes.task(lookingAt: schema, in: database, from: now) else { return nil }
        guard try databases([database]).first?.key.environment == .development else { return nil }
        return try task == look.key || tasks(locking: [look.key]).isEmpty ? look : nil
    }
}

/// The schemas that this process saw last. They may be outdated: each transaction that uses one checks its version.
package final class SchemaMemory: Sendable {
    private let schemas = Locked<[DatabaseID: Schema]>([:])

    /// The most remembered schemas; then the memory starts afresh. On this server: 1000.
    private static let remembered = 1000

    package subscript(database: DatabaseID) -> Schema? {
        schemas.withLock { $0[database] }
    }

    /// Remembers a schema, unless the known one is as new.
    package func learn(_ schema: Schema, of database: DatabaseID) {
        schemas.withLock { schemas in
            if let known = schemas[database] {
                if known.version >= schema.version { return }
            } else if schemas.count >= Self.remembered {
                schemas.removeAll()
            }
            schemas[database] = schema
        }
    }
}
