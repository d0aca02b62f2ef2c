import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

enum SignInViews {
    typealias View = (_ nonce: String) -> HTML

    /// Asks a user who has just signed in whether an app may have a token.
    static func question(_ asked: SignInAsked.App, _ sealed: String, email: String, isKept: Bool, hasPasskeys: Bool) -> View {
        let end: HTML = isKept ? "you have not used it for two weeks" : "you have not used it for 30 minutes"
        return page(
            title: "Allow access?",
            """
            <h1 tabindex="-1" data-focus>Allow access?</h1>
            <p>You are signed in as <strong>\(email)</strong>.</p>
            \(summary(asked))
            <p>If you allow it, the app can read and change what you keep in this container, until \(end) or you sign out.</p>
            <form method="post" action="sign-in">
            <input type="hidden" name="consent" value="\(sealed)">
            <div class="buttons">
            <button class="main" name="step" value="allow">Allow</button>
            <button name="step" value="deny">Do not allow</button>
            </div>
            \(hasPasskeys ? passkeys : nil)
            </form>
            """)
    }

    private static let passkeys: HTML = "<button class=\"quiet\" name=\"step\" value=\"passkeys\">Add or remove passkeys</button>"

    /// Gives the token to the page that asked.
    /// - Parameter data: the message and its origin, as JSON.
    static func delivery(_ data: HTML, isGranted: Bool) -> View {
        let heading: HTML = isGranted ? "You are signed in" : "Nothing was allowed"
        return page(
            title: heading,
            """
            <h1 data-lost="The app was not told">\(heading)</h1>
            <p id="done" role="status" hidden>You can close this window and go back to the app.</p>
            <p id="lost" role="alert" hidden>The page that opened this window is gone. Close the window and sign in from the app once more.</p>
            <noscript><p role="alert">This page needs JavaScript to tell the app. Turn it on, and sign in from the app once more.</p></noscript>
            <script type="application/json" id="delivery">\(data)</script>
            """)
    }

    static func problem(_ error: ServerError) -> View {
        page(
            title: "You cannot sign in",
            """
            <h1>You cannot sign in</h1>
            \(problemLine(error))
            """)
    }

    /// The line with an error, which gets the focus.
    static func problemLine(_ error: ServerError) -> HTML {
        "<p id=\"problem\" class=\"problem\" role=\"alert\" tabindex=\"-1\">\(sentence(error))</p>"
    }

    /// The app that asks, and the receiver of a token.
    static func summary(_ asked: SignInAsked.App) -> HTML {
        """
        <dl>
        <div><dt>App</dt><dd>\(app(asked.entry.container, asked.entry.environment))</dd></div>
        <div><dt>Access for</dt><dd>\(asked.delivery.place)</dd></div>
        </dl>
        """
    }

    /// A container as people read it.
    static func app(_ container: String, _ environment: String) -> HTML {
        let isDevelopment = environment == DatabaseKey.Environment.development.rawValue
        let development: HTML = " <span class=\"mark\">development</span>"
        return "\(container)\(isDevelopment ? development : nil)"
    }

    /// An error as people read it: the fault and the remedy.
    static func sentence(_ error: ServerError) -> HTML {
        if error == .wrongPassword { return "Wrong e-mail address or password. Check both, and try again." }
        if let seconds = error.retryAfter { return "Too many people or attempts at this moment. Try again in \(seconds) s." }
        return "\(error.reason.prefix(1).uppercased() + error.reason.dropFirst()). \(error.remedy ?? "")"
    }

    /// - Parameter style: added to the sign-in's style.
    static func page(title: HTML, isProblem: Bool = false, style: HTML? = nil, _ body: HTML) -> View {
        { nonce in
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <title>\(isProblem ? "Error: " : nil as HTML?)\(title)</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <style nonce="\(nonce)">\(SignInStyle.text)\(style)</style>
            </head>
            <body>
            <main>
            <div class="shell" aria-hidden="true"></div>
            \(body)
            </main>
            <script nonce="\(nonce)">\(SignInScript.text)</script>
            </body>
            </html>

            """
        }
    }
}
