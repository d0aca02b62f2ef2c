import CloudContainer
import CloudWire
import FoundationEssentials
import HTTPServer

/// Whether the process lives, whether it can serve, what it is, and what it takes.
struct Health: Sendable {
    let cloud: Cloud
    /// Whether the server has started whole, and does not end: both listeners are there, and the administrator's file tells where.
    let isRunning: @Sendable () -> Bool

    func addRoutes(to router: inout Router) {
        router.get("/healthz") { _, _ in .text("ok\n") }
        router.get("/readyz") { _, _ in
            guard isRunning() else { throw ServerError.notReady }
            // A read that touches the store: ready is who can answer.
            _ = try await cloud.container("iCloud.nacre.ready")
            return .text("ready\n")
        }
        router.get("/limits") { _, _ in .json(try LimitTable(limits: Limits.table).json) }
        router.get("/version") { _, _ in .json(Array(#"{"name":"nacre","version":"\#(ServerVersion.current)"}"#.utf8)) }
    }
}

/// `GET /limits`
private struct LimitTable: Encodable {
    var limits: [Limit]

    var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return [UInt8](try encoder.encode(self))
        }
    }
}

extension ServerError {
    static let notReady = ServerError(.tryAgainLater, "The server is starting or ending", retryAfter: 1)
}
