import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of grants for the page of a share, against pages and people who are not to have them.
@Suite(.timeLimit(.minutes(5))) struct ManagedShareAttackTests {
    private typealias Pages = ManagedSharePageTests

    @Test func `only the origin that asked may frame the page, and no page reads it`() async throws {
        let server = try await Pages.server()
        var browser = try await Pages.opened(server)
        let pages = [
            try #require(browser.shown), await Pages.send("begin", ["permission": "NONE"], in: &browser), await Pages.send("?", in: &browser),
        ]
        for page in pages {
            let policy = page.header("Content-Security-Policy") ?? ""
            #expect(policy.hasSuffix("frame-ancestors https://app.example") && !policy.contains("unsafe"), "\(policy)")
            #expect(policy.hasPrefix("default-src 'none'") && page.header("X-Frame-Options") == nil)
            #expect(page.header("Access-Control-Allow-Origin") == nil && page.header("Cache-Control") == "no-store")
            #expect(page.header("Cross-Origin-Resource-Policy") == "same-origin")
            #expect(page.text.contains("data-origin=\"https://app.example\""))
        }
        let alone = try await browser.go(Pages.path(await Pages.asked(server, origin: nil)))
        #expect(alone.header("Content-Security-Policy")?.hasSuffix("frame-ancestors 'none'") == true && alone.header("X-Frame-Options") == "DENY")
        #expect(!alone.text.contains("data-origin"))
        for origin in ["null", "http://[::1]:3000", "https://app.example; script-src *", "HTTPS://app.example"] {
            #expect(await Pages.asked(server, origin: origin).status == 400, "\(origin)")
        }
    }

    @Test func `neither the answer nor the page has a token of the session or an address of the owner`() async throws {
        let server = try await Pages.server()
        let asked = await Pages.asked(server)
        #expect(asked.json?["url"] != nil && asked.json?.at("grant") == nil)
        var browser = TestBrowser(server)
        let page = try await browser.go(Pages.path(asked))
        for secret in [server.names["ada"], server.names["ada.escaped"], server.names["api"], server.names["ada.id"], "ada@example.com"] {
            let secret = try #require(secret)
            #expect(!page.text.contains(secret) && !asked.text.contains(secret))
        }
        #expect(page.header("Set-Cookie") == nil && page.header("X-Apple-CloudKit-Web-Auth-Token") == nil)
    }

    @Test func `a grant opens the page once, also when it is opened twice at the same moment`() async throws {
        let server = try await Pages.server()
        let path = try Pages.path(await Pages.asked(server))
        let answers = await withTaskGroup(of: Answer.self) { group in
            for _ in 1...4 {
                group.addTask { await server.respond(Question(method: "GET", target: path, headers: ["Host": "localhost"])) }
            }
            return await group.reduce(into: [Int]()) { $0.append($1.status) }
        }
        #expect(answers.sorted() == [200, 401, 401, 401])
        var browser = TestBrowser(server)
        let again = await browser.go(path)
        #expect(again.status == 401 && again.text.contains("opened already") && browser.hidden["pass"] == nil)
        #expect(again.header("Content-Security-Policy")?.hasSuffix("frame-ancestors https://app.example") == true)
    }

    @Test func `a look at the URL in advance does not use the grant up`() async throws {
        let server = try await Pages.server()
        let path = try Pages.path(await Pages.asked(server))
        for (method, headers) in [("HEAD", [:]), ("GET", ["Sec-Purpose": "prefetch"])] as [(String, [String: String])] {
            let answer = await server.respond(Question(method: method, target: path, headers: headers.merging(["Host": "localhost"]) { $1 }))
            #expect(answer.status == 400, "\(method)")
        }
        var browser = TestBrowser(server)
        #expect(await browser.go(path).status == 200)
    }

    @Test func `a grant and a pass end, and neither stands for the other`() async throws {
        let server = try await Pages.server()
        let late = try Pages.path(await Pages.asked(server))
        server.clock.advance(Limits.shareGrantSeconds)
        var browser = TestBrowser(server)
        #expect(await browser.go(late).status == 401)
        let path = try Pages.path(await Pages.asked(server))
        let grant = try #require(path.split(separator: "=", maxSplits: 1).last?.removingPercentEncoding)
        #expect(await browser.post(["pass": grant, "step": "begin", "permission": "NONE"], path: "/manage-share").status == 401)
        #expect(await browser.go(path).status == 200)
        let pass = try #require(browser.hidden["pass"])
        let escaped = try #require(pass.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        var other = TestBrowser(server)
        #expect(await other.go("/manage-share?grant=\(escaped)").status == 401)
        #expect(await other.go("/sign-in?manage=\(escaped)").status == 401)
        server.clock.advance(Limits.sharePageSeconds)
        #expect(await browser.post(["pass": pass, "step": "begin", "permission": "NONE"], path: "/manage-share").status == 401)
        #expect(try await Pages.share(server) == nil)
    }

    @Test func `a pass is for its share alone, whatever else the form names`() async throws {
        let server = try await Pages.server()
        var browser = try await Pages.opened(server)
        await Pages.send("begin", ["permission": "NONE", "zone": "Other", "zoneName": "Other", "recordName": "a"], in: &browser)
        #expect(try await Pages.share(server, zone: "Other") == nil)
        #expect(try await Pages.share(server) != nil)
        let pass = try #require(browser.hidden["pass"])
        let target = "/database/1/\(TestServer.container)/development/private/zones/list"
        let escaped = pass.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let asToken = await server.respond(
            Question(
                method: "GET", target: "\(target)?ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(escaped)", headers: ["Host": "localhost"]))
        #expect(asToken.status == 421)
        let asBearer = await server.respond(
            Question(method: "GET", target: target, headers: ["Host": "localhost", "Authorization": "Bearer \(pass)"]))
        #expect(asBearer.status == 401)
    }

    @Test func `a form that another page sends does nothing`() async throws {
        let server = try await Pages.server()
        var browser = try await Pages.opened(server)
        let shown = browser
        for headers in [["Origin": "https://app.example"], ["Origin": nil], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"]]
            as [[String: String?]]
        {
            browser = shown
            #expect(await Pages.send("begin", ["permission": "NONE"], in: &browser, headers: headers).status == 403, "\(headers)")
        }
        #expect(try await Pages.share(server) == nil)
    }

    @Test func `the page ends with the session that opened it, and with the API token`() async throws {
        for ending in ["session", "token"] {
            let server = try await Pages.server()
            let path = try Pages.path(await Pages.asked(server))
            var browser = try await Pages.opened(server)
            if ending == "session" {
                let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada.escaped"] ?? "")"
                let out = await server.respond(Question(method: "POST", target: "/account/1/sign-out?\(query)", headers: ["Host": "localhost"]))
                #expect(out.status == 200)
            } else {
                _ = try await server.cloud.registry.revokeAppCredential(server.names["api"] ?? "")
                server.clock.advance(6)
            }
            let answer = await Pages.send("begin", ["permission": "NONE"], in: &browser)
            #expect([401, 421].contains(answer.status) && answer.text.contains("This page has ended"), "\(ending): \(answer.status)")
            let opened = await browser.go(path)
            #expect([401, 421].contains(opened.status))
            #expect(try await Pages.share(server) == nil)
        }
    }

    @Test func `the API token's origins bind who asks for the page, and not the page itself`() async throws {
        let server = try await Pages.server()
        let token = try await server.cloud.registry.createAPIToken(
            container: TestServer.container, environment: .development, name: "", origins: [Pages.app])
        let account = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
        let entry = try #require(try await server.authenticator.apiTokenEntry(token))
        let session = try await server.cloud.registry.startSession(
            of: account, as: server.names["ada.name"] ?? "", apiToken: token, entry: entry, isKept: false)
        let text = try server.authenticator.webAuthToken(for: session).addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        func asked(_ origin: String) async -> Answer {
            let target = "/database/1/\(TestServer.container)/development/private/records/share-page?ckAPIToken=\(token)&ckWebAuthToken=\(text)"
            let body = Array(#"{"zoneID":{"zoneName":"Trip"}}"#.utf8)
            return await server.respond(Question(method: "POST", target: target, headers: ["Host": "localhost", "Origin": origin], body: body))
        }
        #expect(await asked("https://evil.example").status == 401)
        var browser = TestBrowser(server)
        #expect(try await browser.go(Pages.path(await asked(Pages.app))).status == 200)
        #expect(await Pages.send("begin", ["permission": "NONE"], in: &browser).status == 200)
        #expect(try await Pages.share(server) != nil)
    }

    // MARK: Links of an administrator

    private static func link(_ scene: AdministeredServer, _ environment: String, user: String = "ada@example.com", zone: String = "Trip") async
        -> Answer
    {
        await scene.administrate(
            "POST", "/admin/1/shares/manage",
            #"{"container":"\#(TestServer.container)","environment":"\#(environment)","user":"\#(user)","zone":"\#(zone)"}"#)
    }

    private static func path(_ answer: Answer) throws -> String {
        String(try #require(answer.json?["url"]?.text, "\(answer.text)").dropFirst("http://127.0.0.1".count))
    }

    @Test func `a link in development opens the page once, for an administrator who acts as the owner`() async throws {
        let scene = try await AdministeredServer()
        try await scene.server.ask("ada", "private/zones/modify", Body.zones("create", "Trip"))
        let made = await Self.link(scene, "development")
        #expect(made.status == 201 && made.json?["signsIn"] == .bool(false), "\(made.text)")
        var browser = TestBrowser(scene.server)
        let page = try await browser.go(Self.path(made))
        #expect(page.status == 200 && page.header("X-Frame-Options") == "DENY")
        #expect(await Pages.send("begin", ["permission": "READ_ONLY"], in: &browser).status == 200)
        #expect(try await Pages.share(scene.server)?["publicPermission"]?.text == "READ_ONLY")
        #expect(try await browser.go(Self.path(made)).status == 401)
        #expect(await Self.link(scene, "development", user: "nobody@example.com").status == 404)
        let console = try await ConsoleTests.ConsolePage(scene, as: .developer)
        let body = #"{"container":"\#(TestServer.container)","environment":"development","user":"ada@example.com","zone":"Trip"}"#
        #expect(await console.ask("POST", "shares/manage", body).status == 403)
        let audit = await scene.administrate("GET", "/admin/1/audit").text
        #expect(audit.contains("POST /admin/1/shares/manage") && !audit.contains("grant="))
    }

    @Test func `a link in production leads to a sign-in, and lets in the owner alone`() async throws {
        let scene = try await AdministeredServer()
        let server = scene.server
        let zone = Body.zones("create", "Trip")
        let made = await server.respond(
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/production/private/zones/modify",
                headers: ["Host": "localhost", "Authorization": "Bearer \(server.names["ada.device.production"] ?? "")"], body: Array(zone.utf8)))
        #expect(made.status == 200, "\(made.text)")
        let link = await Self.link(scene, "production")
        #expect(link.status == 201 && link.json?["signsIn"] == .bool(true), "\(link.text)")
        let path = try Self.path(link)
        #expect(path.hasPrefix("/sign-in?manage="))
        var browser = TestBrowser(server)
        #expect(await browser.go(path).text.contains("Sign in as the owner"))
        let refused = await browser.signIn("bob@example.com")
        #expect(refused.status == 403 && browser.hidden["pass"] == nil)
        await browser.go(path)
        let page = await browser.signIn("ada@example.com")
        #expect(page.status == 200 && page.text.contains("shared with nobody yet"), "\(page.text)")
        #expect(await browser.go(path.replacing("/sign-in?manage=", with: "/manage-share?grant=")).status == 401)
        server.clock.advance(Limits.shareLinkSeconds)
        #expect(await browser.go(path).status == 401)
    }
}
