import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of requests to push services, their credentials, and the handling of answers.
@Suite(.timeLimit(.minutes(5))) struct PushSenderTests {
    private let clock = TestClock()

    private func message(
        _ text: String = #"{"aps":{}}"#, _ urgency: PushMessage.Urgency = .visible, collapseID: String? = nil, seconds: Double = 600
    ) -> PushMessage {
        PushMessage(
            payload: Array(text.utf8), urgency: urgency, collapseID: collapseID,
            expires: Timestamp(secondsSince2001: clock.now.secondsSince2001 + seconds))
    }

    private func withService(_ body: (PushService) async throws -> Void) async throws {
        let service = try PushService()
        defer { service.close() }
        try await body(service)
    }

    /// Returns the head and claims of a token that this key signed.
    private func token(_ text: Substring, signedBy key: P256.PublicKey) throws -> (head: [String: Any], claims: [String: Any]) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(try key.isValid(pair: signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        func object(_ part: Substring) throws -> [String: Any] {
            let bytes = try #require(Base64URL.decode(part))
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }
        return (try object(parts[0]), try object(parts[1]))
    }

    // MARK: Browsers

    private func browser(_ service: PushService) throws -> WebPushAddress {
        WebPushAddress(
            endpoint: "\(service.url)/push/v1/abc?x=y", point: try P256.PrivateKey().publicKey().point(),
            authentication: [UInt8](repeating: 7, count: 16))
    }

    private func webSender(_ key: P256.PrivateKey) throws -> WebPushSender {
        WebPushSender(
            try WebPushIdentity(key: key, contact: "mailto:push@example.com"), clock: clock.serverClock, allows: { _ in true },
            reachesPrivateAddresses: true)
    }

    @Test func `a browser is sent a sealed message by somebody who says who it is`() async throws {
        try await withService { service in
            let key = try P256.PrivateKey()
            let sender = try webSender(key)
            let address = try browser(service)
            #expect(await sender.send(message("secret text", collapseID: "note 5"), to: address) == .taken)
            let seen = try #require(service.seen.first)
            #expect(seen.target == "/push/v1/abc?x=y")
            #expect(seen.headers["Content-Encoding"] == "aes128gcm" && seen.headers["TTL"] == "600" && seen.headers["Urgency"] == "high")
            #expect(seen.headers["Topic"]?.utf8.count == 32 && seen.headers["Topic"]?.contains("note") == false)
            #expect(seen.body.count == 86 + "secret text".utf8.count + 17)
            #expect(!String(decoding: seen.body, as: UTF8.self).contains("secret"))
            let authorization = try #require(seen.headers["Authorization"])
            let parts = try #require(authorization.wholeMatch(of: /vapid t=([^,]+),k=(.+)/))
            let point = try key.publicKey().point()
            #expect(Base64URL.decode(parts.2) == point)
            let said = try token(parts.1, signedBy: key.publicKey())
            #expect(said.head["alg"] as? String == "ES256" && said.head["typ"] as? String == "JWT" && said.head["kid"] == nil)
            #expect(said.claims["aud"] as? String == service.url && said.claims["sub"] as? String == "mailto:push@example.com")
            let end = try #require(said.claims["exp"] as? Int)
            #expect(end > clock.now.secondsSince1970 && end <= clock.now.secondsSince1970 + 86_400)
        }
    }

    @Test func `urgency is said in the service's words, and nothing is said of a collapse ID that there is not`() async throws {
        try await withService { service in
            let sender = try webSender(try P256.PrivateKey())
            for urgency in PushMessage.Urgency.allCases { _ = await sender.send(message("x", urgency), to: try browser(service)) }
            #expect(service.seen.map { $0.headers["Urgency"] } == ["low", "normal", "high"])
            #expect(service.seen.allSatisfy { $0.headers["Topic"] == nil })
        }
    }

    @Test func `what cannot be sent is not sent`() async throws {
        try await withService { service in
            let sender = try webSender(try P256.PrivateKey())
            var address = try browser(service)
            #expect(await sender.send(message(String(repeating: "x", count: 3994)), to: address) == .giveUp(.tooLarge))
            #expect(await sender.send(message(seconds: -1), to: address) == .giveUp(.expired))
            address.point[64] ^= 1
            #expect(await sender.send(message(), to: address) == .giveUp(.badKey))
            address = try browser(service)
            address.authentication.removeLast()
            #expect(await sender.send(message(), to: address) == .giveUp(.badKey))
            let strict = WebPushSender(try WebPushIdentity(key: P256.PrivateKey(), contact: "mailto:a@b"), clock: clock.serverClock)
            #expect(await strict.send(message(), to: try browser(service)) == .giveUp(.forbiddenAddress))
            // An allowed host that resolves to a private network is not contacted.
            let careful = WebPushSender(
                try WebPushIdentity(key: P256.PrivateKey(), contact: "mailto:a@b"), clock: clock.serverClock, allows: { _ in true })
            #expect(await careful.send(message(), to: try browser(service)) == .retry(afterSeconds: nil))
            #expect(service.seen.isEmpty)
        }
    }

    @Test func `a redirect is not followed, and a service that is down is asked later`() async throws {
        try await withService { service in
            let sender = try webSender(try P256.PrivateKey())
            service.answerNext(
                .init(status: 307, headers: ["Location": "\(service.url)/push/v1/elsewhere"]),
                .init(status: 429, headers: ["Retry-After": "120"]),
                .init(status: 503, headers: ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"]))
            #expect(await sender.send(message(), to: try browser(service)) == .giveUp(.wrongPlace))
            #expect(await sender.send(message(), to: try browser(service)) == .retry(afterSeconds: 120))
            #expect(await sender.send(message(), to: try browser(service)) == .retry(afterSeconds: 86_400), "a date, a day at most")
            #expect(service.seen.count == 3)
            let address = try browser(service)
            service.close()
            #expect(await sender.send(message(), to: address) == .retry(afterSeconds: nil))
        }
    }

    @Test(
        arguments: [
            (200, nil, .taken), (201, nil, .taken), (202, nil, .taken), (204, nil, .taken), (301, nil, .giveUp(.wrongPlace)),
            (308, nil, .giveUp(.wrongPlace)), (400, nil, .giveUp(.refused)), (401, nil, .retry(afterSeconds: nil)),
            (403, nil, .retry(afterSeconds: nil)), (404, nil, .dropAddress(since: nil)), (405, nil, .giveUp(.wrongPlace)),
            (410, nil, .dropAddress(since: nil)), (413, nil, .giveUp(.tooLarge)), (418, nil, .giveUp(.refused)),
            (429, 60, .retry(afterSeconds: 60)), (429, nil, .retry(afterSeconds: nil)), (500, nil, .retry(afterSeconds: nil)),
            (503, 0, .retry(afterSeconds: 0)), (503, 1e9, .retry(afterSeconds: 86_400)),
        ] as [(Int, Double?, PushOutcome)])
    func `what each answer of a browser's service means`(_ status: Int, _ retryAfter: Double?, _ outcome: PushOutcome) {
        #expect(WebPushSender.outcome(status: status, retryAfter: retryAfter) == outcome)
    }

    @Test(arguments: [
        "https://fcm.googleapis.com/fcm/send/abc:def", "https://updates.push.services.mozilla.com/wpush/v2/gAAA", "https://web.push.apple.com/QGx",
        "https://wns2-par02p.notify.windows.com/w/?token=BQYA", "https://FCM.googleapis.com/x", "https://fcm.googleapis.com:443/x",
    ])
    func `services of browsers are sent to`(_ endpoint: String) {
        #expect(PushHosts.browsers.allows(endpoint))
    }

    @Test(arguments: [
        "", "https://", "http://fcm.googleapis.com/x", "https://fcm.googleapis.com", "https://fcm.googleapis.com.evil.example/x",
        "https://evilfcm.googleapis.com/x", "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com:443:443/x", "https://127.0.0.1/x",
        "https://[::1]/x", "https://localhost/x", "https://169.254.169.254/latest", "https://user@fcm.googleapis.com/x",
        "https://fcm.googleapis.com@127.0.0.1/x", "https://127.0.0.1\\@fcm.googleapis.com/x", "https://127.0.0.1#@fcm.googleapis.com/x",
        "https://push.apple.com/x", "https://.push.apple.com/x", "https://evilpush.apple.com/x", "https://fcm.googleapis.com /x",
        "https://fcm.googleapis.com./x", "https:///fcm.googleapis.com/x", "https://fcm%2egoogleapis.com/x", "ftp://fcm.googleapis.com/x",
        " https://fcm.googleapis.com/x", "https://2130706433/x", "https://fcm.googleapis.com\u{0}.evil.example/x",
    ])
    func `nobody else is`(_ endpoint: String) {
        #expect(!PushHosts.browsers.allows(endpoint))
    }

    @Test func `an endpoint has its length, and a star stands for something`() {
        #expect(!PushHosts.browsers.allows("https://fcm.googleapis.com/" + String(repeating: "x", count: 2000)))
        let hosts = PushHosts(names: ["*.127.0.0.1", "*.example"])
        #expect(!hosts.allows("https://1.127.0.0.1/x") && hosts.allows("https://push.example/x") && !hosts.allows("https://example/x"))
    }

    // MARK: Apple's devices

    private static let device = APNsAddress(token: "00fF", environment: .production, topic: "com.example.notes")

    private func appleSender(_ service: PushService, _ key: P256.PrivateKey) throws -> APNsSender {
        APNsSender(
            try APNsIdentity(pem: key.pem(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ"), clock: clock.serverClock, url: { _ in service.url })
    }

    private func bearer(_ seen: PushService.Seen) -> Substring { seen.headers["authorization"]?.dropFirst("bearer ".count) ?? "" }

    @Test func `a device is sent its payload, with who sends it and how urgent it is`() async throws {
        try await withService { service in
            let key = try P256.PrivateKey()
            let sender = try appleSender(service, key)
            #expect(await sender.send(message(collapseID: String(repeating: "long ", count: 50)), to: Self.device) == .taken)
            _ = await sender.send(message("{}", .background), to: Self.device)
            _ = await sender.send(message("{}", .low), to: Self.device)
            let seen = service.seen
            #expect(seen[0].target == "/3/device/00fF" && String(decoding: seen[0].body, as: UTF8.self) == #"{"aps":{}}"#)
            #expect(seen.map { $0.headers["apns-topic"] } == Array(repeating: "com.example.notes", count: 3))
            #expect(seen.map { $0.headers["apns-push-type"] } == ["alert", "background", "background"])
            #expect(seen.map { $0.headers["apns-priority"] } == ["10", "5", "1"])
            #expect(seen[0].headers["apns-expiration"] == "\(clock.now.secondsSince1970 + 600)")
            #expect(seen[0].headers["apns-collapse-id"]?.utf8.count == 64 && seen[1].headers["apns-collapse-id"] == nil)
            let said = try token(bearer(seen[0]), signedBy: key.publicKey())
            #expect(said.head["alg"] as? String == "ES256" && said.head["kid"] as? String == "ABC123DEFG")
            #expect(said.claims["iss"] as? String == "DEF123GHIJ" && said.claims["iat"] as? Int == Int(clock.now.secondsSince1970))
        }
    }

    @Test func `a token is used for forty minutes, and then another`() async throws {
        try await withService { service in
            let sender = try appleSender(service, try P256.PrivateKey())
            _ = await sender.send(message(), to: Self.device)
            clock.advance(2399)
            _ = await sender.send(message(), to: Self.device)
            clock.advance(1)
            _ = await sender.send(message(), to: Self.device)
            let tokens = service.seen.map(bearer)
            #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2])
        }
    }

    @Test func `a token that Apple finds too old is made anew, once`() async throws {
        try await withService { service in
            let sender = try appleSender(service, try P256.PrivateKey())
            let old = PushService.Answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#)
            service.answerNext(old)
            #expect(await sender.send(message(), to: Self.device) == .taken)
            #expect(service.seen.count == 2 && bearer(service.seen[0]) != bearer(service.seen[1]))
            service.answerNext(old, old)
            #expect(await sender.send(message(), to: Self.device) == .retry(afterSeconds: nil))
            #expect(service.seen.count == 4)
            service.answerNext(.init(status: 403, body: #"{"reason":"InvalidProviderToken"}"#))
            #expect(await sender.send(message(), to: Self.device) == .retry(afterSeconds: nil))
            #expect(service.seen.count == 5)
        }
    }

    @Test func `a device that is gone says since when`() async throws {
        try await withService { service in
            let sender = try appleSender(service, try P256.PrivateKey())
            service.answerNext(.init(status: 410, body: #"{"reason":"Unregistered","timestamp":1700000000123}"#))
            let since = Timestamp(millisecondsSince1970: 1_700_000_000_123)
            #expect(await sender.send(message(), to: Self.device) == .dropAddress(since: since))
        }
    }

    @Test(arguments: ["", "0", "00 ff", "../3/x", "zz", "00fF\r\n", "é0"]) func `a token that is none, and a topic, change no request`(_ text: String)
        async throws
    {
        try await withService { service in
            let sender = try appleSender(service, try P256.PrivateKey())
            let tokens = APNsAddress(token: text, environment: .production, topic: "a.b")
            #expect(await sender.send(message(), to: tokens) == .giveUp(.forbiddenAddress))
            let topics = APNsAddress(token: "00", environment: .production, topic: text.isEmpty ? "" : "a\r\nb")
            #expect(await sender.send(message(), to: topics) == .giveUp(.forbiddenAddress))
            #expect(await sender.send(message(String(repeating: "x", count: 4097)), to: Self.device) == .giveUp(.tooLarge))
            #expect(await sender.send(message(seconds: -1), to: Self.device) == .giveUp(.expired))
            #expect(service.seen.isEmpty)
        }
    }

    @Test(
        arguments: [
            (200, nil, .taken), (400, "BadDeviceToken", .dropAddress(since: nil)), (400, "DeviceTokenNotForTopic", .dropAddress(since: nil)),
            (400, "IdleTimeout", .retry(afterSeconds: nil)), (400, "BadCollapseId", .giveUp(.refused)), (400, "PayloadEmpty", .giveUp(.refused)),
            (400, "TopicDisallowed", .giveUp(.refused)), (400, nil, .giveUp(.refused)), (403, "BadCertificate", .retry(afterSeconds: nil)),
            (403, "InvalidProviderToken", .retry(afterSeconds: nil)), (403, "ExpiredProviderToken", .retry(afterSeconds: nil)),
            (404, "BadPath", .giveUp(.wrongPlace)), (405, "MethodNotAllowed", .giveUp(.wrongPlace)), (302, nil, .giveUp(.wrongPlace)),
            (410, "Unregistered", .dropAddress(since: nil)), (410, "ExpiredToken", .dropAddress(since: nil)),
            (413, "PayloadTooLarge", .giveUp(.tooLarge)), (429, "TooManyRequests", .retry(afterSeconds: nil)),
            (429, "TooManyProviderTokenUpdates", .retry(afterSeconds: nil)), (500, "InternalServerError", .retry(afterSeconds: nil)),
            (503, "ServiceUnavailable", .retry(afterSeconds: nil)), (503, "Shutdown", .retry(afterSeconds: nil)),
        ] as [(Int, String?, PushOutcome)])
    func `what each answer of Apple's service means`(_ status: Int, _ reason: String?, _ outcome: PushOutcome) {
        let body = reason.map { #"{"reason":"\#($0)"}"# } ?? "<html>"
        #expect(APNsSender.Refusal(status: status, body: Array(body.utf8), retryAfter: nil).outcome == outcome)
    }

    @Test func `a key that is no key is told at once`() {
        #expect(throws: CryptoError.self) { try APNsIdentity(pem: "nothing", keyID: "a", teamID: "b") }
    }

    @Test func `each environment has its service`() {
        #expect(APNsSender.apple(.production) == "https://api.push.apple.com")
        #expect(APNsSender.apple(.development) == "https://api.sandbox.push.apple.com")
    }
}
