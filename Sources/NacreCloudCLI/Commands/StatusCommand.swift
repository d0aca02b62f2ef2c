import NacreCloudServer

/// `nacre status`
enum StatusCommand {
    static let command = Command(
        "status", "Show where the server is reached, what files take, and the last backup.",
        discussion: """
            Prints the server's version, where apps reach it, the last backup that the server made by itself (all of them: nacre backup list), and how much the files of assets take on the disk or in their bucket, those that no record has any \
            more included: they are counted by a look through all of them that begins with the server. What users have stored: nacre usage. All that is measured: \
            /metrics.
            """,
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let (server, backups) = (try await admin.server(), try await admin.backups())
        if call.has(SharedOptions.json) { return try Output.json(Report(server: server, backups: backups)) }
        try Output.data("version \(server.version)")
        try Output.data("url \(server.publicURL)")
        if let assets = server.assets {
            try Output.data("assets \(assets.bytes) bytes in \(assets.chunks) chunks")
        } else {
            try Output.data("assets not counted yet")
        }
        try Output.data("backup \(text(backups))")
    }

    private static func text(_ backups: AdminMessages.Backups) -> String {
        if let last = backups.backups.first { return last.line }
        return backups.folder == nil ? "none: nacre serve --backup-dir" : "none yet"
    }

    /// The members of the server's answer, and `lastBackup` where there is one.
    private struct Report: Encodable {
        var server: AdminMessages.Server
        var backups: AdminMessages.Backups

        private enum CodingKeys: String, CodingKey {
            case lastBackup
        }

        func encode(to encoder: any Encoder) throws {
            try server.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(backups.backups.first, forKey: .lastBackup)
        }
    }
}
