import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Routes that tell whether the process lives, whether it can serve, its version, and its limits.
struct Health: Sendable {
    let registry: Registry
    /// Requests per second as configured; nil if there is no rate.
    let requestRate: Int?
    var quotas = Quotas.none
    var assetSizes = AssetSizes()
    var connectionsMax = ServerConfiguration.usualConnections
    /// Whether the server has fully started and is not ending: both listeners are open, and the administrator's file
    /// names them.
    let isRunning: @Sendable () -> Bool

    /// Budgets of bytes in memory and of requests under way. Bytes are request bodies until they are handled and
    /// answers until they are read. One holder, a user or an address, gets as much of its part as would remain for all
    /// others.
    private static let budgets: [Limit] = [
        ("bodyBytes", ServerLimits.bodyBudget), ("answerBytes", ServerLimits.answerBudget), ("requestsUnderWay", ServerLimits.placeBudget),
    ].flatMap { name, parts in
        [
            Limit(name + "OfStrangers", parts.stranger, .server), Limit(name + "OfAPITokens", parts.guest, .server),
            Limit(name + "OfUsers", parts.user, .server),
        ]
    }

    /// Limits of the public listener for a client's requests and answers.
    private static let listener: [Limit] = {
        let http = HTTPServerConfiguration()
        let times = [
            ("headerSeconds", http.headerDeadline), ("bodySeconds", http.bodyDeadline), ("workSeconds", http.workDeadline),
            ("idleSeconds", http.idleTimeout), ("stallSeconds", http.stallTimeout), ("pieceSeconds", http.pieceDeadline),
        ]
        return [
            Limit("headerBytes", http.headerBytesMax, .server), Limit("connections", http.connectionsMax, .server),
            Limit("requestsUnderWay", ServerLimits.placeBudget.sum, .server),
        ] + times.map { Limit($0, Int($1.components.seconds), .server) }
    }()

    /// The limits of this server, as they are set.
    var limits: [Limit] {
        // 0 means no limit.
        let set = [
            "requestRate": requestRate ?? 0, "userQuotaBytes": Int(quotas.userBytes), "publicQuotaBytes": Int(quotas.publicBytes),
            "webAssetBytes": assetSizes.web, "nativeAssetBytes": assetSizes.native, "connections": connectionsMax,
        ]
        return (Limits.table + Self.otherLimits).map { Limit($0.name, set[$0.name] ?? $0.value, $0.source) }
    }

    static let otherLimits = budgets + listener

    func addRoutes(to router: inout Router) {
        router.get("/healthz", isAlwaysAnswered: true) { _, _ in .text("ok\n") }
        router.get("/readyz", isAlwaysAnswered: true) { _, _ in
            guard isRunning() else { throw ServerError.notReady }
            // Reads from the store: the server is ready when the store answers.
            _ = try await registry.container("iCloud.nacre.ready")
            return .text("ready\n")
        }
        // The limits never change, and encoding them takes half a millisecond, so it is done once.
        let table = Result { try AdminMessages.LimitTable(limits).json }
        router.get("/limits") { _, _ in .json(try table.get()) }
        router.get("/version") { _, _ in .json(Array(#"{"name":"nacre","version":"\#(ServerVersion.current)"}"#.utf8)) }
    }
}

extension Health {
    /// Descriptions for `/openapi.json`.
    static let descriptions = [
        description("/healthz", "Whether the process lives.", .init(status: 200, type: "text/plain")),
        description("/readyz", "Whether it can serve.", .init(status: 200, type: "text/plain")),
        description(
            "/limits", "Every limit, with its source.",
            .init(
                status: 200,
                schema: .answer(["limits": .list(.answer(["name": .string, "value": .integer, "source": .string]))]))),
        description("/version", "What this is.", .init(status: 200, schema: .answer(["name": .string, "version": .string]))),
    ]

    private static func description(_ pattern: String, _ summary: String, _ answer: EndpointDescription.Answer) -> EndpointDescription {
        EndpointDescription(method: .get, pattern: pattern, summary: summary, group: "Server", answers: [answer], errors: [403])
    }
}

extension ServerError {
    static let notReady = ServerError(.tryAgainLater, "The server is starting or ending", retryAfter: 1)
}
