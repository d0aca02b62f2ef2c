package import NacreCloudAccounts
package import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
package import NacreHTTPServer

/// Authenticates requests.
///
/// An account token (`Authorization: Bearer`) is the framework's; an API token (`ckAPIToken`) alone is the world's; a
/// web auth token (`ckWebAuthToken`) beside it is a user's. The registry is read at most every few seconds for each
/// credential. Written are only notes of use, prolonged sessions and missing user records.
package final class Authenticator: Sendable {
    /// The sender of a request, and the web auth token that goes back with the answer.
    package struct Identity: Sendable {
        package var caller: Caller
        var webAuthToken: String?
        /// The only origin whose pages may read the answer; nil: any.
        var readableBy: String?
        /// The body, if it was read to authenticate the sender.
        var body: [UInt8]?
        /// The time of the authentication.
        fileprivate var known: Timestamp
    }

    /// The sender of an account request, known by a token.
    struct SignedIn: Sendable {
        var account: String
        /// The ID of the session, or of the account token.
        var id: String
        var audience: SignIn.Audience
    }

    /// A server-to-server key whose user has been admitted.
    fileprivate struct ServerKey: Sendable {
        var entry: ServerKeyEntry
        var container: String
        var environment: DatabaseKey.Environment
        var publicKey: P256.PublicKey
        var userRecordName: String
        var isAdministrator: Bool

        /// Admits the user of a key; nil for an entry with an environment that this version does not know.
        init?(_ entry: ServerKeyEntry, in cloud: Cloud) async throws {
            guard let environment = DatabaseKey.Environment(rawValue: entry.environment) else { return nil }
            self.entry = entry
            container = entry.container
            self.environment = environment
            publicKey = try P256.PublicKey(pem: entry.publicKey)
            isAdministrator = entry.isAdministrator ?? false
            userRecordName = try await cloud.admit(account: entry.account, to: container, environment)
        }
    }

    /// The content of a web auth token, and the API token that it is bound to.
    private struct OpenedToken: Sendable {
        var token: WebAuthToken
        var apiToken: String
    }

    /// A text as the client sent it, not verified in any way.
    private struct SentText: Hashable {
        var text: String
        init(_ text: String) { self.text = text }
    }

    /// The ID of an entry, from a seal that this server made or from the registry. It is no credential by itself.
    private struct EntryID: Hashable {
        var id: String
        init(_ id: String) { self.id = id }
    }

    /// A token or key whose use was noted.
    private struct NotedUse: Hashable {
        var kind: EntryKind
        var id: String
    }

    /// The rights of an account token: containers, and the account's user in each.
    private struct Device: Sendable {
        var id: String
        var account: String
        var environment: DatabaseKey.Environment
        var userRecordNames: [String: String] = [:]
        var deviceID: String

        /// Admits the user of a token to those of its containers that are there; nil for an entry with an environment
        /// that this version does not know.
        init?(_ entry: AccountTokenEntry, in cloud: Cloud) async throws {
            guard let environment = DatabaseKey.Environment(rawValue: entry.environment) else { return nil }
            id = entry.id
            account = entry.account
            self.environment = environment
            deviceID = Authenticator.deviceID(entry.id)
            for container in entry.containers {
                do {
                    userRecordNames[container] = try await cloud.admit(account: entry.account, to: container, environment)
                } catch let error as ServerError where error == .noContainer {}
            }
        }
    }

    private let cloud: Cloud
    let sealer: TokenSealer
    let clock: ServerClock
    private let apiTokens = Remembered<SentText, APITokenEntry>()
    private let openedTokens = Remembered<SentText, OpenedToken>()
    private let openedAccountTokens = Remembered<SentText, AccountToken>()
    private let sessions = Remembered<EntryID, SessionEntry>()
    private let devices = Remembered<EntryID, Device>()
    private let serverKeys = Remembered<SentText, ServerKey>()
    private let accountStates = Remembered<EntryID, AccountState>()
    private let notedUses = Remembered<NotedUse, Bool>()

    package init(cloud: Cloud, sealer: TokenSealer, clock: ServerClock) {
        self.cloud = cloud
        self.sealer = sealer
        self.clock = clock
    }

    /// Authenticates a request and adds the state of its account.
    /// - Parameter credential: the credential that the request's URL was made for, which has to be valid still; nil:
    ///   the request carries its credential.
    package func identify(
        _ request: HTTPRequest, by credential: Credential? = nil, container: String, environment: DatabaseKey.Environment
    ) async throws -> Identity {
        var identity = try await shown(request, by: credential, container: container, environment: environment)
        identity.caller = try await withState(identity.caller, at: identity.known)
        return identity
    }

    /// Returns the caller with the state of their account.
    func withState(_ caller: Caller, at now: Timestamp) async throws -> Caller {
        guard let account = caller.account else { return caller }
        let state = try await accountStates.value(EntryID(account), at: now) { try await cloud.registry.account(id: account)?.accountState }
        return caller.with(state ?? .noAccount)
    }

    /// Authenticates a request whatever the state of its account.
    private func shown(
        _ request: HTTPRequest, by credential: Credential?, container: String, environment: DatabaseKey.Environment
    ) async throws -> Identity {
        if let credential { return try await identify(credential, of: request, container: container, environment: environment) }
        let now = clock.now()
        if let text = Self.bearer(request) {
            let caller = try await device(text, container: container, environment: environment)
            // An app whose API token is revoked has lost its access, whoever is signed in. Its origins are for pages.
            if let apiToken = request.query("ckAPIToken"), !apiToken.isEmpty {
                _ = try await apiTokenEntry(apiToken, container: container, environment: environment)
            }
            return Identity(caller: caller, known: now)
        }
        if request.header(SignedRequest.keyIDHeader) != nil { return try await signer(request, container: container, environment: environment) }
        guard let apiToken = request.query("ckAPIToken"), !apiToken.isEmpty else { throw ServerError.noCredential }
        let origin = try await origin(of: request, for: apiToken, container: container, environment: environment)
        guard let text = request.query("ckWebAuthToken"), !text.isEmpty else {
            return Identity(caller: Self.world(apiToken), readableBy: origin, known: now)
        }
        let (token, session) = try await session(text, apiToken: apiToken)
        await prolong(session, at: now)
        return Identity(
            caller: Self.user(of: session),
            webAuthToken: try renewed(token, text, apiToken), readableBy: origin, known: now)
    }

    /// The only origin whose pages may read the answer; nil: any.
    /// - Throws: an error if there is no such API token, or if the request comes from a page of an origin that the
    ///   token does not allow.
    private func origin(
        of request: HTTPRequest, for apiToken: String, container: String, environment: DatabaseKey.Environment
    ) async throws -> String? {
        let entry = try await apiTokenEntry(apiToken, container: container, environment: environment)
        try Self.requireOrigin(of: request, for: entry)
        return entry.origins == nil ? nil : request.header("Origin")
    }

    private static func world(_ apiToken: String) -> Caller {
        var caller = Caller(.world)
        caller.credential = .apiToken(apiToken)
        return caller
    }

    private static func user(of session: SessionEntry) -> Caller {
        var caller = Caller(.user(session.userRecordName), deviceID: deviceID(session.id), account: session.account)
        caller.credential = .session(id: session.id, account: session.account, apiToken: session.apiToken)
        return caller
    }

    private func identify(
        _ credential: Credential, of request: HTTPRequest, container: String, environment: DatabaseKey.Environment
    ) async throws -> Identity {
        let now = clock.now()
        let origin: String? =
            switch credential {
            case .apiToken(let token), .session(_, _, let token):
                try await origin(of: request, for: token, container: container, environment: environment)
            case .device, .serverKey: nil
            }
        let caller = try await caller(of: credential, container: container, environment: environment, at: now)
        return Identity(caller: caller, readableBy: origin, known: now)
    }

    /// The caller that a credential stands for, whatever the state of the account.
    func caller(
        of credential: Credential, container: String, environment: DatabaseKey.Environment, at now: Timestamp
    ) async throws -> Caller {
        switch credential {
        case .apiToken(let token): return Self.world(token)
        case .session(let id, let account, let apiToken):
            guard let session = try await sessions.value(EntryID(id), at: now, { try await cloud.registry.session(id, of: account) }),
                session.apiToken == apiToken
            else { throw ServerError.authenticationRequired }
            return Self.user(of: session)
        case .device(let id, let account):
            return try Self.user(of: try await device(id, of: account, at: now), container: container, environment: environment)
        case .serverKey(let id):
            guard let key = try await serverKeys.value(SentText(id), at: now, { try await serverKey(id) }), key.container == container,
                key.environment == environment
            else { throw ServerError.signatureFailed }
            return Self.owner(of: key, id)
        }
    }

    /// Authenticates the sender again if the request has taken longer than a value of `Remembered` is kept, because its
    /// body came slowly or it waited. An ended credential is thus refused within those seconds even in the middle of a
    /// request. A signed request is not checked again: its date bounds it.
    /// - Throws: the errors of `identify`.
    package func requireStill(
        _ identity: Identity, _ request: HTTPRequest, by credential: Credential? = nil, container: String, environment: DatabaseKey.Environment
    ) async throws {
        let seconds = abs(clock.now().secondsSince2001 - identity.known.secondsSince2001)
        guard identity.body == nil, seconds >= Remembered<EntryID, SessionEntry>.secondsMax else { return }
        let again = try await identify(request, by: credential, container: container, environment: environment)
        guard again.caller == identity.caller else { throw ServerError.authenticationFailed }
    }

    /// Whether a request carries a token that a sign-in gave.
    static func hasToken(_ request: HTTPRequest) -> Bool {
        bearer(request) != nil || request.query("ckWebAuthToken") != nil
    }

    /// Authenticates an account request by an account token, or by a web auth token beside its API token.
    func signedIn(_ request: HTTPRequest) async throws -> SignedIn {
        if let text = Self.bearer(request) {
            guard let token = sealer.open(AccountToken.self, text, for: .account),
                let entry = try await cloud.registry.accountToken(token.id, of: token.account)
            else { throw ServerError.authenticationFailed }
            return SignedIn(
                account: entry.account, id: entry.id, audience: SignIn.Audience(containers: Set(entry.containers), environment: entry.environment))
        }
        guard let apiToken = request.query("ckAPIToken"), let text = request.query("ckWebAuthToken") else { throw ServerError.noCredential }
        let (_, session) = try await session(text, apiToken: apiToken)
        guard let entry = try await cloud.registry.apiToken(apiToken) else { throw ServerError.authenticationFailed }
        try Self.requireOrigin(of: request, for: entry)
        return SignedIn(
            account: session.account, id: session.id, audience: SignIn.Audience(containers: [session.container], environment: session.environment))
    }

    /// Forgets the sign-ins of an account. Call it after a commit that ended some: this process refuses them from now
    /// on, other processes over the same store within the seconds of `Remembered`.
    func forget(account: String) {
        sessions.forget { $0.account == account }
        devices.forget { $0.account == account }
        accountStates.forget(EntryID(account))
    }

    /// Forgets the credentials of a deleted container. This server refuses them from now on, other processes over the
    /// same store within the seconds of `Remembered`.
    func forget(container: String) {
        apiTokens.forget { $0.container == container }
        serverKeys.forget { $0.container == container }
        sessions.forget { $0.container == container }
        devices.forget { $0.userRecordNames[container] != nil }
    }

    /// Returns the error that a refused sender is told: that the container does not exist, if it does not.
    func told(_ error: any Error, of container: String) async -> any Error {
        guard (error as? ServerError)?.code == .authenticationFailed else { return error }
        do {
            return try await cloud.registry.container(container) == nil ? ServerError.noContainer : error
        } catch {
            return error
        }
    }

    /// - Throws: `authenticationFailed` unless the token exists for that container and environment.
    func apiTokenEntry(_ token: String, container: String, environment: DatabaseKey.Environment) async throws -> APITokenEntry {
        guard let entry = try await apiTokenEntry(token), entry.container == container, entry.environment == environment.rawValue else {
            throw ServerError.authenticationFailed
        }
        await noteUse(of: entry, token)
        return entry
    }

    /// Notes from time to time that a token or key is in use. If the server cannot write, it tries again after some
    /// seconds.
    func noteUse(of entry: some UsedEntry, _ id: String) async {
        let now = clock.now()
        guard entry.isUseToBeNoted(at: now) else { return }
        _ = try? await notedUses.value(NotedUse(kind: type(of: entry).kind, id: id), at: now) {
            try? await cloud.registry.noteUse(of: type(of: entry), id)
            return true
        }
    }

    func apiTokenEntry(_ token: String) async throws -> APITokenEntry? {
        try await apiTokens.value(SentText(token), at: clock.now()) { try await cloud.registry.apiToken(token) }
    }

    /// The only origin whose pages may read the answer, including a refusal; nil: any.
    func reader(of request: HTTPRequest) async -> String? {
        guard let token = request.query("ckAPIToken"), let origin = request.header("Origin"), let entry = try? await apiTokenEntry(token) else {
            return nil
        }
        return entry.origins != nil && entry.allows(origin: origin) ? origin : nil
    }

    /// - Throws: `originRefused` if the request comes from a page of an origin that the API token does not allow.
    static func requireOrigin(of request: HTTPRequest, for entry: APITokenEntry) throws(ServerError) {
        guard entry.origins == nil || entry.allows(origin: request.header("Origin")) else { throw .originRefused }
    }

    // MARK: Sessions

    func webAuthToken(for session: SessionEntry) throws -> String {
        let token = WebAuthToken(session: session.id, account: session.account, issued: clock.now().secondsSince2001)
        return try sealer.seal(encoding: token, for: .webAuth, binding: session.apiToken)
    }

    /// Ends the session that a web auth token belongs to.
    func signOut(webAuthToken text: String, apiToken: String, _ request: HTTPRequest) async throws {
        let (token, _) = try await session(text, apiToken: apiToken)
        if let entry = try await apiTokenEntry(apiToken) { try Self.requireOrigin(of: request, for: entry) }
        try await cloud.registry.endSession(token.session, of: token.account)
        sessions.forget(EntryID(token.session))
    }

    private func session(_ text: String, apiToken: String) async throws -> (WebAuthToken, SessionEntry) {
        let now = clock.now()
        guard let token = try await opened(text, apiToken: apiToken, at: now),
            let session = try await sessions.value(EntryID(token.session), at: now, { try await admitted(token) }),
            session.apiToken == apiToken
        else { throw ServerError.authenticationRequired }
        let lifetime = session.isKept ? Limits.keptSessionSeconds : Limits.sessionSeconds
        guard now.secondsSince2001 - token.issued < lifetime else { throw ServerError.authenticationRequired }
        return (token, session)
    }

    /// The content of a web auth token, cached because opening and decoding it costs more than the rest of the
    /// authentication. It depends on the text alone, not on the session's state.
    /// - Returns: nil for a text that was not made for that API token.
    private func opened(_ text: String, apiToken: String, at now: Timestamp) async throws -> WebAuthToken? {
        let known = try await openedTokens.value(SentText(text), at: now) { () -> OpenedToken? in
            sealer.open(WebAuthToken.self, text, for: .webAuth, binding: apiToken).map { OpenedToken(token: $0, apiToken: apiToken) }
        }
        return known?.apiToken == apiToken ? known?.token : nil
    }

    /// The session of a token. Its user record is created if a crash left it out.
    private func admitted(_ token: WebAuthToken) async throws -> SessionEntry? {
        guard let session = try await cloud.registry.session(token.session, of: token.account),
            let environment = DatabaseKey.Environment(rawValue: session.environment)
        else { return nil }
        try await cloud.admitAgain(session.userRecordName, to: session.container, environment)
        return session
    }

    /// Extends the life of a session in use. If the server cannot write, the session keeps its old end.
    private func prolong(_ session: SessionEntry, at now: Timestamp) async {
        guard now.secondsSince2001 - (session.prolonged ?? session.created) >= Limits.sessionProlongSeconds else { return }
        try? await cloud.registry.prolongSession(session.id, of: session.account)
        sessions.forget(EntryID(session.id))
    }

    private func renewed(_ token: WebAuthToken, _ text: String, _ apiToken: String) throws -> String {
        let now = clock.now().secondsSince2001
        guard now - token.issued >= WebAuthToken.renewalSeconds else { return text }
        var next = token
        next.issued = now
        return try sealer.seal(encoding: next, for: .webAuth, binding: apiToken)
    }

    // MARK: Devices

    func accountToken(for entry: AccountTokenEntry) throws -> String {
        try sealer.seal(encoding: AccountToken(id: entry.id, account: entry.account), for: .account)
    }

    /// Revokes an account token, and forgets its sessions.
    func signOut(accountToken text: String) async throws {
        guard let token = sealer.open(AccountToken.self, text, for: .account) else { throw ServerError.authenticationFailed }
        try await cloud.registry.revokeAccountToken(token.id, of: token.account)
        devices.forget(EntryID(token.id))
        sessions.forget { $0.device == token.id }
    }

    /// The device ID that records show as their author's. It is constant for a session or an account token, and not the
    /// credential's ID, because the whole world reads the records of a public database.
    private static func deviceID(_ credential: String) -> String {
        Hex.encode(SHA256.digest(Array("device \(credential)".utf8)))
    }

    private func device(_ text: String, container: String, environment: DatabaseKey.Environment) async throws -> Caller {
        let now = clock.now()
        // Cached by the text, since opening and decoding it costs more than the rest of the authentication. The content
        // depends on the text alone, not on the device's state.
        let token = try await openedAccountTokens.value(SentText(text), at: now) { sealer.open(AccountToken.self, text, for: .account) }
        guard let token else { throw ServerError.authenticationFailed }
        return try Self.user(of: try await device(token.id, of: token.account, at: now), container: container, environment: environment)
    }

    /// - Returns: nil if the account has no such device, or no longer.
    private func device(_ id: String, of account: String, at now: Timestamp) async throws -> Device? {
        let device = try await devices.value(EntryID(id), at: now) {
            guard let entry = try await cloud.registry.accountToken(id, of: account) else { return nil }
            return try await Device(entry, in: cloud)
        }
        return device?.account == account ? device : nil
    }

    private static func user(of device: Device?, container: String, environment: DatabaseKey.Environment) throws -> Caller {
        guard let device, device.environment == environment, let user = device.userRecordNames[container] else {
            throw ServerError.authenticationFailed
        }
        var caller = Caller(.user(user), client: .framework, deviceID: device.deviceID, account: device.account)
        caller.credential = .device(id: device.id, account: device.account)
        return caller
    }
}

extension Authenticator {
    // MARK: Server-to-server keys

    /// Authenticates a signed request. CloudKit does not say what is wrong with one. Here an unknown key, a date of
    /// another hour and a wrong signature are one error, and the order of the checks does not tell them apart. The body
    /// is read only after the key and the date are found good, because any client can send one.
    private func signer(_ request: HTTPRequest, container: String, environment: DatabaseKey.Environment) async throws -> Identity {
        let now = clock.now()
        guard let signed = SignedRequest(request), signed.isFresh(at: now),
            let key = try await serverKeys.value(SentText(signed.keyID), at: now, { try await serverKey(signed.keyID) }),
            key.container == container, key.environment == environment
        else { throw ServerError.signatureFailed }
        let body = try await request.body.collect(upTo: Limits.bodyBytes)
        WorkMeter.current?.add(bytes: body.count)
        let text =
            if body.count > Self.verifiedOnLoopBytesMax {
                try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await Self.verifiedElsewhere(signed, request, body, key.publicKey)
                }
            } else {
                try signed.verifiedText(of: request, body: body, by: key.publicKey)
            }
        guard let text else { throw ServerError.signatureFailed }
        await noteUse(of: key.entry, signed.keyID)
        var caller = Self.owner(of: key, signed.keyID)
        caller.signedOperationID = Hex.encode(SHA256.digest(text))
        return Identity(caller: caller, body: body, known: now)
    }

    fileprivate static func owner(of key: ServerKey, _ id: String) -> Caller {
        var caller = Caller(.serverKey(key.userRecordName), deviceID: deviceID(id))
        caller.isAdministrator = key.isAdministrator
        caller.credential = .serverKey(id)
        return caller
    }

    /// Larger bodies are hashed on another thread, while the loop serves others. On this server: 0.1 ms for a body of
    /// this size.
    static let verifiedOnLoopBytesMax = 64 * 1024

    @concurrent
    private static func verifiedElsewhere(
        _ signed: SignedRequest, _ request: HTTPRequest, _ body: [UInt8], _ key: P256.PublicKey
    ) async throws -> [UInt8]? {
        try signed.verifiedText(of: request, body: body, by: key)
    }

    fileprivate func serverKey(_ id: String) async throws -> ServerKey? {
        guard let entry = try await cloud.registry.serverKey(id) else { return nil }
        return try await ServerKey(entry, in: cloud)
    }
}

extension ServerError {
    /// The same as `authenticationFailed`, with a remedy for signed requests.
    static let signatureFailed = ServerError(
        .authenticationFailed, "Authentication failed",
        remedy:
            "Check the key ID, that it was made for this container and environment and not revoked, the date (UTC, within ten minutes), and that the "
            + "key signs DATE:BASE64(SHA256(BODY)):PATH.")

    /// CloudKit does not say which part of a credential is wrong; neither does this server.
    static let authenticationFailed = ServerError(
        .authenticationFailed, "Authentication failed",
        remedy: "Check that the token was made for this container and environment, and that it was not revoked.")

    static let noCredential = ServerError(
        .authenticationFailed, "no auth method found",
        remedy: "Send an API token as ckAPIToken, or an account token as Authorization: Bearer. Make one: nacre token create --help.")
}
