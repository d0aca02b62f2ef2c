import CloudWire

extension Cloud {
    /// Gives a field of a development schema these index options and no others. Records that are there get their rows by a task, and queries
    /// use an index once it is built.
    ///
    /// CloudKit: indexes of a production schema come with a deployment.
    /// - Parameter field: a field of the type, or a system field by its name in schemas or on the web.
    /// - Returns: the field's name in the schema.
    package func setIndexes(
        _ options: IndexOptions, of type: String, field: String, in container: String
    ) async throws -> String {
        try await requireContainer(container)
        return try await changeSchema(of: container, .development) { try $0.setIndexes(options, of: type, field: field) }
    }

    /// The schema of a container that is there.
    package func administeredSchema(of container: String, _ environment: DatabaseKey.Environment) async throws -> Schema {
        try await requireContainer(container)
        return try await schema(of: container, environment)
    }

    /// - Throws: `ServerError.noContainer`.
    package func requireContainer(_ name: String) async throws {
        guard try await container(name) != nil else { throw ServerError.noContainer }
    }
}

extension Schema {
    /// - Returns: the field's name in the schema.
    mutating func setIndexes(_ options: IndexOptions, of type: String, field name: String) throws(ServerError) -> String {
        guard var definition = types[type] else { throw .noSuchType(type) }
        let field: String
        var next: FieldDefinition
        if let known = definition.fields[name] {
            (field, next) = (name, known)
        } else if let system = SystemField(rawValue: name) ?? SystemField.allCases.first(where: { $0.webName == name }) {
            field = system.rawValue
            next = definition.fields[field] ?? FieldDefinition(type: system.type)
        } else {
            throw .noSuchField(name, in: type)
        }
        let impossible = options.subtracting(.possible(for: next.shape))
        guard impossible.isEmpty else { throw .impossibleIndexes(impossible, of: field, shape: next.shape) }
        next.setOptions(options, as: .building, nextIndex: &nextIndex)
        let isBareSystemField = options.isEmpty && SystemField(rawValue: field) != nil
        definition.fields[field] = isBareSystemField ? nil : next
        types[type] = definition
        return field
    }
}

extension ServerError {
    fileprivate static func noSuchType(_ type: String) -> ServerError {
        ServerError(
            .notFound, "Did not find record type: \(type)", internalCode: 2003, field: "recordType",
            remedy: "Names are case-sensitive. A type is there once a record of it was saved in development.")
    }

    fileprivate static func noSuchField(_ field: String, in type: String) -> ServerError {
        ServerError(
            .badRequest, "Unknown field '\(field)'", field: "field",
            remedy: "Name a field of \(type), or a system field such as ___recordID or ___createTime.")
    }

    fileprivate static func impossibleIndexes(_ options: IndexOptions, of field: String, shape: FieldShape) -> ServerError {
        let wanted = options.names.joined(separator: " and ").lowercased()
        let possible = IndexOptions.possible(for: shape).names
        let remedy = possible.isEmpty ? "It cannot be indexed." : "It can be \(possible.joined(separator: ", ").lowercased())."
        return ServerError(
            .badRequest, "Field '\(field)' has a value type of \(shape.name) and cannot be \(wanted)", field: "field", remedy: remedy)
    }
}
