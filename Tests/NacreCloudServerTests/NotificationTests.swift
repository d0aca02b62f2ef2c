import NacreCloudContainer
import NacreCloudServer
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// The web courier and the event stream over a socket, on a clock that only the test moves.
@Suite(.timeLimit(.minutes(5))) struct NotificationTests {
    private struct Scene {
        static let path = "/device/1/\(TestServer.container)/development/notifications"

        let server: TestServer
        let port: Int

        init() async throws {
            server = try await TestServer()
            port = try await server.startListening()
            try await server.prepareTypes(for: Body.modify("create", Body.note("n")), in: TestServer.container)
        }

        func post(_ path: String, _ body: String, as token: String = "ada.device") async throws -> Answer {
            let start = path.hasPrefix("/") ? "" : "/database/1/\(TestServer.container)/development/"
            var question = Question(method: "POST", target: start + path, body: Array(body.utf8))
            if token.hasSuffix(".device") {
                question.headers["Authorization"] = "Bearer \(server.names[token] ?? "")"
            } else {
                question.target += "?ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names[token + ".escaped"] ?? "")"
            }
            return try await ask(question, port: port)
        }

        func get(_ target: String, headers: [String: String] = [:]) async throws -> Answer {
            try await ask(Question(method: "GET", target: target, headers: headers), port: port)
        }

        func subscribe(_ subscription: String, as token: String = "ada.device") async throws {
            let body = "{\"operations\":[{\"operationType\":\"create\",\"subscription\":{\(subscription)}}]}"
            let answer = try await post("private/subscriptions/modify", body, as: token)
            #expect(answer.status == 200 && answer.json?.at("subscriptions[0].serverErrorCode") == nil, "\(answer.text)")
        }

        func save(_ name: String, as token: String = "ada.device") async throws {
            let answer = try await post("private/records/modify", Body.modify("create", Body.note(name)), as: token)
            #expect(answer.json?.at("records[0].serverErrorCode") == nil && answer.status == 200, "\(answer.text)")
        }

        /// The path of a new token's courier.
        func courier(as token: String = "ada", clientID: String? = nil) async throws -> String {
            let client = clientID.map { ",\"clientId\":\"\($0)\"" } ?? ""
            let path = "/device/1/\(TestServer.container)/development/tokens/create"
            let answer = try await post(path, "{\"apnsEnvironment\":\"development\"\(client)}", as: token)
            let url = try #require(answer.json?.at("webcourierURL")?.text, "\(answer.text)")
            #expect(url.hasPrefix("http://127.0.0.1:\(port)/push/1/aps?tok="))
            #expect(url.contains("ttl=43200"))
            return String(url.dropFirst("http://127.0.0.1:\(port)".count))
        }

        /// An event stream of Ada's device, once it follows.
        func stream(after id: String? = nil, clientID: String = "") async throws -> RawClient {
            let client = try await RawClient(port: port)
            let last = id.map { "Last-Event-ID: \($0)\r\n" } ?? ""
            try await client.send(
                "GET \(Self.path)?clientId=\(clientID) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(last)"
                    + "Authorization: Bearer \(server.names["ada.device"] ?? "")\r\n\r\n")
            let head = try await client.text(through: "retry: 1000")
            #expect(head.contains("200 OK") && head.lowercased().contains("content-type: text/event-stream"), "\(head)")
            return client
        }
    }

    private static let loud =
        #""subscriptionID":"notes","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"notificationInfo":{"alertBody":"New!"}"#

    @Test func `who polls gets each notification once, in its order, and pages anywhere may read it`() async throws {
        let scene = try await Scene()
        let courier = try await scene.courier()
        try await scene.subscribe(Self.loud)
        async let first = scene.get(courier, headers: ["Origin": "https://app.example"])
        try await scene.save("a")
        try await scene.save("b")
        let told = try await first
        #expect(told.status == 200 && told.header("Access-Control-Allow-Origin") == "*", "\(told.text)")
        #expect(told.json?.at("aps.alert")?.text == "New!" && told.json?.at("ck.qry.rid")?.text == "a")
        #expect(told.json?.at("ck.qry.sid")?.text == "notes" && told.json?.at("ck.cid")?.text == TestServer.container)
        #expect(try await scene.get(courier).json?.at("ck.qry.rid")?.text == "b")
        await scene.server.server.shutdown()
    }

    @Test func `a poll that finds nothing ends with nothing`() async throws {
        let scene = try await Scene()
        let courier = try await scene.courier()
        async let answer = scene.get(courier)
        await scene.server.clock.sleeps(TestServer.sleepers + 1)
        scene.server.clock.advance(Limits.waitSeconds + 1)
        let empty = try await answer
        #expect(empty.status == 200 && empty.body.isEmpty)
        await scene.server.server.shutdown()
    }

    @Test func `a token ends with its time, with the next one of its device, and with its sign-in`() async throws {
        let scene = try await Scene()
        let first = try await scene.courier(clientID: "tab")
        let second = try await scene.courier(clientID: "tab")
        let other = try await scene.courier(clientID: "other")
        #expect(try await scene.get(first).status == 404)
        try await scene.subscribe(Self.loud)
        try await scene.save("a")
        for courier in [second, other] { #expect(try await scene.get(courier).json?.at("ck.qry.rid")?.text == "a") }
        // One that was altered is none.
        let altered = second.replacing("tok=", with: "tok=0")
        #expect(try await scene.get(altered).status == 404)
        _ = try await scene.server.cloud.registry.endSession(scene.server.names["ada.id"] ?? "", of: scene.server.names["ada.account"] ?? "")
        scene.server.clock.advance(6)
        #expect(try await scene.get(other).status == 421)
        let device = try await scene.courier(as: "ada.device")
        scene.server.clock.advance(Limits.pushTokenSeconds)
        #expect(try await scene.get(device).status == 404)
        await scene.server.server.shutdown()
    }

    @Test func `an event stream brings what happens, and after a pause what it missed`() async throws {
        let scene = try await Scene()
        try await scene.subscribe(Self.loud)
        let stream = try await scene.stream()
        try await scene.save("a", as: "ada")
        let event = try await stream.text(through: "}}}\n\n")
        #expect(event.contains("id: 1\nevent: notification\ndata: {\"aps\"") && event.contains("\"rid\":\"a\""), "\(event)")
        stream.hangUp()
        try await scene.save("b", as: "ada")
        let again = try await scene.stream(after: "1")
        let missed = try await again.text(through: "}}}\n\n")
        #expect(missed.contains("id: 2\n") && missed.contains("\"rid\":\"b\"") && !missed.contains("\"rid\":\"a\""), "\(missed)")
        // Not acknowledged: it comes once more.
        let third = try await scene.stream()
        #expect(try await third.text(through: "}}}\n\n").contains("\"rid\":\"b\""))
        // A device has one stream.
        #expect(try await !again.text(through: "never").contains("data:"))
        await scene.server.server.shutdown()
    }

    @Test func `a device that has an event which was never issued is told to fetch everything`() async throws {
        let scene = try await Scene()
        try await scene.subscribe(Self.loud)
        let stream = try await scene.stream()
        try await scene.save("a", as: "ada")
        #expect(try await stream.text(through: "}}}\n\n").contains("id: 1\n"))
        stream.hangUp()
        let later = try await scene.stream(after: "17")
        let told = try await later.text(through: "}}\n\n")
        #expect(told.contains("id: 2\n") && told.contains("\"met\"") && !told.contains("\"sid\"") && !told.contains("\"rid\""), "\(told)")
        let refused = try await scene.get(
            Scene.path, headers: ["Authorization": "Bearer \(scene.server.names["ada.device"] ?? "")", "Last-Event-ID": "-1"])
        #expect(refused.status == 400 && refused.json?.at("nacre.field")?.text == "Last-Event-ID", "\(refused.text)")
        await scene.server.server.shutdown()
    }

    @Test func `a user who follows as often as anybody may is told so, and a device that comes again is let in`() async throws {
        let scene = try await Scene()
        var streams: [RawClient] = []
        for number in 0..<Limits.waitsPerUser { streams.append(try await scene.stream(clientID: "d\(number)")) }
        await scene.server.clock.sleeps(TaskLane.allCases.count + 1 + streams.count)
        let headers = ["Authorization": "Bearer \(scene.server.names["ada.device"] ?? "")"]
        let refused = try await scene.get(Scene.path + "?clientId=more", headers: headers)
        #expect(refused.status == 429 && refused.json?.at("serverErrorCode")?.text == "THROTTLED", "\(refused.text)")
        #expect(refused.json?.at("nacre.field") == nil && refused.json?.at("nacre.remedy")?.text?.contains("stream") == true, "\(refused.text)")
        _ = try await scene.stream(clientID: "d0")
        #expect(try await !streams[0].text(through: "never").contains("data:"), "its stream before has ended")
        await scene.server.server.shutdown()
    }

    @Test func `a stream shows that it lives, and ends with its sign-in`() async throws {
        let scene = try await Scene()
        let stream = try await scene.stream()
        await scene.server.clock.sleeps(TestServer.sleepers + 1)
        scene.server.clock.advance(Limits.eventHeartbeatSeconds)
        #expect(try await stream.text(through: ": heartbeat\n\n").contains("heartbeat"))
        try await scene.server.revokeElsewhere("ada")
        await scene.server.clock.sleeps(TestServer.sleepers + 2)
        scene.server.clock.advance(Limits.eventHeartbeatSeconds)
        let rest = try await stream.text(through: "never")
        #expect(!rest.contains("data:"))
        await scene.server.server.shutdown()
    }

    @Test func `what a device changes itself it is not told, and its own tabs neither`() async throws {
        let scene = try await Scene()
        let tab = try await scene.courier(clientID: "tab")
        let stream = try await scene.stream()
        try await scene.subscribe(Self.loud)
        try await scene.save("mine", as: "ada")
        #expect(try await stream.text(through: "}}}\n\n").contains("\"rid\":\"mine\""))
        try await scene.save("other")
        #expect(try await scene.get(tab).json?.at("ck.qry.rid")?.text == "other")
        await scene.server.server.shutdown()
    }

    @Test func `a server that ends lets streams and polls go`() async throws {
        let scene = try await Scene()
        let courier = try await scene.courier()
        let stream = try await scene.stream()
        async let poll = scene.get(courier)
        await scene.server.clock.sleeps(TestServer.sleepers + 2)
        await scene.server.server.shutdown()
        #expect(try await !stream.text(through: "never").contains("data:"))
        #expect(try await poll.status == 200)
    }
}
