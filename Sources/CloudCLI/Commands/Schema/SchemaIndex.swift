import CloudServer

/// `nacre schema index`
enum SchemaIndex {
    private static let type = Argument("type", "The record type.")
    private static let field = Argument("field", "The field, or a system field such as ___recordID or ___createTime.")
    private static let queryable = Option.flag("queryable", "Let filters name the field.")
    private static let sortable = Option.flag("sortable", "Let sorts name the field.")
    private static let searchable = Option.flag("searchable", "Let searches for words look into the field.")

    static let command = Command(
        "index", "Say what a field of the development schema is good for in queries.",
        discussion: """
            The field has the indexes that are named, and no others. Records that are there are indexed in the background. A query for all \
            records of a type wants ___recordID --queryable. Production gets its indexes by nacre schema deploy.
            """,
        arguments: [type, field],
        options: [SharedOptions.container, queryable, sortable, searchable] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let indexes = try await admin.set(
            AdminMessages.NewIndexes(
                container: try call.require(SharedOptions.container), recordType: try call.require(type, at: 0),
                field: try call.require(field, at: 1), queryable: call.has(queryable), sortable: call.has(sortable),
                searchable: call.has(searchable)))
        if call.has(SharedOptions.json) { return try Output.json(indexes) }
        let options = indexes.options.isEmpty ? "has no index" : indexes.options.joined(separator: " ")
        try Output.data("\(indexes.recordType).\(indexes.field) \(options)")
    }
}
