import Foundation
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI

/// Tests of `nacre console`: the link that it prints, over a socket, and when it opens a browser.
@Suite(.timeLimit(.minutes(2))) struct ConsoleCommandTests {
    /// Sends a request as the console's page does.
    private func ask(
        _ method: String, _ path: String, _ body: String = "", cookie: String = "", key: String = "1", port: Int
    ) async throws -> RawResponse {
        let request = """
            \(method) \(path) HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Origin: http://127.0.0.1:\(port)\r
            Sec-Fetch-Site: same-origin\r
            X-Nacre-Console: \(key)\r
            Cookie: \(cookie)\r
            Connection: close\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        return try await RawClient.response(to: Array(request.utf8), port: port)
    }

    @Test func `a link opens the console as its role, the audit log names the session, and all sessions end by a command`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let made = try await administrator.run(["console", "--role", "viewer", "--name", "ada"])
            #expect(made.status == 0 && made.messages.isEmpty, "\(made.messages)")
            let link = try #require(URLComponents(string: made.line))
            let port = try #require(link.port)
            let token = try #require(link.fragment?.split(separator: "=").last)
            #expect(try await ask("GET", link.path, port: port).status == 200)
            let signedIn = try await ask("POST", "/admin/1/console/sign-in", #"{"token":"\#(token)"}"#, port: port)
            let cookie = try #require(signedIn.headers.first { $0.name.lowercased() == "set-cookie" }?.value.split(separator: ";").first)
            let session = try #require(try JSONSerialization.jsonObject(with: Data(signedIn.body)) as? [String: Any])
            let key = try #require(session["key"] as? String)
            let seen = try await ask("GET", "/admin/1/server", cookie: String(cookie), key: key, port: port)
            let refused = try await ask("POST", "/admin/1/containers", "{}", cookie: String(cookie), key: key, port: port)
            #expect(signedIn.status == 200 && seen.status == 200 && refused.status == 403)
            let audit = try await administrator.run(["audit", "list"]).output
            #expect(audit.contains(/console=[0-9a-f]{8} ada POST \/admin\/1\/console\/sign-in/), "\(audit)")
            let ended = try await administrator.run(["console", "--sign-out-all", "--json"])
            #expect(try ended.object()["count"] as? Double == 1)
            #expect(try await ask("GET", "/admin/1/server", cookie: String(cookie), key: key, port: port).status == 401)
        }
    }

    @Test func `a person of the team is invited by a link, gets another role and goes, by commands`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let made = try await administrator.run(["team", "add", "ada", "--role", "viewer"])
            #expect(made.status == 0 && made.line.contains(/^http:\S+\/console\/#invitation=[0-9a-f]{64}$/), "\(made.line)")
            #expect(try await administrator.run(["team", "add", "ada", "--role", "viewer"]).status == 1)
            #expect(try await administrator.run(["team", "role", "ada", "--role", "admin"]).line == "admin ada")
            #expect(try await administrator.run(["team", "list"]).line.contains(/^admin \S+ invited ada$/))
            let again = try await administrator.run(["team", "invite", "ada"])
            #expect(again.line.contains("/console/#invitation=") && again.line != made.line, "\(again)")
            #expect(try await administrator.run(["team", "passkeys", "ada"]).output.isEmpty)
            #expect(try await administrator.run(["team", "remove-passkey", "ada", "none"]).status == 1)
            #expect(try await administrator.run(["limits"]).output.contains("itemsPerNativeRequest\t400\tCloudKit\n"))
            #expect(try await administrator.run(["team", "remove", "ada"]).status == 0)
            #expect(try await administrator.run(["team", "list"]).output.isEmpty)
        }
    }

    @Test(
        arguments: [
            ([:], false), (["DISPLAY": ":0"], true), (["WAYLAND_DISPLAY": "wayland-0"], true), (["DISPLAY": ""], false),
            (["DISPLAY": ":0", "CI": "true"], false), (["DISPLAY": ":10.0", "SSH_CONNECTION": "192.0.2.1 5 192.0.2.2 22"], false),
        ] as [([String: String], Bool)])
    func `a browser is opened on a desktop of the person's own alone`(_ environment: [String: String], _ isThere: Bool) {
        #expect(DesktopBrowser.isThere(environment) == isThere)
    }
}
