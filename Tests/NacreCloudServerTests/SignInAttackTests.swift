import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of attacks at the sign-in page for a token, or to sign others in to the attacker's account.
@Suite(.timeLimit(.minutes(5))) struct SignInAttackTests {
    private static let evil = "https://evil.example"

    /// Returns a browser in which Ada has given her password and is asked for consent.
    private func asked(_ server: TestServer, _ email: String = "ada@example.com") async -> TestBrowser {
        var browser = TestBrowser(server)
        await browser.open()
        #expect(await browser.signIn(email).status == 200)
        return browser
    }

    /// Returns the number of web sessions of Ada and Bob beyond those of the fixture.
    private func newSessions(_ server: TestServer) async throws -> Int {
        var count = 0
        for user in ["ada", "bob"] {
            let all = try await server.cloud.registry.signIns(of: server.names[user + ".account"] ?? "", in: nil, after: nil)
            count += all.page.filter { $0.kind == .web }.count - 4
        }
        return count
    }

    // MARK: Forms of other pages and browsers

    @Test(arguments: [
        ["Origin": evil], ["Origin": nil], ["Origin": "null"], ["Origin": "http://localhost.evil.example"], ["Origin": "https://localhost"],
        ["Origin": "http://localhost:8788"], ["Origin": "http://LOCALHOST"], ["Origin": "http://localhost."], ["Origin": "http://user@localhost"],
        ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
    ])
    func `a form that another page sends does nothing, at each step`(_ headers: [String: String?]) async throws {
        let server = try await TestServer(opensSignUp: true)
        var browser = TestBrowser(server)
        await browser.open()
        let fields = browser.hidden.merging(["email": "ada@example.com", "password": TestServer.password]) { $1 }
        let refused = await browser.post(fields, headers: headers)
        #expect(refused.status == 403 && !refused.text.contains("Allow access?"))
        await browser.post(fields.merging(["step": "sign-up", "email": "carol@example.com"]) { $1 }, headers: headers)
        #expect(try await server.cloud.registry.account(email: "carol@example.com") == nil)
        browser = await asked(server)
        #expect(await browser.send(["step": "allow"], headers: headers).status == 403)
        #expect(browser.delivered == nil)
        #expect(try await newSessions(server) == 0)
    }

    @Test func `login CSRF: what was begun in the attacker's browser is no good in another's`() async throws {
        let server = try await TestServer()
        var attacker = TestBrowser(server)
        await attacker.open()
        let form = attacker.hidden
        attacker = await asked(server, "bob@example.com")
        let question = attacker.hidden
        for victim in [TestBrowser(server), await asked(server)] {
            var victim = victim
            let own = ["email": "bob@example.com", "password": TestServer.password]
            #expect(await victim.post(form.merging(own) { $1 }).status == 403)
            #expect(await victim.post(question.merging(["step": "allow"]) { $1 }).status == 403)
            #expect(victim.delivered == nil)
        }
        // A cookie of the attacker's beside the victim's own.
        var tossed = await asked(server)
        tossed.cookie = (tossed.cookie ?? "") + "; " + (attacker.cookie ?? "")
        #expect(await tossed.post(question.merging(["step": "allow"]) { $1 }).status == 403)
        tossed.cookie = nil
        #expect(await tossed.post(question.merging(["step": "allow"]) { $1 }).status == 403)
        #expect(try await newSessions(server) == 0)
        #expect(await attacker.post(question.merging(["step": "allow"]) { $1 }).status == 200, "in the browser that it is of, it is good")
    }

    @Test func `no form passes for another, and none that is altered passes`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        await browser.open()
        let flow = browser.hidden["flow"] ?? ""
        await browser.signIn()
        let consent = browser.hidden["consent"] ?? ""
        var altered = Array(consent)
        altered[altered.count / 2] = altered[altered.count / 2] == "A" ? "B" : "A"
        let api = server.names["api"] ?? ""
        for fields in [
            ["step": "allow", "consent": flow], ["step": "allow", "consent": String(altered)], ["step": "allow", "consent": ""], ["step": "allow"],
            ["step": "allow", "consent": server.names["ada"] ?? ""], ["step": "deny", "consent": flow],
            ["step": "allow", "consent": try server.sealer.seal([1], for: .consent)],
            ["step": "sign-in", "flow": consent, "email": "ada@example.com", "password": TestServer.password],
            ["step": "sign-in", "flow": api, "email": "ada@example.com", "password": TestServer.password],
            ["step": "sign-in", "email": "ada@example.com", "password": TestServer.password],
        ] {
            let answer = await browser.post(fields)
            #expect(answer.status == 403 && browser.delivered == nil && !answer.text.contains("<form"), "\(fields)")
        }
        for step in ["", "consent", "ALLOW"] { #expect(await browser.post(["step": step, "consent": consent]).status == 400) }
        #expect(try await newSessions(server) == 0)
        #expect(await browser.post(["step": "allow", "consent": consent]).status == 200)
    }

    @Test func `a flow or a consent is no credential of the API, and a web auth token no consent`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        await browser.open()
        #expect(await browser.caller(browser.hidden["flow"] ?? "") == nil)
        await browser.signIn()
        #expect(await browser.caller(browser.hidden["consent"] ?? "") == nil)
    }

    // MARK: A consent's life

    @Test func `a token is delivered once`() async throws {
        let server = try await TestServer()
        var browser = await asked(server)
        let click = browser.hidden.merging(["step": "allow"]) { $1 }
        #expect(await browser.post(click).status == 200)
        let token = try #require(browser.delivered?.at("message.ckWebAuthToken")?.text)
        let again = await browser.post(click)
        #expect(again.status == 401 && browser.delivered == nil && !again.text.contains("ckWebAuthToken\":"))
        #expect(try await newSessions(server) == 1)
        // The token is not delivered after the session has ended either.
        let query =
            "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        #expect(await server.respond(Question(method: "POST", target: "/account/1/sign-out?" + query)).status == 200)
        #expect(await browser.post(click).status == 401)
        #expect(try await newSessions(server) == 0)
    }

    @Test(arguments: [("deny", "allow"), ("allow", "deny"), ("deny", "deny")])
    func `a question is answered once, with yes or no`(_ first: String, _ second: String) async throws {
        let server = try await TestServer()
        var browser = await asked(server)
        let question = browser.hidden
        #expect(await browser.post(question.merging(["step": first]) { $1 }).status == 200)
        #expect(await browser.post(question.merging(["step": second]) { $1 }).status == 401)
        #expect(try await newSessions(server) == (first == "allow" ? 1 : 0))
    }

    @Test func `of many clicks at once one begins a session`() async throws {
        let server = try await TestServer()
        let browser = await asked(server)
        let click = browser.hidden.merging(["step": "allow"]) { $1 }
        let statuses = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var browser = browser
                    return await browser.post(click).status
                }
            }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 200 }.count == 1 && statuses.filter { $0 == 401 }.count == 7, "\(statuses)")
        #expect(try await newSessions(server) == 1)
    }

    @Test func `a form that lay about for an hour and a question for ten minutes are over`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        await browser.open()
        server.clock.advance(Limits.signInSeconds)
        #expect(await browser.signIn().status == 403)
        browser = await asked(server)
        server.clock.advance(Limits.consentSeconds - 1)
        let question = browser
        #expect(await browser.send(["step": "deny"]).status == 200)
        browser = question
        server.clock.advance(1)
        #expect(await browser.send(["step": "allow"]).status == 401)
        #expect(try await newSessions(server) == 0)
    }

    @Test func `what ends between the password and the click ends the consent`() async throws {
        let ends: [(String, Int, @Sendable (TestServer) async throws -> Void)] = [
            (
                "a new password", 401,
                { server in
                    let ada = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
                    _ = try await server.cloud.registry.changePassword(of: ada, to: "another")
                }
            ),
            (
                "the end of the account", 401,
                { server in
                    try await server.cloud.registry.deleteAccount(try #require(try await server.cloud.registry.account(email: "ada@example.com")))
                }
            ),
            (
                "the end of the API token", 401,
                { server in
                    _ = try await server.cloud.registry.revokeAppCredential(server.names["api"] ?? "")
                    server.clock.advance(Remembered<String, APITokenEntry>.secondsMax)
                }
            ),
        ]
        for (label, status, end) in ends {
            let server = try await TestServer()
            var browser = await asked(server)
            try await end(server)
            let answer = await browser.send(["step": "allow"])
            #expect(answer.status == status && browser.delivered == nil, "\(label)")
        }
    }

    // MARK: Origins and redirects

    @Test(arguments: [
        evil, "null", "*", "", "http://app.example", "https://app.example:8443", "https://APP.example", "https://app.example.",
        "https://app.example/",
        "https://app.example@evil.example", "https://evil.example#https://app.example", "https://evil.example\\@app.example", "//app.example",
        "https://app.example.evil.example", "javascript:alert(1)", "https%3A%2F%2Fapp.example", "https://app.example\u{0}",
        "https://app.example https://evil.example",
    ])
    func `no origin but a listed one is shown a form, or given a token`(_ origin: String) async throws {
        let server = try await TestServer()
        let api = try await server.cloud.registry.createAPIToken(
            container: TestServer.container, environment: .development, name: "", origins: ["https://app.example"])
        var browser = TestBrowser(server)
        let answer = await browser.open(api, origin: origin)
        #expect([400, 401].contains(answer.status) && !answer.text.contains("<form") && browser.hidden.isEmpty)
        #expect(await browser.open(api, origin: "https://app.example").text.contains("<form"))
    }

    @Test func `null, * and what no browser writes get nothing, of tokens for any origin too`() async throws {
        var browser = TestBrowser(try await TestServer())
        for origin in ["null", "*", "https://app.example/", "https://user@app.example", "data:text/html,x"] {
            #expect(await browser.open(origin: origin).status == 401, "\(origin)")
        }
    }

    @Test func `a refusal is for the listed origin alone too`() async throws {
        let server = try await TestServer()
        let api = try await server.cloud.registry.createAPIToken(
            container: TestServer.container, environment: .development, name: "", origins: ["https://app.example", "https://other.example"])
        func signIn(_ token: String) -> Question {
            let place = #""container":"\#(TestServer.container)","environment":"development""#
            let body = #"{"email":"ada@example.com","password":"wrong","apiToken":"\#(token)",\#(place)}"#
            return Question(method: "POST", target: "/account/1/sign-in", headers: ["Origin": "https://app.example"], body: Array(body.utf8))
        }
        let root = "/database/1/\(TestServer.container)/development"
        let ended = "ckAPIToken=\(api)&ckWebAuthToken=AAAA"
        let refused = [
            signIn(api), Question(method: "GET", target: "\(root)/private/zones/list?\(ended)"),
            Question(method: "GET", target: "\(root)/private/zones/list?ckAPIToken=\(api)"),
            Question(method: "POST", target: "/account/1/sessions/list?\(ended)", body: Array("{}".utf8)),
            Question(method: "POST", target: "/account/1/sign-out?\(ended)"),
        ]
        for question in refused {
            var question = question
            question.headers["Origin"] = "https://app.example"
            let answer = await server.respond(question)
            #expect([401, 421].contains(answer.status), "\(question.target) \(answer.text)")
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example", "\(question.target)")
            #expect(answer.header("Vary") == "Origin" && answer.header("Cache-Control") == "no-store")
        }
        // A token for any page still allows any origin.
        #expect(await server.respond(signIn(server.names["api"] ?? "")).header("Access-Control-Allow-Origin") == "*")
    }

    @Test func `an API token that is listed is refused to other pages, in all that it may do`() async throws {
        let server = try await TestServer()
        let api = try await server.cloud.registry.createAPIToken(
            container: TestServer.container, environment: .development, name: "", origins: ["https://app.example"])
        let root = "/database/1/\(TestServer.container)/development"
        let body = Array(
            #"{"email":"ada@example.com","password":"\#(TestServer.password)","apiToken":"\#(api)","container":"\#(TestServer.container)","environment":"development"}"#
                .utf8)
        let signedIn = await server.respond(
            Question(method: "POST", target: "/account/1/sign-in", headers: ["Origin": "https://app.example"], body: body))
        #expect(signedIn.header("Access-Control-Allow-Origin") == "https://app.example" && signedIn.header("Vary") == "Origin")
        let token = try #require(signedIn.json?["token"]?.text).addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let query = "ckAPIToken=\(api)&ckWebAuthToken=\(token)"
        let questions = [
            Question(method: "GET", target: "\(root)/public/users/caller?\(query)"),
            Question(method: "GET", target: "\(root)/public/zones/list?ckAPIToken=\(api)"),
            Question(method: "POST", target: "/account/1/sessions/list?\(query)", body: Array("{}".utf8)),
            Question(method: "POST", target: "/account/1/sign-in", body: body),
        ]
        for question in questions {
            for (origin, isAllowed) in [
                ("https://app.example", true), (Self.evil, false), ("null", false), ("https://app.example.", false), (nil, true),
            ] {
                var asked = question
                asked.headers["Origin"] = origin
                let answer = await server.respond(asked)
                #expect(answer.status == (isAllowed ? 200 : 401), "\(question.target) \(origin ?? "") \(answer.text)")
                #expect(answer.header("Access-Control-Allow-Origin") != Self.evil)
                if !isAllowed {
                    #expect(answer.json?["reason"]?.text == "origin is not allowed by the API token" && answer.header("Vary") == "Origin")
                    #expect(answer.header("Access-Control-Allow-Origin") == nil && answer.header("Access-Control-Expose-Headers") == nil)
                }
            }
        }
        var read = questions[0]
        read.headers["Origin"] = "https://app.example"
        let answer = await server.respond(read)
        #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example" && answer.header("Vary") == "Origin")
        #expect(answer.header("Access-Control-Expose-Headers")?.contains("X-Apple-CloudKit-Web-Auth-Token") == true)
        #expect(answer.header("Access-Control-Allow-Credentials") == nil)
        let out = Question(method: "POST", target: "/account/1/sign-out?\(query)", headers: ["Origin": Self.evil])
        #expect(await server.respond(out).status == 401)
        #expect(await server.respond(read).status == 200)
    }

    @Test(arguments: ["redirect", "redirect_uri", "callback", "url", "next", "return", "redirectURL"])
    func `no value of a request has a part in where a browser is sent`(_ name: String) async throws {
        let server = try await TestServer()
        let api = try await server.cloud.registry.createAPIToken(
            container: TestServer.container, environment: .development, name: "", redirect: "https://app.example/in")
        let targets = [
            "https://evil.example", "HTTPS://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example",
            "https://app.example@evil.example", "https://app.example.evil.example", "https://app.example.", "javascript:alert(1)",
            "%2F%2Fevil.example",
        ]
        var more = targets.map { "&\(name)=" + ($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "") }.joined()
        more += "&state=https%3A%2F%2Fevil.example%0D%0ALocation%3A%20https%3A%2F%2Fevil.example"
        var browser = TestBrowser(server)
        await browser.open(api, origin: Self.evil, more: more)
        await browser.signIn(more: [name: Self.evil])
        let sent = await browser.send(["step": "allow", name: Self.evil])
        let location = try #require(sent.header("Location"))
        #expect(location.hasPrefix("https://app.example/in?ckWebAuthToken=") && !location.contains(Self.evil) && !location.contains("\n"))
        #expect(sent.headers.filter { $0.name.lowercased() == "location" }.count == 1)
    }

    // MARK: Guesses of passwords and of accounts

    @Test func `guesses at the page count as all sign-ins do, and are told when to come again`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        await browser.open()
        for _ in 0..<Limits.wrongPasswordsPerAccount { #expect(await browser.signIn("ada@example.com", "wrong password").status == 401) }
        let paused = await browser.signIn()
        #expect(paused.status == 429 && paused.header("Retry-After") == "1" && paused.text.contains("Try again in 1 s"))
        #expect(paused.text.contains("<form") && !paused.text.contains("aria-invalid="))
        let body =
            #"{"email":"ada@example.com","password":"\#(TestServer.password)","apiToken":"\#(server.names["api"] ?? "")","container":"\#(TestServer.container)","environment":"development"}"#
        #expect(await server.respond(Question(method: "POST", target: "/account/1/sign-in", body: Array(body.utf8))).status == 429)
        server.clock.advance(1)
        #expect(await browser.signIn().status == 200)
        #expect(server.log.objects("A sign-in was refused").count == Limits.wrongPasswordsPerAccount + 2)
        #expect(!server.log.texts.contains { $0.contains("ada@example.com") })
    }

    @Test func `the page keeps everybody to the rate of the address`() async throws {
        let server = try await TestServer(requestRate: 1)
        var statuses: Set<Int> = []
        for _ in 0..<20_000 where !statuses.contains(429) {
            let question = Question(method: "GET", target: "/sign-in?ckAPIToken=\(server.names["api"] ?? "")")
            let answer = await RequestRateTests.ask(server, question, at: "192.0.2.1")
            statuses.insert(answer.status)
            if answer.status == 429 { #expect(answer.text.contains("<html") && answer.header("Retry-After") != nil) }
        }
        #expect(statuses == [400, 429])
    }

    /// Returns a page without the parts that differ each time.
    private func steady(_ answer: Answer) -> String {
        answer.text.replacing(/nonce="[^"]*"/, with: "").replacing(/name="flow" value="[^"]*"/, with: "")
    }

    @Test func `a wrong password and an unknown address look the same`() async throws {
        var browser = TestBrowser(try await TestServer())
        await browser.open()
        let wrong = await browser.signIn("ada@example.com", "wrong password")
        let unknown = await browser.signIn("eve@example.com", "wrong password")
        #expect(wrong.status == unknown.status)
        #expect(steady(wrong).replacing("ada@", with: "eve@") == steady(unknown))
    }

    @Test func `sign-up of an address that is taken and of a free one look the same, and the account stays as it was`() async throws {
        let server = try await TestServer(opensSignUp: true)
        var browser = TestBrowser(server)
        await browser.open(more: "&form=sign-up")
        let form = browser
        let free = await browser.send(["email": "eve@example.com", "password": "another password"])
        browser = form
        let taken = await browser.send(["email": "ada@example.com", "password": "another password"])
        #expect(free.status == 200 && taken.status == 200)
        #expect(steady(free) == steady(taken).replacing("ada@", with: "eve@"))
        #expect(await browser.signIn("ada@example.com", "another password").status == 401)
        #expect(await browser.signIn("ada@example.com").status == 200)
    }

    @Test func `a sign-up hashes its password before anything is looked for`() async throws {
        // Only one hash at a time, without a queue: of many requests most are put off, whatever their addresses are.
        let server = try await TestServer(opensSignUp: true, passwords: PasswordHasher(threadsMaximum: 1, waitingMaximum: 0))
        for email in ["ada@example.com", "eve@example.com"] {
            let body = Array(#"{"email":"\#(email)","password":"another password"}"#.utf8)
            let statuses = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<12 { group.addTask { await server.respond(Question(method: "POST", target: "/account/1/sign-up", body: body)).status } }
                return await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.contains(503) && statuses.allSatisfy { [200, 503].contains($0) }, "\(email) \(statuses)")
        }
    }

    @Test func `the log and the metrics hold no token, flow, address or password`() async throws {
        let server = try await TestServer()
        var browser = await asked(server)
        let consent = browser.hidden["consent"] ?? ""
        await browser.send(["step": "allow"])
        let token = try #require(browser.delivered?.at("message.ckWebAuthToken")?.text)
        #expect(!server.log.texts.isEmpty)
        for secret in [token, consent, server.names["api"] ?? "?", TestServer.password, "ada@example.com", browser.cookie ?? "?"] {
            #expect(!server.log.texts.contains { $0.contains(secret) })
        }
    }
}
