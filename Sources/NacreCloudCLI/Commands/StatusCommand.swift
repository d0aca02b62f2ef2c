import NacreCloudServer

/// `nacre status`
enum StatusCommand {
    static let command = Command(
        "status", "Show where the server is reached, and what files take.",
        discussion: """
            Prints the server's version, where apps reach it, and how much the files of assets take on the disk or in their bucket, those that no record has any \
            more included: they are counted by a look through all of them that begins with the server. What users have stored: nacre usage. All that is measured: \
            /metrics.
            """,
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let server = try await AdminClient.connect(call).server()
        if call.has(SharedOptions.json) { return try Output.json(server) }
        try Output.data("version \(server.version)")
        try Output.data("url \(server.publicURL)")
        if let assets = server.assets {
            try Output.data("assets \(assets.bytes) bytes in \(assets.chunks) chunks")
        } else {
            try Output.data("assets not counted yet")
        }
    }
}
