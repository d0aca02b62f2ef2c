import NacreCloudServer

/// `nacre assets`
enum AssetCommands {
    static let command = Command(
        "assets", "Look at the files that records have.",
        subcommands: [AssetsDownload.command, AssetsUpload.command, AssetsVerify.command, AssetsCollect.command])

    typealias Step = (_ after: String?) async throws -> AdminMessages.AssetReview

    /// Runs all parts of a review, over the data folder's server, or over the folder itself where none runs.
    /// - Parameter found: Called with each finding.
    static func review(
        _ call: Call, of server: (AdminClient) -> Step, of folder: @escaping (AssetReviewing) -> Step,
        found: @escaping (AdminMessages.AssetFinding) throws -> Void
    ) async throws -> AdminMessages.AssetReview {
        var whole = AdminMessages.AssetReview()
        func all(_ step: Step) async throws {
            repeat {
                let part = try await step(whole.next)
                for finding in part.findings { try found(finding) }
                whole.add(part)
            } while whole.next != nil
        }
        let admin: AdminClient
        do {
            admin = try await AdminClient.connect(call)
        } catch let failure as CommandFailure
            where failure.code == .unreachable && !call.isGiven(AdminServer.server) && !call.isGiven(AdminServer.tokenFile)
        {
            // No server answers. The folder's lock tells whether one runs.
            try await OfflineFolder.reviewAssets(of: try call.require(SharedOptions.data)) { try await all(folder($0)) }
            return whole
        }
        try await all(server(admin))
        return whole
    }
}

/// `nacre assets verify`
enum AssetsVerify {
    static let command = Command(
        "verify", "Hold every file of an asset against its checksum.",
        discussion: """
            Reads all files of all records, in parts, so that nobody waits. Asks the server of the data folder; where none runs, the folder is read by this \
            command itself. Prints a line for each chunk that is damaged or missing, with the record that has it, and for each that no record has. Exit \
            status: 0 nothing is wrong, 2 something is.
            """,
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let isJSON = call.has(SharedOptions.json)
        let whole = try await AssetCommands.review(
            call, of: { admin in { try await admin.verify(AdminMessages.NewAssetVerification(after: $0)) } },
            of: { folder in { try await folder.verify(AdminMessages.NewAssetVerification(after: $0)) } },
            found: { if !isJSON { try Output.data($0.line) } })
        if isJSON {
            try Output.json(whole)
        } else {
            try Output.data("\(whole.assets) assets, \(whole.chunks) chunks, \(whole.bytes) bytes, \(whole.findings.count) wrong")
        }
        guard !whole.findings.isEmpty else { return }
        let remedy =
            whole.findings.allSatisfy { $0.kind == .orphaned }
            ? "nacre assets collect takes away what no record has."
            : "What is damaged or missing comes back when an app sends the same file again, or from the folder assets beside a backup."
        throw CommandFailure(.damaged, "\(whole.findings.count) things are wrong", remedy: remedy)
    }
}

/// `nacre assets collect`
enum AssetsCollect {
    private static let dryRun = Option.flag("dry-run", "Say what would go, and leave it.")

    static let command = Command(
        "collect", "Take away chunks of files that no record has.",
        discussion: """
            A server does so by itself after each start: a process that is killed may leave chunks of a file that it had not told of. What uploads under way \
            have stays, and so does what a record had in the last 24 hours: that goes by a task. Prints a line for each chunk. Asks the server of the data \
            folder; where none runs, this command does it.
            """,
        options: [dryRun] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let (isJSON, isDryRun) = (call.has(SharedOptions.json), call.has(dryRun))
        let whole = try await AssetCommands.review(
            call, of: { admin in { try await admin.collect(AdminMessages.NewAssetCollection(isDryRun: isDryRun, after: $0)) } },
            of: { folder in { try await folder.collect(AdminMessages.NewAssetCollection(isDryRun: isDryRun, after: $0)) } },
            found: { if !isJSON { try Output.data($0.chunk) } })
        if isJSON { return try Output.json(whole) }
        Output.message("\(isDryRun ? "Chunks that would go" : "Chunks that are gone"): \(whole.chunks), \(whole.bytes) bytes.")
    }
}

extension AdminMessages.AssetFinding {
    /// A line for people: the fault, and its record.
    fileprivate var line: String {
        let place = [database, zone, record, field].filter { !$0.isEmpty }.joined(separator: " ")
        let what = chunk.isEmpty ? "the bytes of a small asset" : "chunk \(chunk)"
        return kind == .orphaned ? "orphaned \(what), \(bytes) bytes" : "\(kind.rawValue) \(what) of \(place)"
    }
}
