import NacreCloudServer

/// `nacre schema indexes`
enum SchemaIndexes {
    static let command = Command(
        "indexes", "List the indexes that are made, and why.",
        discussion: """
            Options such as QUERYABLE allow queries; an index is made when a query first needs it. Each is a line: what it is of, what it costs a save, \
            whether it is pinned or still being built, when it was made, for which query, and when a query that can go by it was last noted, which is \
            done once a day and kept for a month. In development an index goes when no query used it for a month and nobody has pinned it.
            """,
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let indexes = try await AdminClient.connect(call).madeIndexes(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        if call.has(SharedOptions.json) { return try Output.json(indexes) }
        for index in indexes.indexes { try Output.data(index.line) }
        for name in indexes.refused { try Output.data("\(name): refused, no query gets it made") }
        if indexes.indexes.isEmpty { Output.message("No query has needed an index.") }
    }
}

extension AdminMessages.MadeIndex {
    /// The index in one line: `Note.shelf: index of values, a row a record, made 2026-11-24 for Note where shelf
    /// EQUALS STRING, last used 2026-11-24`
    var line: String {
        var parts = ["\(recordType).\(field): index of \(kind == "pair" ? "two fields" : kind)", cost]
        if isPinned { parts.append("pinned") }
        if state == "building" { parts.append("being built") }
        let cause = query.map { " for \($0)" } ?? ""
        if let made { parts.append("made \(made.prefix(10))\(cause)") }
        parts.append(lastUsed.map { "last used \($0.prefix(10))" } ?? "not used within a month")
        return parts.joined(separator: ", ")
    }
}
