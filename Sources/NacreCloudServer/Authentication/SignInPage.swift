import NacreHTTPServer

/// Where a user without a web auth token is sent: `redirectURL` of `AUTHENTICATION_REQUIRED`.
///
/// CloudKit: a page at which the user signs in. On this server: a page that says how to get a token without one.
struct SignInPage: Sendable {
    static let path = "/sign-in"

    /// The URL by which clients reach the server; nil: the host that they asked, over HTTP.
    let publicURL: String?

    /// - Parameter request: the one that is refused. Its host is one of ours: no other is answered.
    func url(for request: HTTPRequest) -> String {
        var root = publicURL ?? "http://\(request.header("Host") ?? "localhost")"
        while root.hasSuffix("/") { root.removeLast() }
        return root + Self.path
    }

    func addRoutes(to router: inout Router) {
        router.get(Self.path) { request, _ in
            guard Self.takesHTML(request) else {
                throw HTTPError(
                    .notImplemented,
                    "there is no web page for signing in yet: nacre user sign-in or POST /account/1/sign-in gives a web auth token",
                    headers: ["Vary": "Accept"])
            }
            return HTTPResponse(
                .notImplemented,
                headers: [
                    "Content-Type": "text/html; charset=utf-8", "Vary": "Accept",
                    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
                ],
                body: .bytes(Array(Self.html.utf8)))
        }
    }

    /// Browsers name the type. Who takes anything is a program, and gets JSON.
    private static func takesHTML(_ request: HTTPRequest) -> Bool {
        request.headerValues("Accept").contains {
            $0.lowercased().split(separator: ",").contains { range in
                let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
                return parts.first == "text/html" && !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
            }
        }
    }

    private static let html = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>Signing in</title>
        <style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }</style>
        <h1>You cannot sign in here yet</h1>
        <p>This server does not have a web page for signing in so far. The app that sent you here needs a web auth token, which you get in one of two
        other ways:</p>
        <ul>
        <li>the administrator makes one with <code>nacre user sign-in</code>;</li>
        <li>the app asks for it with your address and password: <code>POST /account/1/sign-in</code>.</li>
        </ul>
        <p>You can close this page. Nothing was sent to anybody.</p>
        </html>

        """
}
