import NacreCloudServer
import NacreLocks

/// `nacre check`
enum CheckCommand {
    private static let repair = Option.flag("repair", "Put right what can be made again; say of damaged records that they are lost.")
    private static let removeLost = Option.flag("remove-lost", "Also take lost records away: every device hears of a deletion.")

    /// The time between two progress lines.
    private static let progressPause: Duration = .seconds(2)

    static let command = Command(
        "check", "Look through everything that a running server keeps.",
        discussion: """
            Goes through databases, zones, records, feeds, links, indexes, accounts, tokens and tasks, some rows at a time, so that nobody waits; \
            then it looks for files of records of which bytes are missing (nacre assets verify reads those that are there). \
            A damaged record stays an error to its app until that saves it again whole, or you take it away with --remove-lost. What only a backup \
            can bring back is named. Exit status: 0 nothing is wrong (any more), 2 something is, 130 it was interrupted.
            """,
        options: [repair, removeLost] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let (repairs, removes) = (call.has(repair) || call.has(removeLost), call.has(removeLost))
        let isSilent = call.has(SharedOptions.json)
        let looked = Locked(0)
        let found = try await StopSignals().orElse {
            try await parts(of: admin, AdminMessages.NewCheck(repairs: repairs, removesLost: removes, after: nil), isSilent: isSilent, looked)
        }
        guard let whole = found else { throw CommandFailure(.interrupted, "The check was interrupted after \(looked.withLock { $0 }) rows.") }
        if isSilent { try Output.json(whole) }
        let left = whole.findings.count { $0.outcome != .mended }
        if !isSilent { try Output.data("\(whole.rows) rows, \(whole.findings.count) wrong, \(whole.findings.count - left) of them mended") }
        if left > 0 { throw CommandFailure(.damaged, "\(left) things are wrong", remedy: whole.remedy) }
    }
}

extension CheckCommand {
    /// Requests one part after the other, and prints the progress now and then.
    private static func parts(
        of admin: AdminClient, _ first: AdminMessages.NewCheck, isSilent: Bool, _ looked: Locked<Int>
    ) async throws -> AdminMessages.CheckReport {
        var whole = AdminMessages.CheckReport(rows: 0, findings: [])
        var asked = first
        var told = ContinuousClock.now
        while true {
            let part = try await admin.check(asked)
            whole.rows += part.rows
            whole.findings += part.findings
            looked.withLock { $0 = whole.rows }
            if !isSilent { for finding in part.findings { try Output.data(finding.line) } }
            guard let next = part.next else { break }
            asked.after = next
            if told.duration(to: .now) >= progressPause {
                told = .now
                Output.message("\(whole.rows) rows, \(whole.findings.count) wrong so far")
            }
        }
        try await lostFiles(of: admin, isSilent: isSilent, &whole)
        return whole
    }

    /// Requests the files that lack chunks, one part after the other.
    private static func lostFiles(of admin: AdminClient, isSilent: Bool, _ whole: inout AdminMessages.CheckReport) async throws {
        var known: Set<AdminMessages.CheckFinding> = []
        var next: String?
        repeat {
            let part = try await admin.verify(AdminMessages.NewAssetVerification(after: next, onlySizes: true))
            for finding in part.findings.map(AdminMessages.CheckFinding.init) where known.insert(finding).inserted {
                whole.findings.append(finding)
                if !isSilent { try Output.data(finding.line) }
            }
            next = part.next
        } while next != nil
    }
}

extension AdminMessages.CheckFinding {
    /// Makes a finding of a file with a missing chunk, or one of another size; one finding for each file.
    fileprivate init(_ finding: AdminMessages.AssetFinding) {
        self.init(
            table: "assets", database: finding.database, zone: finding.zone, record: finding.record,
            what: "The file of its field \(finding.field) is not whole", outcome: .lost)
    }

    /// A line for people: the row, the fault, and the outcome.
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
