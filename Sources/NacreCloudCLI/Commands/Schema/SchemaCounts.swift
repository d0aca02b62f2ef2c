import NacreCloudServer

/// `nacre schema counts`
enum SchemaCounts {
    static let command = Command(
        "counts", "Count the records of the public database by type.",
        discussion: """
            A line for each type: its name and the number of its records. Looks at 10,000 records or 64 MB of them; in a larger database the numbers are \
            the least that there are.
            """,
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let counts = try await AdminClient.connect(call).recordCounts(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        if call.has(SharedOptions.json) { return try Output.json(counts) }
        for type in counts.types { try Output.data("\(type.recordType)\t\(type.records)") }
        if !counts.isWhole { Output.message("There are more records: the numbers are the least that there are.") }
    }
}
