import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreTelemetry

/// Two pages for forgotten passwords. One sends a link by mail, and is present if the server sends mail. The other is
/// the page of that link and of an administrator's link. Opening a link changes nothing, because mail scanners open
/// links. See `docs/decisions/accounts-recovery.md`.
struct PasswordPages: Sendable {
    static let forgottenPath = "/forgotten-password"
    static let newPath = "/new-password"

    let page: SignInPage

    func addRoutes(to router: inout Router) {
        if page.sendsMail {
            router.get(Self.forgottenPath) { request, _ in
                try await page.shown(request) { try forgotten() }
            }
            router.post(Self.forgottenPath, bodyBytesMax: Limits.accountBodyBytes) { request, _ in
                try await page.shown(request) { try await post(request) }
            }
        }
        router.get(Self.newPath) { request, _ in
            try await page.shown(request) { try await form(request.query("link") ?? "") }
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

    /// Sends a link. The answer is the same whether or not the address has an account: the mail's task looks that up.
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

    /// The account that a link opens.
    private struct Opened {
        var account: AccountEntry
        /// The digest of an administrator's code; nil: the link was mailed.
        var digest: String?
    }

    private func form(_ link: String, problem: ServerError? = nil) async throws -> HTTPResponse {
        let opened = try await opened(link)
        let account = opened.account
        let ways = try await page.accounts.cloud.registry.waysIn(of: account.id)
        WorkMeter.current?.add(rows: ways.signIns.count + ways.passkeys.count)
        return try SignInAnswer.page(
            problem.map { HTTPStatus(rawValue: $0.code.status) } ?? .ok,
            PasswordViews.new(link, account, ways, isMailed: opened.digest == nil, problem: problem))
    }

    /// - Throws: `ServerError.linkIsOver`.
    private func opened(_ text: String) async throws -> Opened {
        let registry = page.accounts.cloud.registry
        if let link = page.sealer.open(MailedLink.self, text, for: .mail) {
            guard let account = try await registry.account(id: link.account), link.opens(account, at: page.now) else { throw ServerError.linkIsOver }
            return Opened(account: account)
        }
        guard let link = page.sealer.open(CodeLink.self, text, for: .passwordCode), let account = try await registry.account(id: link.account)
        else { throw ServerError.linkIsOver }
        let digest = ResetCode.digest(link.code)
        guard account.isLiving, account.reset?.isOpened(by: digest, at: page.now) == true else { throw ServerError.linkIsOver }
        return Opened(account: account, digest: digest)
    }

    private func set(_ request: HTTPRequest) async throws -> HTTPResponse {
        let accounts = page.accounts
        let fields = try await fields(of: request)
        let (text, password) = (fields["link"] ?? "", fields["password"] ?? "")
        let opened = try await opened(text)
        let account = opened.account
        if let fault = PasswordRule.fault(password) {
            return try await form(text, problem: page.errors.heard(fault, request))
        }
        let hash = try await accounts.hash(password, of: nil, request)
        defer { accounts.authenticator.forget(account: account.id) }
        do {
            if let digest = opened.digest {
                let ended = try await accounts.cloud.registry.resetPassword(of: account.id, digest: digest, to: hash)
                if ended == nil { throw ServerError.linkIsOver }
            } else {
                let kept = Set(fields.values("keep").compactMap(WayIn.init(text:)))
                _ = try await accounts.cloud.registry.recover(account, to: hash, keeping: kept)
            }
        } catch let error as ServerError where error == .accountChanged {
            throw ServerError.linkIsOver
        }
        // If this fails, a task does it later.
        if !account.isEmailVerified { try? await accounts.cloud.refreshIdentity(of: account.id) }
        accounts.tellChange(opened.digest == nil ? "set by mail" : "set by an administrator's link", account, request)
        return try SignInAnswer.page(.ok, PasswordViews.done)
    }

    private func fields(of request: HTTPRequest) async throws -> FormFields {
        try page.requireOwnForm(request)
        return FormFields(try await request.accountBody())
    }
}

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

    /// - Parameter isMailed: Whether the link came by mail; otherwise an administrator made it.
    static func new(_ link: String, _ account: AccountEntry, _ ways: WaysIn, isMailed: Bool, problem: ServerError?) -> SignInViews.View {
        SignInViews.page(
            title: "New password", isProblem: problem != nil,
            """
            <h1>New password</h1>
            \(problem.map(SignInViews.problemLine))
            <p>For <strong>\(account.email)</strong>. It ends all sessions, devices and passkeys of the account.</p>
            <form method="post" action="new-password">
            <input type="hidden" name="link" value="\(link)">
            <label for="password">New password</label>
            <p class="hint" id="rule">At least \(Limits.passwordCharacters) characters.</p>
            <input id="password" name="password" type="password" autocomplete="new-password" required minlength="\(Limits.passwordCharacters)" \
            aria-describedby="rule" data-focus>
            <p class="check" id="shown" hidden><input type="checkbox" id="show"> <label for="show">Show password</label></p>
            \(ended(account, ways, isMailed: isMailed))
            <div class="buttons"><button class="main">Set the password</button></div>
            </form>
            """)
    }

    /// The list of what ends with the old password. If the link was mailed to a verified address, each item has a box
    /// that keeps it.
    private static func ended(_ account: AccountEntry, _ ways: WaysIn, isMailed: Bool) -> HTML? {
        let lines = ways.signIns.map { (WayIn.signIn($0.kind, id: $0.id), line($0)) } + ways.passkeys.map { (WayIn.passkey($0.id), line($0)) }
        guard account.isEmailVerified, isMailed else {
            var texts = lines.map(\.1)
            if account.phone != nil, !account.isEmailVerified { texts.append("A phone number") }
            if texts.isEmpty { return nil }
            let reason =
                account.isEmailVerified
                ? "" : "Nobody has shown before that mail to this address is read, so somebody else may have prepared the account. "
            return """
                <p>\(reason)All of this ends:</p>
                <ul>\(HTML(joining: texts.map { "<li>\($0)</li>" }))</ul>
                """
        }
        if lines.isEmpty { return nil }
        let boxes = lines.enumerated().map { number, way -> HTML in
            """
            <p class="check"><input type="checkbox" name="keep" id="keep-\(number)" value="\(way.0.text)"> <label for="keep-\(number)">\(way.1)</label></p>
            """
        }
        return "<fieldset><legend>All of these end. Mark what you know and want to keep.</legend>\(HTML(joining: boxes))</fieldset>"
    }

    private static func line(_ signIn: SignIn) -> String {
        let containers = signIn.audience.containers.sorted().joined(separator: ", ")
        let place = "\(containers), \(signIn.audience.environment), since \(PasskeyPage.day(signIn.created.secondsSince2001))"
        return signIn.kind == .web ? "A browser, in \(place)" : "The device “\(signIn.device)”, in \(place)"
    }

    private static func line(_ passkey: PasskeyEntry) -> String { "The passkey “\(passkey.name)”, \(PasskeyPage.line(passkey))" }

    static var done: SignInViews.View {
        SignInViews.page(
            title: "The password is set",
            """
            <h1 tabindex="-1" data-focus>The password is set</h1>
            <p role="status">Go back to the app and sign in with it.</p>
            """)
    }
}

extension WayIn {
    /// The value of the form's box: the kind, a space, and the ID.
    fileprivate var text: String {
        switch self {
        case .signIn(let kind, let id): "\(kind.rawValue) \(id)"
        case .passkey(let id): "passkey \(id)"
        }
    }

    /// Parses the value of a box; nil for any other text.
    fileprivate init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        if parts[0] == "passkey" {
            self = .passkey(parts[1])
        } else if let kind = SignIn.Kind(rawValue: parts[0]) {
            self = .signIn(kind, id: parts[1])
        } else {
            return nil
        }
    }
}

extension ServerError {
    static let linkIsOver = ServerError(
        .authenticationFailed, "this link is over", field: "link",
        remedy: "A link is good once, and not for long. Ask for another one.")
}
