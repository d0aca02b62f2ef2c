import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Sign-in of the console's page.
extension AdminAPI {
    /// The endpoint that takes a link's token in the place of a credential.
    static let consoleSignInPath = "/admin/1/console/sign-in"

    func addConsoleRoutes(to router: inout Router) {
        router.post("/admin/1/console/links", bodyBytesMax: Limits.accountBodyBytes, makeConsoleLink)
        router.post(Self.consoleSignInPath, bodyBytesMax: Limits.accountBodyBytes, signInToConsole)
        router.get("/admin/1/console/session", consoleSession)
        router.post("/admin/1/console/sign-out", bodyBytesMax: Limits.accountBodyBytes, signOutOfConsole)
        router.post("/admin/1/console/sign-out-all", bodyBytesMax: Limits.accountBodyBytes, signOutOfConsoles)
    }

    /// The author of the current request, for the audit log and the history of schemas: a management token or a session
    /// of the console; nil for the token of `admin.json`.
    static var author: String? { ManagementCaller.current?.author ?? ConsoleCaller.current?.author }

    /// The same author by ID; nil for the token of `admin.json`.
    static var authorOfEntries: AuditRates.Author? {
        ManagementCaller.current.map { .managementToken($0.entry.id) } ?? ConsoleCaller.current.map { .consoleSession($0.id) }
    }

    /// The session of a request of the console's page; nil if it has no cookie of the console's.
    /// - Throws: 401 and 403 as `ConsoleGate.session(of:)`; 403 if the session's role may not ask this.
    func consoleCaller(_ request: HTTPRequest) throws -> ConsoleSession? {
        guard let session = try console.session(of: request) else { return nil }
        guard let route = request.route else { return session }
        let method = request.method == .head ? HTTPMethod.get : request.method
        guard session.role.may("\(method) \(route)") else { throw ServerError.notForRole(session.role) }
        return session
    }

    /// `POST /admin/1/console/links`
    @Sendable private func makeConsoleLink(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewConsoleLink.self, of: request)
        guard let role = ConsoleRole(rawValue: asked.role ?? ConsoleRole.owner.rawValue) else {
            throw ServerError(
                .badRequest, "unknown role", field: "role", remedy: "Take \(ConsoleRole.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let link = try console.link(name: asked.name ?? "", role: role)
        return try answer(AdminMessages.ConsoleLink(path: link.path, role: role.rawValue, expires: link.ends.millisecondsSince1970), .created)
    }

    /// `POST /admin/1/console/sign-in`
    ///
    /// The body is read here: nothing of a stranger's goes into the audit log. A sign-in does.
    @Sendable private func signInToConsole(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let bytes = Data(try await request.body.collect(upTo: Limits.accountBodyBytes))
        guard let asked = try? JSONDecoder().decode(AdminMessages.NewConsoleSession.self, from: bytes) else {
            throw ServerError(.badRequest, "missing required field", field: "token", remedy: "Send the token of the link: what follows #signin=.")
        }
        let (session, cookie, key) = try console.signIn(request, by: asked.token)
        try await ConsoleCaller.$current.withValue(session) { try await AuditedRequest.current?.begin(with: Data()) }
        var response = try answer(AdminMessages.ConsoleSession(session, key: key))
        response.headers.add("Set-Cookie", cookie)
        return response
    }

    /// `GET /admin/1/console/session`
    @Sendable private func consoleSession(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let session = ConsoleCaller.current else { throw HTTPError.noConsoleSession }
        return try answer(AdminMessages.ConsoleSession(session))
    }

    /// `POST /admin/1/console/sign-out`
    @Sendable private func signOutOfConsole(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let session = ConsoleCaller.current else { throw HTTPError.noConsoleSession }
        // The session ends even if that cannot be noted.
        let cookie = try console.signOut(request)
        try await AuditedRequest.current?.begin(with: Data())
        var response = try answer(AdminMessages.ConsoleSession(session))
        response.headers.add("Set-Cookie", cookie)
        return response
    }

    /// `POST /admin/1/console/sign-out-all`
    @Sendable private func signOutOfConsoles(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        _ = try await body(AdminMessages.ConsoleSignOut.self, of: request)
        return try answer(AdminMessages.ConsolesSignedOut(count: console.signOutAll()))
    }
}

extension AdminMessages.ConsoleSession {
    init(_ session: ConsoleSession, key: String? = nil) {
        self.init(id: session.id, name: session.name, role: session.role.rawValue, expires: session.expires.millisecondsSince1970, key: key)
    }
}

extension ServerError {
    fileprivate static func notForRole(_ role: ConsoleRole) -> ServerError {
        ServerError(
            .accessDenied, "a session of the console with the role \(role.rawValue) may not do this",
            remedy: "Have an owner make a link of a higher role: nacre console --role.")
    }
}
