import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreLocks

/// Lets the console's page into the admin API: one-time links, sessions, and the checks that a request comes from the
/// page itself.
///
/// A session has two secrets. Its cookie is hidden from scripts, but over HTTP the browser sends it to every port of
/// the host. Its key is in the storage of the page's own origin, which the browser keeps apart by port. Neither opens
/// anything without the other.
///
/// Links and sessions are in memory, as digests, and end with the server, as the token of `admin.json` does.
final class ConsoleGate: Sendable {
    /// The header that the page sends with each request: the key of its session, or `1` before it has one. A page of
    /// another origin may not send it, because the admin API allows no such page any header (CORS).
    static let header = "X-Nacre-Console"

    private let signIns = Locked(ConsoleSignIns())
    private let hosts: ServedHosts
    /// The URL by which people reach the console, as the operator gives it; nil: none is given.
    private let givenURL: String?
    private let listenerURL = Locked<String?>(nil)
    private let now: @Sendable () -> Timestamp

    init(hosts: ServedHosts, url: String? = nil, now: @escaping @Sendable () -> Timestamp) {
        (self.hosts, givenURL, self.now) = (hosts, url, now)
    }

    /// Sets the URL of the console's own listener; nil: there is none.
    func setListener(_ url: String?) { listenerURL.withLock { $0 = url } }

    /// Returns the URL that a link's path follows; nil: the one at which the link was asked for.
    /// - Parameter isAtDoor: Whether it was asked for at the console's own listener, past which a proxy may stand.
    func url(isAtDoor: Bool) -> String? { givenURL ?? (isAtDoor ? nil : listenerURL.withLock { $0 }) }

    /// Makes a link.
    /// - Returns: The link's path, with its token in the fragment, which browsers send to no server and write into no
    ///   log of one.
    func link(name: String, role: ConsoleRole) throws -> (path: String, ends: Timestamp) {
        let token = try Self.newToken()
        let ends = signIns.withLock { $0.addLink(Self.digest(token), name: name, role: role, at: now()) }
        return ("\(ConsoleFiles.path)/#signin=\(token)", ends)
    }

    /// A session that has begun, the value of `Set-Cookie`, and the session's key.
    typealias Begun = (session: ConsoleSession, cookie: String, key: String)

    /// Begins a session by a link's token.
    /// - Throws: 401 for a link that is used, ended or unknown.
    func signIn(_ request: HTTPRequest, by link: String) throws -> Begun {
        try begin(request) { signIns, session, id in signIns.use(Self.digest(link), toBegin: session, id: id, at: now()) }
    }

    /// Begins the session of a team's member, whose passkey has answered.
    func begin(for member: TeamMember, by passkey: String, _ request: HTTPRequest) throws -> Begun {
        try begin(request) { signIns, session, id in signIns.begin(session, id: id, for: member, by: passkey, at: now()) }
    }

    private func begin(_ request: HTTPRequest, _ body: (inout ConsoleSignIns, _ session: String, _ id: String) -> ConsoleSession?) throws -> Begun {
        try requirePage(request)
        let (token, key, id) = (try Self.newToken(), try Self.newToken(), Hex.encode(try SecureRandom.bytes(4)))
        guard let session = signIns.withLock({ body(&$0, Self.digest(token + key), id) }) else { throw HTTPError.noConsoleLink }
        let isSecure = request.header("Origin")?.hasPrefix("https://") == true
        return (session, Self.cookie(Self.cookieName(request, isSecure: isSecure), token, isSecure: isSecure), key)
    }

    /// Returns the session of a request's cookie and key; nil for a request without a cookie of the console's.
    /// - Throws: 403 if the request is not the page's, 401 for a session that has ended.
    func session(of request: HTTPRequest) throws -> ConsoleSession? {
        guard let token = Self.token(of: request) else { return nil }
        let key = try requirePage(request)
        guard let session = signIns.withLock({ $0.session(Self.digest(token + key), at: now()) }) else { throw HTTPError.noConsoleSession }
        return session
    }

    /// Ends the session of a request's cookie and key.
    /// - Returns: The value of `Set-Cookie` that takes the cookie away.
    /// - Throws: 403 if the request is not the page's.
    func signOut(_ request: HTTPRequest) throws -> String {
        let key = try requirePage(request)
        if let token = Self.token(of: request) { signIns.withLock { $0.endSession(Self.digest(token + key)) } }
        let isSecure = request.cookie(Self.cookieName(request, isSecure: true)) != nil
        return Self.cookie(Self.cookieName(request, isSecure: isSecure), "", isSecure: isSecure) + "; Max-Age=0"
    }

    /// - Returns: The number of sessions that ended.
    func signOutAll() -> Int { signIns.withLock { $0.endAll(at: now()) } }

    /// Checks that the console's own page sends the request: by the host that the browser asked (against DNS
    /// rebinding), by the page's header, and by the origin that the browser names (against forms and pages elsewhere).
    /// - Returns: The page's key, or `1`, which is the key of no session.
    @discardableResult
    func requirePage(_ request: HTTPRequest) throws -> String {
        guard let host = request.header("Host"), hosts.serve(host) else { throw ServerError.unknownHost }
        // Browsers name the origin with each POST. With a GET some name it, most say that it is the same, and old ones
        // do neither; the header alone shows the page then.
        let isRead = request.method == .get || request.method == .head
        let isSame = request.header("Origin").map { $0 == "http://\(host)" || $0 == "https://\(host)" } ?? isRead
        guard let key = request.header(Self.header), key == "1" || key.utf8.count == Self.tokenBytes * 2,
            isSame, request.header("Sec-Fetch-Site") ?? "same-origin" == "same-origin"
        else {
            throw ServerError.notFromConsole
        }
        return key
    }

    // MARK: Cookie

    /// The name of the cookie. Over HTTPS no other host under the same domain can set it. Cookies do not tell ports
    /// apart, so that the name does: two servers on one machine leave each other's sessions alone.
    private static func cookieName(_ request: HTTPRequest, isSecure: Bool) -> String {
        if isSecure { return "__Host-nacre-console" }
        let port = request.header("Host").flatMap(ServedHosts.parts)?.port ?? ""
        return port.isEmpty ? "nacre-console" : "nacre-console-\(port)"
    }

    private static func cookie(_ name: String, _ value: String, isSecure: Bool) -> String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    private static func token(of request: HTTPRequest) -> String? {
        request.cookie(cookieName(request, isSecure: true)) ?? request.cookie(cookieName(request, isSecure: false))
    }

    /// Random bytes of a link, a cookie and a key.
    private static let tokenBytes = 32

    static func newToken() throws -> String { Hex.encode(try SecureRandom.keyBytes(tokenBytes)) }

    static func digest(_ token: String) -> String { Hex.encode(SHA256.digest(Array(token.utf8))) }
}

extension HTTPRequest {
    /// Returns the value of a cookie; nil if there is none, or two of the name.
    func cookie(_ name: String) -> String? {
        let prefix = name + "="
        let found = headerValues("Cookie").flatMap { cookies in
            cookies.split(separator: ";").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        }
        return found.count == 1 ? found.first : nil
    }
}

/// The console's session that sent the current admin request.
enum ConsoleCaller {
    @TaskLocal static var current: ConsoleSession?
}

extension HTTPError {
    static let noConsoleSession = HTTPError(
        .unauthorized, "The console's session has ended: sign in with a passkey, or open a new link, which nacre console prints.",
        headers: ["WWW-Authenticate": "Bearer"])
    static let noConsoleLink = HTTPError(
        .unauthorized, "The link is used or has ended: open a new one, which nacre console or nacre team add prints.",
        headers: ["WWW-Authenticate": "Bearer"])
}

extension ServerError {
    fileprivate static let notFromConsole = ServerError(
        .accessDenied, "a session of the console is for requests of the console's own page", field: ConsoleGate.header,
        remedy: "Open the console by its link. A proxy before it must leave Host and Origin as the browser sends them; programs use a token.")
}
