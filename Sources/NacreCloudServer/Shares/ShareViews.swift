import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The pages of a share, as its guest sees them.
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
            <p>Somebody has sent you a link to something in an app. Sign in to see what it is, who shares it, and whether it is for you.</p>
            <div class="buttons"><a class="button main" id="in" rel="nofollow" href="\(link.signIn)" data-focus>Sign in</a></div>
            \(code(link))
            <p class="hint">It does not work? Ask who sent the link which address was invited, and sign in with that one.</p>
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
    static func question(_ opened: OpenedShare, _ sealed: String, _ account: AccountEntry) -> SignInViews.View {
        SignInViews.page(
            title: "Take part?",
            """
            <h1 tabindex="-1" data-focus>Take part?</h1>
            \(summary(opened, account))
            <form method="post" action="sign-in">
            <input type="hidden" name="consent" value="\(sealed)">
            <div class="buttons">
            <button class="main" name="step" value="accept">Accept</button>
            <button name="step" value="decline">Decline</button>
            </div>
            </form>
            <p class="hint">The others who take part see that you do.</p>
            """)
    }

    /// The next step of a participant: into the app, to a page about it, or to a device that has it.
    static func inside(_ opened: OpenedShare, _ link: Link, _ account: AccountEntry, isNew: Bool) -> SignInViews.View {
        let heading: HTML = isNew ? "You take part" : "You take part already"
        let (name, links) = (opened.app.name, opened.app.links)
        let app = links.opens(link.url).map { url -> HTML in
            "<div class=\"buttons\"><a class=\"button main\" id=\"app\" href=\"\(url)\">Open in \(name)</a></div>"
        }
        // Another host's page: a one-time secret stays here.
        let fallback = links.page(of: ShareKey(link.guid).shortGUID).map { url -> HTML in
            "<p>You do not have the app? <a id=\"fallback\" rel=\"noreferrer\" href=\"\(url)\">Get \(name)</a></p>"
        }
        let elsewhere: HTML = """
            <p>If it is not there, give this link to the app: <code id="link">\(link.url)</code></p>
            """
        return SignInViews.page(
            title: heading, style: style,
            """
            <h1 tabindex="-1" data-focus>\(heading)</h1>
            \(summary(opened, account))
            <p role="status">Now open \(name) on a device where you are signed in as <strong>\(account.email)</strong>: what is shared is there.</p>
            \(app)
            \(fallback)
            \(app == nil ? elsewhere : nil)
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

    static func declined(_ link: Link) -> SignInViews.View {
        SignInViews.page(
            title: "You do not take part",
            """
            <h1 tabindex="-1" data-focus>You do not take part</h1>
            <p role="status">Nothing has changed. As long as you are invited, the link is good.</p>
            \(again(link))
            """)
    }

    static func refused(_ error: ServerError, _ link: Link, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Nothing is here for you", isProblem: true,
            """
            <h1>Nothing is here for you</h1>
            \(error == .notInvited ? notInvited(email) : SignInViews.problemLine(error))
            <p>You are signed in as <strong>\(email)</strong>. <a href="\(link.signInBeside)">Sign in with another account</a></p>
            """)
    }

    /// The page of a share that is for an address that the account has not verified. With mail it has a button;
    /// without, an administrator vouches.
    static func unverified(_ sealed: String, _ link: Link, email: String, sendsMail: Bool) -> SignInViews.View {
        let mail: HTML = """
            <p>Get a mail with a link, follow it, and open this page once more.</p>
            <form method="post" action="sign-in">
            <input type="hidden" name="consent" value="\(sealed)">
            <div class="buttons"><button class="main" name="step" value="mail">Send me the mail</button></div>
            </form>
            """
        let administrator: HTML = """
            <p>This server sends no mail. Ask the people who run it to confirm that the address is yours, and open this page once more.</p>
            """
        return SignInViews.page(
            title: "Confirm your address first", isProblem: true,
            """
            <h1>Confirm your address first</h1>
            <p id="problem" class="problem" role="alert" tabindex="-1">It is not known yet that <strong>\(email)</strong> is yours.</p>
            \(sendsMail ? mail : administrator)
            \(again(link))
            <p><a href="\(link.signInBeside)">Sign in with another account</a></p>
            """)
    }

    static func mailed(_ link: Link, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Look into your mail",
            """
            <h1 tabindex="-1" data-focus>Look into your mail</h1>
            <p role="status">A mail is on its way to <strong>\(email)</strong>. Follow the link in it, and open this page once more.</p>
            \(again(link))
            """)
    }

    /// The page of a user who asks for a mail and needs none.
    static func verified(_ link: Link, email: String) -> SignInViews.View {
        SignInViews.page(
            title: "Your address is confirmed",
            """
            <h1 tabindex="-1" data-focus>Your address is confirmed</h1>
            <p role="status">It is known that <strong>\(email)</strong> is yours. Open this page once more.</p>
            \(again(link))
            """)
    }

    /// The way back to the share's page.
    private static func again(_ link: Link) -> HTML {
        "<div class=\"buttons\"><a class=\"button\" id=\"again\" href=\"\(link.signInBeside)\">Open once more</a></div>"
    }

    /// The words for a user who is not invited, whether or not there is such a share.
    private static func notInvited(_ email: String) -> HTML {
        """
        <p id="problem" class="problem" role="alert" tabindex="-1">Nothing is shared here with <strong>\(email)</strong>. Ask who sent the link to \
        invite this address, or to send the link as it is now.</p>
        """
    }

    private static func summary(_ opened: OpenedShare, _ account: AccountEntry) -> HTML {
        let share = opened.metadata
        let names = share.ownerIdentity.nameComponents
        let owner = [names?.givenName, names?.familyName].compactMap(\.self).joined(separator: " ")
        let own = [account.givenName, account.familyName].compactMap(\.self).joined(separator: " ")
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
            <div><dt>By</dt><dd>\(owner.isEmpty ? "somebody who shows no name" : owner)</dd></div>
            \(opened.invited.map { address -> HTML in "<div><dt>Invited</dt><dd>\(address)</dd></div>" })
            <div><dt>You are</dt><dd>\(own.isEmpty ? account.email : "\(own), \(account.email)")</dd></div>
            <div><dt>You may</dt><dd>\(rights)</dd></div>
            <div><dt>App</dt><dd>\(SignInViews.app(opened.app, share.environment))</dd></div>
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
            @media (pointer: coarse), (max-width: 40rem) { figure { display: none } }
            .code { display: block; width: 12rem; max-width: 100%; margin: 0 auto .5rem; background: #fff; border-radius: .5rem }
            """)
}
