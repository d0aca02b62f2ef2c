import Foundation
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of the page behind `redirectURL`, as a browser gets it.
@Suite(.timeLimit(.minutes(5))) struct SignInPageTests {
    /// Checks the headers that every sign-in page has.
    private func checkHeaders(_ answer: Answer, _ label: String = "") throws {
        #expect(answer.header("Content-Type") == "text/html; charset=utf-8", "\(label)")
        #expect(answer.header("Cache-Control") == "no-store", "\(label)")
        #expect(answer.header("Referrer-Policy") == "same-origin", "\(label)")
        #expect(answer.header("X-Frame-Options") == "DENY", "\(label)")
        #expect(answer.header("X-Content-Type-Options") == "nosniff", "\(label)")
        #expect(answer.header("Access-Control-Allow-Origin") == nil, "\(label)")
        let policy = try #require(answer.header("Content-Security-Policy"))
        let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([A-Za-z0-9+\/=]{24})'/)?.1, "\(label)")
        #expect(
            policy.hasPrefix("default-src 'none'; img-src data:; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; form-action 'self'"),
            "\(policy)")
        #expect(policy.hasSuffix("; base-uri 'none'; frame-ancestors 'none'") && !policy.contains("unsafe"), "\(policy)")
        for match in answer.text.matches(of: /<(script|style)([^>]*)>/) where !match.2.contains("application/json") {
            #expect(match.2 == " nonce=\"\(nonce)\"", "\(label)")
        }
        // The browser's icon stands in the page, and loads nothing.
        let icon = /<link rel="icon" href="data:image\/svg\+xml,[^"<>&()]*">/
        #expect(answer.text.matches(of: icon).count == 1, "\(label)")
        let text = answer.text.replacing(icon, with: "", maxReplacements: 1)
        for word in ["http-equiv", "<img", "<link", "@import", "url(", " onclick", " style=", "Optional("] {
            #expect(!text.contains(word), "\(label) \(word)")
        }
    }

    @Test func `a user signs in, is asked, and the page that asked gets a token in a message to its origin alone`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        let form = await browser.open()
        #expect(form.status == 200)
        try checkHeaders(form)
        #expect(form.text.contains(TestServer.container) && form.text.contains("https://app.example") && form.text.contains("development"))
        #expect(form.header("Set-Cookie")?.hasSuffix("; Path=/; HttpOnly; SameSite=Lax") == true)

        let question = await browser.signIn("ADA@example.com")
        #expect(question.status == 200)
        try checkHeaders(question)
        #expect(question.text.contains("ada@example.com") && question.text.contains("https://app.example") && question.text.contains("30 minutes"))
        #expect(!question.text.contains(TestServer.password) && browser.delivered == nil)
        #expect(question.header("Set-Cookie") == nil)

        let given = await browser.send(["step": "allow"])
        #expect(given.status == 200)
        try checkHeaders(given)
        #expect(browser.delivered?["origin"] == .string("https://app.example") && browser.delivered?.count == 2)
        let message = try #require(browser.delivered?["message"])
        let token = try #require(message["ckWebAuthToken"]?.text)
        #expect(message["ckSession"]?.text == token && message.count == 2)
        #expect(await browser.caller(token) == server.names["ada.name"])
        #expect(!given.text.contains("postMessage(message, '*')"))
        server.clock.advance(Limits.sessionSeconds)
        #expect(await browser.caller(token) == nil)
    }

    @Test func `who wants to stay signed in has two weeks`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        await browser.open()
        let question = await browser.signIn(more: ["keep": "1"])
        #expect(question.text.contains("two weeks"))
        await browser.send(["step": "allow"])
        let token = try #require(browser.delivered?.at("message.ckWebAuthToken")?.text)
        server.clock.advance(Limits.keptSessionSeconds - 1)
        #expect(await browser.caller(token) == server.names["ada.name"])
    }

    @Test func `who does not allow it gives nothing, and has no name in the container`() async throws {
        let server = try await TestServer(opensSignUp: true)
        var browser = TestBrowser(server)
        await browser.open(more: "&form=sign-up")
        await browser.send(["email": "carol@example.com", "password": TestServer.password])
        await browser.signIn("carol@example.com")
        let denied = await browser.send(["step": "deny"])
        #expect(denied.status == 200)
        #expect(
            browser.delivered == .object(["message": .object(["errorMessage": .string("accessError")]), "origin": .string("https://app.example")]))
        let account = try #require(try await server.cloud.registry.account(email: "carol@example.com"))
        #expect(try await server.cloud.registry.signIns(of: account.id, in: nil, after: nil).page.isEmpty)
        let made = try await server.cloud.registry.userRecordName(of: account.id, container: TestServer.container, environment: .development)
        #expect(made.isNew)
    }

    @Test func `a token with a callback sends the browser there, with the token, the app's state and nothing else`() async throws {
        let server = try await TestServer()
        let api = try await server.cloud.registry.createAPIToken(
            container: TestServer.container, environment: .development, name: "", origins: ["https://app.example"],
            redirect: "https://app.example/in?from=cloud")
        var browser = TestBrowser(server)
        #expect(await browser.open(api, origin: nil, more: "&state=a%26b%3D%22%3C&redirect=https%3A%2F%2Fevil.example").status == 200)
        let question = await browser.signIn()
        try checkHeaders(question)
        #expect(question.header("Content-Security-Policy")?.contains("form-action 'self' https://app.example;") == true)
        let sent = await browser.send(["step": "allow"])
        #expect(sent.status == 303 && sent.body.isEmpty && browser.delivered == nil)
        #expect(sent.header("Cache-Control") == "no-store" && sent.header("Referrer-Policy") == "same-origin")
        let parts = try #require(URLComponents(string: sent.header("Location") ?? ""))
        #expect(parts.host == "app.example" && parts.path == "/in" && parts.scheme == "https")
        #expect(parts.queryItems?.map(\.name) == ["from", "ckWebAuthToken", "ckSession", "state"])
        let values = Dictionary(parts.queryItems?.map { ($0.name, $0.value ?? "") } ?? []) { $1 }
        #expect(values["state"] == "a&b=\"<" && values["ckSession"] == values["ckWebAuthToken"])
        #expect(await browser.caller(values["ckWebAuthToken"] ?? "", api: api) == server.names["ada.name"])

        await browser.open(api, origin: nil, more: "&state=s")
        await browser.signIn()
        #expect(await browser.send(["step": "deny"]).header("Location") == "https://app.example/in?from=cloud&errorMessage=accessError&state=s")
    }

    @Test func `callbacks of other schemes and hosts in brackets are form targets that browsers understand`() async throws {
        let server = try await TestServer()
        for (redirect, target) in [
            ("com.example.app:/in", " com.example.app:;"), ("http://[::1]:3000/in", " http:;"), ("http://localhost:3000/", " http://localhost:3000;"),
        ] {
            let api = try await server.cloud.registry.createAPIToken(
                container: TestServer.container, environment: .development, name: "", redirect: redirect)
            var browser = TestBrowser(server)
            await browser.open(api)
            let question = await browser.signIn()
            #expect(question.header("Content-Security-Policy")?.contains("form-action 'self'\(target)") == true, "\(redirect)")
            #expect(await browser.send(["step": "allow"]).header("Location")?.hasPrefix(redirect + "?ckWebAuthToken=") == true)
        }
    }

    @Test func `a wrong password is told beside the form, which keeps the address alone`() async throws {
        var browser = TestBrowser(try await TestServer())
        await browser.open()
        let wrong = await browser.signIn("ada@example.com", "not the password", more: ["keep": "1"])
        #expect(wrong.status == 401)
        try checkHeaders(wrong)
        #expect(wrong.text.contains("<title>Error: Sign in</title>") && wrong.text.contains("role=\"alert\""))
        #expect(wrong.text.contains("aria-invalid=\"true\"") && wrong.text.contains("aria-describedby=\"problem\""))
        #expect(wrong.text.contains("value=\"ada@example.com\"") && wrong.text.contains(" checked") && !wrong.text.contains("not the password"))
        #expect(await browser.signIn().status == 200)
    }

    @Test func `what users and apps write stays text`() async throws {
        var browser = TestBrowser(try await TestServer())
        await browser.open(more: "&state=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        let wrong = await browser.signIn("\"><script>alert(1)</script>'&", "x")
        #expect(wrong.status == 401 && !wrong.text.contains("<script>alert") && !wrong.text.contains("\"><script"))
        #expect(wrong.text.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;"))
        try checkHeaders(wrong)
    }

    @Test func `who signs up can sign in, where sign-up is open`() async throws {
        let server = try await TestServer(opensSignUp: true)
        var browser = TestBrowser(server)
        #expect(await browser.open().text.contains("form=sign-up"))
        let form = await browser.open(more: "&form=sign-up")
        #expect(form.text.contains("new-password"))
        let short = await browser.send(["email": "carol@example.com", "password": "short"])
        #expect(short.status == 400 && short.text.contains("Take at least 8 characters."))
        #expect(await browser.send(["email": "carol", "password": TestServer.password]).status == 400)
        let made = await browser.send(["email": "Carol@example.com", "password": TestServer.password])
        #expect(made.status == 200 && made.text.contains("current-password") && made.text.contains("value=\"carol@example.com\""))
        try checkHeaders(made)
        #expect(await browser.signIn("carol@example.com").text.contains("Allow access?"))
    }

    @Test func `where sign-up is closed there is no form for it, and one that is sent makes nobody`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        let form = await browser.open(more: "&form=sign-up")
        #expect(
            !form.text.contains("form=sign-up") && !form.text.contains("new-password") && form.text.contains("Ask the people who run this server"))
        let sent = await browser.send(["step": "sign-up", "email": "carol@example.com", "password": TestServer.password])
        #expect(sent.status == 403)
        #expect(try await server.cloud.registry.account(email: "carol@example.com") == nil)
    }

    @Test func `a page that nobody asked for says so, and asks for nothing`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        let long = String(repeating: "s", count: Limits.signInStateBytes + 1)
        for (target, status) in [
            ("/sign-in", 400), ("/sign-in?ckAPIToken=", 400), ("/sign-in?ckAPIToken=wrong&origin=https%3A%2F%2Fapp.example", 401),
            ("/sign-in?ckAPIToken=\(server.names["api"] ?? "")", 400),
            ("/sign-in?ckAPIToken=\(server.names["api"] ?? "")&origin=https%3A%2F%2Fapp.example&state=\(long)", 400),
        ] {
            let answer = await browser.go(target)
            #expect(answer.status == status, "\(target)")
            try checkHeaders(answer, target)
            #expect(answer.text.contains("You cannot sign in") && !answer.text.contains("<form") && answer.header("Set-Cookie") == nil)
        }
    }

    @Test func `over a socket the page is the same, and HEAD has its headers`() async throws {
        let server = try await TestServer()
        let port = try await server.startListening()
        let target = "/sign-in?ckAPIToken=\(server.names["api"] ?? "")&origin=https%3A%2F%2Fapp.example"
        let answer = try await ask(Question(method: "GET", target: target, headers: ["Accept-Encoding": "gzip"]), port: port)
        #expect(answer.status == 200 && answer.header("Content-Encoding") == nil && answer.text.contains("<form"))
        try checkHeaders(answer)
        let head = try await ask(Question(method: "HEAD", target: target), port: port)
        #expect(head.status == 200 && head.body.isEmpty && head.header("Set-Cookie") != nil)
        await server.server.shutdown(grace: .zero)
    }

    @Test(arguments: [
        ("https://cloud.example", "https://cloud.example/sign-in"), ("https://cloud.example/apps/", "https://cloud.example/apps/sign-in"),
    ])
    func `redirectURL is built from the public URL, whatever host was asked`(_ publicURL: String, _ expected: String) async throws {
        let server = try await TestServer(publicURL: publicURL)
        let api = server.names["api"] ?? ""
        let target = "/database/1/\(TestServer.container)/development/private/zones/list?ckAPIToken=\(api)"
        for host in ["cloud.example", "localhost"] {
            let answer = await server.respond(Question(method: "GET", target: target, headers: ["Host": host]))
            #expect(answer.status == 421)
            #expect(answer.json?["redirectURL"] == .string(expected + "?ckAPIToken=\(api)"))
        }
    }

    @Test(arguments: ["https://cloud.example", "https://Cloud.example:443/apps"])
    func `behind HTTPS the cookie is for this host alone, and forms come from the public URL`(_ publicURL: String) async throws {
        let server = try await TestServer(publicURL: publicURL)
        var browser = TestBrowser(server, host: "cloud.example", scheme: "https")
        let form = await browser.open()
        #expect(form.header("Set-Cookie")?.hasPrefix("__Host-nacre-sign-in=") == true && form.header("Set-Cookie")?.hasSuffix("; Secure") == true)
        #expect(await browser.signIn().status == 200)
        await browser.open()
        #expect(
            await browser.send(["email": "ada@example.com", "password": TestServer.password], headers: ["Origin": "http://cloud.example"]).status
                == 403)
    }
}
