import Foundation
import NacreCloudWire

@testable import NacreCloudServer

/// A browser at the sign-in page: it keeps cookies, and sends the fields of the page's forms, from the page's own
/// origin.
struct TestBrowser {
    let server: TestServer
    /// The host in the page's URL.
    var host = "localhost"
    var scheme = "http"
    var address: String?
    /// `name=value`.
    var cookie: String?
    /// The current page.
    private(set) var shown: Answer?

    var origin: String { "\(scheme)://\(host)" }

    init(_ server: TestServer, host: String = "localhost", scheme: String = "http") {
        self.server = server
        (self.host, self.scheme) = (host, scheme)
    }

    /// Opens the sign-in page as an app's page does.
    @discardableResult
    mutating func open(_ token: String = "api", origin: String? = "https://app.example", more: String = "") async -> Answer {
        var target = "/sign-in?ckAPIToken=\(server.names[token] ?? token)"
        if let origin { target += "&origin=" + (origin.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "") }
        return await go(target + more)
    }

    @discardableResult
    mutating func go(_ target: String) async -> Answer {
        take(await server.respond(Question(method: "GET", target: target, headers: headers([:]))))
    }

    /// Sends the current form, with the user's input.
    @discardableResult
    mutating func send(_ written: [String: String], headers changed: [String: String?] = [:]) async -> Answer {
        await post(hidden.merging(written) { $1 }, headers: changed)
    }

    @discardableResult
    mutating func post(_ fields: [String: String], path: String = "/sign-in", headers changed: [String: String?] = [:]) async -> Answer {
        let body = fields.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }.joined(separator: "&")
        var fields = headers(["Origin": origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"])
        for (name, value) in changed { fields[name] = value }
        return take(await server.respond(Question(method: "POST", target: path, headers: fields, body: Array(body.utf8))))
    }

    @discardableResult
    mutating func signIn(_ email: String = "ada@example.com", _ password: String = TestServer.password, more: [String: String] = [:]) async -> Answer
    {
        await send(["email": email, "password": password].merging(more) { $1 })
    }

    private mutating func take(_ answer: Answer) -> Answer {
        if let set = answer.header("Set-Cookie") { cookie = String(set.prefix { $0 != ";" }) }
        shown = answer
        return answer
    }

    private func headers(_ more: [String: String]) -> [String: String] {
        var headers = ["Host": host]
        if let cookie { headers["Cookie"] = cookie }
        return headers.merging(more) { $1 }
    }

    /// The hidden fields of the current page's first form.
    var hidden: [String: String] {
        var fields: [String: String] = [:]
        for match in (shown?.text.components(separatedBy: "</form>").first ?? "").matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/)
        {
            fields[String(match.1)] = Self.unescaped(String(match.2))
        }
        return fields
    }

    /// The message of the page's script, with its recipient.
    var delivered: JSON? {
        guard let match = (shown?.text ?? "").firstMatch(of: /<script type="application\/json" id="delivery">(.*?)<\/script>/) else { return nil }
        return try? JSON(Array(String(match.1).utf8))
    }

    /// Returns the user record name for a web auth token of the page; nil where the token is invalid.
    func caller(_ token: String, api: String = "api") async -> String? {
        let escaped = token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let path = "/database/1/\(TestServer.container)/development/private/users/caller"
        let answer = await server.respond(
            Question(method: "GET", target: "\(path)?ckAPIToken=\(server.names[api] ?? api)&ckWebAuthToken=\(escaped)", headers: ["Host": host]))
        return answer.json?["userRecordName"]?.text
    }

    static func unescaped(_ text: String) -> String {
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(text) {
            $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
    }
}
