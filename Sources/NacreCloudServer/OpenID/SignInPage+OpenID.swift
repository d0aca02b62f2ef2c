import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry

/// The `state` that a browser takes to the issuer and brings back: sealed, and valid in one browser.
struct OpenIDFlow: Codable, Hashable, Sendable {
    var flow: SignInFlow
    /// The nonce, which comes back in the token, so that the token signs in once.
    var nonce: String
    /// The verifier of PKCE (RFC 7636), without which the issuer gives no token.
    var verifier: String
    var isKept: Bool
    /// Time of issue, in seconds since 2001.
    var issued: Double

    var expires: Timestamp { Timestamp(secondsSince2001: issued + Limits.openIDSeconds) }
    var usedNonce: UsedConsent { UsedConsent(id: nonce, expires: expires) }
}

/// Sign-in with a team's accounts: the authorization code flow of OpenID Connect, with PKCE, `state` and `nonce`.
/// See `docs/decisions/accounts-sign-in.md`.
struct OpenIDPage: Sendable {
    static let startPath = "/sign-in-openid"
    static let returnPath = "/sign-in-openid-return"

    let page: SignInPage
    let issuer: OpenIDIssuer

    func addRoutes(to router: inout Router) {
        router.get(Self.startPath) { request, _ in
            try await page.shown(request) { try await start(request) }
        }
        router.get(Self.returnPath) { request, _ in
            try await page.shown(request) { try await end(request) }
        }
    }

    /// Redirects the browser to the issuer.
    private func start(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let browser = page.browser(request),
            let flow = page.sealer.open(
                SignInFlow.self, request.query("flow") ?? "", for: .signIn, binding: browser.id),
            page.now.secondsSince2001 - flow.issued < Limits.signInSeconds
        else { throw ServerError.otherBrowser }
        _ = try await page.asked(flow)
        let description: OpenIDIssuer.Description
        do {
            description = try await inTurn(request) { try await issuer.description() }
        } catch {
            throw told(error, request)
        }
        let sent = OpenIDFlow(
            flow: flow, nonce: try RelyingParty.newChallenge(),
            verifier: try RelyingParty.newChallenge(),
            isKept: request.query("keep") == "1", issued: page.now.secondsSince2001)
        let values = [
            (name: "response_type", value: "code"),
            (name: "client_id", value: issuer.configuration.clientID),
            (name: "redirect_uri", value: redirect(request)),
            (name: "scope", value: "openid email profile"),
            (name: "state", value: try page.sealer.seal(encoding: sent, for: .openID, binding: browser.id)),
            (name: "nonce", value: sent.nonce), (name: "code_challenge_method", value: "S256"),
            (
                name: "code_challenge",
                value: Base64URL.encode(SHA256.digest(Array(sent.verifier.utf8)))
            ),
        ]
        let query = SignInAddress.query(values)
        let place = description.authorizationEndpoint
        return SignInAnswer.redirect(
            to: place + (place.contains("?") ? "&" + query.dropFirst() : query))
    }

    /// Queries the issuer in the turn of the request's address. A code that the issuer refuses counts like a wrong
    /// password from that address.
    /// - Throws: `THROTTLED` or `ServerError.signInBusy`, before the issuer is queried.
    private func inTurn<Value: Sendable>(_ request: HTTPRequest, _ body: () async throws -> Value) async throws -> Value {
        let clock = page.accounts.clock
        let attempt = try await issuer.turns.begin(email: nil, address: request.clientAddress, clock)
        var outcome = SignInGuard.Outcome.unknown
        defer { issuer.turns.end(attempt, outcome, at: clock.now()) }
        do {
            return try await body()
        } catch let fault as OpenIDFault where fault == .refused {
            outcome = .wrong
            throw fault
        }
    }

    private func redirect(_ request: HTTPRequest) -> String {
        page.address.root(for: request) + Self.returnPath
    }

    /// Handles the browser's return from the issuer.
    private func end(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let browser = page.browser(request),
            let sent = page.sealer.open(
                OpenIDFlow.self, request.query("state") ?? "", for: .openID, binding: browser.id),
            page.now < sent.expires
        else { throw ServerError.otherBrowser }
        let asked = try await page.asked(sent.flow)
        let account: AccountEntry
        do {
            account = try await self.account(sent, request)
        } catch let error as ServerError where error.code != .internalError {
            return try page.form(
                .signIn, asked, sent.flow, browser, request, isKept: sent.isKept,
                problem: page.errors.heard(error, request))
        }
        let consent = try SignInConsent(sent.flow, account, isKept: sent.isKept, at: page.now)
        return try await page.question(consent, asked, account, browser, request)
    }

    private func account(_ sent: OpenIDFlow, _ request: HTTPRequest) async throws -> AccountEntry {
        let claims: IDTokenClaims
        do {
            let namesItself = try await inTurn(request) { try await issuer.description() }.namesItself ?? false
            let named = request.query("iss")
            if let fault = OpenIDRule.fault(
                named: named, issuer: issuer.configuration.issuer, namesItself: namesItself)
            {
                throw fault
            }
            guard let code = request.query("code"), !code.isEmpty else { throw OpenIDFault.refused }
            claims = try await inTurn(request) {
                try await issuer.claims(
                    code: code, redirect: redirect(request), verifier: sent.verifier, nonce: sent.nonce)
            }
        } catch {
            throw told(error, request)
        }
        let account = try await account(of: claims, request)
        do {
            try await page.accounts.cloud.registry.use(sent.usedNonce, of: account)
        } catch let error as ServerError where error == .consentUsed {
            throw told(OpenIDFault.used, request)
        }
        return account
    }

    private func account(of claims: IDTokenClaims, _ request: HTTPRequest) async throws
        -> AccountEntry
    {
        let registry = page.accounts.cloud.registry
        let identity = OpenIDIdentity(issuer: claims.issuer, subject: claims.subject)
        if let known = try await registry.account(identity) { return known }
        let verdict = OpenIDRule.newcomer(claims, opensSignUp: issuer.configuration.opensSignUp)
        guard verdict == .isMade, let email = claims.email else {
            page.accounts.notify("openid: \(verdict)", nil, request)
            throw verdict == .hasNoAddress ? ServerError.openIDWithoutAddress : .openIDNotLetIn
        }
        let names = NameComponents(givenName: claims.givenName, familyName: claims.familyName)
        return try await registry.createAccount(
            identity, email: email, names: names.fault == nil ? names : NameComponents(), sendsMail: page.accounts.cloud.senders.mail != nil)
    }

    /// Logs a fault, and returns the error for the user.
    private func told(_ error: any Error, _ request: HTTPRequest) -> any Error {
        guard let fault = error as? OpenIDFault else { return error }
        page.accounts.notify("openid: \(fault.rawValue)", nil, request)
        return fault == .unreachable ? ServerError.openIDUnreachable : .openIDRefused
    }
}

extension ServerError {
    static let openIDUnreachable = ServerError(
        .tryAgainLater, "the accounts of your team cannot be reached at this moment",
        remedy: "Try again later, or sign in with your password.")

    static let openIDRefused = ServerError(
        .authenticationFailed, "signing in with your team's account did not work",
        remedy: "Begin anew; if it fails again, ask the people who run this server.")

    static let openIDNotLetIn = ServerError(
        .authenticationFailed, "your team's account has no account on this server",
        remedy: "Ask the people who run this server.")

    static let openIDWithoutAddress = ServerError(
        .authenticationFailed, "your team's account has no verified e-mail address",
        remedy: "Have it verified there, and try again.")
}
