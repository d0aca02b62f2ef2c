import NacreCloudTestSupport
import NacreHTTPServer
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// Tests of the console's own listener: the addresses, the pages and the credentials that it takes.
@Suite(.timeLimit(.minutes(1))) struct ConsoleDoorTests {
    /// A started server that has the listener.
    private struct Started {
        let adminToken: String
        let adminPort: Int
        /// The port of the console's own listener; 0 where the server announces another URL.
        var port: Int
        /// The URL at which the server says that the console is.
        let consoleURL: String?

        /// The console's page behind a proxy with HTTPS.
        var page: [String: String] {
            [
                "Host": "127.0.0.1:\(port)", "Origin": "https://127.0.0.1:\(port)", "Sec-Fetch-Site": "same-origin", "X-Nacre-Console": "1",
                "Content-Type": "application/json",
            ]
        }

        func administrate(_ path: String, _ body: String) async throws -> Answer {
            try await NacreCloudServerTests.ask(
                Question(method: "POST", target: path, headers: ["Authorization": "Bearer \(adminToken)"], body: Array(body.utf8)), port: adminPort)
        }

        func ask(_ method: String, _ path: String, _ headers: [String: String], _ body: String = "") async throws -> Answer {
            try await NacreCloudServerTests.ask(Question(method: method, target: path, headers: headers, body: Array(body.utf8)), port: port)
        }
    }

    private static func withServer(
        trusting proxies: [String] = [], allowing networks: [String] = [], url: String? = nil, _ body: (Started) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: .silent)
        (configuration.engine, configuration.listen.port) = (.memory, 0)
        configuration.consoleListen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.consoleURL = url
        for proxy in proxies {
            let isTrusted = configuration.trust(proxy: proxy)
            #expect(isTrusted)
        }
        for network in networks {
            let isAllowed = configuration.allowConsole(network: network)
            #expect(isAllowed)
        }
        let server = Server(configuration)
        let addresses = try await server.start()
        do {
            func port(_ url: String?) throws -> Int {
                let text = try #require(url)
                return try #require(ListenAddress(String(text.dropFirst("http://".count)))).port
            }
            let file = try AdminFile.read(folder: folder.path)
            var started = Started(adminToken: file.token, adminPort: try port(addresses.adminURL), port: 0, consoleURL: addresses.consoleURL)
            if url == nil { started.port = try port(addresses.consoleURL) }
            try await body(started)
        } catch {
            await server.shutdown(grace: .zero)
            throw error
        }
        await server.shutdown(grace: .zero)
    }

    @Test func `the console's own listener takes the sessions of its page, and no token`() async throws {
        try await Self.withServer { server in
            #expect(try await server.administrate("/admin/1/containers", #"{"name":"iCloud.com.example.notes"}"#).status == 201)
            let made = try await server.administrate("/admin/1/tokens", #"{"container":"iCloud.com.example.notes","kind":"management"}"#)
            let management = try #require(made.json?["token"]?.text)
            for token in [server.adminToken, management] {
                for path in ["/admin/1/server", "/admin/1/schema?container=iCloud.com.example.notes&environment=development", "/metrics"] {
                    #expect(try await server.ask("GET", path, ["Authorization": "Bearer \(token)"]).status == 401, "\(path)")
                }
            }
            // A proxy on this machine is no reason to show metrics, and nobody is proven the token.
            let nonce = String(repeating: "0", count: 32)
            for path in ["/metrics", "/admin/1/proof?nonce=\(nonce)"] {
                #expect(try await server.ask("GET", path, ["Host": "localhost"]).status == 401, "\(path)")
            }
            #expect(try await server.ask("GET", "/console/", [:]).status == 200)

            let link = try await server.administrate("/admin/1/console/links", #"{"role":"viewer"}"#)
            let token = try #require(link.json?["path"]?.text?.split(separator: "=").last)
            let body = #"{"token":"\#(token)"}"#
            let inTheClear = server.page.merging(["Host": "192.0.2.1", "Origin": "http://192.0.2.1"]) { $1 }
            let refused = try await server.ask("POST", "/admin/1/console/sign-in", inTheClear, body)
            #expect(refused.status == 403 && refused.json?["field"]?.text == "Origin", "\(refused.text)")
            let begun = try await server.ask("POST", "/admin/1/console/sign-in", server.page, body)
            let cookie = try #require(begun.header("Set-Cookie"), "\(begun.text)")
            #expect(cookie.hasPrefix("__Host-nacre-console=") && cookie.hasSuffix("; Secure"), "\(cookie)")
            var page = server.page
            page["Cookie"] = String(cookie.prefix { $0 != ";" })
            page["X-Nacre-Console"] = try #require(begun.json?["key"]?.text)
            #expect(try await server.ask("GET", "/admin/1/server", page).status == 200)
            // A proxy's own sign-in may stand beside the session, and raises no role.
            page["Authorization"] = "Bearer \(server.adminToken)"
            #expect(try await server.ask("GET", "/admin/1/server", page).status == 200)
            #expect(try await server.ask("POST", "/admin/1/containers", page, #"{"name":"iCloud.com.example.more"}"#).status == 403)
        }
    }

    @Test func `links have the address of the console's own listener, or the one that the operator gives`() async throws {
        let asked = [
            ("/admin/1/console/links", "{}"), ("/admin/1/team", #"{"name":"ada","role":"owner"}"#), ("/admin/1/team/invite", #"{"name":"ada"}"#),
        ]
        try await Self.withServer { server in
            for (path, body) in asked {
                let made = try await server.administrate(path, body)
                #expect(made.status == 201 && made.json?["consoleURL"]?.text == "http://127.0.0.1:\(server.port)", "\(made.text)")
            }
            // Past the proxy of the console's own listener only the browser knows the address.
            let link = try #require(try await server.administrate("/admin/1/console/links", "{}").json?["path"]?.text)
            let begun = try await server.ask("POST", "/admin/1/console/sign-in", server.page, #"{"token":"\#(link.suffix(64))"}"#)
            var page = server.page
            page["Cookie"] = String(try #require(begun.header("Set-Cookie")).prefix { $0 != ";" })
            page["X-Nacre-Console"] = try #require(begun.json?["key"]?.text)
            let invited = try await server.ask("POST", "/admin/1/team", page, #"{"name":"bob","role":"viewer"}"#)
            #expect(invited.status == 201 && invited.json?["consoleURL"] == nil, "\(invited.text)")
        }
        let url = "https://console.example.com"
        try await Self.withServer(url: url) { server in
            #expect(server.consoleURL == url)
            for (path, body) in asked {
                let made = try await server.administrate(path, body)
                #expect(made.json?["consoleURL"]?.text == url, "\(path)")
            }
        }
    }

    @Test func `the console is served under the host of its URL, which needs no other setting`() async throws {
        let folder = try TemporaryFolder()
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: .silent)
        configuration.consoleURL = "https://console.example.com"
        let hosts = Server(configuration).consoleHosts
        #expect(hosts.serve("console.example.com") && !hosts.serve("other.example.com"))
    }

    @Test func `the console's own listener serves the addresses of its list, which only a trusted proxy names`() async throws {
        try await Self.withServer(trusting: ["127.0.0.1"], allowing: ["192.0.2.0/24", "2001:db8::/32"]) { server in
            for (forwarded, status) in [
                ("192.0.2.9", 200), ("2001:db8::1", 200), ("198.51.100.1", 403), ("192.0.2.9, 198.51.100.1", 403), ("", 403),
            ] {
                #expect(try await server.ask("GET", "/console/", ["X-Forwarded-For": forwarded]).status == status, "\(forwarded)")
                let asked = try await server.ask("POST", "/admin/1/console/challenge", ["X-Forwarded-For": forwarded], "{}")
                let isRefused = asked.json?["detail"]?.text == "the console is not open to this address"
                #expect(isRefused == (status == 403), "\(forwarded): \(asked.text)")
            }
        }
        try await Self.withServer(allowing: ["192.0.2.0/24"]) { server in
            let untold = try await server.ask("GET", "/console/", ["X-Forwarded-For": "192.0.2.9"])
            #expect(untold.status == 403)
        }
    }

    @Test(arguments: [
        ("https://nacre.example", true), ("https://192.0.2.1:8443", true), ("http://localhost:9000", true), ("http://a.localhost", true),
        ("http://127.0.0.1:9000", true), ("http://[::1]:9000", true), ("http://nacre.example", false), ("http://192.0.2.1", false),
        ("http://localhost.example", false), ("http://[2001:db8::1]", false), ("null", false), ("", false),
    ])
    func `a page is protected on its way by HTTPS, or within its own machine`(_ origin: String, _ isProtected: Bool) {
        #expect(ConsoleDoor.isProtected(origin) == isProtected)
    }
}
