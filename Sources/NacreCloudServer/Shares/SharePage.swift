import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// `/share/{short GUID}`: the page of a share's URL in a browser. It leads to the sign-in, after which the share is
/// shown, accepted and opened in its app.
///
/// The server looks nothing up, so the answer is the same whether or not the share exists. A malformed URL gets a page
/// of its own, without a QR code.
struct SharePage: Sendable {
    static let path = "/share/:shortGUID"

    let page: SignInPage

    func addRoute(to router: inout Router) {
        router.get(Self.path) { request, parameters in
            try await page.shown(request) {
                let guid = (try? parameters.require("shortGUID")) ?? ""
                guard ShareKey(guid).isWellFormed else { return try SignInAnswer.page(.notFound, ShareViews.malformed) }
                return try SignInAnswer.page(.ok, ShareViews.door(page.shareURL(guid, request)))
            }
        }
    }
}

/// Steps of a user who has signed in from the page of a share.
extension SignInPage {
    /// The URL of a share, by its short GUID.
    fileprivate func shareURL(_ guid: String, _ request: HTTPRequest) -> ShareViews.Link {
        ShareViews.Link(guid: guid, url: "\(address.root(for: request))/share/\(PercentEncoding.ofQueryValue(guid))")
    }

    /// Shows what is shared, as far as the account may know it.
    func shareQuestion(_ guid: String, _ sealed: String, _ account: AccountEntry, _ request: HTTPRequest) async throws -> HTTPResponse {
        let link = shareURL(guid, request)
        let shareLink = try await accounts.cloud.shareLink(guid)
        do {
            let opened = try await accounts.cloud.openShare(shareLink, for: account)
            if opened.metadata.participantStatus == .accepted { return try SignInAnswer.page(.ok, ShareViews.inside(opened, link, isNew: false)) }
            return try SignInAnswer.page(.ok, ShareViews.question(opened, sealed, email: account.email))
        } catch let error as ServerError where error.code == .accessDenied {
            if account.accountState == .available, try await accounts.cloud.takesRequests(shareLink, of: account) {
                return try SignInAnswer.page(.ok, ShareViews.asking(sealed, email: account.email))
            }
            return try refused(error, link, account, request)
        }
    }

    func acceptShare(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share(let guid) = consent.flow.purpose else { throw ServerError.unknownStep }
        let (link, account) = (shareURL(guid, request), try await account(of: consent))
        try await accounts.cloud.registry.use(consent.used, of: account)
        let shareLink = try await accounts.cloud.shareLink(guid)
        do {
            return try SignInAnswer.page(.ok, ShareViews.inside(try await accounts.cloud.acceptShare(shareLink, for: account), link, isNew: true))
        } catch let error as ServerError where error.code == .accessDenied {
            return try refused(error, link, account, request)
        }
    }

    func requestShare(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share(let guid) = consent.flow.purpose else { throw ServerError.unknownStep }
        let account = try await account(of: consent)
        try await accounts.cloud.registry.use(consent.used, of: account)
        do {
            try await accounts.cloud.requestAccess(to: try await accounts.cloud.shareLink(guid), for: account)
            return try SignInAnswer.page(.ok, ShareViews.asked)
        } catch let error as ServerError where error.code == .accessDenied {
            return try refused(error, shareURL(guid, request), account, request)
        }
    }

    /// Declines a share. CloudKit: an invitation that is not accepted remains until its sender removes it.
    func declineShare(_ fields: FormFields, _ browser: SignInBrowser) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share = consent.flow.purpose else { throw ServerError.unknownStep }
        try await accounts.cloud.registry.use(consent.used, of: try await account(of: consent))
        return try SignInAnswer.page(.ok, ShareViews.declined)
    }

    private func refused(_ error: ServerError, _ link: ShareViews.Link, _ account: AccountEntry, _ request: HTTPRequest) throws -> HTTPResponse {
        let heard = errors.heard(error, request)
        return try SignInAnswer.page(HTTPStatus(rawValue: heard.code.status), ShareViews.refused(heard, link, email: account.email))
    }
}

enum ShareViews {
    /// The URL of a share, with its short GUID.
    struct Link {
        var guid: String
        var url: String

        /// The relative URL of the sign-in from the page of the share.
        fileprivate var signIn: String { "../" + signInBeside }
        /// The relative URL of the sign-in from the sign-in page.
        fileprivate var signInBeside: String { "sign-in" + SignInAddress.query([(name: "share", value: guid)]) }
    }

    static func door(_ link: Link) -> SignInViews.View {
        SignInViews.page(
            title: "Something is shared with you", style: style,
            """
            <h1>Something is shared with you</h1>
            <p>Sign in to see what it is, and whether it is for you. In an app that knows this link you can open it as well.</p>
            <div class="buttons"><a class="button main" id="in" rel="nofollow" href="\(link.signIn)" data-focus>Sign in</a></div>
            \(code(link))
            <p class="hint">Nothing works there? Ask who sent it whether you are invited, with the address that you sign in with.</p>
            """)
    }

    static var malformed: SignInViews.View {
        SignInViews.page(
            title: "This link is not whole", isProblem: true,
            """
            <h1>This link is not whole</h1>
            <p id="problem" class="problem" role="alert" tabindex="-1">No share has such an address. Copy the whole link, or ask who sent it for another.</p>
            """)
    }

    /// Shows what is shared, and asks whether the user wants to take part.
    static func question(_ opened: OpenedShare, _ sealed: String, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Take part?",
            """
            <h1 tabindex="-1" data-focus>Take part?</h1>
            <p>You are signed in as <strong>\(email)</strong>.</p>
            \(summary(opened))
            <form method="post" action="sign-in">
            <input type="hidden" name="consent" value="\(sealed)">
            <div class="buttons">
            <button class="main" name="step" value="accept">Accept</button>
            <button name="step" value="decline">Decline</button>
            </div>
            </form>
            <p class="hint">Who takes part sees that you do, by the name that you have in this app.</p>
            """)
    }

    /// The link into the app for a participant.
    static func inside(_ opened: OpenedShare, _ link: Link, isNew: Bool) -> SignInViews.View {
        let heading: HTML = isNew ? "You take part" : "You take part already"
        let app = opened.app.opens(link.url).map { url -> HTML in
            "<div class=\"buttons\"><a class=\"button main\" id=\"app\" href=\"\(url)\">Open in the app</a></div>"
        }
        let fallback = opened.app.fallback.map { url -> HTML in "<p><a id=\"fallback\" rel=\"noreferrer\" href=\"\(url)\">Get the app</a></p>" }
        return SignInViews.page(
            title: heading, style: style,
            """
            <h1 tabindex="-1" data-focus>\(heading)</h1>
            \(summary(opened))
            <p role="status">It is in the app, on each device where you are signed in.</p>
            \(app)
            \(fallback)
            \(code(link))
            """)
    }

    /// The page of a share that takes requests; it shows nothing of the share.
    static func asking(_ sealed: String, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Ask for access?",
            """
            <h1 tabindex="-1" data-focus>Ask for access?</h1>
            <p>You are signed in as <strong>\(email)</strong>. What this link leads to is not shared with you, and you may ask for it.</p>
            <form method="post" action="sign-in">
            <input type="hidden" name="consent" value="\(sealed)">
            <div class="buttons">
            <button class="main" name="step" value="request">Ask for access</button>
            <button name="step" value="decline">Do not ask</button>
            </div>
            </form>
            <p class="hint">Who decides sees the name of your account, and your e-mail address or phone number.</p>
            """)
    }

    static var asked: SignInViews.View {
        SignInViews.page(
            title: "You have asked",
            """
            <h1 tabindex="-1" data-focus>You have asked</h1>
            <p role="status">When you are let in, this same link shows you what is shared.</p>
            """)
    }

    static var declined: SignInViews.View {
        SignInViews.page(
            title: "You do not take part",
            """
            <h1 tabindex="-1" data-focus>You do not take part</h1>
            <p role="status">Nothing has changed. As long as you are invited, the link is good.</p>
            """)
    }

    static func refused(_ error: ServerError, _ link: Link, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Nothing is here for you", isProblem: true,
            """
            <h1>Nothing is here for you</h1>
            \(SignInViews.problemLine(error))
            <p>You are signed in as <strong>\(email)</strong>. <a href="\(link.signInBeside)">Sign in with another account</a></p>
            """)
    }

    private static func summary(_ opened: OpenedShare) -> HTML {
        let share = opened.metadata
        let names = share.ownerIdentity.nameComponents
        let owner = [names?.givenName, names?.familyName].compactMap { $0 }.joined(separator: " ")
        let rights: HTML =
            switch share.participantPermission {
            case .readWrite: "see and change it"
            case .readOnly, .none, .unknown: "see it"
            }
        let title = share.share.fields["cloudkit.title"].flatMap { field -> String? in
            if case .string(let title) = field { title } else { nil }
        }
        return """
            <dl>
            \(title.map { title -> HTML in "<div><dt>Shared</dt><dd>\(title)</dd></div>" })
            \(owner.isEmpty ? nil : "<div><dt>By</dt><dd>\(owner)</dd></div>" as HTML?)
            <div><dt>App</dt><dd>\(SignInViews.app(share.containerIdentifier, share.environment))</dd></div>
            <div><dt>You may</dt><dd>\(rights)</dd></div>
            </dl>
            """
    }

    /// The QR code of the URL, for a telephone in front of this screen.
    private static func code(_ link: Link) -> HTML? {
        WorkMeter.current?.add(rows: Limits.codeCost)
        guard let code = QRCode(link.url) else { return nil }
        let quiet = 4
        let side = code.side + 2 * quiet
        return """
            <figure><svg class="code" role="img" aria-label="QR code of this link" viewBox="-\(quiet) -\(quiet) \(side) \(side)" \
            shape-rendering="crispEdges"><path d="\(code.path)"/></svg>
            <figcaption class="hint">To go on with a telephone, point its camera here.</figcaption></figure>
            """
    }

    private static let style: HTML = HTML(
        trusted: """

            a.main { color: var(--on-accent); background: var(--accent) }
            figure { margin: 1.25rem 0; text-align: center }
            .code { display: block; width: 12rem; max-width: 100%; margin: 0 auto .5rem; background: #fff; border-radius: .5rem }
            """)
}
