import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A change of a schema by an administrator, as listed in its history.
package struct SchemaChange: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case `import`
        case index
        case deploy
        case reset
        case undo
    }

    /// The number of the change, from 1 in each environment.
    package var number: Int64
    package var kind: Kind
    package var time: Timestamp
    /// The ID and name of the management token that made it; nil: an administrator's own token.
    package var author: String?
    /// Whether an undo took it back.
    package var isUndone: Bool
    package var count: Int
    /// nil: they were too long to be kept.
    package var differences: [SchemaDifference]?
}

/// An undo of a change, done or planned.
package struct SchemaUndo: Hashable, Sendable {
    /// The number and the kind of the change.
    package var number: Int64
    package var kind: SchemaChange.Kind
    /// The differences from the schema before the undo.
    package var differences: [SchemaDifference]
}

/// The description of a change of a schema for its history.
package struct SchemaNote: Sendable {
    package var kind: SchemaChange.Kind
    /// nil: an administrator with a token of the server.
    package var author: String?
}

/// The entry of a change in the registry; see `docs/decisions/schemas.md`.
struct SchemaChangeEntry: RegistryEntry {
    package static let kind = EntryKind.schemaChange

    package var number: Int64
    package var verb: SchemaChange.Kind
    /// Seconds since 2001.
    package var time: Double
    package var author: String?
    package var count: Int
    package var differences: [SchemaDifference]?
}

extension Schema {
    /// Counts a change and adds it to the plan. Beyond `Limits.schemaChangesKept` it removes the oldest one. Leaves out
    /// a change without differences. An undo is always noted, so that its change is not undone twice.
    package mutating func add(_ note: SchemaNote, over before: Schema, at now: Timestamp, in plan: inout WritePlan, of database: DatabaseID) throws {
        let differences = before.differences(to: self)
        if differences.isEmpty, note.kind != .undo { return }
        changes = before.changes + 1
        var entry = SchemaChangeEntry(
            number: changes, verb: note.kind, time: now.secondsSince2001, author: note.author, count: differences.count, differences: differences)
        var row = try entry.row(.newestFirst(changes), in: database)
        if row.value.count > Limits.schemaChangeBytes {
            entry.differences = nil
            row = try entry.row(.newestFirst(changes), in: database)
        }
        plan.entries.append(row)
        let oldest = changes - Int64(Limits.schemaChangesKept)
        if oldest > 0 { plan.entriesRemoved.append(EntryKey(database, .schemaChange, .newestFirst(oldest))) }
    }

    /// Returns this schema without these differences: added parts go, removed ones return, changed ones are as before.
    func takingBack(_ differences: [SchemaDifference]) throws(ServerError) -> Schema {
        var wanted = self
        wanted.types[UserRecord.type] = definition(of: UserRecord.type)
        for difference in differences {
            guard let role = difference.role else { continue }
            if difference.before == nil { wanted.roles[role] = nil } else if wanted.roles[role] == nil { wanted.declare(role: role) }
        }
        let before = try SchemaText.schema(from: wanted.textOfWhatWas(in: differences))
        for difference in differences {
            guard let type = difference.recordType else { continue }
            if let field = difference.field {
                wanted.types[type]?.fields[field] = difference.before == nil ? nil : before.types[type]?.fields[field]
            } else if difference.after == "" {
                wanted.types[type] = nil
            } else if difference.before == "" {
                if wanted.types[type] == nil { wanted.types[type] = RecordTypeDefinition(name: type) }
            } else {
                wanted.types[type]?.grants = difference.before == nil ? .defaults(of: type) : before.types[type]?.grants ?? .defaults(of: type)
            }
        }
        if wanted.types.count > Limits.recordTypesPerSchema { throw .tooManyTypes }
        for type in wanted.types.values where type.fields.count > Limits.fieldsPerRecordType { throw .tooManyFields(in: type.name) }
        return wanted
    }

    /// Writes the earlier parts of the differences as a schema text, with the roles of this schema.
    private func textOfWhatWas(in differences: [SchemaDifference]) -> String {
        var items: [String: [String]] = [:]
        for difference in differences {
            guard let type = difference.recordType, let before = difference.before, !before.isEmpty else { continue }
            items[type, default: []].append(difference.field.map { "\"\($0)\" \(before)" } ?? before)
        }
        let roles = rolesInOrder.map { SchemaText.declaration(ofRole: $0) + ";\n" }
        let types = items.sorted { $0.key < $1.key }.map { "RECORD TYPE \"\($0.key)\" (\($0.value.joined(separator: ",\n")));\n" }
        return "DEFINE SCHEMA\n" + roles.joined() + types.joined()
    }
}

extension Schemas {
    /// Returns the changes of a schema by administrators, newest first: imports, indexes, deployments, resets and
    /// undos. Types and fields that came with saves are not among them.
    package func schemaHistory(of container: String, _ environment: DatabaseKey.Environment) async throws -> [SchemaChange] {
        try await registry.requireContainer(container)
        return try await read(of: container, environment) { known, transaction in try transaction.schemaChanges(in: known.database) }
    }

    /// Undoes the last change of a development schema that still stands. What came with later saves stays.
    ///
    /// Like an import, it is refused if it would remove what production has or records may use.
    /// - Parameter isDryRun: only returns what would change.
    package func undoSchemaChange(of container: String, isDryRun: Bool, by author: String? = nil) async throws -> SchemaUndo {
        try await registry.requireContainer(container)
        let production = try await schema(of: container, .production)
        let database = try await schemaDatabase(of: container, .development)
        return try await changeSchema(of: container, .development, noting: isDryRun ? nil : SchemaNote(kind: .undo, author: author)) {
            schema, transaction in
            guard let change = try transaction.schemaChanges(in: database).first(where: { $0.kind != .undo && !$0.isUndone }) else {
                throw ServerError.nothingToUndo
            }
            guard let differences = change.differences else { throw ServerError.changeTooLong(change) }
            let next = try schema.undone(
                differences, production: production, hasRecords: try transaction.hasRecords(of: container, .development, lookingAt: .max))
            let undo = SchemaUndo(number: change.number, kind: change.kind, differences: schema.differences(to: next))
            if !isDryRun { schema = next }
            return undo
        }
    }
}

extension Schema {
    fileprivate func undone(_ differences: [SchemaDifference], production: Schema, hasRecords: Bool) throws(ServerError) -> Schema {
        var next = self
        do {
            try next.become(try takingBack(differences), production: production, hasRecords: hasRecords)
        } catch {
            // The remedy of an import names the text, which an undo does not have.
            var refusal = error
            refusal.remedy =
                "So the last change stays. Take back what can go by an import: nacre schema export, then nacre schema import of what you want."
            throw refusal
        }
        return next
    }
}

extension ReadTransaction {
    /// Returns all kept changes, newest first.
    fileprivate func schemaChanges(in database: DatabaseID) throws -> [SchemaChange] {
        var undos = 0
        return try entries(in: database, .schemaChange, after: nil, limit: Limits.schemaChangesKept).map { row in
            let entry = try SchemaChangeEntry(row)
            // Each undo takes back the newest earlier change that is not undone.
            let isUndone = entry.verb != .undo && undos > 0
            if entry.verb == .undo { undos += 1 } else if isUndone { undos -= 1 }
            return SchemaChange(
                number: entry.number, kind: entry.verb, time: Timestamp(secondsSince2001: entry.time), author: entry.author, isUndone: isUndone,
                count: entry.count, differences: entry.differences)
        }
    }
}

extension ServerError {
    fileprivate static let nothingToUndo = ServerError(
        .notFound, "there is no change to undo", field: "container",
        remedy: "nacre schema history lists the changes that administrators made. What came with saves goes by nacre schema import or reset.")

    fileprivate static func changeTooLong(_ change: SchemaChange) -> ServerError {
        ServerError(
            .badRequest, "change \(change.number) is too long to be undone: \(change.count) differences were not kept", field: "container",
            remedy: "Import the schema as it was, from a file of yours: nacre schema import.")
    }
}
