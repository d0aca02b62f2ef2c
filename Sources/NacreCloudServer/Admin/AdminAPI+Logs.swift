import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// The last lines of the server's log.
extension AdminAPI {
    /// `GET /admin/1/logs?after=…&level=…`
    @Sendable func listLogs(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let after = try request.query("after").map { text in
            guard let number = Int(text), number >= 0 else { throw ServerError.unknownPage }
            return number
        }
        let level = try request.query("level").map { name in
            guard let level = LogLevel(name: name) else {
                throw ServerError(
                    .badRequest, "unknown level", field: "level", remedy: "It is one of \(ServerConfiguration.logLevels.joined(separator: ", ")).")
            }
            return level
        }
        let page = recentLog.page(after: after, following: level, at: .now)
        return try answer(AdminMessages.Logs(lines: page.lines, last: page.last, missed: page.missed))
    }
}

extension AdminMessages {
    /// `GET /admin/1/logs`
    package struct Logs: Codable, Sendable {
        /// An object each, as the log has them.
        package var lines: [String]
        /// `after` of the next question.
        package var last: Int
        /// Lines after `after` that are not kept any more.
        package var missed: Int
    }
}
