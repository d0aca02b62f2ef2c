package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The result of checking the fields of a save against a schema.
package enum SchemaVerdict: Equatable, Sendable {
    /// The values, converted to their definitions.
    case fits(RecordFields)
    /// The values fit once the schema has the type and the fields that it lacks.
    case adds(RecordFields)
    case refuse(ServerError)
}

extension Schema {
    /// Checks a save against the schema. CloudKit: in development the framework's first save adds a missing type or
    /// field; in production it does not. A field keeps its type.
    package func verdict(
        on change: RecordChange, of type: String, in environment: DatabaseKey.Environment, by client: Caller.Client
    ) -> SchemaVerdict {
        let known = definition(of: type)
        if known == nil, let fault = faultOfNewType(type, in: environment, by: client) { return .refuse(fault) }
        let definition = known ?? .new(type)
        let fields = change.set
        var fitted = fields
        var newFields = 0
        for index in fields.entries.indices {
            let name = fields.entries[index].name
            if let known = definition.fields[name] {
                // Nearly every value fits its field, and stays untouched.
                if fields.entries[index].value.type == known.type, !known.isEncrypted, !fields.entries[index].value.isSealed { continue }
                let given = fields.entries[index].value
                guard let value = given.fitted(to: known.shape) else {
                    let isTyped = !change.untyped.contains(name)
                    return .refuse(.wrongType(given, isTyped: isTyped, for: name, in: definition.name, definedAs: known.shape))
                }
                fitted[name] = value
            } else {
                if environment == .production { return .refuse(.noFieldInProduction(name, in: definition.name)) }
                if !extends(by: client) { return .refuse(.fieldNotFound(name, in: definition.name)) }
                let value = fields.entries[index].value
                if value.isEmptyList || FieldShape(of: value) == nil { return .refuse(.emptyListDefinesNothing(name, in: definition.name)) }
                newFields += 1
            }
        }
        if newFields > 0, definition.fields.count + newFields > Limits.fieldsPerRecordType {
            return .refuse(.tooManyFields(in: definition.name))
        }
        if newFields > 0, types.values.reduce(newFields, { $0 + $1.fields.count }) > Limits.fieldsJustInTime {
            return .refuse(.tooManyFieldsInAll)
        }
        return known == nil || newFields > 0 ? .adds(fitted) : .fits(fitted)
    }

    /// Returns the error of a save whose type the schema lacks, if the save may not make it. Any client's share makes
    /// the type of shares, which is CloudKit's own and the same everywhere.
    private func faultOfNewType(_ type: String, in environment: DatabaseKey.Environment, by client: Caller.Client) -> ServerError? {
        if environment == .production { return .noTypeInProduction(type) }
        if type != ShareType.name, !extends(by: client) { return .typeNotFound(type) }
        if let fault = Names.recordTypeFault(type) { return fault }
        return types.count >= Limits.recordTypesPerSchema ? .tooManyTypes : nil
    }

    /// Whether saves of a client add missing parts to the schema of development.
    private func extends(by client: Caller.Client) -> Bool {
        client == .framework || justInTime == .all
    }
}

extension FieldValue {
    fileprivate var isSealed: Bool {
        if case .sealed = self { true } else { false }
    }
}

extension ServerError {
    static func noTypeInProduction(_ type: String) -> ServerError {
        ServerError(
            .badRequest, "Cannot create new type \(Names.shown(type)) in production schema", internalCode: 2006, field: "recordType",
            remedy: "Save a record of the type in development, then deploy the schema: nacre schema deploy.")
    }

    static func noFieldInProduction(_ field: String, in type: String) -> ServerError {
        ServerError(
            .badRequest, "Cannot create or modify field '\(field)' in record '\(type)' in production schema", internalCode: 2006, field: field,
            remedy: "Save the field in development, then deploy the schema: nacre schema deploy.")
    }

    /// See `docs/decisions/schemas.md`.
    static func typeNotFound(_ type: String) -> ServerError {
        ServerError(
            .notFound, "Did not find record type: \(Names.shown(type))", internalCode: 2003, field: "recordType",
            remedy: "Save a record of the type through the framework, or prepare its fields: nacre schema index TYPE FIELD --type TYPE. "
                + "nacre container change NAME --just-in-time all lets web clients make types.")
    }

    static func fieldNotFound(_ field: String, in type: String) -> ServerError {
        ServerError(
            .badRequest, "Field \(field) not found in \(type)", internalCode: 2006, field: field,
            remedy: "Save the field through the framework, or prepare it: nacre schema index TYPE FIELD --type TYPE. "
                + "nacre container change NAME --just-in-time all lets web clients make fields.")
    }

    /// - Parameter isTyped: Whether the client said the value's type. CloudKit: a type that is not said is inferred
    ///   from the value alone, whatever the field's type is.
    static func wrongType(
        _ value: FieldValue, isTyped: Bool, for field: String, in type: String, definedAs shape: FieldShape
    ) -> ServerError {
        if case .sealed = value, !shape.isEncrypted {
            return ServerError(
                .badRequest, "Attempt to save encrypted data in non encrypted field type", internalCode: 2006, field: field,
                remedy: "A field is plain or encrypted for ever: save encrypted values under another name.")
        }
        var sealed = FieldShape(value.type)
        if case .sealed = value { sealed.isEncrypted = true }
        return ServerError(
            .badRequest,
            "invalid attempt to set value type \(sealed.name) for field '\(field)' for type '\(type)', defined to be: \(shape.name)",
            internalCode: 2006, field: field,
            remedy: isTyped || shape.isEncrypted
                ? "A field keeps the type of its first value: save this one under another name."
                : "Say the value's type, which is inferred from the value alone: {\"value\": …, \"type\": \"\(shape.name)\"}.")
    }

    /// The text is CloudKit's.
    static func emptyListDefinesNothing(_ field: String, in type: String) -> ServerError {
        ServerError(
            .badRequest,
            "cannot use an empty list to initialize a new field (field '\(field)' in record type '\(type)' should be more precise)",
            internalCode: 2006, field: field,
            remedy: "Leave the field out until its list has an element, or prepare it: nacre schema index TYPE FIELD --type 'LIST<STRING>'.")
    }

    static let tooManyTypes = ServerError(
        .badRequest, "number of record types exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "recordType",
        remedy: "A schema has at most \(Limits.recordTypesPerSchema) record types.")

    static let tooManyRoles = ServerError(
        .badRequest, "number of roles exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "role",
        remedy: "A schema declares at most \(Limits.rolesPerSchema) roles.")

    static let tooManyFieldsInAll = ServerError(
        .badRequest, "number of fields exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "fields",
        remedy: "Saves bring fields to a schema up to \(Limits.fieldsJustInTime) in all its types; remove unused ones, or import the schema.")

    static func tooManyFields(in type: String) -> ServerError {
        ServerError(
            .badRequest, "number of fields exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "fields",
            remedy: "A record type has at most \(Limits.fieldsPerRecordType) fields; \(type) has no room for these.")
    }
}
