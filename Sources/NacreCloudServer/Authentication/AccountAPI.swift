import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry

/// Sign-up, sign-in, sign-out and related endpoints. They are this server's own, because Apple's are not a part of
/// CloudKit. See `docs/wire.md`, "Accounts".
struct AccountAPI: Sendable {
    let cloud: Cloud
    let authenticator: Authenticator
    let passwords: PasswordHasher
    let opensSignUp: Bool
    let clock: ServerClock
    let logger: Logger
    let overload: OverloadLog
    let rates: RequestRates
    let errors: ErrorAnswer
    let attempts = SignInGuard()
    /// Counts requests for mails by the same rules as wrong passwords.
    let letters = SignInGuard()

    /// First segments of the paths that this API serves.
    static let roots: Set = ["account"]

    func addRoutes(to router: inout Router) {
        let handlers: [(String, Handler)] = [
            ("sign-up", signUp), ("sign-in", signIn), ("sign-out", signOut), ("sessions/list", listSessions), ("sessions/end", endSession),
            ("sessions/end-others", endOtherSessions), ("change-password", changePassword), ("reset-password", resetPassword),
            ("change-email", changeEmail), ("delete", delete), ("change-name", changeName), ("discoverability", answerDiscoverability),
            ("usage", usage), ("passkeys/list", listPasskeys), ("passkeys/remove", removePasskey), ("verify-email", verifyEmail),
            ("verify-phone", verifyPhone), ("confirm-phone", confirmPhone), ("remove-phone", removePhone),
        ]
        for (name, handler) in handlers {
            router.post("/account/1/" + name, bodyBytesMax: Limits.accountBodyBytes) { request, _ in
                try await withinRate(of: request) {
                    try await readable(by: authenticator.reader(of: request), request) { try await handler(request) }
                }
            }
        }
    }

    private typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPResponse

    /// Runs `body` within the rate of the request's address, which all its requests share. A request with a password
    /// costs far more than others.
    func withinRate(of request: HTTPRequest, _ body: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        try await rates.within(request, body)
    }

    // MARK: Sign-up

    private func signUp(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard opensSignUp else { throw ServerError.signUpClosed }
        let asked = try await body(AccountMessages.SignUp.self, of: request)
        let names = NameComponents(givenName: asked.givenName, familyName: asked.familyName)
        return try answer(AccountMessages.SignedUp(email: try await signUp(email: asked.email, password: asked.password, names: names, request)))
    }

    /// Makes an account if the address has none. Neither the answer nor its time tells whether it had one: the password
    /// is hashed and as much is written in both cases.
    /// - Returns: the address as it is stored.
    func signUp(
        email: String, password: String, names: NameComponents = NameComponents(), _ request: HTTPRequest
    ) async throws -> String {
        guard opensSignUp else { throw ServerError.signUpClosed }
        if let fault = PasswordRule.fault(password) ?? names.fault { throw fault }
        _ = try Registry.normalized(email)
        let hash = try await hash(password, of: nil, request)
        let address = try await cloud.registry.signUp(email: email, passwordHash: hash, names: names)
        await mailVerification(to: address, request)
        return address
    }

    /// Makes an account for an administrator, who vouches for its address.
    static func createAccount(
        email: String, password: String, names: NameComponents = NameComponents(), in registry: Registry, _ passwords: PasswordHasher
    ) async throws -> AccountEntry {
        if let fault = PasswordRule.fault(password) ?? names.fault { throw fault }
        try await registry.requireFree(email: email)
        let hash = try await hashed(.silent) { try await passwords.hash(password) }
        return try await registry.createAccount(email: email, passwordHash: hash, names: names, isVouched: true)
    }

    // MARK: Sign-in

    private func signIn(_ request: HTTPRequest) async throws -> HTTPResponse {
        let asked = try await body(AccountMessages.SignIn.self, of: request)
        guard let environment = DatabaseKey.Environment(rawValue: asked.environment) else { throw ServerError.authenticationFailed }
        let entry: APITokenEntry
        do {
            entry = try await authenticator.apiTokenEntry(asked.apiToken, container: asked.container, environment: environment)
        } catch {
            throw await authenticator.told(error, of: asked.container)
        }
        try Authenticator.requireOrigin(of: request, for: entry)
        return try await readable(by: entry.origins == nil ? nil : request.header("Origin"), request) {
            let account = try await checked(email: asked.email, password: asked.password, of: request)
            return try await signedIn(account, to: entry, environment, asked)
        }
    }

    /// Limits an answer, or a refusal, to pages of one origin.
    /// - Parameter origin: nil: any.
    private func readable(by origin: String?, _ request: HTTPRequest, _ body: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        guard let origin else { return try await body() }
        var response: HTTPResponse
        do {
            response = try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            // Not rethrown, because the outer handler does not know the API token.
            response = errors.response(to: error, request)
        }
        response.letRead(by: origin)
        return response
    }

    /// The answer with a new token of the kind that the request names.
    private func signedIn(
        _ account: AccountEntry, to entry: APITokenEntry, _ environment: DatabaseKey.Environment, _ asked: AccountMessages.SignIn
    ) async throws -> HTTPResponse {
        let user = try await cloud.admit(account: account.id, to: entry.container, environment)
        switch asked.kind ?? .web {
        case .web:
            let session = try await cloud.registry.startSession(
                of: account, as: user, apiToken: asked.apiToken, entry: entry, isKept: asked.keepSignedIn ?? false)
            return try answer(AccountMessages.SignedIn(token: try authenticator.webAuthToken(for: session), userRecordName: user))
        case .account:
            let device = String((asked.device ?? "").onOneLine.prefix(Limits.nameCharacters))
            let token = try await cloud.registry.createAccountToken(
                for: account, containers: [entry.container], environment: environment, device: device)
            return try answer(AccountMessages.SignedIn(token: try authenticator.accountToken(for: token), userRecordName: user))
        }
    }

    /// The account that the password belongs to. An unknown address takes the same time and gets the same answer as a
    /// wrong password.
    func checked(email: String, password: String, of request: HTTPRequest) async throws -> AccountEntry {
        let attempt = try await begin(email: email, request)
        var outcome = SignInGuard.Outcome.unknown
        defer { attempts.end(attempt, outcome, at: clock.now()) }
        let account = try await cloud.registry.account(email: email)
        let isRight = try await Self.hashed(overload) {
            if let hash = account?.knownPasswordHash { return try await passwords.verify(password, against: hash) }
            return try await passwords.verifyUnknown(password)
        }
        outcome = account != nil && isRight ? .right : .wrong
        guard let account, isRight else {
            notify("wrong password", account, request)
            throw ServerError.wrongPassword
        }
        return account
    }

    /// Hashes a new password, in the same queue as password checks: one address takes no more slots than it does by
    /// signing in.
    /// - Parameter email: the account whose password was just checked; nil: none was, and the attempt counts as a
    ///   stranger's.
    func hash(_ password: String, of email: String?, _ request: HTTPRequest) async throws -> String {
        let attempt = try await begin(email: email, request)
        defer { attempts.end(attempt, .unknown, at: clock.now()) }
        return try await Self.hashed(overload) { try await passwords.hash(password) }
    }

    /// Waits for an attempt's turn. The caller has to end the attempt.
    /// - Throws: `THROTTLED` or `ServerError.signInBusy`, before any password is checked.
    func begin(email: String?, _ request: HTTPRequest) async throws -> SignInGuard.Attempt {
        do {
            return try await attempts.begin(email: email, address: request.clientAddress, clock)
        } catch let error as ServerError {
            if error == .signInBusy { overload.report(.passwords) } else { notify("paused", nil, request) }
            throw error
        }
    }

    /// Logs a refused sign-in with the account's ID, never with its e-mail address, which is personal.
    func notify(_ reason: String, _ account: AccountEntry?, _ request: HTTPRequest) {
        logger.log(
            .notice, "A sign-in was refused",
            [.reason: .string(reason), .address: .string(request.clientAddress), .user: .string(account?.id ?? ""), .requestID: .string(request.id)])
    }

    static func hashed<Value>(_ overload: OverloadLog, _ body: () async throws -> Value) async throws -> Value {
        WorkMeter.current?.add(rows: Limits.passwordCost)
        do {
            return try await body()
        } catch let error as CryptoError {
            switch error.code {
            case .busy, .outOfMemory:
                overload.report(.passwords)
                throw ServerError.signInBusy
            case .passwordTooLong: throw PasswordRule.tooLong()
            default: throw error
            }
        }
    }

    // MARK: Sign-out

    /// Ends the sign-in of the request's own credential: an account token, or the session of a web auth token.
    private func signOut(_ request: HTTPRequest) async throws -> HTTPResponse {
        if let token = Authenticator.bearer(request) {
            try await authenticator.signOut(accountToken: token)
        } else if let apiToken = request.query("ckAPIToken"), let token = request.query("ckWebAuthToken") {
            try await authenticator.signOut(webAuthToken: token, apiToken: apiToken, request)
        } else {
            throw ServerError.noCredential
        }
        return try answer(AccountMessages.SignedOut())
    }

    // MARK: JSON

    func body<Value: Decodable>(_ type: Value.Type, of request: HTTPRequest) async throws -> Value {
        let bytes = try await request.accountBody()
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw ServerError(error)
        }
    }

    func answer(_ value: some Encodable) throws -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .json([UInt8](try encoder.encode(value)))
    }
}

extension HTTPRequest {
    /// Reads a body of an account endpoint, JSON or a form, and charges its bytes.
    func accountBody() async throws -> [UInt8] {
        let bytes = try await body.collect(upTo: Limits.accountBodyBytes)
        WorkMeter.current?.add(bytes: bytes.count)
        return bytes
    }
}

extension ServerError {
    static let signUpClosed = ServerError(
        .accessDenied, "sign-up is closed", remedy: "Ask the administrator: nacre user create EMAIL, or nacre serve --open-sign-up.")
    static let wrongPassword = ServerError(
        .authenticationFailed, "wrong e-mail address or password", remedy: "Check both; an administrator makes accounts with nacre user create.")
    static let signInBusy = ServerError(
        .tryAgainLater, "too many sign-ins are under way", remedy: "Try again in a moment: the password was not looked at.", retryAfter: 2)

    /// An error for JSON that an endpoint of this server's own cannot decode.
    init(_ error: any Error) {
        let path: ([any CodingKey]) -> String = { $0.map(\.stringValue).joined(separator: ".") }
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            let field = path(context.codingPath + [key])
            self.init(.badRequest, "missing required field", field: field, remedy: "Give \(field).")
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            self.init(.badRequest, "field has the wrong type", field: path(context.codingPath), remedy: "See docs/wire.md.")
        case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
            self.init(.badRequest, "field has an unknown value", field: path(context.codingPath), remedy: "See docs/wire.md.")
        default:
            self.init(.badRequest, "badRequestException: unexpected input", remedy: "Send one JSON object.")
        }
    }
}
