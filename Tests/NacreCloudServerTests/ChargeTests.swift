import NacreCloudWire
import NacreHTTPServer
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of a stranger's charges in the rates: `Scripts/soak/costs.py` compares them with the real costs.
@Suite struct ChargeTests {
    /// work[units]: routes that cost a stranger with the public API token so many units beside `Limits.requestCost`
    /// and the bytes. A number stands for measured work.
    private static let work: [Int: [String]] = [
        0: [
            "GET /", "GET /healthz", "GET /readyz", "GET /limits", "GET /version", "GET /errors", "GET /openapi", "GET /openapi.json", "GET /sign-in",
            "GET /ck/:version/:file", "GET /manage-share", "POST /manage-share", "POST /sign-in", "GET /forgotten-password",
            "POST /forgotten-password", "GET /new-password",
            "POST /new-password", "GET /verify-address", "POST /verify-address", "POST /assets/1/upload/:token", "PATCH /assets/1/upload/:token",
            "HEAD /assets/1/upload/:token",
            "GET /assets/1/download/:token/:name", "GET /push/1/aps", "POST /account/1/sign-out",
            // These need a user.
            "POST …/records/modify", "POST …/records/changes", "POST …/records/resolve", "POST …/records/accept", "POST …/records/request-access",
            "POST …/records/share-page",
            "POST …/zones/modify", "POST …/zones/changes", "POST …/changes/database", "POST …/changes/zone", "GET …/users/caller",
            "GET …/users/current", "GET …/users/discover", "POST …/users/discover", "POST …/users/lookup/email", "POST …/users/lookup/id",
            "POST …/users/lookup/contacts", "GET …/users/permission", "POST …/users/permission", "GET …/users/contact-key",
            "POST …/users/web-auth-token", "POST …/assets/upload", "POST …/assets/rereference", "GET …/subscriptions/list",
            "POST …/subscriptions/list", "POST …/subscriptions/lookup", "POST …/subscriptions/modify", "POST device/tokens/create",
            "POST device/tokens/register", "GET device/tokens/web-push", "POST device/tokens/web-push", "GET device/notifications",
            "POST device/notifications", "POST container/tokens/create", "POST container/tokens/register", "POST …/records/query",
            "GET …/zones/list", "POST …/zones/list", "POST …/keys/append", "POST …/keys/log",
            "POST …/keys/scopes/modify", "POST …/keys/scopes/list", "POST …/keys/scopes/join", "POST …/keys/enrolment/post",
            "POST …/keys/enrolment/list",
            // Ten names without a record count as a record.
            "POST …/records/lookup",
        ],
        1: ["POST …/zones/lookup"],
        // Mails a link that verifies the address.
        Limits.passwordCost + Limits.letterCost: ["POST /account/1/sign-up"],
        Limits.codeCost: ["GET /share/:shortGUID"],
        // The container, the schema and the webhook are looked up before the secret is wrong.
        Limits.unknownCredentialCost: ["GET /webhooks/1/:container/:environment/:id"],
        // A password is hashed, or compared with the account's or a dummy hash.
        Limits.passwordCost: [
            "POST /account/1/sign-in", "POST /account/1/change-password", "POST /account/1/reset-password",
            "POST /account/1/change-email", "POST /account/1/delete", "POST /account/1/change-name", "POST /account/1/discoverability",
            "POST /account/1/passkeys/list", "POST /account/1/passkeys/remove", "POST /account/1/verify-email", "POST /account/1/verify-phone",
            "POST /account/1/confirm-phone", "POST /account/1/remove-phone", "POST /account/1/sessions/list", "POST /account/1/sessions/end",
            "POST /account/1/sessions/end-others", "POST /account/1/usage",
        ],
    ]

    private static func name(_ method: HTTPMethod, _ pattern: String) -> String {
        let starts = [
            ("/database/1/:container/:environment/:database/", "…/"), ("/device/1/:container/:environment/", "device/"),
            ("/database/1/:container/:environment/", "container/"),
        ]
        let start = starts.first { pattern.hasPrefix($0.0) }
        return "\(method.rawValue) " + (start.map { $0.1 + pattern.dropFirst($0.0.count) } ?? pattern)
    }

    private static func server() async throws -> TestServer {
        let mail = try #require(MailConfiguration(url: "smtp://127.0.0.1:9", password: nil, from: "nacre@cloud.example"))
        return try await TestServer(opensSignUp: true, publicURL: "https://cloud.example", doesTasks: false, mail: mail)
    }

    /// Returns all members that an endpoint of accounts may read, for an account that does not exist.
    private static func account(_ number: Int, _ server: TestServer) -> String {
        """
        {"email":"nobody\(number)@example.com","password":"wrong wrong wrong","newPassword":"another wrong horse","newEmail":"other@example.com","apiToken":"\
        \(server.names["api"] ?? "")","container":"\(TestServer.container)","environment":"development","phone":"+4915112345678","code":"123456","id":"x",\
        "credential":"AAAA","userDiscoverability":"DENIED","givenName":"A","familyName":"B"}
        """
    }

    /// Returns the cost of a request from the log.
    private static func charged(_ answer: Answer, _ server: TestServer) throws -> Int {
        let line = try #require(server.log.objects("request").last { $0["request_id"]?.text == answer.header("X-Request-Id") })
        guard case .number(let cost)? = line["cost"] else { return 0 }
        return Int(cost)
    }

    @Test func `each route that a stranger may ask charges the work that its row says, and its bytes`() async throws {
        let server = try await Self.server()
        let token = server.names["api"] ?? ""
        var rows = Dictionary(uniqueKeysWithValues: Self.work.flatMap { work, names in names.map { ($0, work) } })
        for (number, route) in server.router.routes.enumerated() {
            let name = Self.name(route.method, route.pattern)
            guard let work = rows.removeValue(forKey: name) else {
                Issue.record("\(name) has no row: measure what it costs a stranger to ask it (Scripts/soak/costs.py), and say it here.")
                continue
            }
            let place = try #require(AuthorisationTable.Place.all(method: route.method.rawValue, pattern: route.pattern).first)
            let hasBody = route.method == .post || route.method == .patch
            let isOfAccounts = route.pattern.hasPrefix("/account/")
            let body = !hasBody ? "" : isOfAccounts ? Self.account(number, server) : AuthorisationTable.bodies[route.pattern] ?? "{}"
            let target = place.path + "?ckAPIToken=" + token + (route.pattern == "/sign-in" ? "&origin=https%3A%2F%2Fapp.example" : "")
            let answer = await server.respond(
                Question(method: route.method.rawValue, target: target, headers: ["Host": "localhost"], body: Array(body.utf8)))
            let cost = try Self.charged(answer, server)
            // A body is charged where it is read.
            let least = Limits.requestCost + work + answer.body.count / 1000
            #expect(cost >= least && cost <= least + 4, "\(name): \(cost), and at least \(least) is due: \(answer.status) \(answer.text.prefix(200))")
        }
        #expect(rows.isEmpty, "no route: \(rows.keys.sorted())")
    }

    @Test func `the head of a request is charged, and so is a path that leads nowhere, and a host that is not served`() async throws {
        let server = try await Self.server()
        let long = "/" + String(repeating: "a", count: 10_000)
        let nothing = await server.respond(Question(method: "GET", target: long, headers: ["Host": "localhost"]))
        #expect(try nothing.status == 404 && Self.charged(nothing, server) == Limits.requestCost + 10)
        let refused = await server.respond(Question(method: "GET", target: "/limits", headers: ["Host": "evil.example"]))
        #expect(try refused.status == 403 && Self.charged(refused, server) == Limits.requestCost)
    }

    @Test func `each text that a signature is tried on is charged`() async throws {
        let server = try await Self.server()
        let signer = try await Signer(server)
        let body = AuthorisationTable.bodies["/database/1/:container/:environment/:database/records/lookup"] ?? ""
        func cost(_ query: String) async throws -> Int {
            let answer = await signer.ask(try signer.question("records/lookup", body, query: query))
            #expect(answer.status == 200, "\(answer.text)")
            return try Self.charged(answer, server)
        }
        // A request with a query may have been signed without it: two signatures are checked.
        let (once, twice) = (try await cost(""), try await cost("a=b"))
        #expect(once >= Limits.requestCost + Limits.signatureCost && twice == once + Limits.signatureCost, "\(once), \(twice)")
    }

    @Test func `an address pays for what no route asks a rate for`() async throws {
        let server = try await TestServer(requestRate: 1, doesTasks: false, trustedProxy: "127.0.0.1")
        let port = try await server.startListening()
        func status(_ method: String, _ target: String, by address: String) async throws -> Int {
            let body = Array((method == "POST" ? "{}" : "").utf8)
            return try await ask(Question(method: method, target: target, headers: ["X-Forwarded-For": address], body: body), port: port).status
        }
        // Ten a second, and a minute's worth at once.
        let due = Limits.requestRateOfAddress * Int(Limits.requestBurstSeconds)
        let long = "/" + String(repeating: "a", count: 15_000)
        for _ in 0...due / (Limits.requestCost + 15) { #expect(try await status("GET", long, by: "192.0.2.1") == 404) }
        #expect(try await status("POST", "/account/1/sign-out", by: "192.0.2.1") == 429)
        #expect(try await status("GET", "/healthz", by: "192.0.2.1") == 200)
        #expect(try await status("POST", "/account/1/sign-out", by: "192.0.2.2") == 401)
        await server.server.shutdown()
    }
}
