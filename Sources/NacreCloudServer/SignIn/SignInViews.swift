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
            <p>If you allow it, the app can read and change what you keep with it, until \(end) or you sign out.</p>
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

    /// The app that asks, the container whose data it asks for, and the receiver of a token. An administrator chose the
    /// app's name, so the container stands beside it.
    static func summary(_ asked: SignInAsked.App) -> HTML {
        """
        <dl>
        <div><dt>App</dt><dd>\(app(asked.shown, asked.entry.environment))</dd></div>
        <div><dt>Container</dt><dd>\(asked.entry.container), \(asked.entry.environment)</dd></div>
        <div><dt>Access for</dt><dd>\(asked.delivery.place)</dd></div>
        </dl>
        """
    }

    /// A container's app as people know it: icon, and name with a link to a page about it.
    static func app(_ shown: ShownApp, _ environment: String) -> HTML {
        let icon = shown.icon.map { icon -> HTML in "<img class=\"icon\" alt=\"\" src=\"data:image/png;base64,\(icon.base64)\">" }
        let name = shown.links.fallback.map { url -> HTML in "<a rel=\"noreferrer\" href=\"\(url)\">\(shown.name)</a>" } ?? "\(shown.name)"
        let isDevelopment = environment == DatabaseKey.Environment.development.rawValue
        let development: HTML = " <span class=\"mark\">test version</span>"
        return "\(icon)\(name)\(isDevelopment ? development : nil)"
    }

    /// An error as people read it: the fault and the remedy. Remedies that name commands have other words here.
    static func sentence(_ error: ServerError) -> HTML {
        if error == .wrongPassword { return "Wrong e-mail address or password. Check both, and try again." }
        if error == .signUpClosed { return "Accounts are made by the people who run this server. Ask them for one." }
        if let seconds = error.retryAfter { return "Too many people or attempts at this moment. Try again in \(seconds) s." }
        return "\(error.reason.prefix(1).uppercased() + error.reason.dropFirst()). \(error.remedy ?? "")"
    }

    /// - Parameters:
    ///   - style: added to the sign-in's style.
    ///   - script: runs behind the sign-in's script.
    static func page(title: HTML, isProblem: Bool = false, style: HTML? = nil, script: HTML? = nil, _ body: HTML) -> View {
        { nonce in
            """
            \(head(title: "\(isProblem ? "Error: " : nil as HTML?)\(title)", style: style, nonce))
            <body>
            <main>
            <div class="shell" aria-hidden="true"></div>
            \(body)
            </main>
            <script nonce="\(nonce)">\(SignInScript.text)\(script)</script>
            </body>
            </html>

            """
        }
    }

    /// The beginning of each page of this server.
    /// - Parameter style: added to the sign-in's style.
    static func head(title: HTML, style: HTML?, _ nonce: String) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>\(title)</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex">
        <link rel="icon" href="\(icon)">
        <style nonce="\(nonce)">\(SignInStyle.text)\(style)</style>
        </head>
        """
    }

    /// The shell of each page, as the browser's icon. In the page itself: a path would miss the prefix of a public URL.
    /// Its escapes keep the page free of addresses, and of what a style could load.
    private static let icon = HTML(
        trusted:
            "data:image/svg+xml,%3Csvg xmlns='http:%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 32 32'%3E%3ClinearGradient id='g' x2='1' y2='1'%3E"
            + "%3Cstop stop-color='%239fd8d2'/%3E%3Cstop offset='.5' stop-color='%23b9b4f0'/%3E%3Cstop offset='1' stop-color='%23f0b8d4'/%3E"
            + "%3C/linearGradient%3E%3Cpath fill='url%28%23g%29' d='M16 2a14 14 0 1 1 0 28H5a3 3 0 0 1-3-3V16A14 14 0 0 1 16 2z'/%3E%3C/svg%3E")

    /// The page of a path that leads nowhere.
    static var missing: View {
        page(
            title: "There is no such page", isProblem: true,
            """
            <h1>There is no such page</h1>
            <p>The address may be cut off or misspelled. Open the link again that brought you here, or ask who sent it.</p>
            """)
    }
}
