import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests from a page's registration, or an administrator's key, to the requests at a push service.
@Suite(.timeLimit(.minutes(5))) struct PushDeliveryTests {
    private struct Scene {
        let service: PushService
        let server: AdministeredServer

        init(hosts: PushHosts? = nil) async throws {
            let service = try PushService()
            self.service = service
            var services = PushServices()
            services.reachesPrivateAddresses = true
            services.apple = { _ in service.url }
            if let hosts { services.hosts = hosts } else { services.allows = { $0.hasPrefix(service.url) } }
            server = try await AdministeredServer(pushServices: services)
            try await server.server.prepareTypes(for: Body.modify("create", Body.note("n")), in: TestServer.container)
            await subscribe()
        }

        /// Subscribes to a user's notes.
        func subscribe(by user: String = "ada") async {
            let subscription =
                #"{"subscriptionID":"notes","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"notificationInfo":{"alertBody":"Secret words"}}"#
            let answer = await post(
                "/database/1/\(TestServer.container)/development/private/subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#, by: user)
            #expect(answer.status == 200, "\(answer.text)")
        }

        /// Sends a request as a user's page, or with the token of a device of theirs.
        func post(_ path: String, _ body: String, asDevice: Bool = false, by user: String = "ada") async -> Answer {
            await ask("POST", path, body, asDevice: asDevice, by: user)
        }

        func ask(_ method: String, _ path: String, _ body: String = "", asDevice: Bool = false, by user: String = "ada") async -> Answer {
            let names = server.server.names
            var question = Question(method: method, target: path, body: Array(body.utf8))
            if asDevice {
                question.headers["Authorization"] = "Bearer \(names["\(user).device"] ?? "")"
            } else {
                question.target += "?ckAPIToken=\(names["api"] ?? "")&ckWebAuthToken=\(names["\(user).escaped"] ?? "")"
            }
            return await server.server.respond(question)
        }

        static let tokens = "/device/1/\(TestServer.container)/development/tokens/"

        func registerBrowser(
            _ endpoint: String? = nil, point: [UInt8]? = nil, secret: [UInt8] = [UInt8](repeating: 7, count: 16), by user: String = "ada"
        ) async throws -> Answer {
            let point = try point ?? P256.PrivateKey().publicKey().point()
            let subscription =
                #"{"endpoint":"\#(endpoint ?? service.url + "/push/abc")","expirationTime":null,"keys":{"p256dh":"\#(Base64URL.encode(point))","auth":"\#(Base64URL.encode(secret))"}}"#
            return await post(Self.tokens + "web-push", #"{"subscription":\#(subscription)}"#, by: user)
        }

        /// Saves a note with another device of a user's, and delivers all due notifications.
        func save(_ name: String, by user: String = "ada") async throws {
            let answer = await post(
                "/database/1/\(TestServer.container)/development/private/records/modify", Body.modify("create", Body.note(name)), asDevice: true,
                by: user)
            #expect(answer.status == 200 && answer.json?.at("records[0].serverErrorCode") == nil, "\(answer.text)")
            try await run()
        }

        func run() async throws { while try await server.server.cloud.runDueTasks().taken > 0 {} }
    }

    @Test func `a page subscribes with the server's key, and its push service gets what is sealed for it alone`() async throws {
        let scene = try await Scene()
        defer { scene.service.close() }
        let key = try #require(await scene.ask("GET", Scene.tokens + "web-push").json?.at("applicationServerKey")?.text)
        #expect(Base64URL.decode(key)?.count == 65)
        #expect(try await scene.registerBrowser().status == 200)
        try await scene.save("a")
        let seen = try #require(scene.service.seen.first)
        #expect(seen.target == "/push/abc" && seen.headers["Content-Encoding"] == "aes128gcm" && seen.headers["Urgency"] == "high")
        #expect(seen.headers["Authorization"]?.hasSuffix("k=\(key)") == true)
        #expect(!String(decoding: seen.body, as: UTF8.self).contains("Secret") && seen.body.count > 86)
        // The next start has the same key, and the data has it sealed.
        let again = PushDelivery(
            PushServices(), registry: scene.server.server.cloud.registry, sealer: scene.server.server.sealer,
            clock: scene.server.server.clock.serverClock)
        #expect(try await again.applicationServerKey() == key)
        #expect(try await !Self.isPlain("PRIVATE KEY", in: scene.server.server.store))
    }

    private static func isPlain(_ text: String, in store: any Store) async throws -> Bool {
        try await store.read { transaction in
            try transaction.rows(of: .entries, after: nil, limit: 1000).contains { row in
                if case .entry(let entry) = row.value { String(decoding: entry.value, as: UTF8.self).contains(text) } else { false }
            }
        }
    }

    @Test func `a service that says so is asked again later, and one that knows the browser no more never`() async throws {
        let scene = try await Scene()
        defer { scene.service.close() }
        #expect(try await scene.registerBrowser().status == 200)
        scene.service.answerNext(.init(status: 429, headers: ["Retry-After": "90"]))
        try await scene.save("a")
        scene.server.server.clock.advance(89)
        try await scene.run()
        #expect(scene.service.seen.count == 1)
        scene.server.server.clock.advance(1)
        try await scene.run()
        #expect(scene.service.seen.count == 2)
        scene.service.answerNext(.init(status: 410))
        try await scene.save("b")
        try await scene.save("c")
        #expect(scene.service.seen.count == 3, "the address went with the answer")
    }

    @Test func `the endpoint of a browser that another user registers too takes nothing from its owner, and tells that user nothing`() async throws {
        let scene = try await Scene()
        defer { scene.service.close() }
        #expect(try await scene.registerBrowser().status == 200)
        // Bob knows the address of Ada's browser. What he has sent there is sealed for keys of his, which hers does not
        // have.
        await scene.subscribe(by: "bob")
        #expect(try await scene.registerBrowser(by: "bob").status == 200)
        try await scene.save("a")
        #expect(scene.service.seen.count == 1, "Ada's note is told to her subscription alone")
        scene.service.answerNext(.init(status: 410))
        try await scene.save("b", by: "bob")
        #expect(scene.service.seen.count == 2)
        #expect(try await scene.registerBrowser(by: "bob").status == 200)
        #expect(await scene.post(Scene.tokens + "web-push", #"{"subscription":null}"#, by: "bob").status == 200)
        try await scene.save("c")
        #expect(scene.service.seen.count == 3, "neither a service that knows Bob's browser no more nor Bob ends Ada's registration")
        #expect(scene.service.seen[2].target == "/push/abc")
    }

    @Test func `only push services that are known are sent to, and only keys that are some`() async throws {
        let scene = try await Scene(hosts: .browsers)
        defer { scene.service.close() }
        for endpoint in [scene.service.url + "/push", "https://127.0.0.1/x", "http://fcm.googleapis.com/x", "https://evil.example/x", ""] {
            let answer = try await scene.registerBrowser(endpoint)
            #expect(answer.status == 400 && answer.json?.at("reason")?.text == "push service is not allowed", "\(answer.text)")
        }
        let good = "https://fcm.googleapis.com/fcm/send/abc"
        #expect(try await scene.registerBrowser(good, point: [UInt8](repeating: 4, count: 65)).status == 400)
        #expect(try await scene.registerBrowser(good, secret: [1]).status == 400)
        #expect(try await scene.registerBrowser(good).status == 200)
        #expect(await scene.post(Scene.tokens + "web-push", "{}").status == 400)
        #expect(await scene.post(Scene.tokens + "web-push", #"{"subscription":null}"#).status == 200)
        #expect(scene.service.seen.isEmpty)
    }

    // MARK: Apple's

    private static let token = String(repeating: "0123456789abcdef", count: 4)

    private func give(_ scene: Scene, _ key: String, keyID: String = "ABC123DEFG", topic: String = "com.example.notes") async throws -> Answer {
        let text = String(decoding: try JSONEncoder().encode(key), as: UTF8.self)
        return await scene.server.administrate(
            "POST", "/admin/1/push/apns/set",
            #"{"container":"\#(TestServer.container)","environment":"development","key":\#(text),"keyID":"\#(keyID)","teamID":"DEF123GHIJ","topic":"\#(topic)"}"#
        )
    }

    private func register(_ scene: Scene) async -> Answer {
        await scene.post(Scene.tokens + "register", #"{"apnsEnvironment":"development","apnsToken":"\#(Self.token)"}"#)
    }

    @Test func `an app's device is told with the key that an administrator gave, which nobody sees again`() async throws {
        let scene = try await Scene()
        defer { scene.service.close() }
        #expect(await register(scene).status == 400, "without a key")
        let pem = try P256.PrivateKey().pem()
        #expect(try await give(scene, "nothing").status == 400)
        #expect(try await give(scene, pem, keyID: "short").status == 400)
        #expect(try await give(scene, pem, topic: "a\\r\\nb").status == 400)
        let given = try await give(scene, pem)
        #expect(given.status == 200 && !given.text.contains("PRIVATE") && given.json?.at("keyID")?.text == "ABC123DEFG", "\(given.text)")
        let shown = await scene.server.administrate("GET", "/admin/1/push/apns?container=\(TestServer.container)")
        #expect(shown.json?.at("keys[0].topic")?.text == "com.example.notes" && !shown.text.contains("PRIVATE"))
        #expect(try await !Self.isPlain("PRIVATE KEY", in: scene.server.server.store))
        #expect(await register(scene).status == 200)
        try await scene.save("a")
        let seen = try #require(scene.service.seen.first)
        #expect(seen.target == "/3/device/\(Self.token)" && seen.headers["apns-topic"] == "com.example.notes")
        #expect(seen.headers["apns-push-type"] == "alert" && String(decoding: seen.body, as: UTF8.self).contains("Secret words"))
        try await scene.save("b")
        #expect(scene.service.seen[1].headers["authorization"] == seen.headers["authorization"], "one token for both")
        let removed = await scene.server.administrate(
            "POST", "/admin/1/push/apns/remove", #"{"container":"\#(TestServer.container)","environment":"development"}"#)
        #expect(removed.status == 200)
        try await scene.save("c")
        #expect(scene.service.seen.count == 2)
    }

    @Test func `an administrator sees what Apple said, and why a record did not fire`() async throws {
        let scene = try await Scene()
        defer { scene.service.close() }
        _ = try await give(scene, try P256.PrivateKey().pem())
        #expect(await register(scene).status == 200)
        scene.service.answerNext(.init(status: 410, body: #"{"reason":"Unregistered"}"#))
        try await scene.save("a")
        func why(_ record: String) async -> Answer {
            await scene.server.administrate(
                "POST", "/admin/1/subscriptions/why",
                #"{"container":"\#(TestServer.container)","environment":"development","database":"private","user":"ada@example.com","record":"\#(record)","subscription":"notes"}"#
            )
        }
        let told = await why("a")
        #expect(told.json?.at("fires") == .bool(true) && told.json?.at("devices[0].log[0].event")?.text == "queued", "\(told.text)")
        #expect(told.json?.at("devices[0].log[1].event")?.text == "addressEnded")
        #expect(told.json?.at("devices[0].log[1].said")?.text == "410 Unregistered")
        #expect(!told.text.contains("Secret words") && !told.text.contains(Self.token))
        #expect(await why("nothing").json?.at("fires") == .bool(false))
        let list = await scene.server.administrate(
            "POST", "/admin/1/subscriptions/list",
            #"{"container":"\#(TestServer.container)","environment":"development","database":"private","user":"ada@example.com"}"#)
        #expect(list.json?.at("subscriptions[0].id")?.text == "notes" && list.json?.at("subscriptions[0].firesOn")?.text == "create")
    }

    @Test func `what Apple refuses for good ends with its device, its notification, or when the key is mended`() async throws {
        let scene = try await Scene()
        defer { scene.service.close() }
        _ = try await give(scene, try P256.PrivateKey().pem())
        for (status, reason, attempts) in [
            (400, "BadDeviceToken", 1), (400, "DeviceTokenNotForTopic", 1), (410, "Unregistered", 1), (400, "BadTopic", 2),
            (413, "PayloadTooLarge", 2),
        ] {
            #expect(await register(scene).status == 200)
            // Notifications that wait since the device's address ended come first.
            try await scene.run()
            let before = scene.service.seen.count
            scene.service.answerNext(.init(status: status, body: #"{"reason":"\#(reason)"}"#))
            try await scene.save("n \(reason)")
            #expect(scene.service.seen.count == before + attempts, "\(reason)")
        }
        for (status, reason) in [(403, "InvalidProviderToken"), (429, "TooManyRequests"), (503, "ServiceUnavailable"), (500, "InternalServerError")] {
            #expect(await register(scene).status == 200)
            try await scene.run()
            let before = scene.service.seen.count
            scene.service.answerNext(.init(status: status, body: #"{"reason":"\#(reason)"}"#))
            try await scene.save("m \(reason)")
            #expect(scene.service.seen.count == before + 1, "\(reason)")
            scene.server.server.clock.advance(5)
            try await scene.run()
            #expect(scene.service.seen.count == before + 2, "\(reason)")
        }
    }
}
