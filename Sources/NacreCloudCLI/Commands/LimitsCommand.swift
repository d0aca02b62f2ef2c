import NacreCloudServer

/// `nacre limits`
enum LimitsCommand {
    static let command = Command(
        "limits", "List every limit of the server.",
        discussion:
            "Each line has the name, which says the unit, the value as it is set (0: no limit), and whose it is: CloudKit's or the server's own.",
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let table = try await AdminClient.connect(call).limits()
        if call.has(SharedOptions.json) { return try Output.json(table) }
        for limit in table.limits { try Output.data([limit.name, "\(limit.value)", limit.source].joined(separator: "\t")) }
    }
}
