import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of which pages may use an API token, and where a signed-in user's token is sent.
@Suite struct TokenDeliveryTests {
    @Test(arguments: [
        "https://app.example", "http://localhost:3000", "https://app.example:8443", "http://[::1]:8080", "http://127.0.0.1",
        "https://xn--bcher-kva.example",
        "https://a_b.example",
    ])
    func `what browsers write is an origin`(_ text: String) {
        #expect(WebOrigin(text)?.text == text)
    }

    @Test(arguments: [
        "", "null", "*", "app.example", "//app.example", "https://", "https:app.example", "HTTPS://app.example", "https://App.example",
        "https://app.example/",
        "https://app.example.", "https://app..example", "https://.example", "https://app.example:443", "http://app.example:80",
        "https://app.example:",
        "https://app.example:0", "https://app.example:08443", "https://app.example:65536", "https://app.example:+1", "https://app.example:8443:1",
        "https://user@app.example", "https://app.example@evil.example", "https://app.example#x", "https://app.example?x", "https://app.example\\evil",
        "https://app.example%2eevil", "https://app example", "https://äpp.example", "https://app.example\n", "ftp://app.example", "file://",
        "javascript://x",
        "https://[::1", "https://[]", "https://[::1]x", "https://[app]:1x", "https://app.example, https://evil.example", "https://app.example ",
    ])
    func `what no browser writes is none`(_ text: String) {
        #expect(WebOrigin(text) == nil)
    }

    @Test func `an origin has a length`() {
        #expect(WebOrigin("https://" + String(repeating: "a", count: Limits.originCharacters - 8)) != nil)
        #expect(WebOrigin("https://" + String(repeating: "a", count: Limits.originCharacters - 7)) == nil)
    }

    @Test(arguments: [
        ("https://app.example/signed-in", "https://app.example"), ("https://app.example", "https://app.example"),
        ("http://localhost:3000/?from=cloud", "http://localhost:3000"), ("https://app.example:8443/a%20b", "https://app.example:8443"),
        ("cloudkit-icloud.com.example.notes://signed-in", "cloudkit-icloud.com.example.notes:"), ("com.example.app:/back", "com.example.app:"),
    ])
    func `a callback is a URL of the web, or of an app's own scheme`(_ url: String, _ place: String) throws {
        #expect(try SignInCallback(url).place == place)
        #expect(try SignInCallback(url).url == url)
    }

    @Test(arguments: [
        "", "https:", "https://", "//app.example", "/signed-in", "app.example/x", "javascript:alert(1)", "data:text/html,x", "vbscript:x",
        "file:///etc/passwd",
        "blob:https://app.example/x", "about:blank", "myapp://back", "HTTPS://app.example", "https://App.example/", "https://user@app.example/",
        "https://user:word@app.example/", "https://app.example@evil.example/", "https://app.example./", "https://app.example:443/",
        "https:/app.example",
        "https:app.example", "https:\\\\app.example", "https://app.example\\@evil.example", "https://app.example/#x", "https://app.example/ x",
        "https://app.example/\r\nSet-Cookie: x", "https://app.example/%zz", "https://app.example/%2", "https://äpp.example/",
        "https://app.example%2f@evil.example/",
        "1.a:x", ".a:x", "com.example.app:", "https://app.example/\"<>",
    ])
    func `other URLs are no callbacks`(_ url: String) {
        #expect {
            try SignInCallback(url)
        } throws: {
            ($0 as? ServerError)?.field == "redirect" && ($0 as? ServerError)?.code == .badRequest
        }
    }

    @Test func `values stand behind a callback's query, and add nothing else`() throws {
        let values = [(name: "ckWebAuthToken", value: "a+/=&#\r\n"), (name: "state", value: "ä https://evil.example")]
        let escaped = "ckWebAuthToken=a%2B%2F%3D%26%23%0D%0A&state=%C3%A4%20https%3A%2F%2Fevil.example"
        #expect(try SignInCallback("https://app.example/x").url(with: values) == "https://app.example/x?" + escaped)
        #expect(try SignInCallback("https://app.example/x?a=b").url(with: values) == "https://app.example/x?a=b&" + escaped)
    }

    private func token(_ origins: [String]?, redirect: String? = nil) -> APITokenEntry {
        APITokenEntry(container: "iCloud.x", environment: "production", name: "", created: 0, origins: origins, redirect: redirect)
    }

    @Test func `a token goes to the origin that asks, if it may, or to the one callback`() throws {
        let any = token(nil)
        let one = token(["https://app.example"])
        let table: [(APITokenEntry, String?, Result<String, ServerError>)] = [
            (any, "https://app.example", .success("https://app.example")), (any, "https://evil.example", .success("https://evil.example")),
            (any, "null", .failure(.originRefused)), (any, "*", .failure(.originRefused)), (any, nil, .failure(.noOrigin)),
            (any, "https://app.example/x", .failure(.originRefused)),
            (one, "https://app.example", .success("https://app.example")), (one, "https://evil.example", .failure(.originRefused)),
            (one, "http://app.example", .failure(.originRefused)), (one, "https://app.example:8443", .failure(.originRefused)),
            (one, "https://APP.example", .failure(.originRefused)), (one, "https://app.example.", .failure(.originRefused)),
            (one, "https://app.example.evil.example", .failure(.originRefused)), (one, "https://sub.app.example", .failure(.originRefused)),
            (one, "null", .failure(.originRefused)), (one, "", .failure(.originRefused)), (one, nil, .failure(.noOrigin)),
            (token(["https://app.example"], redirect: "https://app.example/in"), "https://evil.example", .success("https://app.example")),
            (token(nil, redirect: "com.example.app:/in"), nil, .success("com.example.app:")),
        ]
        for (token, origin, expected) in table {
            let found = Result { () throws(ServerError) in try TokenDelivery(token, asking: origin).place }
            #expect(found == expected, "\(token.origins ?? []) \(origin ?? "none")")
        }
    }

    @Test func `a listed token is for pages of its origins, and for who is no page`() {
        let one = token(["https://app.example"])
        for (origin, isAllowed) in [("https://app.example", true), ("https://evil.example", false), ("null", false), ("", false)] {
            #expect(one.allows(origin: origin) == isAllowed)
            #expect(token(nil).allows(origin: origin))
        }
        #expect(one.allows(origin: nil))
    }

    @Test(arguments: Engine.ofRules) func `origins and callback are checked when a token is made, and are in the list`(engine: Engine) async throws {
        let cloud = try await TestCloud(engine).cloud
        _ = try await cloud.registry.createContainer("iCloud.x.y")
        func make(_ origins: [String], _ redirect: String? = nil) async throws -> String {
            try await cloud.registry.createAPIToken(
                container: "iCloud.x.y", environment: .production, name: "web", origins: origins, redirect: redirect)
        }
        await #expect(throws: ServerError.self) { try await make(["https://app.example/"]) }
        await #expect(throws: ServerError.self) { try await make(["null"]) }
        await #expect(throws: ServerError.self) { try await make((0...Limits.originsPerToken).map { "https://app\($0).example" }) }
        await #expect(throws: ServerError.self) { try await make([], "javascript:alert(1)") }
        let token = try await make(["https://app.example", "http://localhost:3000", "https://app.example"], "https://app.example/in")
        let open = try await make([])
        let listed = try await cloud.registry.appCredentials(of: "iCloud.x.y", after: nil).page
        let found = try #require(listed.first { $0.id == token })
        #expect(found.origins == ["https://app.example", "http://localhost:3000"] && found.redirect == "https://app.example/in")
        #expect(listed.contains { $0.id == open && $0.origins == nil && $0.redirect == nil } && listed.count == 2)
    }

    @Test(arguments: Engine.ofRules) func `a consent begins one session, and a password that is new since ends it`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let registry = test.cloud.registry
        _ = try await registry.createContainer("iCloud.x.y")
        let token = try await registry.createAPIToken(container: "iCloud.x.y", environment: .production, name: "")
        let entry = try #require(try await registry.apiToken(token))
        let ada = try await registry.createAccount(email: "ada@example.com", passwordHash: "h")
        func start(_ consent: UsedConsent) async throws -> SessionEntry {
            try await registry.startSession(of: ada, as: "_ada", apiToken: token, entry: entry, isKept: false, consent: consent)
        }
        let consent = UsedConsent(id: "one", expires: registry.clock() + Limits.consentSeconds)
        let session = try await start(consent)
        await #expect(throws: ServerError.consentUsed) { try await start(consent) }
        try await registry.endSession(session.id, of: ada.id)
        await #expect(throws: ServerError.consentUsed, "also when the session has ended") { try await start(consent) }
        _ = try await start(UsedConsent(id: "two", expires: consent.expires.timestamp))
        test.clock.move(bySeconds: Limits.consentSeconds)
        await #expect(throws: ServerError.consentUsed, "when it is too old, it begins none either") { try await start(consent) }
        _ = try await start(UsedConsent(id: "three", expires: registry.clock() + 1))
        #expect(try await registry.account(id: ada.id)?.usedConsents?.map(\.id) == ["three"], "what is over is forgotten")
        _ = try await registry.changePassword(of: ada, to: "h2")
        await #expect(throws: ServerError.accountChanged) { try await start(UsedConsent(id: "four", expires: registry.clock() + 1)) }
    }

    @Test(arguments: Engine.ofRules) func `a sign-up leaves an account that is there as it was`(engine: Engine) async throws {
        let registry = try await TestCloud(engine).cloud.registry
        #expect(try await registry.signUp(email: "Ada@example.com", passwordHash: "h") == "ada@example.com")
        let ada = try #require(try await registry.account(email: "ada@example.com"))
        #expect(ada.passwordHash == "h")
        #expect(try await registry.signUp(email: "ada@example.com", passwordHash: "h2") == "ada@example.com")
        #expect(try await registry.account(email: "ada@example.com") == ada)
        await #expect(throws: ServerError.self) { try await registry.signUp(email: "ada", passwordHash: "h") }
        try await registry.deleteAccount(ada)
        _ = try await registry.signUp(email: "ada@example.com", passwordHash: "h3")
        #expect(try await registry.account(email: "ada@example.com") == nil, "nor does it bring back one that was deleted")
    }

    @Test func `a sign-up costs as many transactions and writes, whether the address had an account or not`() async throws {
        let counting = CountingStore(try await Engine.memory.makeStore())
        let registry = Registry(store: counting, clock: { Timestamp(secondsSince2001: 0) }, random: { .random(in: .min ... .max) })
        func writes(_ email: String) async throws -> [[StoreVerb]] {
            counting.reset()
            _ = try await registry.signUp(email: email, passwordHash: "h")
            return counting.transactions.filter { $0.kind == .write }.map(\.verbs)
        }
        let free = try await writes("ada@example.com")
        let taken = try await writes("ada@example.com")
        // The first commit of a database also writes its row.
        #expect(free == [[.lock, .apply, .entries, .apply], [.lock, .apply, .entries, .apply]])
        #expect(taken == [[.lock, .entries, .apply], [.lock, .entries, .apply]])
    }

    @Test(arguments: Engine.ofRules) func `a session lives on when it is used, and one that has ended does not come back`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let registry = test.cloud.registry
        _ = try await registry.createContainer("iCloud.x.y")
        let token = try await registry.createAPIToken(container: "iCloud.x.y", environment: .production, name: "")
        let entry = try #require(try await registry.apiToken(token))
        let ada = try await registry.createAccount(email: "ada@example.com", passwordHash: "h")
        let session = try await registry.startSession(of: ada, as: "_ada", apiToken: token, entry: entry, isKept: true)
        for _ in 0..<3 {
            test.clock.move(bySeconds: Limits.keptSessionSeconds)
            #expect(try await registry.session(session.id, of: ada.id) != nil)
            try await registry.prolongSession(session.id, of: ada.id)
        }
        test.clock.move(bySeconds: Limits.keptSessionSeconds + Limits.sessionProlongSeconds)
        #expect(try await registry.session(session.id, of: ada.id) == nil)
        try await registry.prolongSession(session.id, of: ada.id)
        #expect(try await registry.session(session.id, of: ada.id) == nil)
    }
}

extension Double {
    fileprivate var timestamp: Timestamp { Timestamp(secondsSince2001: self) }
}
