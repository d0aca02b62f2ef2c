import NacreCloudServer

/// `nacre schema index`
enum SchemaIndex {
    private static let type = Argument("type", "The record type.")
    private static let field = Argument(
        "field", "The field, or a system field such as ___recordID or ___createTime; or two fields, as in shelf+rank.")
    private static let queryable = Option.flag("queryable", "Let filters name the field.")
    private static let sortable = Option.flag("sortable", "Let sorts name the field.")
    private static let searchable = Option.flag("searchable", "Let searches for words look into the field.")
    private static let none = Option.flag(
        "none", "Let no query use the field, and take its indexes away; of two fields: have no query make their index.")
    private static let fieldType = Option.value(
        "type", "field type", "Prepare the field, and its type, where no record has them yet: STRING, INT64, TIMESTAMP, 'LIST<STRING>', …")

    private static let now = Option.flag("now", "Make the indexes that the field may have, before a query needs them.")

    private static let pin = Option.flag("pin", "Keep the indexes that are made, also when no query uses them for a month.")
    private static let unpin = Option.flag("unpin", "Take --pin back.")

    static let command = Command(
        "index", "Say what a field of the development schema is good for in queries.",
        discussion: """
            Queries may use the field in the ways that are named, and in no others; what it allowed and what it allows is printed. Without any it is only shown. \
            An index is made in the background when a query first reads many records without it; --now makes it at once. In development it goes when no \
            query used it for a month, unless it is pinned. An index of two fields, FIRST+SECOND, is for queries that compare the first for equality and \
            sort by the second: --now, --pin, --unpin and --none are for it too. A query for all records of a type \
            wants ___recordID --queryable. Production gets the same by nacre schema deploy.
            """,
        arguments: [type, field],
        options: [SharedOptions.container, queryable, sortable, searchable, none, fieldType, now, pin, unpin] + AdminServer.options + [
            SharedOptions.json
        ]
    ) { call in
        let options = try options(call)
        if call.has(pin), call.has(unpin) { throw UsageError(.exclusive(pin.spelling, unpin.spelling), path: call.path) }
        let admin = try await AdminClient.connect(call)
        let indexes = try await admin.set(
            AdminMessages.NewIndexes(
                container: try call.require(SharedOptions.container), recordType: try call.require(type, at: 0),
                field: try call.require(field, at: 1), options: options, fieldType: call.value(fieldType), isNow: call.has(now),
                isPinned: call.has(pin) ? true : call.has(unpin) ? false : nil))
        if call.has(SharedOptions.json) { return try Output.json(indexes) }
        if indexes.fieldType != nil { try Output.data(line(indexes, isChange: options != nil)) }
        for index in indexes.made { try Output.data(index.line) }
        if indexes.fieldType == nil, indexes.made.isEmpty {
            Output.message(options == nil ? "No such index is made." : "No query gets an index of \(indexes.recordType).\(indexes.field) made.")
        }
    }

    /// Returns the index options to set; nil: none is to be changed.
    private static func options(_ call: Call) throws -> [String]? {
        let named = [(queryable, "QUERYABLE"), (searchable, "SEARCHABLE"), (sortable, "SORTABLE")].filter { call.has($0.0) }
        guard call.has(none) else { return named.isEmpty ? nil : named.map(\.1) }
        if let other = named.first { throw UsageError(.exclusive(none.spelling, other.0.spelling), path: call.path) }
        return []
    }

    private static func line(_ indexes: AdminMessages.Indexes, isChange: Bool) -> String {
        let name = "\(indexes.recordType).\(indexes.field) \(indexes.fieldType ?? "")"
        let now = shown(indexes.options)
        guard let before = indexes.before else { return "+ \(name): \(now)" }
        return isChange ? "\(name): \(shown(before)) → \(now)" : "\(name): \(now)"
    }

    private static func shown(_ options: [String]) -> String {
        options.isEmpty ? "no index" : options.joined(separator: " ")
    }
}
