import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
package import NacreHTTPServer
import NacreTelemetry

/// The admin API of the running server, under `/admin/1/…` on a listener of its own that only administrators reach.
///
/// Requests and answers are JSON (`AdminMessages`), errors as in RFC 9457. Every route but the proof and the console's
/// sign-in requires a credential. The token of the data folder's `admin.json`, as a bearer token, opens all. Routes
/// about a container's schema also take a management token of the container. The console's page has a session, whose
/// role says which routes take it.
package struct AdminAPI: Sendable {
    let cloud: Cloud
    /// The public listener's authenticator, so that it refuses at once what is ended here.
    let authenticator: Authenticator
    let backups: BackupRunner
    /// The backups that the server makes by itself; nil: none.
    let scheduled: ScheduledBackups?
    let passwords: PasswordHasher
    private let token: String
    let publicURL: String
    private let localURL: String
    /// Rates of containers for which none are set.
    let serverRates: Rates
    /// The table of `GET /limits`.
    let limits: AdminMessages.LimitTable
    /// Faults of an emulator; nil for a real server.
    let faults: FaultQueue?
    private let logger: Logger
    let recentLog: RecentLog
    let recorder: TelemetryRecorder
    /// The request log; nil if it is turned off.
    let recorded: RecordedRequests?
    let alerts: AlertWatch
    let console: ConsoleGate
    /// The door of the console's own listener, which takes sessions alone; nil for the admin listener.
    var door: ConsoleDoor?
    let auditRates = AuditRates()
    let mailTrials = MailTrials()

    /// - Parameters:
    ///   - token: the token of the admin file.
    ///   - publicURL: the URL by which apps reach the server, for commands that sign users in.
    ///   - localURL: the same listener's URL on this machine.
    init(
        cloud: Cloud, authenticator: Authenticator, backups: BackupRunner, passwords: PasswordHasher, token: String, publicURL: String,
        localURL: String, requestRate: Int? = nil, limits: [Limit], faults: FaultQueue? = nil, logger: Logger = .silent,
        recentLog: RecentLog = RecentLog(),
        observation: Observation, console: ConsoleGate, scheduled: ScheduledBackups? = nil
    ) {
        self.cloud = cloud
        self.authenticator = authenticator
        (self.backups, self.scheduled) = (backups, scheduled)
        self.passwords = passwords
        self.token = token
        self.publicURL = publicURL
        self.localURL = localURL
        serverRates = Rates(requestRate: requestRate)
        self.limits = AdminMessages.LimitTable(limits)
        self.faults = faults
        self.logger = logger
        self.recentLog = recentLog
        recorder = observation.recorder
        (recorded, alerts) = (observation.recorded, observation.alerts)
        self.console = console
    }

    /// Sets up a listener's router: its routes, authentication, and the form of its errors.
    package func addRoutes(to router: inout Router) {
        router.onError = { error, request in
            if let repeated = error as? RepeatedAnswer { return repeated.response }
            if !(error is ServerError || error is HTTPError) {
                logger.log(.error, "An admin request failed", [.requestID: .string(request.id), .error: .string(String(reflecting: error))])
            }
            return AdminProblem.response(to: error, of: request)
        }
        if let door { router.use(door.admit) }
        router.use(authenticate)
        router.use(keepAnswer)
        router.use(audit)
        if door == nil { router.get(Self.proofPath, proof) }
        router.get("/admin/1/server", server)
        router.get("/admin/1/limits") { _, _ in try answer(limits) }
        addObservationRoutes(to: &router)
        router.get("/admin/1/containers", listContainers)
        router.post("/admin/1/containers", bodyBytesMax: Limits.accountBodyBytes, createContainer)
        router.post("/admin/1/containers/change", bodyBytesMax: Limits.accountBodyBytes, changeContainer)
        router.post("/admin/1/containers/delete", bodyBytesMax: Limits.accountBodyBytes, deleteContainer)
        router.post("/admin/1/containers/sharing", bodyBytesMax: Self.sharingBodyBytes, setShareApp)
        router.post("/admin/1/tokens", bodyBytesMax: Limits.accountBodyBytes, createToken)
        router.get("/admin/1/tokens", listTokens)
        router.post("/admin/1/tokens/revoke", bodyBytesMax: Limits.accountBodyBytes, revokeToken)
        router.post("/admin/1/tokens/rotate", bodyBytesMax: Limits.accountBodyBytes, rotateToken)
        addUserRoutes(to: &router)
        router.get("/admin/1/schema", schema)
        router.post("/admin/1/schema/deploy", bodyBytesMax: Limits.accountBodyBytes, deploySchema)
        router.post("/admin/1/schema/import", bodyBytesMax: Limits.schemaBodyBytes, importSchema)
        router.post("/admin/1/schema/diff", bodyBytesMax: Limits.schemaBodyBytes, diffSchema)
        router.get("/admin/1/schema/indexes", indexes)
        router.post("/admin/1/schema/indexes", bodyBytesMax: Limits.accountBodyBytes, setIndexes)
        router.get("/admin/1/schema/counts", recordCounts)
        router.post("/admin/1/schema/reset", bodyBytesMax: Limits.accountBodyBytes, resetSchema)
        router.get("/admin/1/schema/history", schemaHistory)
        router.post("/admin/1/schema/undo", bodyBytesMax: Limits.accountBodyBytes, undoSchemaChange)
        router.get("/admin/1/roles", listRoles)
        router.post("/admin/1/roles/assign", bodyBytesMax: Limits.accountBodyBytes, assignRole)
        router.post("/admin/1/roles/revoke", bodyBytesMax: Limits.accountBodyBytes, revokeRole)
        router.post("/admin/1/roles/why", bodyBytesMax: Limits.accountBodyBytes, explainPermission)
        router.post("/admin/1/zones/create", bodyBytesMax: Limits.accountBodyBytes, createZone)
        router.post("/admin/1/zones/purge", bodyBytesMax: Limits.accountBodyBytes, purgeZone)
        router.post("/admin/1/zones/resync", bodyBytesMax: Limits.accountBodyBytes, resyncZone)
        router.post("/admin/1/users/resync", bodyBytesMax: Limits.accountBodyBytes, resyncUser)
        router.get("/admin/1/usage", usage)
        router.get("/admin/1/quotas", quotas)
        router.post("/admin/1/quotas/change", bodyBytesMax: Limits.accountBodyBytes, changeQuotas)
        router.get("/admin/1/rates", rates)
        router.post("/admin/1/rates/change", bodyBytesMax: Limits.accountBodyBytes, changeRates)
        router.post("/admin/1/check", bodyBytesMax: Limits.accountBodyBytes, check)
        router.get("/admin/1/tasks", listTasks)
        router.post("/admin/1/tasks/retry", bodyBytesMax: Limits.accountBodyBytes, retryTask)
        addDatabaseRoutes(to: &router)
        addPushRoutes(to: &router)
        addSubscriptionRoutes(to: &router)
        addWebhookRoutes(to: &router)
        addShareRoutes(to: &router)
        addAssetRoutes(to: &router)
        addFaultRoutes(to: &router)
        addAlertRoutes(to: &router)
        addConsoleRoutes(to: &router)
        addTeamRoutes(to: &router)
        addBackupRoutes(to: &router, bodyBytesMax: Limits.accountBodyBytes)
        let document = faults == nil ? Self.documentJSON : Self.emulatorDocumentJSON
        router.get(Self.documentPath) { _, _ in .json(document) }
    }

    // MARK: Permission to ask

    /// The endpoint that proves to a command that the server has the token, which the command then sends.
    private static let proofPath = "/admin/1/proof"
    /// Endpoints of the console that want no credential.
    static let consoleOpenRoutes: Set = [consoleSignInPath, consoleChallengePath]

    /// Whether a request needs no credential.
    private func isOpen(_ request: HTTPRequest) -> Bool {
        guard let route = request.route else { return false }
        return Self.consoleOpenRoutes.contains(route) || door == nil && (route == Self.proofPath || isLocalScrape(request))
    }

    /// Authenticates a request. An unknown path is refused in the same way as others: a client without a token does not
    /// learn which paths exist.
    @Sendable private func authenticate(_ request: HTTPRequest, _ next: Next) async throws -> HTTPResponse {
        if let route = request.route, ConsoleFiles.routes.contains(route) { return await next(request) }
        let isOpen = isOpen(request)
        let bearer = door == nil ? Authenticator.bearer(request) : nil
        let isAdministrator = isOpen || bearer.map { constantTimeEquals(Array($0.utf8), Array(token.utf8)) } == true
        let manager = isAdministrator ? nil : try await managementCaller(bearer)
        // A token says who asks; the browser adds its cookie by itself.
        let session = isOpen || bearer != nil ? nil : try await consoleCaller(request)
        guard isAdministrator || manager != nil || session != nil else {
            throw door == nil ? AdminProblem.unauthorized : HTTPError.noConsoleSession
        }
        try manager?.require(request)
        var response = await ManagementCaller.$current.withValue(manager) {
            await ConsoleCaller.$current.withValue(session) { await next(request) }
        }
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Request-Id"] = request.id
        response.headers["X-Content-Type-Options"] = "nosniff"
        // Answers contain tokens beside text that the client sent.
        response.mayCompress = false
        return response
    }

    /// Whether a request reads metrics from this machine, which needs no token, because the token changes at each
    /// start. A page in a browser here cannot read them: its host is a name that resolves to loopback, not loopback
    /// itself.
    private func isLocalScrape(_ request: HTTPRequest) -> Bool {
        guard request.route == Metrics.path, IPAddress.isLoopback(request.remoteAddress),
            let name = request.header("Host").flatMap(ServedHosts.parts)?.name
        else { return false }
        return name.lowercased() == "localhost" || IPAddress.isLoopback(name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name)
    }

    /// The holder of a management token; nil if there is no such token or it has ended. Read from the registry each
    /// time, so that a revoked token fails at once.
    private func managementCaller(_ bearer: String?) async throws -> ManagementCaller? {
        guard let token = bearer.flatMap(ManagementToken.init), let entry = try await cloud.registry.managementToken(token.id),
            constantTimeEquals(Array(token.proofKey.utf8), Array(entry.digest.utf8))
        else { return nil }
        await authenticator.noteUse(of: entry, entry.id)
        return ManagementCaller(entry: entry)
    }

    // MARK: Routes

    @Sendable private func proof(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let nonce = request.query("nonce"), let proof = AdminProof.make(nonce: nonce, token: try await proofKey(request)) else {
            throw ServerError(.badRequest, "invalid nonce", field: "nonce", remedy: "Send 16 to 64 random bytes as hexadecimal digits.")
        }
        return try answer(AdminMessages.Proof(proof: proof))
    }

    /// The proof's key: that of the token whose ID the request names, or the administrator's token.
    private func proofKey(_ request: HTTPRequest) async throws -> String {
        guard let id = request.query("token") else { return token }
        guard let entry = try await cloud.registry.managementToken(id) else { throw AdminProblem.unauthorized }
        return entry.digest
    }

    @Sendable private func server(_: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let assets = cloud.assets?.usage.map { AdminMessages.AssetsKept(chunks: $0.chunks, bytes: $0.bytes) }
        return try answer(
            AdminMessages.Server(
                version: ServerVersion.current, publicURL: publicURL, localURL: localURL, isEmulator: faults != nil, assets: assets))
    }

    /// `GET /admin/1/containers?after=…`, or `?name=…` for one with its settings
    @Sendable private func listContainers(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        if let name = request.query("name") { return try answer(AdminMessages.Containers(containers: [try await settings(of: name)])) }
        let (page, next) = try await cloud.registry.containers(after: request.query("after"))
        let lines = page.map {
            AdminMessages.ContainerLine(name: $0.name, created: Timestamp(secondsSince2001: $0.created).millisecondsSince1970)
        }
        return try answer(AdminMessages.Containers(containers: lines, next: next))
    }

    private func settings(of name: String) async throws -> AdminMessages.ContainerLine {
        guard let entry = try await cloud.registry.container(name) else { throw ServerError.noContainer }
        let schema = try await cloud.schemas.schema(of: name, .development)
        let shown = try await cloud.registry.shownApp(of: name)
        return AdminMessages.ContainerLine(
            name: name, created: Timestamp(secondsSince2001: entry.created).millisecondsSince1970, justInTime: schema.justInTime.rawValue,
            sharing: AdminMessages.ContainerSharing(name, shown.links, hasIcon: shown.icon != nil))
    }

    @Sendable private func createContainer(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewContainer.self, of: request)
        let choice = try asked.justInTime.map(Self.justInTime) ?? .native
        let made = try await cloud.schemas.createContainer(asked.name, justInTime: choice)
        let schema = try await cloud.schemas.schema(of: asked.name, .development)
        return try answer(
            AdminMessages.Container(name: made.container.name, isNew: made.isNew, justInTime: schema.justInTime.rawValue), made.isNew ? .created : .ok
        )
    }

    @Sendable private func changeContainer(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewContainerChange.self, of: request)
        let before = try await cloud.schemas.setJustInTime(try Self.justInTime(asked.justInTime), of: asked.name)
        return try answer(AdminMessages.ContainerChange(name: asked.name, before: before.rawValue, justInTime: asked.justInTime))
    }

    /// `POST /admin/1/containers/delete`
    @Sendable private func deleteContainer(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let name = try await body(AdminMessages.NewContainerDeletion.self, of: request).name
        let deletion = try await cloud.deleteContainer(name) { authenticator.forget(container: name) }
        return try answer(
            AdminMessages.ContainerDeletion(
                name: name, credentials: deletion.credentials, accounts: deletion.accounts, databases: deletion.databases))
    }

    /// Bytes of a body with an app's icon in Base64.
    private static let sharingBodyBytes = Limits.accountBodyBytes + Limits.iconBytes * 4 / 3

    /// `POST /admin/1/containers/sharing`
    @Sendable private func setShareApp(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewContainerSharing.self, of: request, bytesMax: Self.sharingBodyBytes)
        let icon = try asked.icon.map { $0.isEmpty ? nil : try AppIcon(base64: $0) }
        let change = ShareApp(app: asked.app, fallback: asked.fallback, name: asked.appName, redirects: asked.redirects)
        let held = try await cloud.registry.setShareApp(change, icon: icon, of: asked.name)
        return try answer(AdminMessages.ContainerSharing(asked.name, held.app, hasIcon: held.hasIcon))
    }

    // MARK: JSON

    static func environment(_ text: String) throws -> DatabaseKey.Environment {
        guard let environment = DatabaseKey.Environment(rawValue: text) else {
            throw ServerError(.badRequest, "unknown environment", field: "environment", remedy: "Take development or production.")
        }
        return environment
    }

    private static func justInTime(_ text: String) throws -> JustInTime {
        guard let choice = JustInTime(rawValue: text) else {
            throw ServerError(.badRequest, "unknown choice", field: "justInTime", remedy: "Take native or all.")
        }
        return choice
    }

    func body<Message: Decodable>(_ type: Message.Type, of request: HTTPRequest, bytesMax: Int = Limits.accountBodyBytes) async throws -> Message {
        let bytes = Data(try await request.body.collect(upTo: bytesMax))
        let message: Message
        do {
            message = try JSONDecoder().decode(type, from: bytes)
        } catch {
            throw ServerError(error)
        }
        try ManagementCaller.current?.require(message)
        try await IdempotentRequest.current?.begin(with: bytes)
        try await AuditedRequest.current?.begin(with: bytes)
        return message
    }

    func answer(_ message: some Encodable, _ status: HTTPStatus = .ok) throws -> HTTPResponse {
        .json([UInt8](try AdminProblem.encoder.encode(message)), status: status)
    }
}

extension AdminMessages.ContainerSharing {
    fileprivate init(_ container: String, _ app: ShareApp, hasIcon: Bool) {
        self.init(
            name: container, app: app.app, fallback: app.fallback, redirects: app.redirects ?? false, appName: app.name, hasIcon: hasIcon)
    }
}
