import NacreCloudAccounts
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
        /// Log lines, each a JSON object.
        package var lines: [String]
        /// The number of the last line: `after` of the next request.
        package var last: Int
        /// The number of lines after `after` that are no longer kept.
        package var missed: Int
    }
}
