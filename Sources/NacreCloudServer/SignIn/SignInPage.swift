import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// The page of `redirectURL`: a user signs in or signs up through `AccountAPI`, and grants one app a web auth token by
/// a click.
///
/// The path has three pages: a form for address and password, the question whether the app may have the token, and the
/// page that delivers the token. Only the last needs a script. The server keeps no state between them: it is in their
/// forms, sealed, and valid in one browser.
struct SignInPage: Sendable {
    let address: SignInAddress
    let accounts: AccountAPI
    let errors: ErrorAnswer
    /// The name by which users know the issuer of their team's accounts; nil: there is none.
    var issuerName: String?
    /// Whether there is a page for forgotten passwords.
    var sendsMail = false

    var authenticator: Authenticator { accounts.authenticator }
    var sealer: TokenSealer { authenticator.sealer }
    var now: Timestamp { accounts.clock.now() }

    func addRoutes(to router: inout Router) {
        router.get(SignInAddress.path) { request, _ in try await shown(request) { try await open(request) } }
        router.post(SignInAddress.path, bodyBytesMax: Limits.accountBodyBytes) { request, _ in try await shown(request) { try await step(request) } }
    }

    /// Runs `page` within the rates of account endpoints, and shows errors as a page.
    func shown(_ request: HTTPRequest, _ page: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        do {
            return try await accounts.withinRate(of: request, page)
        } catch let error as CancellationError {
            throw error
        } catch {
            let heard = errors.heard(error, request)
            return try SignInAnswer.page(HTTPStatus(rawValue: heard.code.status), SignInViews.problem(heard), retryAfter: heard.retryAfter)
        }
    }

    // MARK: Opening

    private func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        let flow = SignInFlow(purpose: try purpose(of: request), challenge: try RelyingParty.newChallenge(), issued: now.secondsSince2001)
        let asked = try await asked(flow)
        let browser = try browser(request) ?? SignInBrowser()
        let isSignUp = request.query("form") == "sign-up" && accounts.opensSignUp
        var response = try form(isSignUp ? .signUp : .signIn, asked, flow, browser, request)
        if browser.isNew { response.headers.add("Set-Cookie", browser.cookie(isSecure: address.isSecure)) }
        return response
    }

    private func purpose(of request: HTTPRequest) throws(ServerError) -> SignInPurpose {
        if let guid = request.query("share"), Names.isName(guid) { return .share(guid) }
        if let sealed = request.query("manage") {
            guard ShareGrant.opened(sealed, for: .shareGrant, sealer, at: now)?.holder == .nobody else { throw .grantEnded }
            return .managing(grant: sealed)
        }
        guard let apiToken = request.query("ckAPIToken"), !apiToken.isEmpty else { throw .noApp }
        let state = request.query("state")
        guard state?.utf8.count ?? 0 <= Limits.signInStateBytes else { throw .stateTooLong }
        return .app(apiToken: apiToken, origin: request.query("origin"), state: state)
    }

    /// The app that asks, and the way in which it gets a token. A share is not looked up before the user has signed in.
    /// - Throws: an error if no token can be given.
    func asked(_ flow: SignInFlow) async throws -> SignInAsked {
        switch flow.purpose {
        case .share(let guid): return .share(guid)
        case .managing(let grant): return .managing(grant: grant)
        case .app(let apiToken, let origin, let state):
            guard let entry = try await authenticator.apiTokenEntry(apiToken) else { throw ServerError.unknownApp }
            return .app(
                SignInAsked.App(
                    apiToken: apiToken, state: state, entry: entry, shown: try await accounts.cloud.registry.shownApp(of: entry.container),
                    delivery: try TokenDelivery(entry, asking: origin)))
        }
    }

    func form(
        _ kind: SignInForm.Kind, _ asked: SignInAsked, _ flow: SignInFlow, _ browser: SignInBrowser, _ request: HTTPRequest, email: String = "",
        names: NameComponents = NameComponents(), isKept: Bool = false, problem: ServerError? = nil, isSignedUp: Bool = false
    ) throws -> HTTPResponse {
        let form = SignInForm(
            kind: kind, asked: asked, sealed: try sealer.seal(encoding: flow, for: .signIn, binding: browser.id), query: flow.purpose.query,
            email: email, names: names, isKept: isKept, opensSignUp: accounts.opensSignUp, issuerName: issuerName, sendsMail: sendsMail,
            party: relyingParty(request),
            challenge: flow.challenge,
            problem: problem,
            isSignedUp: isSignedUp)
        return try SignInAnswer.page(problem.map { HTTPStatus(rawValue: $0.code.status) } ?? .ok, form.view, retryAfter: problem?.retryAfter)
    }

    /// The browser of the request; nil if it is new to the page, or keeps no cookies.
    func browser(_ request: HTTPRequest) -> SignInBrowser? { SignInBrowser(request, isSecure: address.isSecure) }

    // MARK: Forms

    /// Handles a form. It has to come from this server's own page, in the browser that it was made for.
    private func step(_ request: HTTPRequest) async throws -> HTTPResponse {
        try requireOwnForm(request)
        guard let browser = browser(request) else { throw ServerError.otherBrowser }
        let fields = FormFields(try await request.accountBody())
        switch fields["step"] {
        case "sign-in": return try await signIn(fields, browser, request)
        case "sign-up": return try await signUp(fields, browser, request)
        case "passkey": return try await signInByPasskey(fields, browser, request)
        case "passkeys": return try await passkeys(fields, browser, request)
        case "add-passkey": return try await addPasskey(fields, browser, request)
        case "remove-passkey": return try await removePasskey(fields, browser, request)
        case "question": return try await questionAgain(fields, browser, request)
        case "allow": return try await allow(fields, browser)
        case "deny": return try await deny(fields, browser)
        case "accept": return try await acceptShare(fields, browser, request)
        case "request": return try await requestShare(fields, browser, request)
        case "mail": return try await mailShareAddress(fields, browser, request)
        case "decline": return try await declineShare(fields, browser, request)
        default: throw ServerError.unknownStep
        }
    }

    /// Requires that the form comes from this server's page. Browsers send both headers with every form, and no page
    /// can change them.
    func requireOwnForm(_ request: HTTPRequest) throws(ServerError) {
        guard request.header("Origin") == address.origin(for: request), ["same-origin", nil].contains(request.header("Sec-Fetch-Site")) else {
            throw .foreignForm
        }
    }

    func flow(_ fields: FormFields, _ browser: SignInBrowser) throws(ServerError) -> SignInFlow {
        guard let flow = sealer.open(SignInFlow.self, fields["flow"] ?? "", for: .signIn, binding: browser.id),
            now.secondsSince2001 - flow.issued < Limits.signInSeconds
        else { throw .otherBrowser }
        return flow
    }

    private func signIn(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let flow = try flow(fields, browser)
        let asked = try await asked(flow)
        let (email, isKept) = (fields["email"] ?? "", fields["keep"] != nil)
        let account: AccountEntry
        do {
            account = try await accounts.checked(email: email, password: fields["password"] ?? "", of: request)
        } catch let error as ServerError where error.code != .internalError {
            return try form(.signIn, asked, flow, browser, request, email: email, isKept: isKept, problem: errors.heard(error, request))
        }
        return try await question(try SignInConsent(flow, account, isKept: isKept, at: now), asked, account, browser, request)
    }

    /// Asks the signed-in user whether the app may have its token, or whether the user wants to take part in a share.
    func question(
        _ consent: SignInConsent, _ asked: SignInAsked, _ account: AccountEntry, _ browser: SignInBrowser, _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let sealed = try sealer.seal(encoding: consent, for: .consent, binding: browser.id)
        switch asked {
        case .share(let guid): return try await shareQuestion(guid, sealed, account, request)
        case .managing(let grant): return try await ManagedSharePage(page: self).open(grant, consent, account, request)
        case .app(let app):
            let view = SignInViews.question(
                app, sealed, email: account.email, isKept: consent.isKept, hasPasskeys: relyingParty(request) != nil)
            return try SignInAnswer.page(.ok, view, formsTo: app.delivery)
        }
    }

    /// Signs up. The answer is the same whether or not the address had an account.
    private func signUp(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let flow = try flow(fields, browser)
        let asked = try await asked(flow)
        let email = fields["email"] ?? ""
        let names = NameComponents(givenName: fields["givenName"], familyName: fields["familyName"])
        do {
            let address = try await accounts.signUp(email: email, password: fields["password"] ?? "", names: names, request)
            return try form(.signIn, asked, flow, browser, request, email: address, isSignedUp: true)
        } catch let error as ServerError where error.code == .badRequest || error.code == .tryAgainLater {
            return try form(.signUp, asked, flow, browser, request, email: email, names: names, problem: errors.heard(error, request))
        }
    }

    // MARK: The click

    func consent(_ fields: FormFields, _ browser: SignInBrowser) throws(ServerError) -> SignInConsent {
        guard let consent = sealer.open(SignInConsent.self, fields["consent"] ?? "", for: .consent, binding: browser.id) else { throw .otherBrowser }
        guard now < consent.expires else { throw .consentUsed }
        return consent
    }

    /// - Throws: `ServerError.accountChanged` if the account's credentials are not the same as when its user signed in.
    func account(of consent: SignInConsent) async throws -> AccountEntry {
        guard let account = try await accounts.cloud.registry.account(id: consent.account), consent.isOf(account) else {
            throw ServerError.accountChanged
        }
        return account
    }

    private func allow(_ fields: FormFields, _ browser: SignInBrowser) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .app(let asked) = try await asked(consent.flow) else { throw ServerError.unknownStep }
        guard let environment = DatabaseKey.Environment(rawValue: asked.entry.environment) else { throw ServerError.unknownApp }
        let account = try await account(of: consent)
        let user = try await accounts.cloud.admit(account: account.id, to: asked.entry.container, environment)
        let session = try await accounts.cloud.registry.startSession(
            of: account, as: user, apiToken: asked.apiToken, entry: asked.entry, isKept: consent.isKept,
            consent: consent.used)
        let token = try authenticator.webAuthToken(for: session)
        // CloudKit: the token goes out under both names.
        return try SignInAnswer.deliver([("ckWebAuthToken", token), ("ckSession", token)], state: asked.state, by: asked.delivery)
    }

    private func deny(_ fields: FormFields, _ browser: SignInBrowser) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .app(let asked) = try await asked(consent.flow) else { throw ServerError.unknownStep }
        try await accounts.cloud.registry.use(consent.used, of: try await account(of: consent))
        // CloudKit: its own page says this if it cannot give a token.
        return try SignInAnswer.deliver([("errorMessage", "accessError")], state: asked.state, by: asked.delivery)
    }
}

/// The receiver of a sign-in.
enum SignInAsked: Sendable {
    /// An app, as described by its API token.
    struct App: Sendable {
        var apiToken: String
        var state: String?
        var entry: APITokenEntry
        var shown: ShownApp
        var delivery: TokenDelivery
    }

    case app(App)
    /// The page of a share, by the short GUID in its URL.
    case share(String)
    /// The page on which the owner manages a share, by the sealed grant of its link.
    case managing(grant: String)
}

extension ServerError {
    fileprivate static let noApp = ServerError(
        .badRequest, "no app has asked for this sign-in", field: "ckAPIToken", remedy: "Open this page from the app that you want to use.")

    fileprivate static let unknownApp = ServerError(
        .authenticationFailed, "the app that asks for this sign-in is not known here", field: "ckAPIToken",
        remedy: "Ask the people who make the app: it may have lost its access to this server.")

    fileprivate static let stateTooLong = ServerError(
        .badRequest, "state is too long", field: "state", remedy: "Give at most \(Limits.signInStateBytes) bytes.")

    fileprivate static let foreignForm = ServerError(
        .accessDenied, "the form was sent from another page", field: "Origin", remedy: "Open the sign-in page from the app that you want to use.")

    static let otherBrowser = ServerError(
        .accessDenied, "the form was made for another browser, or is too old",
        remedy: "Allow cookies, and begin anew: open the app or the link again.")

    static let unknownStep = ServerError(
        .badRequest, "the form is unknown", field: "step", remedy: "Begin anew: open the app or the link again.")
}
