import Foundation
import NacreCloudServer
import NacreCloudWire

/// A client of the admin API, for a server that has proved its identity.
struct AdminClient {
    let web: WebClient
    let token: String
    /// Whether the server runs on this machine.
    let isHere: Bool
    /// The URL of the admin API.
    var url: String { web.url }

    /// Connects to the server that the options name.
    /// - Throws: `CommandFailure` 69 where no server answers, 77 where it is another one.
    static func connect(_ call: Call) async throws -> AdminClient {
        try await connect(to: try AdminServer.named(by: call))
    }

    /// Connects to a known server.
    static func connect(to server: AdminServer) async throws -> AdminClient {
        let web = WebClient(url: server.url)
        let nonce = try AdminProof.newNonce()
        let management = ManagementToken(server.token)
        let answer = try await web.send("GET", "/admin/1/proof?nonce=\(nonce)\(management.map { "&token=\($0.id)" } ?? "")")
        guard answer.status == 200, let proof = try? JSONDecoder().decode(AdminMessages.Proof.self, from: answer.body),
            AdminProof.isValid(proof.proof, nonce: nonce, token: management?.proofKey ?? server.token)
        else {
            throw CommandFailure(
                .authentication, "what answers at \(server.url) does not know the admin token, so it was not sent",
                remedy: management == nil
                    ? "The server makes a new token at each start: take its admin.json as it is now, or make a management token."
                    : "It was revoked, or has ended, or is another server's: make another with nacre token create --kind management.")
        }
        return AdminClient(web: web, token: server.token, isHere: server.isHere)
    }

    func server() async throws -> AdminMessages.Server {
        try read(AdminMessages.Server.self, try await web.send("GET", "/admin/1/server", bearer: token))
    }

    /// Returns the URL at which this command reaches the public API: on the server's own machine its listener, since
    /// its public name may lead elsewhere from there.
    func appURL() async throws -> String {
        let server = try await server()
        return isHere ? server.localURL : server.publicURL
    }

    func create(_ container: AdminMessages.NewContainer) async throws -> AdminMessages.Container {
        try read(AdminMessages.Container.self, try await web.send("POST", "/admin/1/containers", bearer: token, body: container))
    }

    /// Passes the audit log of administrators' requests to `body`, page by page.
    func eachPageOfAudit(_ body: (AdminMessages.AuditLog) throws -> Void) async throws {
        try await eachPage(AdminMessages.AuditLog.self, "/admin/1/audit", [], body)
    }

    func alerts() async throws -> AdminMessages.Alerts {
        try await get(AdminMessages.Alerts.self, "/admin/1/alerts", [])
    }

    func add(_ asked: AdminMessages.NewAlert) async throws -> AdminMessages.AddedAlert {
        try read(AdminMessages.AddedAlert.self, try await web.send("POST", "/admin/1/alerts", bearer: token, body: asked))
    }

    func remove(_ asked: AdminMessages.NewAlertRemoval) async throws -> AdminMessages.RemovedAlert {
        try read(AdminMessages.RemovedAlert.self, try await web.send("POST", "/admin/1/alerts/remove", bearer: token, body: asked))
    }

    func test(_ asked: AdminMessages.NewAlertTest) async throws -> AdminMessages.AlertTest {
        // Mails go one after the other, and a mail server may be slow.
        let answer = try await web.send("POST", "/admin/1/alerts/test", bearer: token, body: asked, patience: Self.checkPatience)
        return try read(AdminMessages.AlertTest.self, answer)
    }

    func silence(_ asked: AdminMessages.NewAlertSilence) async throws -> AdminMessages.SilencedAlert {
        try read(AdminMessages.SilencedAlert.self, try await web.send("POST", "/admin/1/alerts/silence", bearer: token, body: asked))
    }

    /// Returns the lines of the server's log after a line number.
    /// - Parameter level: The level from which the server makes lines while a client follows.
    func logs(after: Int?, level: String?) async throws -> AdminMessages.Logs {
        let query = [("after", after.map(String.init)), ("level", level)].compactMap { name, value in value.map { "\(name)=\($0)" } }
        let path = "/admin/1/logs" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        return try read(AdminMessages.Logs.self, try await web.send("GET", path, bearer: token))
    }

    /// Returns sums of what the cloud did.
    func telemetry(_ query: [(name: String, value: String?)]) async throws -> AdminMessages.Telemetry {
        try await get(AdminMessages.Telemetry.self, "/admin/1/telemetry", query)
    }

    /// Returns a page of the requests that the server answered.
    func requests(_ query: [(name: String, value: String?)]) async throws -> AdminMessages.Requests {
        try await get(AdminMessages.Requests.self, "/admin/1/requests", query)
    }

    /// Passes all containers to `body`, page by page.
    func eachPageOfContainers(_ body: (AdminMessages.Containers) throws -> Void) async throws {
        try await eachPage(AdminMessages.Containers.self, "/admin/1/containers", [], body)
    }

    /// Returns a page of the containers.
    func containers(after: String?) async throws -> AdminMessages.Containers {
        try await get(AdminMessages.Containers.self, "/admin/1/containers", [("after", after)])
    }

    func change(_ container: AdminMessages.NewContainerChange) async throws -> AdminMessages.ContainerChange {
        try read(AdminMessages.ContainerChange.self, try await web.send("POST", "/admin/1/containers/change", bearer: token, body: container))
    }

    func setSharing(_ change: AdminMessages.NewContainerSharing) async throws -> AdminMessages.ContainerSharing {
        try read(AdminMessages.ContainerSharing.self, try await web.send("POST", "/admin/1/containers/sharing", bearer: token, body: change))
    }

    func create(_ asked: AdminMessages.NewToken) async throws -> AdminMessages.Token {
        try read(AdminMessages.Token.self, try await web.send("POST", "/admin/1/tokens", bearer: token, body: asked))
    }

    func createKey(_ asked: AdminMessages.NewToken) async throws -> AdminMessages.ServerKey {
        try read(AdminMessages.ServerKey.self, try await web.send("POST", "/admin/1/tokens", bearer: token, body: asked))
    }

    /// Passes all API tokens and keys, or those of one container, to `body`, page by page.
    func eachPageOfTokens(of container: String?, _ body: (AdminMessages.Tokens) throws -> Void) async throws {
        try await eachPage(AdminMessages.Tokens.self, "/admin/1/tokens", [("container", container)], body)
    }

    func revoke(_ asked: AdminMessages.TokenRevocation) async throws -> AdminMessages.TokenLine {
        try read(AdminMessages.TokenLine.self, try await web.send("POST", "/admin/1/tokens/revoke", bearer: token, body: asked))
    }

    func rotate(_ asked: AdminMessages.NewRotation) async throws -> AdminMessages.Rotation {
        try read(AdminMessages.Rotation.self, try await web.send("POST", "/admin/1/tokens/rotate", bearer: token, body: asked))
    }

    func create(_ user: AdminMessages.NewUser) async throws -> AdminMessages.User {
        try read(AdminMessages.User.self, try await web.send("POST", "/admin/1/users", bearer: token, body: user))
    }

    func changeName(_ asked: AdminMessages.NewNames) async throws -> AdminMessages.Names {
        try read(AdminMessages.Names.self, try await web.send("POST", "/admin/1/users/change-name", bearer: token, body: asked))
    }

    func changeEmail(_ asked: AdminMessages.NewEmail) async throws -> AdminMessages.User {
        try read(AdminMessages.User.self, try await web.send("POST", "/admin/1/users/change-email", bearer: token, body: asked))
    }

    func setState(_ asked: AdminMessages.NewUserState) async throws -> AdminMessages.UserState {
        try read(AdminMessages.UserState.self, try await web.send("POST", "/admin/1/users/state", bearer: token, body: asked))
    }

    /// Passes all accounts to `body`, page by page.
    func eachPageOfUsers(_ body: (AdminMessages.Users) throws -> Void) async throws {
        try await eachPage(AdminMessages.Users.self, "/admin/1/users", [], body)
    }

    func user(_ email: String) async throws -> AdminMessages.UserDetails {
        try await get(AdminMessages.UserDetails.self, "/admin/1/users/show", [("email", email)])
    }

    func delete(_ asked: AdminMessages.NewUserDeletion) async throws -> AdminMessages.User {
        try read(AdminMessages.User.self, try await web.send("POST", "/admin/1/users/delete", bearer: token, body: asked))
    }

    func openReset(_ asked: AdminMessages.NewPasswordReset) async throws -> AdminMessages.PasswordReset {
        try read(AdminMessages.PasswordReset.self, try await web.send("POST", "/admin/1/users/reset-password", bearer: token, body: asked))
    }

    func actAs(_ asked: AdminMessages.NewActing) async throws -> AdminMessages.Acting {
        try read(AdminMessages.Acting.self, try await web.send("POST", "/admin/1/users/sign-in", bearer: token, body: asked))
    }

    func passkeys(of email: String) async throws -> AccountMessages.Passkeys {
        try await get(AccountMessages.Passkeys.self, "/admin/1/users/passkeys", [("email", email)])
    }

    func remove(_ asked: AdminMessages.NewPasskeyRemoval) async throws -> AccountMessages.Passkey {
        try read(AccountMessages.Passkey.self, try await web.send("POST", "/admin/1/users/passkeys/remove", bearer: token, body: asked))
    }

    /// Passes all sessions and devices of an account to `body`, page by page.
    func eachPageOfSessions(of email: String, _ body: (AccountMessages.Sessions) throws -> Void) async throws {
        try await eachPage(AccountMessages.Sessions.self, "/admin/1/sessions", [("email", email)], body)
    }

    func revoke(_ asked: AdminMessages.NewSessionEnd) async throws -> AccountMessages.SessionsEnded {
        try read(AccountMessages.SessionsEnded.self, try await web.send("POST", "/admin/1/sessions/revoke", bearer: token, body: asked))
    }

    func schema(of container: String, _ environment: String) async throws -> AdminMessages.Schema {
        try await get(AdminMessages.Schema.self, "/admin/1/schema", [("container", container), ("environment", environment)])
    }

    func deploy(_ asked: AdminMessages.NewDeployment) async throws -> AdminMessages.Deployment {
        try read(AdminMessages.Deployment.self, try await web.send("POST", "/admin/1/schema/deploy", bearer: token, body: asked))
    }

    func importSchema(_ asked: AdminMessages.NewImport) async throws -> AdminMessages.Differences {
        try read(AdminMessages.Differences.self, try await web.send("POST", "/admin/1/schema/import", bearer: token, body: asked))
    }

    /// Returns why an import would be refused; nil where it would not.
    func fault(of asked: AdminMessages.NewImport) async throws -> SchemaFault? {
        let answer = try await web.send("POST", "/admin/1/schema/import", bearer: token, body: asked)
        if answer.status == 400, let problem = try? JSONDecoder().decode(AdminMessages.Problem.self, from: answer.body) {
            return SchemaFault(problem)
        }
        _ = try read(AdminMessages.Differences.self, answer)
        return nil
    }

    func differences(_ asked: AdminMessages.NewDiff) async throws -> AdminMessages.Differences {
        try read(AdminMessages.Differences.self, try await web.send("POST", "/admin/1/schema/diff", bearer: token, body: asked))
    }

    func set(_ asked: AdminMessages.NewIndexes) async throws -> AdminMessages.Indexes {
        try read(AdminMessages.Indexes.self, try await web.send("POST", "/admin/1/schema/indexes", bearer: token, body: asked))
    }

    func madeIndexes(of container: String, _ environment: String) async throws -> AdminMessages.MadeIndexes {
        try await get(AdminMessages.MadeIndexes.self, "/admin/1/schema/indexes", [("container", container), ("environment", environment)])
    }

    func recordCounts(of container: String, _ environment: String) async throws -> AdminMessages.RecordCounts {
        try await get(AdminMessages.RecordCounts.self, "/admin/1/schema/counts", [("container", container), ("environment", environment)])
    }

    func reset(_ asked: AdminMessages.NewReset) async throws -> AdminMessages.Reset {
        try read(AdminMessages.Reset.self, try await web.send("POST", "/admin/1/schema/reset", bearer: token, body: asked))
    }

    func schemaHistory(of container: String, _ environment: String) async throws -> AdminMessages.SchemaHistory {
        try await get(AdminMessages.SchemaHistory.self, "/admin/1/schema/history", [("container", container), ("environment", environment)])
    }

    func undo(_ asked: AdminMessages.NewUndo) async throws -> AdminMessages.Undo {
        try read(AdminMessages.Undo.self, try await web.send("POST", "/admin/1/schema/undo", bearer: token, body: asked))
    }

    /// Passes all roles and their holders to `body`, page by page.
    func eachPageOfRoles(of container: String, _ environment: String, _ body: (AdminMessages.Roles) throws -> Void) async throws {
        try await eachPage(AdminMessages.Roles.self, "/admin/1/roles", [("container", container), ("environment", environment)], body)
    }

    func assign(_ asked: AdminMessages.NewRoleChange) async throws -> AdminMessages.RoleHolder {
        try read(AdminMessages.RoleHolder.self, try await web.send("POST", "/admin/1/roles/assign", bearer: token, body: asked))
    }

    func revoke(_ asked: AdminMessages.NewRoleChange) async throws -> AdminMessages.RoleHolder {
        try read(AdminMessages.RoleHolder.self, try await web.send("POST", "/admin/1/roles/revoke", bearer: token, body: asked))
    }

    /// Passes the stored bytes of a container and its users to `body`, page by page.
    func eachPageOfUsage(
        of container: String, _ environment: String, user: String?, _ body: (AdminMessages.Usage) throws -> Void
    ) async throws {
        var next: String?
        repeat {
            let page = try await usage(of: container, environment, user: user, after: next)
            try body(page)
            next = page.next
        } while next != nil
    }

    /// Returns a page of the stored bytes of a container and its users.
    func usage(of container: String, _ environment: String, user: String?, after: String?) async throws -> AdminMessages.Usage {
        try await get(
            AdminMessages.Usage.self, "/admin/1/usage", [("container", container), ("environment", environment), ("user", user), ("after", after)])
    }

    func quotas(of container: String, _ environment: String) async throws -> AdminMessages.Quotas {
        try await get(AdminMessages.Quotas.self, "/admin/1/quotas", [("container", container), ("environment", environment)])
    }

    func set(_ asked: AdminMessages.NewQuotas) async throws -> AdminMessages.Quotas {
        try read(AdminMessages.Quotas.self, try await web.send("POST", "/admin/1/quotas/change", bearer: token, body: asked))
    }

    func rates(of container: String) async throws -> AdminMessages.Rates {
        try await get(AdminMessages.Rates.self, "/admin/1/rates", [("container", container)])
    }

    func set(_ asked: AdminMessages.NewRates) async throws -> AdminMessages.Rates {
        try read(AdminMessages.Rates.self, try await web.send("POST", "/admin/1/rates/change", bearer: token, body: asked))
    }

    func faults() async throws -> AdminMessages.Faults {
        try emulated(try await web.send("GET", "/admin/1/faults", bearer: token))
    }

    func add(_ asked: AdminMessages.NewFault) async throws -> AdminMessages.Faults {
        try emulated(try await web.send("POST", "/admin/1/faults", bearer: token, body: asked))
    }

    func clearFaults() async throws -> AdminMessages.Faults {
        try emulated(try await web.send("POST", "/admin/1/faults/clear", bearer: token, body: AdminMessages.NoFaults()))
    }

    /// Reads the answer of a route that only an emulator has.
    private func emulated(_ answer: WebClient.Answer) throws -> AdminMessages.Faults {
        guard answer.status != 404 else {
            throw CommandFailure(.failure, "this server takes no faults", remedy: "Start it with nacre serve --emulator.")
        }
        return try read(AdminMessages.Faults.self, answer)
    }

    func pushKeys(of container: String) async throws -> AdminMessages.PushKeys {
        try await get(AdminMessages.PushKeys.self, "/admin/1/push/apns", [("container", container)])
    }

    func set(_ asked: AdminMessages.NewPushKey) async throws -> AdminMessages.PushKey {
        try read(AdminMessages.PushKey.self, try await web.send("POST", "/admin/1/push/apns/set", bearer: token, body: asked))
    }

    func remove(_ asked: AdminMessages.NewPushKeyRemoval) async throws -> AdminMessages.PushKey {
        try read(AdminMessages.PushKey.self, try await web.send("POST", "/admin/1/push/apns/remove", bearer: token, body: asked))
    }

    func subscriptions(of user: String, in container: String, _ environment: String, _ database: String) async throws -> AdminMessages.Subscriptions {
        let asked = AdminMessages.NewSubscriptionList(container: container, environment: environment, database: database, user: user)
        return try read(AdminMessages.Subscriptions.self, try await web.send("POST", "/admin/1/subscriptions/list", bearer: token, body: asked))
    }

    func explain(_ asked: AdminMessages.NewNotificationQuestion) async throws -> AdminMessages.NotificationAnswer {
        try read(AdminMessages.NotificationAnswer.self, try await web.send("POST", "/admin/1/subscriptions/why", bearer: token, body: asked))
    }

    func createZone(_ asked: AdminMessages.UserZone) async throws -> AdminMessages.NamedZone {
        try read(AdminMessages.NamedZone.self, try await web.send("POST", "/admin/1/zones/create", bearer: token, body: asked))
    }

    func purge(_ asked: AdminMessages.UserZone) async throws -> AdminMessages.NamedZone {
        try read(AdminMessages.NamedZone.self, try await web.send("POST", "/admin/1/zones/purge", bearer: token, body: asked))
    }

    func resync(_ asked: AdminMessages.UserZone) async throws -> AdminMessages.NamedZone {
        try read(AdminMessages.NamedZone.self, try await web.send("POST", "/admin/1/zones/resync", bearer: token, body: asked))
    }

    func resync(_ asked: AdminMessages.NewUserResync) async throws -> AdminMessages.UserResync {
        try read(AdminMessages.UserResync.self, try await web.send("POST", "/admin/1/users/resync", bearer: token, body: asked))
    }

    func explain(_ asked: AdminMessages.NewPermissionQuestion) async throws -> AdminMessages.PermissionAnswer {
        try read(AdminMessages.PermissionAnswer.self, try await web.send("POST", "/admin/1/roles/why", bearer: token, body: asked))
    }

    func create(_ asked: AdminMessages.NewShare) async throws -> AdminMessages.CreatedShare {
        try read(AdminMessages.CreatedShare.self, try await web.send("POST", "/admin/1/shares/create", bearer: token, body: asked))
    }

    func link(_ asked: AdminMessages.NewShareLink) async throws -> AdminMessages.ShareLink {
        try read(AdminMessages.ShareLink.self, try await web.send("POST", "/admin/1/shares/manage", bearer: token, body: asked))
    }

    func explain(_ asked: AdminMessages.NewExplanation) async throws -> AdminMessages.Explanation {
        try read(AdminMessages.Explanation.self, try await web.send("POST", "/admin/1/query/explain", bearer: token, body: asked))
    }

    /// An operation of the Web Services API that an administrator may ask of a database, by its name there.
    enum DatabaseOperation: String {
        case lookup = "records/lookup"
        case modify = "records/modify"
        case zones = "zones/list"
        case changes = "changes/zone"

        fileprivate var path: String {
            switch self {
            case .lookup: "/admin/1/records/lookup"
            case .modify: "/admin/1/records/modify"
            case .zones: "/admin/1/zones/list"
            case .changes: "/admin/1/zones/changes"
            }
        }
    }

    func ask(_ operation: DatabaseOperation, _ asked: AdminMessages.NewDatabaseRequest) async throws -> AdminMessages.DatabaseAnswer {
        try read(AdminMessages.DatabaseAnswer.self, try await web.send("POST", operation.path, bearer: token, body: asked))
    }

    /// Writes the file in a field of a record into a file here.
    func download(_ asked: AdminMessages.NewAssetContent, into file: String) async throws {
        let body = [UInt8](try JSONEncoder().encode(asked))
        let answer = try await web.send("POST", "/admin/1/assets/content", bearer: token, json: body, into: file)
        guard answer.status == 200 else { throw Self.failure(answer) }
    }

    /// Sends a file for a field of a record.
    func upload(_ file: String, _ query: [(name: String, value: String?)]) async throws -> AdminMessages.DatabaseAnswer {
        let answer = try await web.send(file: file, to: Self.target("/admin/1/assets/upload", query), bearer: token)
        return try read(AdminMessages.DatabaseAnswer.self, answer)
    }

    /// Timeout of one part of a check: the engine looks at a whole table at once, before its rows.
    private static let checkPatience: Duration = .seconds(3600)

    func check(_ asked: AdminMessages.NewCheck) async throws -> AdminMessages.CheckPart {
        let answer = try await web.send("POST", "/admin/1/check", bearer: token, body: asked, patience: Self.checkPatience)
        return try read(AdminMessages.CheckPart.self, answer)
    }

    func verify(_ asked: AdminMessages.NewAssetVerification) async throws -> AdminMessages.AssetReview {
        let answer = try await web.send("POST", "/admin/1/assets/verify", bearer: token, body: asked, patience: Self.checkPatience)
        return try read(AdminMessages.AssetReview.self, answer)
    }

    func collect(_ asked: AdminMessages.NewAssetCollection) async throws -> AdminMessages.AssetReview {
        let answer = try await web.send("POST", "/admin/1/assets/collect", bearer: token, body: asked, patience: Self.checkPatience)
        return try read(AdminMessages.AssetReview.self, answer)
    }

    /// Passes all tasks to `body`, in pages.
    func eachTask(_ body: (AdminMessages.ListedTask) async throws -> Void) async throws {
        try await eachPage(AdminMessages.TaskPage.self, "/admin/1/tasks", []) { page in
            for task in page.tasks { try await body(task) }
        }
    }

    /// Returns a page of the tasks.
    func tasks(after: String?) async throws -> AdminMessages.TaskPage {
        try await get(AdminMessages.TaskPage.self, "/admin/1/tasks", [("after", after)])
    }

    func retry(_ asked: AdminMessages.NewRetry) async throws -> AdminMessages.Retries {
        try read(AdminMessages.Retries.self, try await web.send("POST", "/admin/1/tasks/retry", bearer: token, body: asked))
    }

    private func eachPage<Page: AdminPage>(
        _ type: Page.Type, _ path: String, _ query: [(name: String, value: String?)], _ body: (Page) async throws -> Void
    ) async throws {
        var next: String?
        repeat {
            let page = try await get(type, path, query + [("after", next)])
            try await body(page)
            next = page.next
        } while next != nil
    }

    /// Sends a GET request.
    /// - Parameter query: Items without a value are left out.
    func get<Message: Decodable>(_ type: Message.Type, _ path: String, _ query: [(name: String, value: String?)]) async throws -> Message {
        try read(type, try await web.send("GET", Self.target(path, query), bearer: token))
    }

    private static func target(_ path: String, _ query: [(name: String, value: String?)]) -> String {
        var parts = URLComponents()
        parts.queryItems = query.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
        // An unencoded plus means a space.
        return "\(path)?" + (parts.percentEncodedQuery ?? "").replacingOccurrences(of: "+", with: "%2B")
    }

    func read<Message: Decodable>(_ type: Message.Type, _ answer: WebClient.Answer) throws -> Message {
        guard (200..<300).contains(answer.status) else { throw Self.failure(answer) }
        do {
            return try JSONDecoder().decode(type, from: answer.body)
        } catch {
            throw CommandFailure(.failure, "the server's answer does not read; is it of version \(ServerVersion.current)?")
        }
    }

    private static func failure(_ answer: WebClient.Answer) -> CommandFailure {
        guard let problem = try? JSONDecoder().decode(AdminMessages.Problem.self, from: answer.body) else {
            return CommandFailure(answer.status == 401 ? .authentication : .failure, "the server answered \(answer.status)")
        }
        let code: ExitCode =
            switch problem.status {
            case 401, 403: .authentication
            case 503: .unreachable
            default: .failure
            }
        let place = problem.field.map { " (\($0))" } ?? ""
        let request = problem.status >= 500 ? "; request \(problem.requestID)" : ""
        return CommandFailure(code, "\(problem.detail)\(place)\(request)", remedy: problem.remedy)
    }
}

/// A page of a list.
private protocol AdminPage: Decodable {
    /// The cursor of the next page; nil: this is the last one.
    var next: String? { get }
}

extension AdminMessages.AuditLog: AdminPage {}
extension AdminMessages.Containers: AdminPage {}
extension AdminMessages.Tokens: AdminPage {}
extension AdminMessages.Users: AdminPage {}
extension AdminMessages.Roles: AdminPage {}
extension AdminMessages.TaskPage: AdminPage {}
extension AccountMessages.Sessions: AdminPage {}
