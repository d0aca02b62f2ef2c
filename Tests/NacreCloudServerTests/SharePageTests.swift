import Foundation
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of a share's URL in a browser: sign-in, the share's page, accepting and declining.
@Suite(.timeLimit(.minutes(5))) struct SharePageTests {
    private static let title = "Our <trip> & more"
    /// A PNG of one pixel.
    private static let icon =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

    /// Shares Ada's zone.
    /// - Returns: The share's name in its URL.
    private func share(on server: TestServer, publicPermission: String = "NONE", inviting: String? = nil, zone: String = "Trip") async throws
        -> String
    {
        let invited = inviting.map {
            #","participants":[{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{\#($0)}}}]"#
        }
        try await server.ask("ada", "private/zones/modify", Body.zones("create", zone))
        let answer = try await server.ask(
            "ada", "private/records/modify",
            """
            {"operations":[{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share",
            "publicPermission":"\(publicPermission)"\(invited ?? ""),"fields":{"cloudkit.title":{"value":"\(Self.title)"}}}}],"zoneID":{"zoneName":"\(zone)"}}
            """)
        return try #require(answer.at("records[0].shortGUID")?.text)
    }

    private func zones(of user: String, on server: TestServer) async throws -> Int {
        try await server.ask(user, "shared/zones/list", "{}")["zones"]?.count ?? -1
    }

    /// Opens a share's URL and signs in by its page.
    private func opened(_ guid: String, by email: String, _ browser: inout TestBrowser) async throws -> Answer {
        let door = await browser.go("/share/\(guid)")
        #expect(door.status == 200)
        let link = try #require(door.text.firstMatch(of: /href="\.\.(\/sign-in\?share=[^"]*)"/)?.1)
        #expect(await browser.go(TestBrowser.unescaped(String(link))).status == 200)
        return await browser.signIn(email)
    }

    /// Returns a page's text without the parts that are unique to it.
    private func told(_ answer: Answer) -> String {
        answer.text.replacing(/nonce="[^"]*"/, with: "").replacing(/share=[^"]*"/, with: "").replacing(/<figure>[\s\S]*<\/figure>/, with: "")
    }

    @Test func `the page of a share is the same whatever its URL names, and tells nothing`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, publicPermission: "READ_WRITE")
        var texts: Set<String> = []
        for guid in [guid, "AAAAAAAAAAAAAAAAAAAAAA", guid + "~123e4567-e89b-42d3-a456-426614174000"] {
            let page = await server.respond(Question(method: "GET", target: "/share/\(guid)", headers: ["Host": "localhost"]))
            #expect(page.status == 200 && page.header("Set-Cookie") == nil)
            texts.insert(told(page))
        }
        #expect(texts.count == 1)
        #expect(texts.first?.contains("Sign in") == true && texts.first?.contains("trip") == false)
    }

    @Test func `a URL that no share can have is refused before a QR code is drawn`() async throws {
        let server = try await TestServer()
        let guid = "AAAAAAAAAAAAAAAAAAAAAA"
        let long = String(repeating: "x", count: 150)
        for text in ["abc", "no%20such", "%zz", long, guid + "A", guid + "~" + long, "~" + guid] {
            let page = await server.respond(Question(method: "GET", target: "/share/\(text)", headers: ["Host": "localhost"]))
            #expect(page.status == 404 && page.header("Content-Type") == "text/html; charset=utf-8", "\(text)")
            #expect(!page.text.contains("<svg") && !page.text.contains(long) && !page.text.contains("no such"), "\(text)")
        }
    }

    @Test func `who is invited signs in, sees what is shared by whom, accepts, and is shown the way into the app`() async throws {
        let server = try await TestServer(publicURL: "https://nacre.example")
        let guid = try await share(on: server, inviting: "\"userRecordName\":\"\(server.names["bob.name"] ?? "")\"")
        _ = try await server.cloud.registry.setShareApp(
            ShareApp(app: "com.example.trips://open?from=web", fallback: "https://trips.example/get", name: "Trips & <co>"),
            icon: try AppIcon(base64: Self.icon), of: TestServer.container)
        var browser = TestBrowser(server, host: "nacre.example", scheme: "https")
        let question = try await opened(guid, by: "bob@example.com", &browser)
        #expect(question.status == 200)
        for text in [
            "Our &lt;trip&gt; &amp; more", "Trips &amp; &lt;co&gt;", "data:image/png;base64,\(Self.icon)", "test version", "see and change it",
            "<dt>You are</dt><dd>bob@example.com", "shows no name",
        ] {
            #expect(question.text.contains(text), "\(text)")
        }
        #expect(!question.text.contains("ada@example.com") && !question.text.contains(TestServer.container))
        #expect(!question.text.contains(server.names["ada.name"] ?? "-"))
        #expect(try await zones(of: "bob", on: server) == 0)

        let done = await browser.send(["step": "accept"])
        #expect(done.status == 200)
        #expect(done.text.contains("You take part"))
        let app = "com.example.trips://open?from=web&amp;share=https%3A%2F%2Fnacre.example%2Fshare%2F\(guid)"
        #expect(done.text.contains("href=\"\(app)\""), "\(done.text)")
        #expect(done.text.contains("href=\"https://trips.example/get?shortGUID=\(guid)\""))
        #expect(done.text.contains("signed in as <strong>bob@example.com</strong>"))
        #expect(try await zones(of: "bob", on: server) == 1)

        var again = TestBrowser(server, host: "nacre.example", scheme: "https")
        #expect(try await opened(guid, by: "bob@example.com", &again).text.contains("You take part already"))
        #expect(try await opened(guid, by: "ada@example.com", &again).text.contains("You take part already"))
    }

    @Test func `who resolves a share is told the page about its app, and nobody else is`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, inviting: "\"userRecordName\":\"\(server.names["bob.name"] ?? "")\"")
        let body = #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#
        #expect(try await server.ask("bob", "public/records/resolve", body).at("results[0].webpageURL") == nil)
        let page = "https://trips.example/get"
        _ = try await server.cloud.registry.setShareApp(ShareApp(app: nil, fallback: page), of: TestServer.container)
        for path in ["public/records/resolve", "public/records/accept"] {
            #expect(try await server.ask("bob", path, body).at("results[0].webpageURL")?.text == page)
        }
        let other = try await share(on: server, inviting: "\"emailAddress\":\"carol@example.com\"", zone: "Other")
        let refused = try await server.ask("bob", "public/records/resolve", #"{"shortGUIDs":[{"value":"\#(other)"}]}"#)
        #expect(refused.at("results[0].serverErrorCode")?.text == "ACCESS_DENIED" && refused.at("results[0].webpageURL") == nil)
    }

    @Test func `who declines takes no part, and the click counts once`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, inviting: "\"userRecordName\":\"\(server.names["bob.name"] ?? "")\"")
        var browser = TestBrowser(server)
        _ = try await opened(guid, by: "bob@example.com", &browser)
        let form = browser.hidden
        let declined = await browser.send(["step": "decline"])
        #expect(declined.status == 200 && declined.text.contains("You do not take part"))
        #expect(try await zones(of: "bob", on: server) == 0)
        #expect(await browser.post(form.merging(["step": "accept"]) { $1 }).status != 200)
        #expect(try await zones(of: "bob", on: server) == 0)
        #expect(try await opened(guid, by: "bob@example.com", &browser).text.contains("Accept"))
    }

    @Test func `a share that is not there and one that is for somebody else are one page, which gives nobody a name in the container`() async throws {
        let store = CountingStore(MemoryStore())
        let server = try await TestServer(opensSignUp: true, doesTasks: false, over: store)
        let guid = try await share(on: server, inviting: "\"emailAddress\":\"carol@example.com\"")
        var browser = TestBrowser(server)
        await browser.open(more: "&form=sign-up")
        await browser.send(["email": "dave@example.com", "password": TestServer.password])
        var texts: Set<String> = []
        var reads: [Int] = []
        for name in [guid, "AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBA"] {
            store.reset()
            let refused = try await opened(name, by: "dave@example.com", &browser)
            #expect(refused.status == 403 && refused.text.contains("Nothing is here for you"))
            #expect(!refused.text.contains("trip") && !refused.text.contains(TestServer.container))
            texts.insert(told(refused))
            reads.append(store.transactions.count)
        }
        #expect(texts.count == 1, "\(texts)")
        // A database that does not exist is searched each time.
        #expect((reads.max() ?? 0) - (reads.min() ?? 0) <= 2, "\(reads)")
        let account = try #require(try await server.cloud.registry.account(email: "dave@example.com"))
        let made = try await server.cloud.registry.userRecordName(of: account.id, container: TestServer.container, environment: .development)
        #expect(made.isNew)
    }

    @Test func `a page of a share looks through the containers once, whatever it is asked`() async throws {
        let store = CountingStore(MemoryStore())
        let server = try await TestServer(doesTasks: false, over: store)
        let bob = #""userRecordName":"\#(server.names["bob.name"] ?? "")""#
        let others = try await share(on: server, zone: "Other")
        /// Returns the numbers of store calls of a view of a share that is not for Bob, of one that is, and of an
        /// acceptance.
        func calls(_ zone: String) async throws -> [Int] {
            let mine = try await share(on: server, inviting: bob, zone: zone)
            var counts: [Int] = []
            var browser = TestBrowser(server)
            for guid in [others, mine] {
                store.reset()
                _ = try await opened(guid, by: "bob@example.com", &browser)
                counts.append(store.transactions.count)
            }
            store.reset()
            #expect(await browser.send(["step": "accept"]).text.contains("You take part"))
            return counts + [store.transactions.count]
        }
        _ = try await calls("First")
        let before = try await calls("Second")
        let more = 10
        for number in 0..<more { _ = try await server.cloud.registry.createContainer("iCloud.com.example.more\(number)") }
        let after = try await calls("Third")
        for (before, after) in zip(before, after) {
            // Each container has two environments. A database is searched before it is read.
            #expect(after - before >= 2 * more && after - before <= 4 * more, "\(before), then \(after)")
        }
    }

    @Test func `an account that is new to the container claims what its verified address is invited to`() async throws {
        let server = try await TestServer(opensSignUp: true)
        let guid = try await share(on: server, inviting: "\"emailAddress\":\"carol@example.com\"")
        var browser = TestBrowser(server)
        #expect(await browser.open(more: "&form=sign-up").text.contains("First name"))
        await browser.send(["email": "carol@example.com", "password": TestServer.password, "givenName": "Carol", "familyName": "Example"])
        let unverified = try await opened(guid, by: "carol@example.com", &browser)
        #expect(unverified.status == 403 && unverified.text.contains("Confirm your address"))
        #expect(unverified.text.contains("Ask the people who run it") && !unverified.text.contains("nacre user"))
        #expect(!unverified.text.contains("Send me the mail"))
        let account = try #require(try await server.cloud.registry.account(email: "carol@example.com"))
        #expect(try await server.cloud.registry.verifyEmail("carol@example.com", of: account.id))
        let question = try await opened(guid, by: "carol@example.com", &browser)
        #expect(question.text.contains("see and change it") && question.text.contains("<dt>Invited</dt><dd>carol@example.com</dd>"))
        #expect(question.text.contains("<dt>You are</dt><dd>Carol Example, carol@example.com</dd>"))
        let done = await browser.send(["step": "accept"])
        #expect(done.text.contains("You take part") && done.text.contains("<code id=\"link\">http://localhost/share/\(guid)</code>"))
    }

    @Test func `a one-time URL lets in who comes first, and to everybody after that it is the page of a share that is not there`() async throws {
        let server = try await TestServer(opensSignUp: true)
        try await server.ask("ada", "private/zones/modify", Body.zones("create", "Trip"))
        let answer = try await server.ask(
            "ada", "private/records/modify",
            """
            {"operations":[{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share",
            "participants":[{"permission":"READ_WRITE","nacre":{"oneTime":true}}],"fields":{"cloudkit.title":{"value":"\(Self.title)"}}}}],
            "zoneID":{"zoneName":"Trip"},"nacre":{"details":true}}
            """)
        let guid = try #require(answer.at("records[0].shortGUID")?.text)
        let key = guid + "~" + (try #require(answer.at("records[0].participants[1].nacre.oneTimeSecret")?.text))
        var browser = TestBrowser(server)
        let door = await browser.go("/share/\(key)")
        #expect(told(door) == told(await browser.go("/share/\(guid)")), "the door is the same whatever it leads to")
        #expect(try await opened(key, by: "bob@example.com", &browser).text.contains("see and change it"))
        _ = try await server.cloud.registry.setShareApp(ShareApp(fallback: "https://trips.example/get"), of: TestServer.container)
        let inside = await browser.send(["step": "accept"])
        #expect(inside.text.contains("You take part"))
        #expect(inside.text.contains("href=\"https://trips.example/get?shortGUID=\(guid)\""), "the secret stays here")
        #expect(try await zones(of: "bob", on: server) == 1)

        var others = TestBrowser(server)
        await others.open(more: "&form=sign-up")
        await others.send(["email": "carol@example.com", "password": TestServer.password])
        let late = try await opened(key, by: "carol@example.com", &others)
        #expect(late.status == 403 && late.text.contains("Nothing is here for you") && !late.text.contains("trip"))
        #expect(told(late) == told(try await opened("AAAAAAAAAAAAAAAAAAAAAA", by: "carol@example.com", &others)))
        #expect(try await opened(key, by: "bob@example.com", &browser).text.contains("You take part already"))
    }

    @Test func `who is not invited asks by the page where the share takes requests, and sees nothing of it`() async throws {
        let server = try await TestServer(opensSignUp: true)
        let guid = try await share(on: server)
        let change = { (allows: Bool) in
            """
            {"operations":[{"operationType":"forceUpdate","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share",
            "recordChangeTag":"<<tag>>","nacre":{"allowsAccessRequests":\(allows)}}}],"zoneID":{"zoneName":"Trip"},"nacre":{"details":true}}
            """
        }
        let lookup = #"{"records":[{"recordName":"cloudkit.zoneshare"}],"zoneID":{"zoneName":"Trip"},"nacre":{"details":true}}"#
        let tag = try #require(try await server.ask("ada", "private/records/lookup", lookup).at("records[0].recordChangeTag")?.text)
        try await server.ask("ada", "private/records/modify", change(true).replacing("<<tag>>", with: tag))
        var browser = TestBrowser(server)
        await browser.open(more: "&form=sign-up")
        await browser.send(["email": "carol@example.com", "password": TestServer.password])
        let page = try await opened(guid, by: "carol@example.com", &browser)
        #expect(page.status == 200 && page.text.contains("Ask for access") && page.text.contains("carol@example.com"))
        #expect(!page.text.contains("trip") && !page.text.contains(TestServer.container))
        let refused = await browser.send(["step": "request"])
        #expect(refused.status == 403 && refused.text.contains("Confirm your address"))
        let account = try #require(try await server.cloud.registry.account(email: "carol@example.com"))
        #expect(try await server.cloud.registry.verifyEmail("carol@example.com", of: account.id))
        _ = try await opened(guid, by: "carol@example.com", &browser)
        #expect(await browser.send(["step": "request"]).text.contains("You have asked"))
        let seen = try await server.ask("ada", "private/records/lookup", lookup)
        #expect(seen.at("records[0].nacre.requesters[0].lookupInfo.emailAddress")?.text == "carol@example.com")
        #expect(try await zones(of: "bob", on: server) == 0)
    }

    @Test func `who has the URL of an open share may join, and a revocation ends the question`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, publicPermission: "READ_ONLY")
        var browser = TestBrowser(server)
        let question = try await opened(guid, by: "bob@example.com", &browser)
        #expect(question.text.contains("<dd>see it</dd>"))
        try await server.ask(
            "ada", "private/records/modify",
            #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"cloudkit.zoneshare"}}],"zoneID":{"zoneName":"Trip"}}"#)
        let late = await browser.send(["step": "accept"])
        #expect(late.status == 403 && late.text.contains("Nothing is here for you") && !late.text.contains("trip"))
        #expect(try await zones(of: "bob", on: server) == 0)
    }

    @Test func `an account that its administrator has shut out accepts nothing`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, publicPermission: "READ_ONLY")
        let account = try #require(try await server.cloud.registry.account(email: "bob@example.com"))
        _ = try await server.cloud.registry.setState(of: account, to: .restricted)
        var browser = TestBrowser(server)
        let answer = try await opened(guid, by: "bob@example.com", &browser)
        #expect(answer.status == 403 && !answer.text.contains("trip"))
    }

    @Test func `a consent for a share gives no app a token, and one for an app accepts no share`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, publicPermission: "READ_ONLY")
        var browser = TestBrowser(server)
        _ = try await opened(guid, by: "bob@example.com", &browser)
        var form = browser.hidden
        for step in ["allow", "deny"] { #expect(await browser.post(form.merging(["step": step]) { $1 }).status == 400) }
        await browser.open()
        await browser.signIn("bob@example.com")
        form = browser.hidden
        for step in ["accept", "decline"] { #expect(await browser.post(form.merging(["step": step]) { $1 }).status == 400) }
        #expect(try await zones(of: "bob", on: server) == 0)
    }

    @Test(
        arguments: [
            ("javascript:alert(1)", nil, "app"), ("trips://open", nil, "app"), ("com.example.trips://a b", nil, "app"),
            (nil, "com.example.trips://open", "fallback"), (nil, "javascript:alert(1)", "fallback"),
        ] as [(String?, String?, String)])
    func `only URLs that are an app's or a page's are where a share leads`(app: String?, fallback: String?, field: String) async throws {
        let server = try await TestServer()
        await #expect { _ = try await server.cloud.registry.setShareApp(ShareApp(app: app, fallback: fallback), of: TestServer.container) } throws: {
            ($0 as? ServerError)?.code == .badRequest && ($0 as? ServerError)?.field == field
        }
        #expect(try await server.cloud.registry.container(TestServer.container)?.shares == ShareApp(app: nil, fallback: nil))
    }

    @Test func `where shares lead stays until it is said anew, and an empty text takes it away`() async throws {
        let registry = try await TestServer().cloud.registry
        let whole = ShareApp(app: "https://trips.example/open", fallback: "https://trips.example/get")
        #expect(try await registry.setShareApp(whole, of: TestServer.container).app == whole)
        #expect(try await registry.setShareApp(ShareApp(), of: TestServer.container).app == whole)
        let rest = ShareApp(app: nil, fallback: "https://trips.example/get")
        #expect(try await registry.setShareApp(ShareApp(app: "", fallback: nil), of: TestServer.container).app == rest)
        let icon = try AppIcon(base64: Self.icon)
        #expect(try await registry.setShareApp(ShareApp(), icon: icon, of: TestServer.container).hasIcon)
        #expect(try await registry.setShareApp(ShareApp(name: "Trips"), of: TestServer.container).hasIcon)
        #expect(try await registry.shownApp(of: TestServer.container).icon == icon)
        #expect(try await registry.setShareApp(ShareApp(), icon: .some(nil), of: TestServer.container).hasIcon == false)
        await #expect(throws: ServerError.noContainer) { _ = try await registry.setShareApp(whole, of: "iCloud.no.such") }
    }

    @Test func `the URL of a share leads to the fallback at once where its container says so, and other URLs to their page`() async throws {
        let server = try await TestServer()
        let guid = try await share(on: server, inviting: "\"emailAddress\":\"carol@example.com\"")
        let registry = server.cloud.registry
        func go(_ guid: String) async -> Answer {
            await server.respond(Question(method: "GET", target: "/share/\(guid)?fallback=https://evil.example", headers: ["Host": "localhost"]))
        }
        let door = await go(guid)
        #expect(door.status == 200 && door.header("Location") == nil)
        for fallback in [nil, "http://trips.example/get"] {
            let plain = ShareApp(fallback: fallback, redirects: true)
            await #expect(throws: ServerError.self) { try await registry.setShareApp(plain, of: TestServer.container) }
            #expect(plain.redirect(of: guid) == nil)
        }
        _ = try await registry.setShareApp(ShareApp(fallback: "https://trips.example/get?from=web", redirects: true), of: TestServer.container)
        for secret in ["", "~123e4567-e89b-42d3-a456-426614174000"] {
            let sent = await go(guid + secret)
            #expect(sent.status == 303 && sent.header("Location") == "https://trips.example/get?from=web&shortGUID=\(guid)\(secret)")
        }
        let unknown = await go("AAAAAAAAAAAAAAAAAAAAAA")
        #expect(unknown.status == 200 && told(unknown) == told(door))
        #expect(await go("abc").status == 404)
        _ = try await registry.setShareApp(ShareApp(redirects: false), of: TestServer.container)
        #expect(await go(guid).status == 200)
    }

    @Test(
        arguments: [
            ("https://trips.example/get", "https://trips.example/get?shortGUID=AB~1"), ("https://trips.example/", "https://trips.example/AB~1"),
            ("https://trips.example", "https://trips.example?shortGUID=AB~1"), ("https://trips.example/get?id=", "https://trips.example/get?id=AB~1"),
            ("com.example.trips://open", nil),
        ] as [(String, String?)])
    func `a short GUID is appended to a fallback, never to its host`(fallback: String, page: String?) {
        #expect(ShareApp(fallback: fallback).page(of: "AB~1") == page)
    }

    @Test func `an icon is a PNG within its bounds, and nothing else`() throws {
        #expect(try AppIcon(base64: Self.icon).base64 == Self.icon)
        let png = try #require(Data(base64Encoded: Self.icon))
        var wide = png
        wide.replaceSubrange(16..<20, with: [0, 0, 4, 1])
        for bytes in [Data(), png.prefix(20), Data("<svg onload='alert(1)'/>".utf8) + png, wide, png + Data(count: Limits.iconBytes)] {
            #expect(throws: ServerError.self) { try AppIcon(base64: bytes.base64EncodedString()) }
        }
        #expect(throws: ServerError.self) { try AppIcon(base64: "\"><script>") }
    }
}
