import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of sign-ins with a team's own accounts, with an issuer of the tests.
@Suite(.timeLimit(.minutes(5))) struct OpenIDTests {
    /// Runs a server and its issuer during a body.
    private func withIssuer(
        opensSignUp: Bool = true, publicURL: String? = nil, mail: MailConfiguration? = nil,
        _ body: (TestServer, TestIssuer) async throws -> Void
    ) async throws {
        let clock = TestClock()
        let issuer = try await TestIssuer(clock: clock)
        do {
            let server = try await TestServer(
                publicURL: publicURL, openID: try issuer.configuration(opensSignUp: opensSignUp),
                mail: mail, clock: clock)
            try await body(server, issuer)
        } catch {
            await issuer.close()
            throw error
        }
        await issuer.close()
    }

    /// Follows the link to the issuer, and returns its location.
    private func leave(_ browser: inout TestBrowser, keep: Bool = false) async throws -> String {
        let page = await browser.open(more: "&state=mine")
        let link = try #require(page.text.firstMatch(of: /href="(sign-in-openid\?[^"]*)"/)?.1)
        let answer = await browser.go(
            "/" + TestBrowser.unescaped(String(link)) + (keep ? "&keep=1" : ""))
        #expect(answer.status == 303)
        return answer.header("Location") ?? ""
    }

    private func path(_ url: String) -> String { String(url.dropFirst("http://localhost".count)) }

    @Test func `a user of the issuer gets an account, and the same one each time`() async throws {
        try await withIssuer { server, issuer in
            var browser = TestBrowser(server)
            #expect(await browser.open().text.contains("Sign in with The &lt;Team&gt;"))
            let location = try await leave(&browser, keep: true)
            #expect(
                location.hasPrefix(
                    "\(issuer.url)/authorize?a=b&response_type=code&client_id=nacre&redirect_uri=http%3A%2F%2Flocalhost%2F"
                ))
            #expect(
                location.contains("code_challenge_method=S256") && location.contains("&nonce=")
                    && location.contains("scope=openid%20email"))
            let question = await browser.go(path(try issuer.agree(location)))
            #expect(
                question.status == 200 && question.text.contains("grace@example.com")
                    && question.text.contains("two weeks"))
            await browser.send(["step": "allow"])
            let token = try #require(browser.delivered?.at("message.ckWebAuthToken")?.text)
            let name = await browser.caller(token)
            #expect(name != nil)
            let account = try #require(
                try await server.cloud.registry.account(email: "grace@example.com"))
            #expect(
                account.givenName == "Grace"
                    && account.openID == OpenIDIdentity(issuer: issuer.url, subject: "sub-1"))
            #expect(!server.log.texts.isEmpty && !server.log.texts.contains { $0.contains(TestIssuer.secret) })

            issuer.say { $0.email = "other@example.com" }
            var again = TestBrowser(server)
            #expect(
                await again.go(path(try issuer.agree(try await leave(&again)))).text.contains(
                    "grace@example.com"))
            await again.send(["step": "allow"])
            #expect(
                await again.caller(
                    try #require(again.delivered?.at("message.ckWebAuthToken")?.text)) == name)
            #expect(try await server.cloud.registry.account(email: "other@example.com") == nil)
            #expect(issuer.count("description") == 1 && issuer.count("keys") == 1)
        }
    }

    @Test func `an account without a password lets nobody in by one`() async throws {
        try await withIssuer { server, issuer in
            var browser = TestBrowser(server)
            await browser.go(path(try issuer.agree(try await leave(&browser))))
            for password in ["", "x", "correct horse battery"] {
                await browser.open()
                #expect(await browser.signIn("grace@example.com", password).status == 401)
            }
        }
    }

    @Test func `an account with the same address is not joined, and stays as it was`() async throws {
        try await withIssuer { server, issuer in
            issuer.say { $0.email = "Ada@example.com" }
            var browser = TestBrowser(server)
            let answer = await browser.go(path(try issuer.agree(try await leave(&browser))))
            #expect(answer.status == 409 || answer.status == 400, "\(answer.status)")
            #expect(
                answer.text.contains("An account with this e-mail address exists")
                    && !answer.text.contains("Allow access"))
            #expect(
                try await server.cloud.registry.account(email: "ada@example.com")?.openID == nil)
            #expect(await browser.signIn().text.contains("Allow access?"))
        }
    }

    @Test
    func `an account that nobody has verified gives its address to the issuer's user, and a verified one gives nothing`() async throws {
        let mail = try #require(MailConfiguration(url: "smtp://127.0.0.1:9", password: nil, from: "nacre@cloud.example"))
        try await withIssuer(publicURL: "http://localhost", mail: mail) { server, issuer in
            let registry = server.cloud.registry
            let bob = try #require(try await registry.account(email: "bob@example.com"))
            #expect(try await registry.verifyEmail("bob@example.com", of: bob.id))
            let squatter = try #require(try await registry.account(email: "ada@example.com"))
            issuer.say { $0.email = "ada@example.com" }
            var browser = TestBrowser(server)
            let question = await browser.go(path(try issuer.agree(try await leave(&browser))))
            #expect(question.status == 200 && question.text.contains("ada@example.com"), "\(question.text)")
            let made = try #require(try await registry.account(email: "ada@example.com"))
            #expect(made.openID != nil && made.id != squatter.id)
            let left = try #require(try await registry.account(id: squatter.id))
            #expect(left.email == "\(squatter.id)@unverified.invalid" && left.passwordHash == squatter.passwordHash && left.openID == nil)
            #expect(try await registry.signIns(of: squatter.id, in: nil, after: nil).page.isEmpty == false)
            issuer.say {
                $0.subject = "another"
                $0.email = "bob@example.com"
            }
            browser = TestBrowser(server)
            let refused = await browser.go(path(try issuer.agree(try await leave(&browser))))
            #expect(refused.status == 409 && refused.text.contains("delete that account or give it another address"), "\(refused.text)")
            #expect(try await registry.account(email: "bob@example.com")?.id == bob.id)
        }
    }

    @Test func `who is not let in has no account, nor has who has no verified address`()
        async throws
    {
        let rows: [(Bool, @Sendable (inout TestIssuer.Words) -> Void, String)] = [
            (false, { _ in }, "no account on this server"),
            (true, { $0.isVerified = false }, "no verified e-mail address"),
            (true, { $0.email = nil }, "no verified e-mail address"),
        ]
        for (opensSignUp, change, text) in rows {
            try await withIssuer(opensSignUp: opensSignUp) { server, issuer in
                issuer.say(change)
                var browser = TestBrowser(server)
                let answer = await browser.go(path(try issuer.agree(try await leave(&browser))))
                #expect(
                    answer.status == 401 && answer.text.contains(text)
                        && answer.text.contains("name=\"password\""))
                #expect(try await server.cloud.registry.account(email: "grace@example.com") == nil)
            }
        }
    }

    @Test func `a token that is not ours, not now or not signed signs nobody in`() async throws {
        let rows: [(String, @Sendable (inout TestIssuer.Words) -> Void, String)] = [
            ("another issuer's", { $0.issuer = "https://evil.example" }, "issuer"),
            ("another client's", { $0.audience = "other" }, "audience"),
            ("another question's", { $0.nonce = "other" }, "nonce"),
            ("expired", { $0.lifetime = -1000 }, "expired"),
            ("signed by another key", { $0.hidesKey = true }, "signature"),
            ("of nobody", { $0.subject = "" }, "subject"),
        ]
        for (label, change, reason) in rows {
            try await withIssuer { server, issuer in
                issuer.say(change)
                var browser = TestBrowser(server)
                let answer = await browser.go(path(try issuer.agree(try await leave(&browser))))
                #expect(
                    answer.status == 401 && answer.text.contains("did not work")
                        && !answer.text.contains("Allow access"), "\(label)")
                #expect(server.log.texts.contains { $0.contains("openid: \(reason)") }, "\(label)")
            }
        }
    }

    @Test
    func
        `an answer of another browser, of another issuer, without a question, or sent twice is refused`()
        async throws
    {
        try await withIssuer { server, issuer in
            issuer.say { $0.forgivesReplay = true }
            var browser = TestBrowser(server)
            let answer = path(try issuer.agree(try await leave(&browser)))
            // An attacker has the user's browser submit the attacker's own answer.
            var victim = TestBrowser(server)
            #expect(await victim.go(answer).status == 403)
            await victim.open()
            #expect(await victim.go(answer).status == 403)
            let items = URLComponents(string: answer)?.queryItems ?? []
            func changed(_ name: String, _ value: String?) -> String {
                let rest =
                    items.filter { $0.name != name }
                    + (value.map { [URLQueryItem(name: name, value: $0)] } ?? [])
                return OpenIDPage.returnPath
                    + SignInAddress.query(rest.map { (name: $0.name, value: $0.value ?? "") })
            }
            for (label, target, status) in [
                ("no state", changed("state", nil), 403),
                ("a state that is none", changed("state", "AAAA"), 403),
                ("the page's own flow", changed("state", browser.hidden["flow"] ?? ""), 403),
                ("another issuer", changed("iss", "https://evil.example"), 401),
                ("no issuer", changed("iss", nil), 401),
                ("no code", changed("code", nil), 401),
                ("another code", changed("code", "other"), 401),
            ] {
                let refused = await browser.go(target)
                #expect(
                    refused.status == status && !refused.text.contains("Allow access"), "\(label)")
            }
            #expect(await browser.go(answer).text.contains("Allow access?"))
            let twice = await browser.go(answer)
            #expect(twice.status == 401 && twice.text.contains("did not work"))
            server.clock.advance(Limits.openIDSeconds)
            #expect(await browser.go(answer).status == 403)
        }
    }

    @Test func `who says no at the issuer is back at the form`() async throws {
        try await withIssuer { server, issuer in
            var browser = TestBrowser(server)
            let back = try issuer.agree(try await leave(&browser)).replacingOccurrences(
                of: "code=", with: "error=access_denied&x=")
            let answer = await browser.go(path(back))
            #expect(answer.status == 401 && answer.text.contains("<form"))
            #expect(await browser.signIn().text.contains("Allow access?"))
        }
    }

    @Test
    func
        `an issuer that is down holds up nobody who signs in by password, and is asked again later`()
        async throws
    {
        try await withIssuer { server, issuer in
            issuer.say { $0.isDown = true }
            var browser = TestBrowser(server)
            let page = await browser.open()
            let link = try #require(page.text.firstMatch(of: /href="(sign-in-openid\?[^"]*)"/)?.1)
            let form = browser
            let down = await browser.go("/" + TestBrowser.unescaped(String(link)))
            #expect(down.status == 503 && down.text.contains("cannot be reached"))
            browser = form
            #expect(await browser.signIn().text.contains("Allow access?"))
            issuer.say { $0.isDown = false }
            #expect(try await leave(&browser).hasPrefix(issuer.url))
            issuer.say { $0.isDown = true }
            browser = TestBrowser(server)
            #expect(
                await browser.go(path(try issuer.agree(try await leave(&browser)))).status == 503)
        }
    }

    @Test func `an issuer that says that it is another is not believed`() async throws {
        try await withIssuer { server, issuer in
            issuer.say { $0.describedIssuer = "https://evil.example" }
            var browser = TestBrowser(server)
            let link = try #require(
                await browser.open().text.firstMatch(of: /href="(sign-in-openid\?[^"]*)"/)?.1)
            #expect(await browser.go("/" + TestBrowser.unescaped(String(link))).status == 401)
        }
    }

    @Test func `another key of the issuer is looked for, and not more often than once a minute`()
        async throws
    {
        try await withIssuer { server, issuer in
            var browser = TestBrowser(server)
            #expect(
                await browser.go(path(try issuer.agree(try await leave(&browser)))).status == 200)
            try issuer.turnKey()
            browser = TestBrowser(server)
            #expect(
                await browser.go(path(try issuer.agree(try await leave(&browser)))).status == 401)
            #expect(issuer.count("keys") == 1)
            server.clock.advance(Limits.openIDKeySeconds)
            browser = TestBrowser(server)
            #expect(
                await browser.go(path(try issuer.agree(try await leave(&browser)))).status == 200)
            #expect(issuer.count("keys") == 2)
        }
    }

    @Test func `a deleted account's identity is free once its data are gone`() async throws {
        try await withIssuer { server, issuer in
            var browser = TestBrowser(server)
            await browser.go(path(try issuer.agree(try await leave(&browser))))
            let first = try #require(
                try await server.cloud.registry.account(email: "grace@example.com"))
            try await server.cloud.registry.deleteAccount(first)
            browser = TestBrowser(server)
            #expect(
                await browser.go(path(try issuer.agree(try await leave(&browser)))).status == 401)
            server.clock.advance(Limits.accountDeletionSeconds + 1)
            while try await server.cloud.runDueTasks().taken > 0 {}
            browser = TestBrowser(server)
            #expect(
                await browser.go(path(try issuer.agree(try await leave(&browser)))).status == 200)
            let second = try #require(
                try await server.cloud.registry.account(email: "grace@example.com"))
            #expect(second.id != first.id)
        }
    }

    @Test func `without an issuer there is neither link nor page`() async throws {
        var browser = TestBrowser(try await TestServer())
        #expect(!(await browser.open().text.contains("sign-in-openid?")))
        for path in [OpenIDPage.startPath, OpenIDPage.returnPath] {
            #expect(await browser.go(path).status == 404)
        }
    }

    @Test(arguments: [
        ("https://id.example", true), ("https://id.example/realms/team", true),
        ("http://127.0.0.1:8080", true), ("http://localhost/a", true),
        ("http://[::1]:1", true), ("http://id.example", false),
        ("http://127.0.0.1.evil.example", false), ("http://localhost@evil.example", false),
        ("ftp://id.example", false), ("id.example", false), ("https://", false),
        ("https://id.example?a=b", false), ("https://id.example#a", false),
        ("https://id.example/ a", false), ("file:///etc/passwd", false),
        ("http://169.254.169.254/", false),
    ])
    func `an issuer is reached over HTTPS, or on this machine`(_ url: String, _ isTaken: Bool) {
        let made = OpenIDConfiguration(
            issuer: url, clientID: "a", clientSecret: "b", name: "c", opensSignUp: false)
        #expect((made != nil) == isTaken)
    }
}
