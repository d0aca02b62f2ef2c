import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// The address of the sign-in page, as browsers know it.
struct SignInAddress: Sendable {
    static let path = "/sign-in"

    /// The URL by which clients reach the server; nil: the host of each request, over HTTP.
    let publicURL: String?

    /// `redirectURL` of `AUTHENTICATION_REQUIRED`: the sign-in page for the request's API token and origin.
    /// - Parameter request: the refused request. Its host is this server's: no other is answered.
    func url(for request: HTTPRequest) -> String {
        var values: [(String, String)] = []
        if let token = request.query("ckAPIToken") { values.append(("ckAPIToken", token)) }
        if let origin = askingOrigin(of: request) { values.append(("origin", origin)) }
        return root(for: request) + Self.path + Self.query(values)
    }

    /// The origin of the page that sent the request. Browsers omit it if page and server share it and nothing is
    /// changed.
    private func askingOrigin(of request: HTTPRequest) -> String? {
        if let origin = request.header("Origin") { return WebOrigin(origin)?.text }
        return request.header("Sec-Fetch-Site") == "same-origin" ? origin(for: request) : nil
    }

    /// The origin of the sign-in page.
    func origin(for request: HTTPRequest) -> String {
        let root = root(for: request)
        let authority = (root.firstRange(of: "://").map { root[$0.upperBound...] } ?? root[...]).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        var origin = root[..<authority.endIndex].lowercased()
        // A browser omits the scheme's default port.
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where origin.hasPrefix(scheme) && origin.hasSuffix(port) {
            origin.removeLast(port.count)
        }
        return origin
    }

    var isSecure: Bool { publicURL?.lowercased().hasPrefix("https://") ?? false }

    /// The URL of the server, without a trailing slash.
    func root(for request: HTTPRequest) -> String {
        Self.root(publicURL ?? "http://\(request.header("Host") ?? "localhost")")
    }

    private static func root(_ url: String) -> String {
        var root = url
        while root.hasSuffix("/") { root.removeLast() }
        return root
    }

    /// The URL of a page that a sealed link opens.
    static func url(of path: String, _ link: String, at publicURL: String) -> String {
        root(publicURL) + path + query([(name: "link", value: link)])
    }

    /// The query string with its question mark; empty without values.
    static func query(_ values: [(name: String, value: String)]) -> String {
        values.isEmpty ? "" : "?" + values.map { "\($0.name)=\(PercentEncoding.ofQueryValue($0.value))" }.joined(separator: "&")
    }
}
