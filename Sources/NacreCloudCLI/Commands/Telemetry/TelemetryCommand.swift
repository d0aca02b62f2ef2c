import Foundation
import Glibc
import NacreCloudServer

/// `nacre telemetry`
enum TelemetryCommand {
    static let periods = ["hour", "day", "week", "month", "year"]
    static let properties = ["operation", "database", "container", "code", "client", "index"]

    private static let last = Option.value(
        "last", "period", oneOf: periods, fallback: "day", "The period, up to now.")
    private static let operation = Option.value("operation", "name", "This operation alone, such as records/modify.")
    private static let database = Option.value(
        "database", "name", oneOf: ["public", "private", "shared"], "These databases alone; private and shared ones are summed up together.")
    private static let container = Option.value("container", "name", "This container alone.")
    private static let environment = Option.value("environment", "env", oneOf: ["development", "production"], "This environment alone.")
    private static let by = Option.value(
        "by", "property", oneOf: properties,
        "A line for each value of this property. By default one for each operation on each kind of database.")
    private static let compare = Option.flag("compare", "Say what changed against the period before.")
    private static let json = Option.flag("json", "Print a JSON object for each line.")
    private static let csv = Option.flag("csv", "Print the same columns as comma-separated values.")

    static let command = Command(
        "telemetry", "Show what the cloud did: requests, errors, latency, users.",
        discussion: """
            Sums of the server, for the last hour, day, week, month or year. Times are in milliseconds. Figures of private and shared databases are shown only as \
            sums over at least five users.

              nacre telemetry --last week --container iCloud.com.example.Notes --compare
            """,
        options: [last, operation, database, container, environment, by, compare, json, csv] + AdminServer.options
    ) { call in
        if call.has(json), call.has(csv) { throw UsageError(.exclusive("--\(json.name)", "--\(csv.name)"), path: call.path) }
        let admin = try await AdminClient.connect(call)
        let options = [last, operation, database, container, environment, by]
        let query = options.map { (name: $0.name, value: call.value($0)) } + [(name: "compare", value: call.has(compare) ? "previous" : nil)]
        let answer = try await admin.telemetry(query)
        if call.has(json) {
            for line in answer.lines { try Output.json(line) }
            for change in answer.changes ?? [] { try Output.json(change) }
        } else if call.has(csv) {
            for line in TelemetryTable.csv(answer.lines) { try Output.data(line) }
        } else {
            let view = TelemetryView(answer: answer, width: Terminal.width, hasBlocks: Terminal.isUTF8)
            for line in view.lines { try Output.data(line) }
        }
    }
}

/// The terminal on standard output.
enum Terminal {
    /// Columns; 80 where there is no terminal.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Whether standard output is a terminal that shows UTF-8, as the locale says.
    static var isUTF8: Bool {
        let environment = ProcessInfo.processInfo.environment
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        return isatty(STDOUT_FILENO) == 1 && locale.uppercased().replacing("-", with: "").hasSuffix("UTF8")
    }
}

/// Lines of telemetry in columns.
enum TelemetryTable {
    private static let columns: [(name: String, text: @Sendable (AdminMessages.TelemetryLine) -> String?)] = [
        ("operation", { $0.operation }), ("database", { $0.database }), ("container", { $0.container }), ("environment", { $0.environment }),
        ("code", { $0.code }), ("client", { $0.client }), ("index", { $0.index }), ("requests", { String($0.requests) }),
        ("errors", { String($0.errors) }), ("clientErrors", { $0.clientErrors.map(String.init) }),
        ("serverErrors", { $0.serverErrors.map(String.init) }), ("itemErrors", { $0.itemErrors.map(String.init) }),
        ("p50", { $0.p50.map { "\($0)" } }), ("p95", { $0.p95.map { "\($0)" } }), ("p99", { $0.p99.map { "\($0)" } }),
        ("bytesIn", { $0.bytesIn.map(String.init) }), ("bytesOut", { $0.bytesOut.map(String.init) }), ("asked", { $0.asked.map(String.init) }),
        ("answered", { $0.answered.map(String.init) }), ("users", { $0.users }), ("storedBytes", { $0.storedBytes.map(String.init) }),
    ]
    /// Columns of a table for people.
    private static let ofPeople: Set = [
        "operation", "database", "container", "environment", "code", "client", "index", "requests", "errors", "p50", "p95", "p99", "users",
    ]

    static func csv(_ lines: [AdminMessages.TelemetryLine]) -> [String] {
        [columns.map(\.name).joined(separator: ",")]
            + lines.map { line in columns.map { quoted($0.text(line) ?? "") }.joined(separator: ",") }
    }

    /// RFC 4180, section 2.
    private static func quoted(_ text: String) -> String {
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }

    /// Returns the cells of a line in a table for people; without columns that are empty.
    static func cells(_ line: AdminMessages.TelemetryLine) -> [(column: String, text: String)] {
        columns.compactMap { column in
            guard ofPeople.contains(column.name), let text = column.text(line), !text.isEmpty else { return nil }
            return (column.name, text)
        }
    }
}
