import NacreCloudServer

/// `nacre audit`
enum AuditCommands {
    static let command = Command("audit", "Look at what administrators did.", subcommands: [AuditList.command])
}

/// `nacre audit list`
enum AuditList {
    static let command = Command(
        "list", "List what administrators asked the server to do, newest first.",
        discussion: """
            Each line has a number, the time, the HTTP status of the answer (or none, where the server ended before it), the address it came from, by \
            which management token or session of the console it came, if by one, the endpoint, and whom and what the request named. A request is noted before it is done. The last 10,000 are kept.
            """,
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let isJSON = call.has(SharedOptions.json)
        var all = AdminMessages.AuditLog(entries: [])
        try await admin.eachPageOfAudit { page in
            if isJSON { all.entries += page.entries } else { for entry in page.entries { try Output.data(entry.line) } }
        }
        if isJSON { try Output.json(all) }
    }
}

extension AdminMessages.AuditLine {
    fileprivate var line: String {
        let about = subject.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let by = author.map { AuthorText.of($0).replacing(" ", with: "=", maxReplacements: 1) }
        let words = ["\(number)", UserTime.text(time), status.map(String.init) ?? "none", address, by, action]
        return (words.compactMap(\.self) + about).joined(separator: " ")
    }
}
