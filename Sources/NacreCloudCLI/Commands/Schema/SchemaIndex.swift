import NacreCloudServer

/// `nacre schema index`
enum SchemaIndex {
    private static let type = Argument("type", "The record type.")
    private static let field = Argument("field", "The field, or a system field such as ___recordID or ___createTime.")
    private static let queryable = Option.flag("queryable", "Let filters name the field.")
    private static let sortable = Option.flag("sortable", "Let sorts name the field.")
    private static let searchable = Option.flag("searchable", "Let searches for words look into the field.")
    private static let none = Option.flag("none", "Take the field's indexes away.")
    private static let fieldType = Option.value(
        "type", "field type", "Prepare the field, and its type, where no record has them yet: STRING, INT64, TIMESTAMP, 'LIST<STRING>', …")

    static let command = Command(
        "index", "Say what a field of the development schema is good for in queries.",
        discussion: """
            The field has the indexes that are named, and no others; what it had and what it has is printed. Without any it is only shown. \
            Records that are there are indexed in the background. A query for all records of a type wants ___recordID --queryable. Production \
            gets its indexes by nacre schema deploy.
            """,
        arguments: [type, field],
        options: [SharedOptions.container, queryable, sortable, searchable, none, fieldType] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let options = try options(call)
        let admin = try await AdminClient.connect(call)
        let indexes = try await admin.set(
            AdminMessages.NewIndexes(
                container: try call.require(SharedOptions.container), recordType: try call.require(type, at: 0),
                field: try call.require(field, at: 1), options: options, fieldType: call.value(fieldType)))
        if call.has(SharedOptions.json) { return try Output.json(indexes) }
        try Output.data(line(indexes, isChange: options != nil))
    }

    /// nil: nothing is to be changed.
    private static func options(_ call: Call) throws -> [String]? {
        let named = [(queryable, "QUERYABLE"), (searchable, "SEARCHABLE"), (sortable, "SORTABLE")].filter { call.has($0.0) }
        guard call.has(none) else { return named.isEmpty ? nil : named.map(\.1) }
        if let other = named.first { throw UsageError(.exclusive(none.spelling, other.0.spelling), path: call.path) }
        return []
    }

    private static func line(_ indexes: AdminMessages.Indexes, isChange: Bool) -> String {
        let name = "\(indexes.recordType).\(indexes.field) \(indexes.fieldType)"
        let now = shown(indexes.options)
        guard let before = indexes.before else { return "+ \(name): \(now)" }
        return isChange ? "\(name): \(shown(before)) → \(now)" : "\(name): \(now)"
    }

    private static func shown(_ options: [String]) -> String {
        options.isEmpty ? "no index" : options.joined(separator: " ")
    }
}
