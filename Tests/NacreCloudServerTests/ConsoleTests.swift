import Foundation
import NacreCloudAccounts
import NacreCloudWire
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests of the console's sign-in, its session, and what other pages can do with it.
struct ConsoleTests {
    /// The console's page in a browser.
    struct ConsolePage {
        let server: AdministeredServer
        var headers = [
            "Host": "127.0.0.1:4000", "Origin": "http://127.0.0.1:4000", "Sec-Fetch-Site": "same-origin", "X-Nacre-Console": "1",
        ]

        init(_ server: AdministeredServer) { self.server = server }

        /// Opens a link of a role, and keeps the session.
        init(_ server: AdministeredServer, as role: ConsoleRole) async throws {
            self.server = server
            keep(await signIn(by: try await ConsoleTests.token(on: server, #"{"role":"\#(role.rawValue)","name":"ada"}"#)))
        }

        /// Keeps the cookie and the key of a session.
        mutating func keep(_ session: Answer) {
            headers["Cookie"] = session.header("Set-Cookie")?.split(separator: ";").first.map(String.init)
            headers["X-Nacre-Console"] = session.json?["key"]?.text
        }

        /// Sends a request.
        /// - Parameter changes: headers in the place of the page's own; empty ones are left out.
        func ask(_ method: String, _ path: String, _ body: String = "", _ changes: [String: String] = [:]) async -> Answer {
            let headers = headers.merging(changes) { $1 }.filter { !$0.value.isEmpty }
            return Answer(
                await server.admin.respond(
                    to: Question(method: method, target: "/admin/1/" + path, headers: headers, body: Array(body.utf8)).inProcess))
        }

        func signIn(by token: String, _ changes: [String: String] = [:]) async -> Answer {
            await ask("POST", "console/sign-in", #"{"token":"\#(token)"}"#, changes)
        }
    }

    private static let server = "server"

    /// Makes a link, and returns its token.
    static func token(on server: AdministeredServer, _ body: String = "{}") async throws -> String {
        let answer = await server.administrate("POST", "/admin/1/console/links", body)
        #expect(answer.status == 201)
        let path = try #require(answer.json?["path"]?.text)
        return String(try #require(path.firstMatch(of: /^\/console\/#signin=([0-9a-f]{64})$/)?.1))
    }

    private func log(of server: AdministeredServer) async throws -> [AdminMessages.AuditLine] {
        let answer = await server.administrate("GET", "/admin/1/audit")
        return try JSONDecoder().decode(AdminMessages.AuditLog.self, from: Data(answer.body)).entries.reversed()
    }

    @Test func `a link opens the console once, for its role, with a cookie that no script reads and no other site sends`() async throws {
        let server = try await AdministeredServer()
        let token = try await Self.token(on: server, #"{"role":"developer","name":"ada"}"#)
        var page = ConsolePage(server)
        let answer = await page.signIn(by: token)
        #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
        #expect(answer.json?["name"]?.text == "ada" && answer.json?["role"]?.text == "developer")
        let end = server.server.clock.now.millisecondsSince1970 + 2 * 3_600_000
        #expect(answer.json?["expires"] == .number(Double(end)))
        let cookie = try #require(answer.header("Set-Cookie"))
        #expect(cookie.wholeMatch(of: /nacre-console-4000=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict/) != nil, "\(cookie)")
        #expect(!answer.text.contains(cookie.dropFirst(19).prefix(64)))
        #expect(await page.signIn(by: token).status == 401)
        #expect(await page.ask("GET", Self.server).status == 401)
        page.keep(answer)
        page.headers["Cookie"] = "other=1; " + cookie.prefix { $0 != ";" }
        #expect(await page.ask("GET", Self.server).status == 200)
        let session = await page.ask("GET", "console/session")
        #expect(session.json?["role"]?.text == "developer" && session.json?["key"] == nil)
        let late = try await Self.token(on: server)
        server.server.clock.advance(ConsoleSignIns.linkSeconds)
        #expect(await page.signIn(by: late).status == 401)
        for wrong in ["", String(repeating: "0", count: 64), "\u{0}"] { #expect(await page.signIn(by: wrong).status >= 400) }
    }

    @Test func `a viewer sees the limits that everybody sees`() async throws {
        let server = try await AdministeredServer()
        let page = try await ConsolePage(server, as: .viewer)
        let limits = await page.ask("GET", "limits")
        #expect(limits.status == 200 && limits.text.contains("bodyBytesOfStrangers") && limits.text.contains("itemsPerNativeRequest"))
        let told = await server.server.respond(Question(method: "GET", target: "/limits"))
        #expect(limits.json?["limits"]?.count != nil && limits.json?["limits"]?.count == told.json?["limits"]?.count)
    }

    @Test func `over HTTPS the cookie is sent over HTTPS alone, and no other host of the domain can set it`() async throws {
        let server = try await AdministeredServer()
        var page = ConsolePage(server)
        page.headers["Origin"] = "https://127.0.0.1:4000"
        let answer = await page.signIn(by: try await Self.token(on: server))
        let cookie = try #require(answer.header("Set-Cookie"))
        #expect(cookie.wholeMatch(of: /__Host-nacre-console=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Secure/) != nil, "\(cookie)")
        page.keep(answer)
        #expect(await page.ask("GET", Self.server).status == 200)
        let end = await page.ask("POST", "console/sign-out", "{}")
        #expect(end.header("Set-Cookie") == "__Host-nacre-console=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0")
        #expect(await page.ask("GET", Self.server).status == 401)
    }

    @Test func `a cookie opens nothing without the key of its session, and the key nothing without the cookie`() async throws {
        let server = try await AdministeredServer()
        let (page, other) = (try await ConsolePage(server, as: .owner), try await ConsolePage(server, as: .owner))
        let key = try #require(page.headers["X-Nacre-Console"])
        #expect(key.wholeMatch(of: /[0-9a-f]{64}/) != nil && page.headers["Cookie"]?.contains(key) == false)
        for wrong in ["1", other.headers["X-Nacre-Console"] ?? "", String(repeating: "0", count: 64)] {
            #expect(await page.ask("GET", Self.server, "", ["X-Nacre-Console": wrong]).status == 401, "\(wrong)")
            #expect(await page.ask("POST", "console/sign-out", "{}", ["X-Nacre-Console": wrong]).status == 401, "\(wrong)")
        }
        #expect(await page.ask("GET", Self.server, "", ["Cookie": ""]).status == 401)
        for page in [page, other] { #expect(await page.ask("GET", Self.server).status == 200) }
        #expect(await !server.administrate("GET", "/admin/1/audit").text.contains(key))
    }

    @Test(arguments: [
        ["X-Nacre-Console": ""], ["X-Nacre-Console": "0"], ["Origin": "https://evil.example"], ["Origin": "null"],
        ["Origin": "http://127.0.0.1:4001"],
        ["Origin": "http://127.0.0.1:4000.evil.example"], ["Origin": ""], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
        ["Sec-Fetch-Site": "none"], ["Host": "evil.example:4000", "Origin": "http://evil.example:4000"], ["Host": ""],
    ])
    func `a request of another page, form or host does nothing, though the browser sends the cookie`(_ changes: [String: String]) async throws {
        let server = try await AdministeredServer()
        let page = try await ConsolePage(server, as: .owner)
        // Cookies do not tell ports apart, and their name here has the one of the host.
        let container = #"{"name":"iCloud.com.example.new"}"#
        #expect([401, 403].contains(await page.ask("POST", "containers", container, changes).status))
        #expect([401, 403].contains(await page.ask("POST", "console/sign-out", "{}", changes).status))
        if changes != ["Origin": ""] { #expect([401, 403].contains(await page.ask("GET", Self.server, "", changes).status)) }
        let token = try await Self.token(on: server)
        #expect(await page.signIn(by: token, changes).status == 403)
        // The link is not used up by that.
        #expect(await page.signIn(by: token).status == 200)
        #expect(await page.ask("GET", Self.server).status == 200)
        #expect(try await !log(of: server).contains { $0.action == "POST /admin/1/containers" })
    }

    @Test func `a page of another origin may not send the header of the console's page, and reads nothing`() async throws {
        let server = try await AdministeredServer()
        let page = try await ConsolePage(server, as: .owner)
        for method in ["OPTIONS", "GET"] {
            let answer = await page.ask(
                method, Self.server, "", ["Origin": "https://evil.example", "Access-Control-Request-Headers": "x-nacre-console"])
            #expect(answer.status >= 400 && !answer.headers.contains { $0.name.lowercased().hasPrefix("access-control-") })
        }
    }

    @Test func `a session is noted as the author of what it does, and strangers' sign-ins are not noted`() async throws {
        let server = try await AdministeredServer()
        for _ in 0..<3 { #expect(await ConsolePage(server).signIn(by: "guess").status == 401) }
        let page = try await ConsolePage(server, as: .owner)
        #expect(await page.ask("POST", "containers", #"{"name":"iCloud.com.example.new"}"#).status == 201)
        let id = try #require(await page.ask("GET", "console/session").json?["id"]?.text)
        #expect(await page.ask("POST", "console/sign-out", "{}").status == 200)
        let lines = try await log(of: server)
        let routes = ["console/links", "console/sign-in", "containers", "console/sign-out"]
        #expect(lines.map(\.action) == routes.map { "POST /admin/1/\($0)" })
        #expect(lines.map(\.author) == [nil] + Array(repeating: "console \(id) ada", count: 3))
        let text = await server.administrate("GET", "/admin/1/audit").text
        #expect(!text.contains(page.headers["Cookie"]?.suffix(64) ?? "-"))
    }

    @Test func `a link and its session are kept under no idempotency key`() async throws {
        let server = try await AdministeredServer()
        #expect(await server.administrate("POST", "/admin/1/console/links", "{}", ["Idempotency-Key": "again"]).status == 400)
        let token = try await Self.token(on: server)
        #expect(await ConsolePage(server).signIn(by: token, ["Idempotency-Key": "again"]).status == 400)
        #expect(await ConsolePage(server).signIn(by: token).status == 200)
    }

    @Test func `an administrator ends all sessions and links at once`() async throws {
        let server = try await AdministeredServer()
        let pages = [try await ConsolePage(server, as: .owner), try await ConsolePage(server, as: .viewer)]
        let token = try await Self.token(on: server)
        #expect(await server.administrate("POST", "/admin/1/console/sign-out-all", "{}").json?["count"] == .number(2))
        for page in pages { #expect(await page.ask("GET", Self.server).status == 401) }
        #expect(await pages[0].signIn(by: token).status == 401)
    }

    // MARK: Roles

    /// Routes that ask for no role: the console's files, and those that are open.
    private static let open: Set = [
        "GET /console", "GET /console/*file", "POST /admin/1/console/sign-in", "POST /admin/1/console/challenge",
    ]

    @Test func `each endpoint of administration has one role that is the least for it`() async throws {
        let (server, emulator) = (try await AdministeredServer(), try await AdministeredServer(isEmulator: true))
        let routes = Set((server.admin.routes + emulator.admin.routes).map { "\($0.method) \($0.pattern)" }).subtracting(Self.open)
        let listed = ConsoleRole.actions.values.flatMap { $0 }
        #expect(routes.subtracting(listed).sorted() == [], "put each in a row of ConsoleRole.actions")
        #expect(Set(listed).subtracting(routes).sorted() == [] && Set(listed).count == listed.count)
        #expect(!ConsoleRole.viewer.may("POST /admin/1/nothing") && ConsoleRole.owner.may("POST /admin/1/nothing"))
        let changes = (ConsoleRole.actions[.viewer] ?? []).filter { !$0.hasPrefix("GET ") }
        #expect(changes.sorted() == ["POST /admin/1/console/sign-out", "POST /admin/1/schema/diff"])
    }

    @Test(arguments: [
        ("GET /admin/1/telemetry", ConsoleRole.viewer), ("GET /admin/1/schema", .viewer), ("POST /admin/1/records/lookup", .developer),
        ("GET /admin/1/users", .developer), ("GET /admin/1/tokens", .developer), ("POST /admin/1/schema/import", .developer),
        ("POST /admin/1/schema/deploy", .admin), ("POST /admin/1/users/reset-password", .admin), ("POST /admin/1/tokens", .admin),
        ("POST /admin/1/zones/purge", .admin), ("POST /admin/1/console/links", .owner), ("POST /admin/1/backup", .owner),
    ])
    func `a role may do what the roles below it may, and no more than its rows`(_ action: String, _ least: ConsoleRole) {
        #expect(ConsoleRole.allCases.filter { $0.may(action) } == ConsoleRole.allCases.filter { $0 >= least })
    }

    @Test func `a session tells the page what its role may ask, and nothing else`() async throws {
        let server = try await AdministeredServer()
        for role in ConsoleRole.allCases {
            let answer = await ConsolePage(server).signIn(by: try await Self.token(on: server, #"{"role":"\#(role.rawValue)"}"#))
            var page = ConsolePage(server)
            page.keep(answer)
            let session = await page.ask("GET", "console/session")
            for told in [answer, session] {
                let message = try JSONDecoder().decode(AdminMessages.ConsoleSession.self, from: Data(told.body))
                #expect(message.actions == ConsoleRole.actions.values.flatMap { $0 }.filter(role.may).sorted())
            }
        }
    }

    @Test func `each endpoint refuses the sessions whose role may not ask it, and no others`() async throws {
        let server = try await AdministeredServer(isEmulator: true)
        for role in ConsoleRole.allCases {
            let page = try await ConsolePage(server, as: role)
            for route in server.admin.routes where route.pattern.hasPrefix("/admin/1/") && !route.pattern.hasPrefix("/admin/1/console/") {
                let path = String(route.pattern.dropFirst("/admin/1/".count))
                let answer = await page.ask(route.method.rawValue, path, route.method == .post ? "{}" : "")
                let isRefused = answer.status == 403 && answer.json?["code"]?.text == "ACCESS_DENIED"
                let may = role.may("\(route.method) \(route.pattern)") || route.pattern == "/admin/1/proof"
                #expect(isRefused == !may && answer.status != 401, "\(route.method) \(route.pattern) by \(role): \(answer.text)")
            }
        }
        let page = try await ConsolePage(server, as: .admin)
        #expect(await page.ask("POST", "console/links", #"{"role":"owner"}"#).status == 403)
        #expect(await page.ask("POST", "console/sign-out-all", "{}").status == 403)
        #expect(await page.ask("GET", "nothing").status == 404)
    }
}
