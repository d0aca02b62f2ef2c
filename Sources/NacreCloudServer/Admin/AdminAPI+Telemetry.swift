import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Sums of what the cloud did.
extension AdminAPI {
    /// Adds the routes that tell what was asked of the server.
    func addObservationRoutes(to router: inout Router) {
        router.get("/admin/1/audit", listAudit)
        router.get("/admin/1/logs", listLogs)
        router.get("/admin/1/telemetry", telemetry)
        router.get("/admin/1/requests", listRequests)
    }

    /// `GET /admin/1/telemetry?last=…&from=…&to=…&operation=…&database=…&container=…&environment=…&by=…&compare=…`
    @Sendable func telemetry(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try answer(try await recorder.answer(to: TelemetryQuestion(request, at: recorder.now)))
    }
}

extension AdminMessages {
    /// `GET /admin/1/telemetry`
    package struct Telemetry: Codable, Sendable {
        /// The period in milliseconds since 1970. Its ends are those of slots.
        package var from: Int64
        package var to: Int64
        /// Whether figures of private and shared databases may be left out, because they are sums over fewer than five
        /// users or their slot is not over. The question decides that alone, not what was left out.
        package var hasHidden: Bool
        package var total: TelemetryLine
        package var lines: [TelemetryLine]
        package var bars: [TelemetryBar]
        /// The same sums of the period before.
        package var before: TelemetryLine?
        package var changes: [TelemetryChange]?
    }

    /// Sums of one series, or of one value of a property. A line by code, client or index has its name, requests and
    /// errors alone.
    package struct TelemetryLine: Codable, Sendable {
        package var operation: String?
        package var database: String?
        package var container: String?
        package var environment: String?
        package var code: String?
        package var client: String?
        package var index: String?
        package var requests: Int64
        /// Refused requests, and items refused in answers with status 200.
        package var errors: Int64
        package var clientErrors: Int64?
        package var serverErrors: Int64?
        package var itemErrors: Int64?
        /// Milliseconds.
        package var p50: Double?
        package var p95: Double?
        package var p99: Double?
        package var bytesIn: Int64?
        package var bytesOut: Int64?
        package var asked: Int64?
        package var answered: Int64?
        /// A number, or `fewer than 5`.
        package var users: String?
        package var storedBytes: Int64?

        init(requests: Int64, errors: Int64) { (self.requests, self.errors) = (requests, errors) }
    }

    package struct TelemetryBar: Codable, Sendable {
        /// Milliseconds since 1970.
        package var start: Int64
        package var requests: Int64
        package var errors: Int64
    }

    /// A figure that differs from the period before.
    package struct TelemetryChange: Codable, Sendable {
        package struct Cause: Codable, Sendable {
            package var property: String
            package var name: String
            /// The part of the difference, of 1.
            package var share: Double
            package var before: Double
            package var after: Double
        }

        /// `requests`, `errorRate` or `latency`.
        package var figure: String
        package var before: Double
        package var after: Double
        package var causes: [Cause]
    }
}

extension AdminMessages.TelemetryChange {
    init(_ change: NacreCloudContainer.TelemetryChange) {
        figure = change.figure.rawValue
        (before, after) = (change.before, change.after)
        causes = change.causes.map {
            Cause(property: $0.property.rawValue, name: $0.name, share: $0.share, before: $0.before, after: $0.after)
        }
    }
}
