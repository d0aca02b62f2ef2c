import NacreCloudStorage
package import NacreCloudWire

/// The refusals of queries. CloudKit: the texts that apps know.
extension ServerError {
    /// CloudKit: the native code is known from logs, `unknownItem` (11/2003), which is `NOT_FOUND` on the web. In
    /// development too: a type exists once a record was saved.
    static func unknownRecordType(_ type: String) -> ServerError {
        ServerError(
            .notFound, "Did not find record type: \(Names.shown(type))", internalCode: 2003, field: "recordType",
            remedy: "Save a record of the type first, or deploy the schema to this environment.")
    }

    static func typeNotIndexable(_ type: String, in container: String) -> ServerError {
        refusal(
            "Type is not marked indexable: \(type)", "recordType",
            "Give a field of the type an index: nacre schema index --container \(container) \(type) ___recordID --queryable")
    }

    static let cannotQuerySystemTypes = refusal(
        "Can't query system types", "recordType", "Look users up by name; queries find records of the app's own types.")

    static func unknownField(_ name: String) -> ServerError {
        refusal(
            "Unknown field '\(Names.shown(name))'", Names.shown(name),
            "Fields are case-sensitive; one exists once a record was saved with it, or the schema was deployed.")
    }

    /// - Parameter option: queryable, sortable or searchable. The command in the remedy also names the field's other
    ///   options, which it would otherwise remove.
    static func fieldNotMarked(_ option: String, _ field: QueryShape.Field, of type: String, in container: String) -> ServerError {
        let has = [
            ("queryable", field.definition.isQueryable), ("sortable", field.definition.isSortable), ("searchable", field.definition.isSearchable),
        ]
        let flags = has.filter { $0.1 || $0.0 == option }.map { " --\($0.0)" }.joined()
        return refusal(
            "Field '\(field.shownName)' is not marked \(option)", field.shownName,
            "Give the field the index: nacre schema index --container \(container) \(type) \(field.name)\(flags)")
    }

    static func nothingSearchable(_ type: String, in container: String) -> ServerError {
        refusal(
            "No field of type '\(type)' is marked searchable", "recordType",
            "Give a text field the index: nacre schema index --container \(container) \(type) FIELD --searchable")
    }

    static func wrongFilter(_ field: QueryShape.Field, _ comparator: QueryComparator) -> ServerError {
        let shape = field.definition.shape.name
        return refusal(
            "Field '\(field.shownName)' has a value type of \(shape) and cannot be queried using filter type \(comparator.rawValue)",
            field.shownName, "Compare the field in a way that its type allows; encrypted fields cannot be compared at all.")
    }

    static func wrongFilterValue(_ field: QueryShape.Field, _ value: FieldValue) -> ServerError {
        let shape = field.definition.shape.name
        let given = FieldShape(of: value)?.name ?? value.type.rawValue
        return refusal(
            "Field '\(field.shownName)' has a value type of \(shape) and cannot be queried using filter value type \(given)",
            field.shownName, "Compare the field with a value of its own type.")
    }

    static func filterTakesList(_ name: String, _ comparator: QueryComparator) -> ServerError {
        refusal(
            "BadRequestException: Unexpected input", name, "\(comparator.rawValue) compares with a list: give fieldValue a type that ends in _LIST.")
    }

    static func repeatedFilterValue(_ name: String) -> ServerError {
        refusal("The filter of field '\(name)' holds a value more than once", name, "Give each value once in a filter's list.")
    }

    static func tooManyFilterValues(in container: String) -> ServerError {
        ServerError(
            .badRequest, "Query filter exceeds the limit of values: \(Limits.valuesPerFilter) for container '\(container)'",
            native: .limitExceeded, internalCode: 2023, field: "filterBy", remedy: "Ask in several queries.")
    }

    static let indexesAreBuilding = ServerError(
        .tryAgainLater, "These index(es) is/are not valid; Indexing scheduled", internalCode: 2022, field: "query",
        remedy: "The index has come lately and is being built; ask again.", retryAfter: Limits.indexBuildRetrySeconds)

    package static let unknownMarker = refusal(
        "Unknown sync continuation type", "continuationMarker", "Send a marker as it was given, to the endpoint that gave it.")

    static let markerOfAnotherQuery = refusal(
        "Invalid continuation format", "continuationMarker", "Send a marker with the query, the zone and the user that it was given to.")

    static let markerOfLostState = refusal(
        "Invalid continuation format", "continuationMarker",
        "An older copy of the data was put back since the marker was given: ask the query again from its beginning.")

    private static func refusal(_ reason: String, _ field: String, _ remedy: String) -> ServerError {
        ServerError(.badRequest, reason, internalCode: 2015, field: field, remedy: remedy)
    }
}
