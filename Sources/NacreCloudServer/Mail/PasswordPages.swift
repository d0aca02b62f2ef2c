import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry

/// The two pages for who has forgotten the password: one sends a mail with a link, the other is where the link leads.
/// They are there where the server sends mail. To open a link changes nothing: mail scanners do that. See `docs/decisions/a-mailed-link-asks-first.md`.
struct PasswordPages: Sendable {
    static let forgottenPath = "/forgotten-password"
    static let newPath = "/new-password"

    let page: SignInPage

    func addRoutes(to router: inout Router) {
        router.get(Self.forgottenPath) { request, _ in
            try await page.shown(request) { try forgotten() }
        }
        router.post(Self.forgottenPath, bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try await page.shown(request) { try await post(request) }
        }
        router.get(Self.newPath) { request, _ in
            try await page.shown(request) { try form(request.query("link") ?? "") }
        }
        router.post(Self.newPath, bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try await page.shown(request) { try await set(request) }
        }
    }

    // MARK: Asking for a link

    private func forgotten(problem: ServerError? = nil, email: String = "") throws -> HTTPResponse {
        try SignInAnswer.page(
            problem.map { HTTPStatus(rawValue: $0.code.status) } ?? .ok,
            PasswordViews.forgotten(problem: problem, email: email),
            retryAfter: problem?.retryAfter)
    }

    /// One answer, whether the address has an account or not: the mail's task looks for it.
    private func post(_ request: HTTPRequest) async throws -> HTTPResponse {
        let fields = try await fields(of: request)
        let email = fields["email"] ?? ""
        do {
            let address = try Registry.normalized(email)
            try page.accounts.countLetter(to: address, request)
            try await page.accounts.cloud.registry.post(
                Letter(.newPassword, to: address, at: page.now))
        } catch let error as ServerError where error.code != .internalError {
            return try forgotten(problem: page.errors.heard(error, request), email: email)
        }
        return try SignInAnswer.page(.ok, PasswordViews.sent)
    }

    // MARK: The link

    private func form(_ link: String, problem: ServerError? = nil) throws -> HTTPResponse {
        try SignInAnswer.page(
            problem.map { HTTPStatus(rawValue: $0.code.status) } ?? .ok,
            PasswordViews.new(link, problem: problem))
    }

    private func set(_ request: HTTPRequest) async throws -> HTTPResponse {
        let accounts = page.accounts
        let fields = try await fields(of: request)
        let (text, password) = (fields["link"] ?? "", fields["password"] ?? "")
        guard let link = page.sealer.open(MailedLink.self, text, for: .mail),
            let account = try await accounts.cloud.registry.account(id: link.account),
            link.opens(account, at: page.now)
        else { throw ServerError.linkIsOver }
        if let fault = PasswordRule.fault(password) {
            return try form(text, problem: page.errors.heard(fault, request))
        }
        let hash = try await AccountAPI.hashed(accounts.overload) {
            try await accounts.passwords.hash(password)
        }
        defer { accounts.authenticator.forget(account: account.id) }
        do {
            _ = try await accounts.cloud.registry.changePassword(of: account, to: hash)
        } catch let error as ServerError where error == .accountChanged {
            throw ServerError.linkIsOver
        }
        accounts.tellChange("set by mail", account, request)
        return try SignInAnswer.page(.ok, PasswordViews.done)
    }

    private func fields(of request: HTTPRequest) async throws -> FormFields {
        try page.requireOwnForm(request)
        return FormFields(try await request.body.collect(upTo: Limits.accountBodyBytes))
    }
}

/// The pages, as HTML.
enum PasswordViews {
    static func forgotten(problem: ServerError?, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Forgotten password", isProblem: problem != nil,
            """
            <h1>Forgotten password</h1>
            \(problem.map(SignInViews.problemLine))
            <p>You get a mail with a link by which you set a new one.</p>
            <form method="post" action="forgotten-password">
            <label for="email">E-mail address</label>
            <input id="email" name="email" type="email" autocomplete="username" required maxlength="\(Limits.emailCharacters)" value="\(email)" data-focus>
            <div class="buttons"><button class="main">Send the mail</button></div>
            </form>
            """)
    }

    static var sent: SignInViews.View {
        SignInViews.page(
            title: "Look at your mail",
            """
            <h1 tabindex="-1" data-focus>Look at your mail</h1>
            <p role="status">If there is an account with this address, a mail with a link is on its way to it. The link is good for 30 minutes, and once.</p>
            """)
    }

    static func new(_ link: String, problem: ServerError?) -> SignInViews.View {
        SignInViews.page(
            title: "New password", isProblem: problem != nil,
            """
            <h1>New password</h1>
            \(problem.map(SignInViews.problemLine))
            <p>It ends all sessions and devices that the old one began.</p>
            <form method="post" action="new-password">
            <input type="hidden" name="link" value="\(link)">
            <label for="password">New password</label>
            <p class="hint" id="rule">At least \(Limits.passwordCharacters) characters.</p>
            <input id="password" name="password" type="password" autocomplete="new-password" required minlength="\(Limits.passwordCharacters)" \
            aria-describedby="rule" data-focus>
            <p class="check" id="shown" hidden><input type="checkbox" id="show"> <label for="show">Show password</label></p>
            <div class="buttons"><button class="main">Set the password</button></div>
            </form>
            """)
    }

    static var done: SignInViews.View {
        SignInViews.page(
            title: "The password is set",
            """
            <h1 tabindex="-1" data-focus>The password is set</h1>
            <p role="status">Go back to the app and sign in with it.</p>
            """)
    }
}

extension ServerError {
    static let linkIsOver = ServerError(
        .authenticationFailed, "this link is over", field: "link",
        remedy: "A link is good for 30 minutes and once. Ask for another mail.")
}
