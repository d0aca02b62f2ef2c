import CloudContainer
import FoundationEssentials
import HTTPServer

/// Whether the process lives, whether it can serve, and what it is.
struct Health: Sendable {
    let cloud: Cloud

    func addRoutes(to router: inout Router) {
        router.get("/healthz") { _, _ in .text("ok\n") }
        router.get("/readyz") { _, _ in
            // A read that touches the store: ready is who can answer.
            _ = try await cloud.container("iCloud.nacre.ready")
            return .text("ready\n")
        }
        router.get("/version") { _, _ in .json(Array(#"{"name":"nacre","version":"\#(ServerVersion.current)"}"#.utf8)) }
    }
}
