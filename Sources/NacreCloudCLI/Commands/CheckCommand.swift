import NacreCloudServer

/// `nacre check`
enum CheckCommand {
    private static let repair = Option.flag("repair", "Put right what can be made again; say of damaged records that they are lost.")
    private static let removeLost = Option.flag("remove-lost", "Also take lost records away: every device hears of a deletion.")

    static let command = Command(
        "check", "Look through everything that a running server keeps.",
        discussion: """
            Goes through databases, zones, records, feeds, links, indexes, accounts, tokens and tasks, a few hundred rows at a time, so that nobody waits; \
            then it looks for files of records of which bytes are missing (nacre assets verify reads those that are there). \
            A damaged record stays an error to its app until that saves it again whole, or you take it away with --remove-lost. What only a backup \
            can bring back is named. Exit status: 0 nothing is wrong (any more), 2 something is.
            """,
        options: [repair, removeLost] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let repairs = call.has(repair) || call.has(removeLost)
        let isSilent = call.has(SharedOptions.json)
        var whole = AdminMessages.CheckReport(rows: 0, findings: [])
        var next: String?
        repeat {
            let part = try await admin.check(AdminMessages.NewCheck(repairs: repairs, removesLost: call.has(removeLost), after: next))
            whole.rows += part.rows
            whole.findings += part.findings
            if !isSilent { for finding in part.findings { try Output.data(finding.line) } }
            next = part.next
        } while next != nil
        var lostFiles: Set<AdminMessages.CheckFinding> = []
        repeat {
            let part = try await admin.verify(AdminMessages.NewAssetVerification(after: next, onlySizes: true))
            for finding in part.findings.map(AdminMessages.CheckFinding.init) where lostFiles.insert(finding).inserted {
                whole.findings.append(finding)
                if !isSilent { try Output.data(finding.line) }
            }
            next = part.next
        } while next != nil
        if isSilent { try Output.json(whole) }
        let left = whole.findings.count { $0.outcome != .mended }
        if !isSilent { try Output.data("\(whole.rows) rows, \(whole.findings.count) wrong, \(whole.findings.count - left) of them mended") }
        if left > 0 { throw CommandFailure(.damaged, "\(left) things are wrong", remedy: whole.remedy) }
    }
}

extension AdminMessages.CheckFinding {
    /// A file of which a chunk is not there, or not in its size. A file with several such chunks is found once.
    fileprivate init(_ finding: AdminMessages.AssetFinding) {
        self.init(
            table: "assets", database: finding.database, zone: finding.zone, record: finding.record,
            what: "The file of its field \(finding.field) is not whole", outcome: .lost)
    }

    /// For people: where it is, what it is, and what became of it.
    fileprivate var line: String {
        let place = [table, database, zone, record].filter { !$0.isEmpty }.joined(separator: " ")
        return "\(place): \(what) (\(outcome.text))"
    }
}

extension AdminMessages.CheckFinding.Outcome {
    fileprivate var text: String {
        switch self {
        case .mendable: "can be mended"
        case .mended: "mended"
        case .lost: "lost until its app saves it again"
        case .beyondRepair: "restore a backup"
        }
    }
}

extension AdminMessages.CheckReport {
    fileprivate var remedy: String {
        let outcomes = Set(findings.map(\.outcome))
        if outcomes.contains(.mendable) { return "nacre check --repair puts right what can be made again." }
        if outcomes.contains(.beyondRepair) { return "What is beyond repair comes back with a backup." }
        if findings.contains(where: { $0.table == "assets" && $0.outcome == .lost }) {
            return "A lost file comes back when its app saves it again, or when what lies in the folder assets beside a backup is put into the "
                + "folder assets of the data. Lost records come back when their apps save them whole; --remove-lost takes those away."
        }
        return "Lost records come back when their apps save them whole; --remove-lost takes them away."
    }
}
