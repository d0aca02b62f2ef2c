import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of passkeys on the sign-in page, with an authenticator of the tests.
@Suite(.timeLimit(.minutes(5))) struct PasskeyTests {
    /// Returns a server, a browser whose user has added a passkey, and the authenticator with it.
    private func added(counter: UInt32 = 0) async throws -> (
        TestServer, TestBrowser, TestAuthenticator
    ) {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        var authenticator = try TestAuthenticator()
        authenticator.counter = counter
        #expect(try await browser.add(&authenticator).status == 200)
        return (server, browser, authenticator)
    }

    private func sessions(_ server: TestServer) async throws -> Int {
        try await server.cloud.registry.signIns(
            of: server.names["ada.account"] ?? "", in: nil, after: nil
        ).page.count
    }

    @Test func `who is signed in adds a passkey, and signs in by it without a password`()
        async throws
    {
        let (server, _, kept) = try await added()
        var authenticator = kept
        var browser = TestBrowser(server)
        let form = await browser.open()
        #expect(
            form.text.contains("Sign in with a passkey")
                && form.text.contains("data-rp=\"localhost\"")
                && form.text.contains("username webauthn"))
        let question = await browser.send(
            try authenticator.assertion(browser.challenge).merging(["keep": "1"]) { $1 })
        #expect(
            question.status == 200 && question.text.contains("ada@example.com")
                && question.text.contains("two weeks"))
        #expect(browser.delivered == nil)
        await browser.send(["step": "allow"])
        let token = try #require(browser.delivered?.at("message.ckWebAuthToken")?.text)
        #expect(await browser.caller(token) == server.names["ada.name"])
    }

    @Test
    func `the list shows a passkey by its name, which stays text, and one removed signs nobody in`()
        async throws
    {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        var authenticator = try TestAuthenticator()
        let list = try await browser.add(&authenticator, name: "  <b>Phone\u{7}</b> ")
        #expect(
            list.text.contains("&lt;b&gt;Phone&lt;/b&gt;") && !list.text.contains("<b>")
                && list.text.contains("never used"))
        #expect(list.text.contains("added 2026-"))
        let removed = await browser.send(["step": "remove-passkey"])
        #expect(removed.status == 200 && removed.text.contains("There is none yet"))
        #expect(await browser.send(["step": "question"]).text.contains("Allow access?"))
        #expect(await browser.send(["step": "allow"]).status == 200)
        await browser.open()
        #expect(await browser.send(try authenticator.assertion(browser.challenge)).status == 401)
        #expect(!server.log.objects("A passkey was added or removed").isEmpty)
        #expect(!server.log.texts.contains { $0.contains("Phone") })
    }

    @Test func `where browsers have no passkeys none is offered`() async throws {
        for (publicURL, host, scheme, isOffered) in [
            (nil, "127.0.0.1", "http", false),
            ("http://cloud.example", "cloud.example", "http", false),
            (nil, "localhost", "http", true),
            ("https://cloud.example", "cloud.example", "https", true),
            ("https://192.0.2.1", "192.0.2.1", "https", false),
            ("https://[2001:db8::1]", "[2001:db8::1]", "https", false),
        ] as [(String?, String, String, Bool)] {
            var browser = TestBrowser(
                try await TestServer(publicURL: publicURL), host: host, scheme: scheme)
            #expect(
                await browser.open().text.contains("Sign in with a passkey") == isOffered, "\(host)"
            )
            #expect(
                await browser.signIn().text.contains("Add or remove passkeys") == isOffered,
                "\(host)")
        }
    }

    @Test func `behind a public URL a passkey is of that URL's host and origin`() async throws {
        let server = try await TestServer(publicURL: "https://Cloud.example:443/apps")
        var browser = TestBrowser(server, host: "cloud.example", scheme: "https")
        var authenticator = try TestAuthenticator()
        (authenticator.host, authenticator.origin) = ("cloud.example", "https://cloud.example")
        #expect(try await browser.add(&authenticator).text.contains("Phone"))
        await browser.open()
        #expect(
            await browser.send(try authenticator.assertion(browser.challenge)).text.contains(
                "Allow access?"))
    }

    // MARK: Refusals

    /// Returns a page without the parts that differ each time.
    private func steady(_ answer: Answer) -> String {
        answer.text.replacing(/nonce="[^"]*"/, with: "").replacing(
            /name="flow" value="[^"]*"/, with: "")
    }

    @Test
    func `all that is wrong with a passkey looks the same, whether there is an account or none`()
        async throws
    {
        let (server, _, kept) = try await added(counter: 5)
        var browser = TestBrowser(server)
        await browser.open()
        let challenge = browser.challenge
        func wrong(_ change: (inout TestAuthenticator) throws -> Void) throws -> [String: String] {
            var authenticator = kept
            try change(&authenticator)
            return try authenticator.assertion(challenge)
        }
        var ofBob = try TestAuthenticator()
        var other = TestBrowser(server)
        _ = try await other.add(&ofBob, for: "bob")
        var rows: [(String, [String: String])] = [
            (
                "an account that is not there",
                try wrong { $0.user = "ffffffffffffffffffffffffffffffff" }
            ),
            ("a name for an account", try wrong { $0.user = "ada@example.com" }),
            ("no account", try wrong { $0.user = "" }), ("what can be no account", try wrong { $0.user = "\0" }),
            ("another's account", try wrong { $0.user = server.names["bob.account"] ?? "" }),
            ("another's passkey", try wrong { $0.id = ofBob.id }),
            ("a passkey that is not there", try wrong { $0.id = [1, 2, 3] }),
            (
                "another key",
                try wrong {
                    $0 = try TestAuthenticator(id: $0.id)
                    $0.user = kept.user
                    $0.counter = 50
                }
            ),
            ("another page", try wrong { $0.origin = "https://evil.example" }),
            ("another port", try wrong { $0.origin = "http://localhost:81" }),
            ("another server", try wrong { $0.host = "evil.example" }),
            ("nobody there", try wrong { $0.flags = 4 }),
            ("anybody there", try wrong { $0.flags = 1 }),
            ("counted back", try wrong { $0.counter = 3 }),
            ("stood still", try wrong { $0.counter = 4 }),
            ("nothing", ["step": "passkey"]),
        ]
        var again = kept
        rows.append(("another question", try again.assertion("b3RoZXI")))
        rows.append(("made to be added", try again.assertion(challenge, type: "webauthn.create")))
        let form = browser
        var pages: Set<String> = []
        for (label, fields) in rows {
            var browser = form
            let answer = await browser.send(fields)
            #expect(
                answer.status == 401 && answer.text.contains("This passkey is not known here"),
                "\(label)")
            pages.insert(steady(answer))
        }
        #expect(pages.count == 1)
        var right = kept
        #expect(await browser.send(try right.assertion(challenge)).text.contains("Allow access?"))
    }

    @Test func `what a passkey has signed signs in once, in one browser, for an hour`() async throws {
        let (server, _, kept) = try await added()
        var authenticator = kept
        var browser = TestBrowser(server)
        await browser.open()
        let form = browser
        let fields = try authenticator.assertion(browser.challenge)
        var foreign = TestBrowser(server)
        await foreign.open()
        #expect(await foreign.post(form.hidden.merging(fields) { $1 }).status == 403)
        await foreign.open()
        #expect(await foreign.send(fields).status == 401)
        let statuses = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    var browser = form
                    return await browser.send(fields).status
                }
            }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200, 401, 401, 401, 401, 401], "\(statuses)")
        await browser.open()
        server.clock.advance(Limits.signInSeconds)
        #expect(await browser.send(try authenticator.assertion(browser.challenge)).status == 403)
    }

    @Test func `a removed passkey, or another password, ends the question that one opened`()
        async throws
    {
        let ends: [@Sendable (TestServer, String) async throws -> Void] = [
            { server, id in
                _ = try await server.cloud.registry.removePasskey(
                    id, of: server.names["ada.account"] ?? "")
            },
            { server, _ in
                let ada = try #require(
                    try await server.cloud.registry.account(email: "ada@example.com"))
                _ = try await server.cloud.registry.changePassword(of: ada, to: "another")
            },
        ]
        for end in ends {
            let (server, _, kept) = try await added()
            var authenticator = kept
            var browser = TestBrowser(server)
            await browser.open()
            await browser.send(try authenticator.assertion(browser.challenge))
            let before = try await sessions(server)
            try await end(server, Base64URL.encode(kept.id))
            #expect(await browser.send(["step": "allow"]).status == 401)
            #expect(try await sessions(server) <= before)
        }
    }

    @Test func `a new password removes no passkey`() async throws {
        let (server, _, kept) = try await added()
        var authenticator = kept
        let ada = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
        _ = try await server.cloud.registry.changePassword(of: ada, to: "another")
        var browser = TestBrowser(server)
        await browser.open()
        #expect(await browser.send(try authenticator.assertion(browser.challenge)).status == 200)
        await browser.send(["step": "allow"])
        #expect(browser.delivered != nil)
    }

    @Test func `a deleted account's passkeys are gone`() async throws {
        let (server, _, kept) = try await added()
        var authenticator = kept
        let ada = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
        try await server.cloud.registry.deleteAccount(ada)
        #expect(try await server.cloud.registry.passkeys(of: ada.id).isEmpty)
        var browser = TestBrowser(server)
        await browser.open()
        #expect(await browser.send(try authenticator.assertion(browser.challenge)).status == 401)
    }

    @Test
    func
        `nobody adds a passkey without having signed in here, nor the same one twice, nor too many`()
        async throws
    {
        let (server, shown, kept) = try await added()
        var browser = shown
        #expect(
            await browser.send(try kept.creation(browser.challenge)).text.contains(
                "has this passkey already"))
        var stranger = TestBrowser(server)
        await stranger.open()
        #expect(await stranger.send(try kept.creation(stranger.challenge)).status == 403)
        #expect(
            await stranger.post(browser.hidden.merging(try kept.creation(browser.challenge)) { $1 })
                .status == 403)
        let earlier = browser
        let fields = try TestAuthenticator().creation(browser.challenge)
        #expect(await browser.send(fields).status == 200)
        browser = earlier
        #expect(await browser.send(fields).status >= 400)
        for _ in 2..<Limits.passkeysPerAccount {
            browser = earlier
            await browser.send(["step": "passkeys"])
            #expect(await browser.send(["step": "question"]).status == 200)
            await browser.open()
            await browser.signIn()
            await browser.send(["step": "passkeys"])
            #expect(
                await browser.send(try TestAuthenticator().creation(browser.challenge)).status
                    == 200)
        }
        await browser.open()
        await browser.signIn()
        #expect(await browser.send(["step": "passkeys"]).text.contains("There can be no more"))
    }

    @Test func `an API lists and removes passkeys by the password, and no token does`() async throws {
        let (server, _, kept) = try await added()
        let id = Base64URL.encode(kept.id)
        func ask(_ path: String, _ body: String, _ query: String = "") async -> Answer {
            await server.respond(
                Question(
                    method: "POST", target: "/account/1/passkeys/\(path)\(query)",
                    body: Array(body.utf8)))
        }
        let who = #""email":"ada@example.com","password":"\#(TestServer.password)""#
        let list = await ask("list", "{\(who)}")
        #expect(
            list.text.contains(#""id":"\#(id)","name":"Phone"}]"#)
                && !list.text.contains("PUBLIC KEY") && !list.text.contains("used"))
        let token =
            "?ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada.escaped"] ?? "")"
        #expect(await ask("remove", #"{"id":"\#(id)"}"#, token).status == 400)
        let bob = #""email":"bob@example.com","password":"\#(TestServer.password)""#
        #expect(await ask("remove", #"{\#(bob),"id":"\#(id)"}"#).status == 404)
        #expect(await ask("remove", #"{\#(who),"id":"\#(id)"}"#).status == 200)
        #expect(await ask("remove", #"{\#(who),"id":"\#(id)"}"#).status == 404)
        #expect(await ask("list", "{\(who)}").text == #"{"passkeys":[]}"#)
    }
}
