import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// One difference between two schemas, in CloudKit's schema language. It is a role, a type without its fields, a type's
/// grants, or a field.
package struct SchemaDifference: Hashable, Sendable, Codable {
    /// nil for a role.
    package var recordType: String?
    /// nil for the type itself, or for its grants.
    package var field: String?
    package var role: String?
    /// A field's type and options, or a type's grants. Empty for a type and a role, nil if that side lacks it.
    package var before: String?
    package var after: String?
}

/// The changes of an import.
package struct SchemaImport: Equatable, Sendable {
    /// The differences, in the order of roles, types and fields.
    package var differences: [SchemaDifference]
    /// Queries that development has answered, and that the new schema would refuse or answer differently.
    package var broken: [BrokenQuery]
}

extension Schemas {
    /// Makes a container's development schema equal to a text: everything that the text leaves out is removed.
    ///
    /// CloudKit: an import is declarative, works on development only, and refuses to remove what production has. An
    /// import is complete or does nothing. On this server it removes a type or a field only while development has no
    /// records, which would keep values without a definition.
    /// - Parameter isDryRun: only returns what would change.
    /// - Returns: the changes, in the order of roles, types and fields, and the queries that development has answered
    ///   and would no longer answer.
    package func importSchema(
        _ text: String, to container: String, isDryRun: Bool, by author: String? = nil
    ) async throws -> SchemaImport {
        try await registry.requireContainer(container)
        let wanted = try SchemaText.schema(from: text)
        let production = try await schema(of: container, .production)
        let queries = try await recordedQueries(of: container, .development)
        return try await changeSchema(of: container, .development, noting: SchemaNote(kind: .import, author: author)) { schema, transaction in
            var next = schema
            try next.become(wanted, production: production, hasRecords: try transaction.hasRecords(of: container, .development, lookingAt: .max))
            let done = SchemaImport(
                differences: schema.differences(to: next), broken: queries.broken(by: next, after: schema, of: container))
            if !isDryRun { schema = next }
            return done
        }
    }

    /// Compares a container's schema with a text, and returns the differences. Changes and refuses nothing.
    package func differences(
        from container: String, _ environment: DatabaseKey.Environment, to text: String
    ) async throws -> [SchemaDifference] {
        try await registry.requireContainer(container)
        let wanted = try SchemaText.schema(from: text)
        return try await schema(of: container, environment).differences(to: wanted)
    }
}

extension Schema {
    /// Refuses a schema without the types that CloudKit manages. CloudKit: a text that leaves one out would delete it.
    package func requireManagedTypes() throws(ServerError) {
        if types[UserRecord.type] == nil { throw .managedTypeGoes(UserRecord.type) }
    }

    /// Takes the roles, types, grants, fields and index options of `wanted`, and no others. Indexes that stay keep
    /// their numbers, and with them their rows. Roles that stay keep their numbers, and with them their users.
    mutating func become(_ wanted: Schema, production: Schema, hasRecords: Bool) throws(ServerError) {
        try wanted.requireManagedTypes()
        for role in roles.keys.sorted() where wanted.roles[role] == nil {
            if production.roles[role] != nil { throw .activeRoleGoes(role) }
            roles[role] = nil
        }
        for role in wanted.rolesInOrder where roles[role] == nil { declare(role: role) }
        for (type, known) in types.sorted(by: { $0.key < $1.key }) where wanted.types[type] == nil {
            if type == ShareType.name { throw .managedTypeGoes(type) }
            if production.types[type] != nil { throw .activeTypeGoes(type) }
            if hasRecords { throw .usedSchemaGoes(known.name) }
            types[type] = nil
        }
        for (type, wanted) in wanted.types.sorted(by: { $0.key < $1.key }) {
            try become(wanted, deployed: production.definition(of: type)?.fields ?? [:], hasRecords: hasRecords)
        }
    }

    private mutating func become(
        _ wanted: RecordTypeDefinition, deployed: [String: FieldDefinition], hasRecords: Bool
    ) throws(ServerError) {
        let known = definition(of: wanted.name)
        var definition = RecordTypeDefinition(name: wanted.name)
        definition.grants = wanted.grants
        for (name, field) in (known?.fields ?? [:]).sorted(by: { $0.key < $1.key }) where SystemField(rawValue: name) == nil {
            guard wanted.fields[name]?.shape != field.shape else { continue }
            if deployed[name] != nil { throw .activeFieldGoes(name, of: wanted.name) }
            if hasRecords { throw .usedSchemaGoes("\(wanted.name).\(name)") }
        }
        for (name, field) in wanted.fields.sorted(by: { $0.key < $1.key }) {
            var next = known?.fields[name] ?? FieldDefinition(type: field.type, isEncrypted: field.isEncrypted)
            if next.shape != field.shape { next = FieldDefinition(type: field.type, isEncrypted: field.isEncrypted) }
            next.setOptions(field.options, nextIndex: &nextIndex)
            definition.fields[name] = next
        }
        definition.pairs = known?.pairs ?? []
        definition.refusedPairs = known?.refusedPairs ?? []
        definition.subscribed = known?.subscribed ?? []
        // A type that every schema has needs no entry.
        if types[wanted.name] != nil || definition != UserRecord.definition { types[wanted.name] = definition }
    }

    /// Returns the changes that turn this schema into the other one, in the order of roles, types and fields.
    package func differences(to other: Schema) -> [SchemaDifference] {
        let changed = Set(roles.keys).symmetricDifference(other.roles.keys).sorted().map { role in
            SchemaDifference(role: role, before: roles[role].map { _ in "" }, after: other.roles[role].map { _ in "" })
        }
        return changed
            + Set(types.keys).union(other.types.keys).union([UserRecord.type]).sorted().flatMap { type in
                let (before, after) = (definition(of: type), other.definition(of: type))
                var found: [SchemaDifference] = []
                if (before == nil) != (after == nil) {
                    found.append(SchemaDifference(recordType: type, before: before.map { _ in "" }, after: after.map { _ in "" }))
                }
                if (before?.grants ?? .defaults(of: type)) != (after?.grants ?? .defaults(of: type)) {
                    let declared = [before, after].map { $0.map { SchemaText.declarations(of: $0.grants).joined(separator: ", ") } }
                    found.append(SchemaDifference(recordType: type, before: declared[0], after: declared[1]))
                }
                for field in Set(before?.fields.keys.map(\.self) ?? []).union(after?.fields.keys.map(\.self) ?? []).sorted() {
                    let (old, new) = (before?.fields[field].map(SchemaText.declaration(of:)), after?.fields[field].map(SchemaText.declaration(of:)))
                    if old != new { found.append(SchemaDifference(recordType: type, field: field, before: old, after: new)) }
                }
                return found
            }
    }
}

extension ServerError {
    /// The text is CloudKit's.
    fileprivate static func managedTypeGoes(_ type: String) -> ServerError {
        ServerError(
            .badRequest, "invalid attempt to delete cloudkit managed record type", field: type,
            remedy: type == UserRecord.type
                ? "The text leaves \(type) out, which every schema has. Begin with what nacre schema export prints, or write "
                    + "RECORD TYPE \(type) (roles LIST<INT64>); into it."
                : "The text leaves \(type) out, which the schema has. Begin with what nacre schema export prints.")
    }

    /// The text is CloudKit's.
    fileprivate static func activeTypeGoes(_ type: String) -> ServerError {
        ServerError(
            .badRequest, "invalid attempt to delete a record type which is active in a production container", field: type,
            remedy: "A deployed type stays: write it into the text, as nacre schema export prints it.")
    }

    fileprivate static func activeRoleGoes(_ role: String) -> ServerError {
        ServerError(
            .badRequest, "invalid attempt to delete a role which is active in a production container", field: role,
            remedy: "A deployed role stays: write it into the text, as nacre schema export prints it.")
    }

    fileprivate static func activeFieldGoes(_ field: String, of type: String) -> ServerError {
        ServerError(
            .badRequest, "invalid attempt to delete or retype a field which is active in a production container", field: "\(type).\(field)",
            remedy: "A deployed field stays as it is: write it into the text, as nacre schema export prints it.")
    }

    fileprivate static func usedSchemaGoes(_ name: String) -> ServerError {
        ServerError(
            .badRequest, "invalid attempt to delete or retype what records may use", field: name,
            remedy: "Development has records. Write \(name) into the text, or reset the environment first: nacre schema reset.")
    }
}
