import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// The page with a form for address and password.
struct SignInForm {
    enum Kind {
        case signIn
        case signUp
    }

    var kind: Kind
    var asked: SignInAsked
    /// The sealed flow that the form is for.
    var sealed: String
    /// The query that opens the other form.
    var query: [(name: String, value: String)]
    var email: String
    /// The names that were typed into the form for an account.
    var names: NameComponents
    var isKept: Bool
    var opensSignUp: Bool
    /// The name by which users know the issuer of their team's accounts; nil: there is none.
    var issuerName: String?
    /// Whether there is a page for forgotten passwords.
    var sendsMail: Bool
    /// The relying party of passkeys; nil: browsers have none for this address.
    var party: RelyingParty?
    /// The challenge that a passkey signs.
    var challenge: String
    var problem: ServerError?
    /// Whether the sign-up form was just sent.
    var isSignedUp: Bool

    var view: SignInViews.View {
        let title: HTML = kind == .signIn ? "Sign in" : "Create an account"
        return SignInViews.page(
            title: title, isProblem: problem != nil,
            """
            <h1>\(title)</h1>
            \(summary)
            \(message)
            \(noscript)
            <form method="post" action="sign-in">
            <input type="hidden" name="flow" value="\(sealed)">
            <input type="hidden" name="step" value="\(kind == .signIn ? "sign-in" : "sign-up")">
            \(kind == .signUp ? nameFields : nil)
            <label for="email">E-mail address</label>
            <input id="email" name="email" type="email" autocomplete="username\(kind == .signIn && party != nil ? " webauthn" : nil as HTML?)" required maxlength="\(Limits.emailCharacters)" value="\(email)"\(wrong)\(email.isEmpty ? focus : nil)>
            \(password)
            <p class="check" id="shown" hidden><input type="checkbox" id="show"> <label for="show">Show password</label></p>
            \(keep)
            <div class="buttons"><button class="main">\(kind == .signIn ? "Sign in" : "Create account" as HTML)</button></div>
            </form>
            \(passkey)
            \(issuer)
            \(kind == .signIn ? forgotten : nil)
            \(other)
            """)
    }

    private var summary: HTML {
        switch asked {
        case .app(let app): SignInViews.summary(app)
        case .share:
            """
            <p>Somebody has sent you a link to something in an app. \(kind == .signIn ? "Sign in" : "Create an account, and sign in," as HTML) to see what \
            it is.</p>
            """
        case .managing: "<p>Sign in as the owner to say who has access to what is shared.</p>"
        }
    }

    private var focus: HTML { " data-focus" }

    /// Connects a field to the message about it.
    private var wrong: HTML? {
        guard let problem, problem.retryAfter == nil, problem != .wrongPasskey else { return nil }
        return " aria-describedby=\"problem\" aria-invalid=\"true\""
    }

    private var message: HTML? {
        if let problem { return SignInViews.problemLine(problem) }
        guard isSignedUp else { return nil }
        return """
            <p class="notice" role="status">Now sign in with this address and password. If the address had an account before, that account and its \
            password are as they were.</p>
            """
    }

    private var noscript: HTML? {
        guard case .app(let app) = asked, case .message = app.delivery else { return nil }
        return "<noscript><p class=\"problem\">To tell the app that you are signed in, this page needs JavaScript. Turn it on first.</p></noscript>"
    }

    private var nameFields: HTML {
        """
        <div class="pair">
        <div><label for="givenName">First name</label>
        <input id="givenName" name="givenName" autocomplete="given-name" maxlength="\(Limits.personNameBytes)" value="\(names.givenName ?? "")" aria-describedby="names"\(email.isEmpty ? focus : nil)></div>
        <div><label for="familyName">Last name</label>
        <input id="familyName" name="familyName" autocomplete="family-name" maxlength="\(Limits.personNameBytes)" value="\(names.familyName ?? "")" aria-describedby="names"></div>
        </div>
        <p class="hint" id="names">For the people with whom you share, where you allow it. You may leave it out.</p>
        """
    }

    private var password: HTML {
        let later: HTML? = email.isEmpty ? nil : focus
        return switch kind {
        case .signIn:
            """
            <label for="password">Password</label>
            <input id="password" name="password" type="password" autocomplete="current-password" required\(wrong)\(later)>
            """
        case .signUp:
            """
            <label for="password">New password</label>
            <p class="hint" id="rule">At least \(Limits.passwordCharacters) characters.</p>
            <input id="password" name="password" type="password" autocomplete="new-password" required minlength="\(Limits.passwordCharacters)" aria-describedby="rule\(problem == nil ? nil : " problem" as HTML)"\(later)>
            """
        }
    }

    /// The box that keeps the user signed in; none for a share, which needs no session.
    private var keep: HTML? {
        guard kind == .signIn, case .app = asked else { return nil }
        return """
            <p class="check"><input type="checkbox" id="keep" name="keep" value="1"\(isKept ? " checked" : nil as HTML?)> <label for="keep">Keep me signed in \
            for two weeks</label></p>
            """
    }

    /// A link instead of a form: browsers check redirects after a form against the form's targets.
    private var issuer: HTML? {
        guard kind == .signIn, let issuerName else { return nil }
        let query = SignInAddress.query([(name: "flow", value: sealed)])
        return """
            <div class="buttons"><a class="button" id="issuer" rel="nofollow" href="sign-in-openid\(query)">Sign in with \(issuerName)</a></div>
            """
    }

    /// The form for a passkey, hidden until the script shows it, because only a script can use one.
    private var passkey: HTML? {
        guard kind == .signIn, let party else { return nil }
        return """
            <form method="post" action="sign-in" id="passkey" data-does="get" data-rp="\(party.id)" data-challenge="\(challenge)" hidden>
            <input type="hidden" name="flow" value="\(sealed)">
            <input type="hidden" name="step" value="passkey">
            <input type="hidden" name="keep" value="">
            <input type="hidden" name="user" value="">
            <input type="hidden" name="credential" value="">
            <input type="hidden" name="client" value="">
            <input type="hidden" name="data" value="">
            <input type="hidden" name="signature" value="">
            <div class="buttons"><button type="button" id="use">Sign in with a passkey</button></div>
            <p id="unused" class="problem" role="alert" hidden>No passkey was used. Try again, or sign in with your password.</p>
            </form>
            """
    }

    private var forgotten: HTML {
        if sendsMail { return "<p><a href=\"forgotten-password\">Forgotten your password?</a></p>" }
        return "<p class=\"hint\">Forgotten your password? Ask the people who run this server.</p>"
    }

    /// The link to the other form.
    private var other: HTML {
        if kind == .signUp { return "<p>You have an account? <a href=\"sign-in\(SignInAddress.query(query))\">Sign in</a></p>" }
        guard opensSignUp else { return "<p class=\"hint\">You have no account? Ask the people who run this server for one.</p>" }
        return "<p>You have no account? <a href=\"sign-in\(SignInAddress.query(query + [("form", "sign-up")]))\">Create one</a></p>"
    }
}
