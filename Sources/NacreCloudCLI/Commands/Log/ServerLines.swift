import Foundation
import NacreCloudServer

/// The lines of the server's own log, for `nacre logs --server-lines`.
struct ServerLines {
    private let filter: LineFilter
    private let isForPeople: Bool
    private let admin: AdminClient

    init(_ call: Call, isForPeople: Bool, by admin: AdminClient) throws {
        filter = try LineFilter(call)
        (self.isForPeople, self.admin) = (isForPeople, admin)
    }

    /// Prints the lines that the server has kept, and later ones where the command follows.
    /// - Parameter level: The level from which the server makes lines for a command that follows; nil: it does not
    ///   follow.
    func print(following level: String?) async throws {
        var after: Int?
        repeat {
            let page = try await admin.logs(after: after, level: level)
            if page.missed > 0 { Output.message("\(page.missed) lines were faster than this command, and are left out.") }
            for line in page.lines {
                guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                    filter.admits(status: object["status"] as? Int, text: { object[$0] as? String })
                else { continue }
                try Output.data(isForPeople ? Self.text(object) : line)
            }
            after = page.last
            if level != nil { try await Task.sleep(for: Logs.pause) }
        } while level != nil
    }

    /// Returns the time, the level and the message, then the values in the order of their names.
    private static func text(_ line: [String: Any]) -> String {
        let head = ["ts", "level", "msg"]
        let values = line.filter { !head.contains($0.key) }.sorted { $0.key < $1.key }
            .compactMap { key, value in "\(value)".isEmpty ? nil : "\(key)=\(value)" }
        return Output.withoutControls((head.compactMap { line[$0] as? String } + values).joined(separator: " "))
    }

    /// The conditions on the lines that are shown.
    struct LineFilter {
        private let level: Int
        private let statuses: ClosedRange<Int>?
        /// Keys of a line, each with the value that it must have.
        private let values: [(key: String, value: String)]

        init(level: String, statuses: ClosedRange<Int>?, values: [(key: String, value: String)]) {
            self.level = ServerConfiguration.logLevels.firstIndex(of: level) ?? 0
            (self.statuses, self.values) = (statuses, values)
        }

        init(_ call: Call) throws {
            let options = [
                ("code", Logs.code), ("container", Logs.container), ("environment", Logs.environment), ("database", Logs.database),
                ("zone", Logs.zone), ("user", Logs.user), ("operation", Logs.operation), ("request_id", Logs.request),
            ]
            let values = options.compactMap { key, option in
                call.value(option).map { (key: key, value: option.name == "code" ? $0.uppercased() : $0) }
            }
            self.init(
                level: try call.require(Logs.level), statuses: try call.value(Logs.status).map { try Logs.statuses($0, call) }, values: values)
        }

        /// Returns whether a line passes.
        /// - Parameter text: Returns the text of one of its keys; nil: it has none.
        func admits(status: Int?, text: (String) -> String?) -> Bool {
            let found = text("level").flatMap(ServerConfiguration.logLevels.firstIndex) ?? ServerConfiguration.logLevels.count
            guard found >= level else { return false }
            if let statuses {
                guard let status, statuses.contains(status) else { return false }
            }
            return values.allSatisfy { text($0.key) == $0.value }
        }
    }
}
