import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of a webhook's receiver that pulls, and of the signature and the URLs of deliveries.
@Suite(.timeLimit(.minutes(5))) struct WebhookPullTests {
    private static func question(_ id: String, _ query: String = "", secret: String?, in container: String = TestServer.container) -> Question {
        Question(
            method: "GET", target: "/webhooks/1/\(container)/development/\(id)\(query)",
            headers: secret.map { ["Authorization": "Bearer \($0)"] } ?? [:])
    }

    private static func make(_ server: TestServer) async throws -> (id: String, secret: String) {
        let made = try await server.cloud.createWebhook(NewWebhook(url: "https://example.com/"), in: TestServer.container, .development)
        return (made.webhook.id, made.secret)
    }

    private static func save(_ name: String, on server: TestServer) async throws {
        let operation = RecordOperation(.create, RecordChange(recordName: name, recordType: "Note"))
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .public)
        let request = RecordsModifyRequest(operations: [operation], zoneID: ZoneID(zoneName: ZoneID.defaultZoneName))
        _ = try await server.cloud.modifyRecords(request, in: target, by: Caller(.user("_ann"), client: .framework), digest: [])
    }

    @Test func `a receiver pulls with the secret of its webhook, and no other credential opens its changes`() async throws {
        let server = try await TestServer()
        let (one, other) = (try await Self.make(server), try await Self.make(server))
        try await Self.save("a", on: server)
        let answer = await server.respond(Self.question(one.id, secret: one.secret))
        #expect(answer.status == 200 && answer.text.contains(#""recordName":"a""#), "\(answer.text)")
        #expect(!answer.text.contains(one.secret))
        for secret in [nil, "", other.secret, one.id, server.names["ada.device"]] {
            #expect(await server.respond(Self.question(one.id, secret: secret)).status == 401)
        }
        #expect(await server.respond(Self.question(one.id, secret: one.secret, in: TestServer.otherContainer)).status == 401)
        #expect(await server.respond(Self.question(one.id, secret: one.secret, in: "iCloud.made.up")).status == 401)
        for query in ["?after=x", "?wait=x", "?wait=-1"] {
            #expect(await server.respond(Self.question(one.id, query, secret: one.secret)).status == 400)
        }
        _ = try await server.cloud.deleteWebhook(one.id, in: TestServer.container, .development)
        #expect(await server.respond(Self.question(one.id, secret: one.secret)).status == 401)
    }

    @Test func `a receiver that waits is answered by the next change, or empty when the time is up`() async throws {
        let server = try await TestServer(doesTasks: false)
        let made = try await Self.make(server)
        try await Self.save("a", on: server)
        let first = await server.respond(Self.question(made.id, secret: made.secret))
        let cursor = try #require(first.json?.at("cursor")?.text)
        let query = "?wait=99&after=\(cursor.replacing("+", with: "%2B"))"
        async let waiting = server.respond(Self.question(made.id, query, secret: made.secret))
        await server.clock.sleeps(1)
        try await Self.save("b", on: server)
        #expect(await waiting.text.contains(#""recordName":"b""#))
        let next = try #require(await waiting.json?.at("cursor")?.text).replacing("+", with: "%2B")
        async let empty = server.respond(Self.question(made.id, "?wait=99&after=\(next)", secret: made.secret))
        await server.clock.sleeps(2)
        server.clock.advance(Limits.waitSeconds)
        #expect(await empty.text.contains(#""changes":[]"#))
    }

    @Test func `a delivery's signature is the HMAC of its time and its body`() {
        let body = Array(#"{"changes":[]}"#.utf8)
        let signature = WebhookSender.signature(of: body, by: Array("secret".utf8), at: Timestamp(millisecondsSince1970: 1_700_000_000_999))
        let code = HMACSHA256.code(for: Array(#"1700000000.{"changes":[]}"#.utf8), key: Array("secret".utf8))
        #expect(signature == "t=1700000000,v1=\(Hex.encode(code))")
    }

    @Test func `the sender reports the status of a receiver and the pause that it asks for`() async throws {
        let (server, service) = (try await TestServer(doesTasks: false), try PushService())
        defer { service.close() }
        let made = try await server.cloud.createWebhook(NewWebhook(url: service.url), in: TestServer.container, .development)
        let sender = WebhookSender(server.sealer, clock: server.clock.serverClock)
        service.answerNext(.init(status: 429, headers: ["Retry-After": "90"]), .init(status: 410))
        #expect(await sender.send([], to: made.webhook) == WebhookReport(status: 429, retryAfter: 90))
        let gone = await sender.send([], to: made.webhook)
        #expect(gone.isGone && !gone.isTaken && gone.said == "410")
        #expect(await sender.send([], to: made.webhook).isTaken)
    }

    @Test(
        arguments: [
            ("https://example.com/hook", true), ("https://hooks.example.com:8443", true), ("http://localhost:8080/x", true),
            ("http://127.0.0.1:8080/", true), ("https://localhost/", true), ("http://example.com/", false), ("https://10.0.0.1/", false),
            ("https://2130706433/", false), ("https://[::1]/", false), ("https://user@example.com/", false), ("ftp://example.com/", false),
            ("http://localhost.example.com/", false), ("http://127.0.0.1@example.com/", false), ("https://example.com/#x", false),
            ("https://example.com\\@127.0.0.1/", false), ("https://example.com:0/", false), ("https://example.com:99999/", false), ("", false),
            ("https://example.com/" + String(repeating: "x", count: Limits.webhookURLBytes), false),
        ] as [(String, Bool)])
    func `deliveries go to hosts by name over TLS, or to this machine`(_ url: String, _ isAllowed: Bool) async throws {
        let server = try await TestServer(doesTasks: false)
        let sender = WebhookSender(server.sealer, clock: server.clock.serverClock)
        #expect((sender.fault(ofURL: url) == nil) == isAllowed)
    }
}
