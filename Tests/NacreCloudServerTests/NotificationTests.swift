import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of the web courier and the event stream over a socket, on a clock that only the test moves.
@Suite(.timeLimit(.minutes(5))) struct NotificationTests {
    private typealias Scene = NotificationScene

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

    @Test func `what is written into a connection that has just broken is the next poll's, and comes once`() async throws {
        let scene = try await Scene()
        let courier = try await scene.courier()
        try await scene.subscribe(Self.loud)
        for number in 0..<10 {
            let gone = try await RawClient(port: scene.port)
            try await gone.send("GET \(courier) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\n\r\n")
            await scene.server.clock.sleeps(TestServer.sleepers + 1)
            gone.hangUp()
            try await scene.save("n\(number)")
            #expect(try await scene.get(courier).json?.at("ck.qry.rid")?.text == "n\(number)")
        }
        await scene.server.server.shutdown()
    }

    @Test func `polls of one connection, and of two at once, get each notification once`() async throws {
        let scene = try await Scene()
        let courier = try await scene.courier()
        try await scene.subscribe(Self.loud)
        let question = "GET \(courier) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\n\r\n"
        try await scene.save("a", "b", "c", "d")
        #expect(try await ask(Question(method: "HEAD", target: courier), port: scene.port).body.isEmpty, "and takes none")
        let client = try await RawClient(port: scene.port)
        var told: [String] = []
        for _ in 0..<2 {
            try await client.send(question)
            told.append(try await client.response().text)
        }
        async let first = scene.get(courier)
        async let second = scene.get(courier)
        told += [try await first.text, try await second.text]
        for name in ["a", "b", "c", "d"] { #expect(told.count { $0.contains("\"rid\":\"\(name)\"") } == 1, "\(name): \(told)") }
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
        // An altered URL is invalid.
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

    @Test func `the ID of a device that the server has just heard from is no bearer, in any spelling`() async throws {
        let scene = try await Scene()
        let courier = try await scene.courier(as: "ada.device")
        try await scene.subscribe(Self.loud)
        try await scene.save("a", as: "ada")
        // The URL stands for the device, so the server knows the device by its ID from here on.
        #expect(try await scene.get(courier).status == 200)
        let (server, id) = (scene.server, scene.server.names["ada.device.id"] ?? "?")
        let root = "/database/1/\(TestServer.container)/development/private/"
        let api = server.names["api"] ?? ""
        for text in ["url \(id)", id, "device \(id)", " \(id)"] {
            for (path, body) in [
                ("records/lookup", Body.lookup("a")), ("records/modify", Body.modify("create", Body.note("b"))),
                ("users/web-auth-token", #"{"apiToken":"\#(api)"}"#),
            ] {
                let question = Question(method: "POST", target: root + path, headers: ["Authorization": "Bearer \(text)"], body: Array(body.utf8))
                let answer = try await ask(question, port: scene.port)
                #expect(answer.status == 401 && answer.json?["webAuthToken"] == nil, "\(path) \(text) \(answer.text)")
            }
        }
        await server.server.shutdown()
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
        await scene.server.clock.sleeps(for: Limits.eventHeartbeatSeconds)
        scene.server.clock.advance(Limits.eventHeartbeatSeconds)
        #expect(try await stream.text(through: ": heartbeat\n\n").contains("heartbeat"))
        try await scene.server.revokeElsewhere("ada")
        await scene.server.clock.sleeps(for: Limits.eventHeartbeatSeconds)
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
