import Foundation
import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Runs a server on a free port during a body; afterwards it is shut down and nothing is left.
func withServer(
    _ configuration: HTTPServerConfiguration = configured { _ in }, telemetry: Telemetry = Telemetry(), logger: Logger = .silent,
    routes router: Router,
    _ body: (ServerUnderTest) async throws -> Void
) async throws {
    let server = HTTPServer(configuration, router: router, telemetry: telemetry, logger: logger)
    let (_, port) = try await server.start()
    do {
        try await body(ServerUnderTest(server: server, port: port))
    } catch {
        await server.shutdown(grace: .zero)
        throw error
    }
    await server.shutdown(grace: .zero)
}

/// Returns a configuration whose deadlines are only reached by tests of deadlines, however slow the machine is.
func configured(_ change: (inout HTTPServerConfiguration) -> Void) -> HTTPServerConfiguration {
    var configuration = HTTPServerConfiguration()
    configuration.headerDeadline = .seconds(600)
    configuration.bodyDeadline = .seconds(600)
    configuration.idleTimeout = .seconds(600)
    // Budgets, too, are only exhausted by tests of budgets.
    let parts = Budget.Parts(stranger: 1 << 28, guest: 1 << 28, user: 1 << 28)
    configuration.budgets = Budgets(bodies: parts, answers: parts)
    change(&configuration)
    return configuration
}

/// Returns a router with these routes, and `/ping`.
func routing(_ add: (inout Router) -> Void) -> Router {
    var router = Router()
    router.get("/ping") { _, _ in .text("pong") }
    add(&router)
    return router
}

struct ServerUnderTest: Sendable {
    let server: HTTPServer
    let port: Int

    func client() async throws -> RawClient { try await RawClient(port: port) }

    /// Returns when the loop (of a server that has one) has processed earlier bytes: it has answered two requests on
    /// another connection since.
    func settle() async throws {
        while true {
            do {
                let witness = try await client()
                for _ in 0..<2 {
                    try await witness.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
                    _ = try await witness.response()
                }
                return
            } catch RawClientError.closed {
                // The server's deadlines were too short for this machine; another connection is tried.
            }
        }
    }

    /// Sends one request on a connection of its own.
    func exchange(_ request: String, toHead: Bool = false) async throws -> RawResponse {
        let client = try await client()
        try await client.send(request)
        return try await client.response(toHead: toHead)
    }

    func get(_ target: String, _ headers: String...) async throws -> RawResponse {
        try await exchange("GET \(target) HTTP/1.1\r\nHost: a\r\n\(headers.map { $0 + "\r\n" }.joined())\r\n")
    }
}

/// A gate that is closed until it is opened.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    func pass() async {
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }
}

/// The name of the calling thread.
func threadName() throws -> String {
    try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
}
