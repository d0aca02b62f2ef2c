import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A field's index options before and after a change.
package struct IndexChange: Hashable, Sendable {
    /// The field's name in the schema.
    package var field: String
    package var fieldType: FieldType
    package var before: IndexOptions
    package var after: IndexOptions
    /// Whether the change added the field.
    package var isNewField = false
}

extension Schemas {
    /// Gives a field of a development schema exactly these index options. Its indexes are made when queries need them.
    ///
    /// CloudKit: indexes of a production schema come with a deployment.
    /// - Parameters:
    ///   - options: nil leaves them as they are; a new field then has none.
    ///   - field: a field of the type, or a system field by its name in schemas or on the web.
    ///   - fieldType: makes the field, and its record type, if they do not exist yet.
    ///   - isNow: makes all indexes that the field's options allow. A task writes the rows of existing records.
    ///   - isPinned: whether its made indexes stay even if unused; nil leaves that as it is.
    package func setIndexes(
        _ options: IndexOptions?, of type: String, field: String, as fieldType: FieldType? = nil, isNow: Bool = false,
        isPinned: Bool? = nil, in container: String, by author: String? = nil
    ) async throws -> IndexChange {
        if isNow, options?.isEmpty == true { throw ServerError.isMadeAndTakenAway }
        try await registry.requireContainer(container)
        return try await changeSchema(of: container, .development, noting: SchemaNote(kind: .index, author: author)) { schema in
            let change = try schema.setIndexes(options, of: type, field: field, as: fieldType)
            if isNow { schema.make(IndexKind.allCases.map { FieldIndex(type: type, field: change.field, kind: $0) }) }
            if let isPinned { try schema.pin(isPinned, schema.types[type]?.fields[change.field]?.indexes ?? [], of: change.field) }
            return change
        }
    }

    /// Makes, pins or refuses an index of two fields.
    ///
    /// - Parameters:
    ///   - name: `first+second`: the field that queries compare for equality, and the one that they sort by.
    ///   - isRefused: removes the index, and queries no longer have it made. `isNow` ends the refusal and makes it.
    package func setPairIndex(
        named name: String, of type: String, isRefused: Bool, isNow: Bool = false, isPinned: Bool? = nil, in container: String,
        by author: String? = nil
    ) async throws {
        try await registry.requireContainer(container)
        try await changeSchema(of: container, .development, noting: SchemaNote(kind: .index, author: author)) { schema in
            try schema.setPair(named: name, of: type, isRefused: isRefused, isNow: isNow)
            let made = schema.types[type]?.pairs.filter { $0.name == name }.map(\.definition) ?? []
            if let isPinned { try schema.pin(isPinned, made, of: name) }
        }
    }

    /// Sets whose saves may add types and fields to the development schema.
    /// - Returns: the choice before.
    package func setJustInTime(_ choice: JustInTime, of container: String) async throws -> JustInTime {
        try await registry.requireContainer(container)
        return try await changeSchema(of: container, .development) { schema in
            defer { schema.justInTime = choice }
            return schema.justInTime
        }
    }

    /// Returns the schema of an existing container.
    package func administeredSchema(of container: String, _ environment: DatabaseKey.Environment) async throws -> Schema {
        try await registry.requireContainer(container)
        return try await schema(of: container, environment)
    }
}

extension Schema {
    package mutating func setIndexes(
        _ options: IndexOptions?, of type: String, field name: String, as fieldType: FieldType? = nil
    ) throws(ServerError) -> IndexChange {
        var definition: RecordTypeDefinition
        if let known = self.definition(of: type) {
            definition = known
        } else {
            guard fieldType != nil else { throw .noSuchType(type) }
            if let fault = Names.recordTypeFault(type) { throw fault }
            if types.count >= Limits.recordTypesPerSchema { throw .tooManyTypes }
            definition = .new(type)
        }
        var (field, next, isNewField) = (name, FieldDefinition(type: fieldType ?? .unknownList), false)
        if let known = definition.fields[name] {
            next = known
        } else if let system = SystemField(rawValue: name) ?? SystemField.allCases.first(where: { $0.webName == name }) {
            field = system.rawValue
            next = definition.fields[field] ?? FieldDefinition(type: system.type)
        } else {
            guard fieldType != nil else { throw .noSuchField(name, in: type) }
            if let fault = Names.fieldNameFault(name) { throw fault }
            if definition.fields.count >= Limits.fieldsPerRecordType { throw .tooManyFields(in: type) }
            isNewField = true
        }
        if let fieldType, fieldType != next.type { throw .fieldKeepsType(field, in: type, definedAs: next.shape) }
        var change = IndexChange(field: field, fieldType: next.type, before: next.options, after: next.options, isNewField: isNewField)
        guard let options = options ?? (isNewField ? [] : nil) else { return change }
        if type == UserRecord.type, !options.isEmpty { throw .usersAreNotIndexed }
        let impossible = options.subtracting(.possible(for: next.shape))
        guard impossible.isEmpty else { throw .impossibleIndexes(impossible, of: field, shape: next.shape) }
        next.setOptions(options, nextIndex: &nextIndex)
        let isBareSystemField = options.isEmpty && SystemField(rawValue: field) != nil
        definition.fields[field] = isBareSystemField ? nil : next
        types[type] = definition
        change.after = options
        return change
    }
}

extension Schema {
    fileprivate mutating func pin(_ isPinned: Bool, _ indexes: [IndexDefinition], of field: String) throws(ServerError) {
        if indexes.isEmpty { throw .noIndex(of: field) }
        change(Set(indexes.map(\.index))) { $0?.isPinned = isPinned }
    }

    fileprivate mutating func setPair(named name: String, of type: String, isRefused: Bool, isNow: Bool) throws(ServerError) {
        guard var definition = types[type] else { throw .noSuchType(type) }
        guard let pair = FieldPair(type: type, named: name) else { throw .noPair(name) }
        for field in [pair.first, pair.second] where definition.fields[field] == nil { throw .noSuchField(field, in: type) }
        if isRefused {
            if isNow { throw .isMadeAndTakenAway }
            guard definition.refusedPairs.contains(name) || definition.allowsPair(pair.first, pair.second) else { throw .noPair(name) }
            definition.pairs.removeAll { $0.name == name }
            definition.refusedPairs.insert(name)
        } else if isNow {
            definition.refusedPairs.remove(name)
            guard definition.allowsPair(pair.first, pair.second) else { throw .noPair(name) }
            let isMade = definition.pairs.contains { $0.name == name }
            guard isMade || definition.pairs.count < Limits.pairIndexesPerType else { throw .tooManyPairs(in: type) }
            definition.makePair(pair.first, pair.second, nextIndex: &nextIndex)
        }
        types[type] = definition
    }
}

extension ServerError {
    fileprivate static func noIndex(of field: String) -> ServerError {
        ServerError(
            .badRequest, "No index of '\(field)' is made", field: "isPinned", remedy: "Have it made first: nacre schema index --now TYPE FIELD.")
    }

    fileprivate static func noPair(_ name: String) -> ServerError {
        ServerError(
            .badRequest, "'\(name)' cannot have an index of two fields", field: "field",
            remedy: "Name a QUERYABLE field and a SORTABLE one that is no list and no location, as in FIRST+SECOND.")
    }

    fileprivate static let isMadeAndTakenAway = ServerError(
        .badRequest, "an index is made or taken away, and not both", field: "isNow", remedy: "Leave out --now, or --none.")

    fileprivate static func tooManyPairs(in type: String) -> ServerError {
        ServerError(
            .badRequest, "'\(type)' has \(Limits.pairIndexesPerType) indexes of two fields, and can have no more", field: "field",
            remedy: "Take one away: nacre schema index --none TYPE FIRST+SECOND.")
    }

    fileprivate static func noSuchType(_ type: String) -> ServerError {
        ServerError(
            .notFound, "Did not find record type: \(type)", internalCode: 2003, field: "recordType",
            remedy: "Names are case-sensitive. A type is there once a record of it was saved in development, or a field of it prepared: "
                + "nacre schema index TYPE FIELD --type TYPE.")
    }

    fileprivate static func noSuchField(_ field: String, in type: String) -> ServerError {
        ServerError(
            .badRequest, "Unknown field '\(field)'", field: "field",
            remedy: "Name a field of \(type), or a system field such as ___recordID or ___createTime; prepare a field with --type.")
    }

    fileprivate static func fieldKeepsType(_ field: String, in type: String, definedAs shape: FieldShape) -> ServerError {
        ServerError(
            .badRequest, "field '\(field)' of type '\(type)' is \(shape.name)", field: "fieldType",
            remedy: "A field keeps its type: take another name, or reset the development schema: nacre schema reset.")
    }

    fileprivate static let usersAreNotIndexed = ServerError(
        .badRequest, "Can't query system types", internalCode: 2015, field: "recordType",
        remedy: "Users are fetched by name, so their fields have no indexes.")

    static func impossibleIndexes(_ options: IndexOptions, of field: String, shape: FieldShape) -> ServerError {
        let wanted = options.names.joined(separator: " and ").lowercased()
        let possible = IndexOptions.possible(for: shape).names
        let remedy = possible.isEmpty ? "It cannot be indexed." : "It can be \(possible.joined(separator: ", ").lowercased())."
        return ServerError(
            .badRequest, "Field '\(field)' has a value type of \(shape.name) and cannot be \(wanted)", field: "field", remedy: remedy)
    }
}
