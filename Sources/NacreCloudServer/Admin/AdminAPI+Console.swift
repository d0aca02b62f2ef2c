import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Sign-in of the console's page.
extension AdminAPI {
    /// The endpoint that takes a link's token or a passkey in the place of a credential.
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
    /// - Throws: 401 and 403 as `ConsoleGate.session(of:)`; 401 if its member or their passkey is removed, or the
    ///   member has another role, read from the registry each time, so that every server over the store ends it;
    ///   403 if the session's role may not ask this.
    func consoleCaller(_ request: HTTPRequest) async throws -> ConsoleSession? {
        guard let session = try console.session(of: request) else { return nil }
        if let member = session.member, try await !isStill(session, member) {
            _ = try console.signOut(request)
            throw HTTPError.noConsoleSession
        }
        guard let route = request.route else { return session }
        let method = request.method == .head ? HTTPMethod.get : request.method
        guard session.role.may("\(method) \(route)") else { throw ServerError.notForRole(session.role) }
        return session
    }

    /// Whether a session's member has the role and the passkey with which the session began.
    private func isStill(_ session: ConsoleSession, _ member: String) async throws -> Bool {
        guard let member = try await cloud.registry.teamMember(member) else { return false }
        return member.role == session.role && member.passkeys.contains { $0.id == session.passkey }
    }

    /// The URL that the path of a link follows; nil: the one at which the request came.
    var consoleURL: String? { console.url(isAtDoor: door != nil) }

    /// `POST /admin/1/console/links`
    @Sendable private func makeConsoleLink(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewConsoleLink.self, of: request)
        let role = try asked.role.map { try ConsoleRole(asked: $0) } ?? .owner
        let link = try console.link(name: asked.name ?? "", role: role)
        return try answer(
            AdminMessages.ConsoleLink(
                path: link.path, consoleURL: consoleURL, role: role.rawValue, expires: link.ends.millisecondsSince1970), .created)
    }

    /// `POST /admin/1/console/sign-in`
    ///
    /// A sign-in is noted in the audit log, and nothing of a stranger's is.
    @Sendable private func signInToConsole(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked: AdminMessages.NewConsoleSession = try await openBody(of: request)
        let (session, cookie, key) =
            if let passkey = asked.passkey {
                try console.begin(for: try await teamMember(of: passkey, request), by: passkey.credential, request)
            } else if let invitation = asked.invitation {
                try await begin(by: invitation, request)
            } else if let token = asked.token {
                try console.signIn(request, by: token)
            } else {
                throw ServerError(.badRequest, "missing required field", field: "token", remedy: "Send the token of the link: what follows #signin=.")
            }
        try await ConsoleCaller.$current.withValue(session) { try await AuditedRequest.current?.begin(with: Data()) }
        var response = try answer(AdminMessages.ConsoleSession(session, key: key))
        response.headers.add("Set-Cookie", cookie)
        return response
    }

    private func begin(by invitation: AdminMessages.ConsoleInvitation, _ request: HTTPRequest) async throws -> ConsoleGate.Begun {
        let (member, passkey) = try await teamMember(by: invitation, request)
        return try console.begin(for: member, by: passkey, request)
    }

    /// Reads the body of a request that anybody may send: nothing of it goes into the audit log.
    func openBody<Message: Decodable>(of request: HTTPRequest) async throws -> Message {
        let bytes = Data(try await request.body.collect(upTo: Limits.accountBodyBytes))
        do {
            return try JSONDecoder().decode(Message.self, from: bytes)
        } catch {
            throw ServerError(error)
        }
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
        self.init(
            id: session.id, name: session.name, role: session.role.rawValue, actions: session.role.allowed,
            expires: session.expires.millisecondsSince1970, key: key)
    }
}

extension ServerError {
    fileprivate static func notForRole(_ role: ConsoleRole) -> ServerError {
        ServerError(
            .accessDenied, "a session of the console with the role \(role.rawValue) may not do this",
            remedy: "Have an owner make a link of a higher role: nacre console --role.")
    }
}
