import Foundation
import Glibc
import NacreCloudServer

/// `nacre logs`
enum Logs {
    private static let follow = Option.flag("follow", short: "f", "Go on with new lines until it is interrupted.")
    private static let level = Option.value(
        "level", "level", oneOf: ServerConfiguration.logLevels, fallback: "info",
        "Lines of this level and above. While it follows, the server makes those that it does not write itself.")
    private static let status = Option.value("status", "status", "Requests that were answered so: 404, or 4xx.")
    private static let code = Option.value("code", "code", "Refusals with this serverErrorCode.")
    private static let container = Option.value("container", "name", "What is about this container.")
    private static let environment = Option.value("environment", "env", oneOf: ["development", "production"], "What is about this environment.")
    private static let zone = Option.value("zone", "name", "What is about this zone.")
    private static let user = Option.value("user", "id", "What this user asked: a user record name, as lines have it.")
    private static let operation = Option.value("operation", "name", "Requests to this endpoint, such as records/modify.")
    private static let request = Option.value("request", "id", "What is about this request: the uuid of its answer.")

    /// The time between two requests.
    private static let pause: Duration = .milliseconds(500)

    static let command = Command(
        "logs", "Show the log of the running server.",
        discussion: """
            The last thousand lines, wherever the server writes them, and with -f those that come. Lines are JSON objects; a terminal shows them for people. Of several \
            filters all must hold.

              nacre logs -f --status 4xx --container iCloud.com.example.Notes
            """,
        options: [follow, level, status, code, container, environment, zone, user, operation, request, RowOutput.format] + AdminServer.options
    ) { call in
        let filter = try LogFilter(call)
        let isForPeople = call.value(RowOutput.format).map { $0 == "table" } ?? (isatty(STDOUT_FILENO) == 1)
        let admin = try await AdminClient.connect(call)
        var after: Int?
        repeat {
            let page = try await admin.logs(after: after, level: call.has(follow) ? try call.require(level) : nil)
            if page.missed > 0 { Output.message("\(page.missed) lines were faster than this command, and are left out.") }
            for line in page.lines {
                guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                    filter.admits(status: object["status"] as? Int, text: { object[$0] as? String })
                else { continue }
                try Output.data(isForPeople ? text(object) : line)
            }
            after = page.last
            if call.has(follow) { try await Task.sleep(for: pause) }
        } while call.has(follow)
    }

    /// The conditions on the lines that are shown.
    struct LogFilter {
        private let level: Int
        private let statuses: ClosedRange<Int>?
        /// Keys of a line, each with the value that it must have.
        private let values: [(key: String, value: String)]
        private let operation: String?

        init(level: String, statuses: ClosedRange<Int>?, operation: String?, values: [(key: String, value: String)]) {
            self.level = ServerConfiguration.logLevels.firstIndex(of: level) ?? 0
            (self.statuses, self.operation, self.values) = (statuses, operation, values)
        }

        init(_ call: Call) throws {
            let options = [
                ("code", code), ("container", container), ("environment", environment), ("zone", zone), ("user", user), ("request_id", request),
            ]
            let values = options.compactMap { key, option in
                call.value(option).map { (key: key, value: option.name == "code" ? $0.uppercased() : $0) }
            }
            let statuses = try call.value(Logs.status).map { text in
                guard let statuses = Self.statuses(text) else {
                    throw UsageError(.invalid("--\(Logs.status.name)", "give a status such as 404, or 4xx"), path: call.path)
                }
                return statuses
            }
            self.init(level: try call.require(Logs.level), statuses: statuses, operation: call.value(Logs.operation), values: values)
        }

        /// Reads `404` or `4xx`; nil for a text of another form.
        static func statuses(_ text: String) -> ClosedRange<Int>? {
            let digits = text.lowercased().replacing("x", with: "0")
            guard text.count == 3, let first = Int(digits), (100...599).contains(first), text.lowercased().hasSuffix("xx") || digits == text
            else { return nil }
            return first...(digits == text ? first : first + 99)
        }

        /// Returns whether a line passes.
        /// - Parameter text: Returns the text of one of its keys; nil: it has none.
        func admits(status: Int?, text: (String) -> String?) -> Bool {
            let found = text("level").flatMap(ServerConfiguration.logLevels.firstIndex) ?? ServerConfiguration.logLevels.count
            guard found >= level else { return false }
            if let statuses {
                guard let status, statuses.contains(status) else { return false }
            }
            if let operation, text("operation") != operation { return false }
            return values.allSatisfy { text($0.key) == $0.value }
        }
    }

    /// Returns the time, the level and the message, then the values in the order of their names.
    private static func text(_ line: [String: Any]) -> String {
        let head = ["ts", "level", "msg"]
        let values = line.filter { !head.contains($0.key) }.sorted { $0.key < $1.key }
            .compactMap { key, value in "\(value)".isEmpty ? nil : "\(key)=\(value)" }
        return Output.withoutControls((head.compactMap { line[$0] as? String } + values).joined(separator: " "))
    }
}
