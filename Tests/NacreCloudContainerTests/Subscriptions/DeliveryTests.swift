import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// A push service that keeps its messages, and gives scripted answers.
private final class PushRecorder: PushDelivering {
    private struct State {
        var sent: [(text: String, address: PushAddress)] = []
        var outcomes: [PushOutcome] = []
        var underWay = 0
        var most = 0
    }

    private let state = Locked(State())
    private let during = Locked<(@Sendable () async throws -> Void)?>(nil)

    var texts: [String] { state.withLock { $0.sent.map(\.text) } }
    var most: Int { state.withLock { $0.most } }
    func answerNext(_ outcomes: PushOutcome...) { state.withLock { $0.outcomes += outcomes } }
    func whileSending(_ body: @escaping @Sendable () async throws -> Void) { during.withLock { $0 = body } }
    func forget() { state.withLock { $0.sent = [] } }

    /// The record of each message, or `everything`.
    var names: [String] { texts.map(Self.name) }

    static func name(_ text: String) -> String {
        guard let place = text.firstRange(of: #""rid":""#) else { return "everything" }
        return String(text[place.upperBound...].prefix { $0 != "\"" })
    }

    func send(_ message: PushMessage, to address: PushAddress, of container: String) async -> PushReport {
        let outcome = state.withLock { state in
            state.sent.append((String(decoding: message.payload, as: UTF8.self), address))
            state.underWay += 1
            state.most = max(state.most, state.underWay)
            return state.outcomes.isEmpty ? PushOutcome.taken : state.outcomes.removeFirst()
        }
        for _ in 0..<20 { await Task.yield() }
        try? await during.withLock { $0 }?()
        state.withLock { $0.underWay -= 1 }
        return PushReport(outcome)
    }

    func applicationServerKey() async throws -> String { "key" }
    func fault(of browser: WebPushAddress) -> ServerError? { nil }
}

/// Tests that notifications of a device with an address are pushed there, and are acknowledged once accepted.
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    private struct Scene {
        let scene: SubscriptionScene
        let author: SubscriptionScene.Device
        let device: SubscriptionScene.Device
        let pushes = PushRecorder()

        init(_ store: any Store, byWeb: Bool = false) async throws {
            scene = try await SubscriptionScene(store, pushes: pushes)
            author = try await scene.signIn("ada")
            device = byWeb ? try await scene.signInByWeb("ada") : try await scene.signIn("ada")
            try await scene.subscribe(device, .query("q", info: .alert("New")))
            try await register()
        }

        static func browser(_ path: String) -> WebPushAddress {
            WebPushAddress(endpoint: "https://push.example/\(path)", point: [4], authentication: [1])
        }

        func register(_ path: String? = "a", clientID: String? = nil) async throws {
            try await scene.cloud.registerBrowser(
                path.map { Self.browser($0) }, of: clientID, in: SubscriptionScene.container, SubscriptionScene.environment, by: device.caller)
        }

        func save(_ names: String...) async throws { try await scene.user(author).modify(names.map { .create($0) }) }

        /// Runs due tasks, and returns the messages sent meanwhile.
        func sent() async throws -> [String] {
            pushes.forget()
            try await scene.test.runAllTasks()
            return pushes.names
        }

        func waiting() async throws -> Int {
            try await scene.cloud.notifications(for: #require(device.address), after: 0, limit: .max).count
        }

        func tasks() async throws -> Int {
            let later = scene.test.clock.now + 1e6
            return try await scene.test.store.read { try $0.tasks(of: [.deliverNotifications], dueThrough: later, limit: 100).count }
        }
    }

    @Test(arguments: Engine.ofRules) func `what waits is sent in its order, once, and to who has an address alone`(_ engine: Engine) async throws {
        let scene = try await Scene(try await engine.makeStore())
        let other = try await scene.scene.signIn("ada")
        try await scene.save("a", "b", "c", "d", "e", "f")
        #expect(try await scene.sent() == ["a", "b", "c", "d", "e", "f"])
        #expect(try await (scene.waiting(), scene.tasks()) == (0, 0))
        #expect(try await scene.sent().isEmpty)
        #expect(try await scene.scene.told(other).count == 6, "who asks finds its own queue")
        try await scene.save("g")
        #expect(try await scene.sent() == ["g"])
    }

    @Test(arguments: Engine.ofRules) func `a service that asks for patience is given it, and nothing is lost meanwhile`(_ engine: Engine)
        async throws
    {
        let scene = try await Scene(try await engine.makeStore())
        scene.pushes.answerNext(.retry(afterSeconds: 120), .retry(afterSeconds: nil), .retry(afterSeconds: nil))
        try await scene.save("a")
        #expect(try await scene.sent() == ["a"])
        // New notifications do not shorten the pause.
        try await scene.save("b")
        scene.scene.test.clock.move(bySeconds: 119)
        #expect(try await scene.sent().isEmpty)
        scene.scene.test.clock.move(bySeconds: 1)
        #expect(try await scene.sent() == ["a"])
        // The second refusal: two seconds; the third: four.
        for seconds in [2.0, 4] {
            scene.scene.test.clock.move(bySeconds: seconds - 0.5)
            #expect(try await scene.sent().isEmpty)
            scene.scene.test.clock.move(bySeconds: 0.5)
            #expect(try await scene.sent() == (seconds == 2 ? ["a"] : ["a", "b"]))
        }
        #expect(try await (scene.waiting(), scene.tasks()) == (0, 0))
    }

    @Test func `a service that is down for days parks nothing`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        for _ in 0..<30 { scene.pushes.answerNext(.retry(afterSeconds: nil)) }
        try await scene.save("a")
        for _ in 0..<30 {
            #expect(try await scene.sent() == ["a"])
            scene.scene.test.clock.move(bySeconds: Limits.taskPauseSeconds)
        }
        #expect(try await scene.sent() == ["a"])
        #expect(try await scene.waiting() == 0)
    }

    @Test(arguments: Engine.ofRules) func `an address that is no more is forgotten, and what waits is there for who asks`(_ engine: Engine)
        async throws
    {
        let scene = try await Scene(try await engine.makeStore())
        scene.pushes.answerNext(.dropAddress(since: nil))
        try await scene.save("a", "b")
        #expect(try await scene.sent() == ["a"])
        #expect(try await (scene.waiting(), scene.tasks()) == (2, 0))
        try await scene.save("c")
        #expect(try await scene.sent().isEmpty)
        // Registered again, it gets the missed ones.
        try await scene.register("b")
        #expect(try await scene.sent() == ["a", "b", "c"])
    }

    @Test func `what a service finds fault with becomes a word to fetch everything, and that is not sent for ever`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        scene.pushes.answerNext(.giveUp(.refused))
        try await scene.save("a", "b")
        #expect(try await scene.sent() == ["a", "everything"])
        scene.pushes.answerNext(.giveUp(.tooLarge), .giveUp(.refused))
        try await scene.save("c")
        #expect(try await scene.sent() == ["c", "everything"])
        #expect(try await (scene.waiting(), scene.tasks()) == (0, 0))
    }

    @Test(arguments: Engine.ofRules) func `who is signed out is sent nothing of what waits`(_ engine: Engine) async throws {
        let scene = try await Scene(try await engine.makeStore())
        scene.pushes.answerNext(.retry(afterSeconds: 5))
        try await scene.save("a")
        #expect(try await scene.sent() == ["a"])
        guard case .device(let id, let account)? = scene.device.caller.credential else { return }
        try await scene.scene.cloud.registry.revokeAccountToken(id, of: account)
        scene.scene.test.clock.move(bySeconds: 10)
        #expect(try await scene.sent().isEmpty)
        #expect(try await scene.tasks() == 0)
    }

    @Test(arguments: Engine.ofRules) func `a browser is sent nothing after the API token of its session is revoked`(_ engine: Engine) async throws {
        let scene = try await Scene(try await engine.makeStore(), byWeb: true)
        scene.pushes.answerNext(.taken, .retry(afterSeconds: 5))
        try await scene.save("a", "b")
        #expect(try await scene.sent() == ["a", "b"])
        guard case .session(_, _, let apiToken)? = scene.device.caller.credential else { return }
        _ = try await scene.scene.cloud.registry.revokeAppCredential(apiToken)
        scene.scene.test.clock.move(bySeconds: 10)
        #expect(try await scene.sent().isEmpty)
        try await scene.save("c")
        #expect(try await scene.sent().isEmpty)
        #expect(try await (scene.waiting(), scene.tasks()) == (0, 0))
    }

    @Test func `who is shut out is sent nothing, and what waited comes with what is told once they are let in again`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        let registry = scene.scene.cloud.registry
        guard case .device(_, let account)? = scene.device.caller.credential, let entry = try await registry.account(id: account) else { return }
        let shut = try await registry.setState(of: entry, to: .restricted)
        try await scene.save("a")
        #expect(try await scene.sent().isEmpty)
        _ = try await registry.setState(of: shut, to: .available)
        try await scene.save("b")
        #expect(try await scene.sent() == ["a", "b"])
    }

    @Test func `an address that another device of the user registers is that one's`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        try await scene.register("a", clientID: "tab")
        try await scene.save("n")
        #expect(try await scene.sent() == ["n"], "once")
        try await scene.register(nil, clientID: "tab")
        try await scene.save("m")
        #expect(try await scene.sent().isEmpty, "it was taken back")
    }

    @Test func `others write while a service is waited for, and no more devices are sent to at once than may be`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        for index in 0..<30 { try await scene.register("tab \(index)", clientID: "tab \(index)") }
        try await scene.save("n")
        _ = try await scene.scene.cloud.runDueTasks(in: [.push])
        let home = scene.scene.test.user("_somebody")
        scene.pushes.whileSending { try await home.modify([.create(UUIDText.version4(.random(in: .min ... .max), 1))]) }
        let round = try await scene.scene.cloud.runDueTasks(in: [.delivery])
        #expect(round.failures.isEmpty && round.taken == 31 && scene.pushes.names.count == 31)
        #expect(scene.pushes.most > 1 && scene.pushes.most <= Limits.pushesAtOnce)
    }

    @Test(arguments: Engine.ofRules) func `a worker that dies anywhere has it sent all the same, with the same ID`(_ engine: Engine) async throws {
        var (last, identities) = (0, Set<String>())
        for call in LongSearch.calls(upTo: 1000, every: 4) {
            last = call
            let store = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            let scene = try await Scene(store)
            try await scene.save("a", "b")
            store.fail(atCall: call)
            _ = try? await scene.scene.cloud.runDueTasks()
            _ = try? await scene.scene.cloud.runDueTasks()
            let hasFailed = store.callsMade >= call
            store.fail(atCall: nil)
            for _ in 0..<3 {
                scene.scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds + 1)
                try await scene.scene.test.runAllTasks()
            }
            #expect(Set(scene.pushes.names) == ["a", "b"] && scene.pushes.names.count <= 4, "call \(call): \(scene.pushes.names)")
            #expect(try await (scene.waiting(), scene.tasks()) == (0, 0))
            for text in scene.pushes.texts {
                if let place = text.firstRange(of: #""nid":""#) { identities.insert(String(text[place.upperBound...].prefix(36))) }
            }
            if !hasFailed { break }
        }
        #expect(last > 20 && last < 1000 && identities.count == 2)
    }

    /// The device's own listening, for some seconds; whether it acknowledges, and whether it is pushed to by then.
    enum Listening: CaseIterable {
        case nothing, stream, poll, streamThatEnds, olderStream
    }

    @Test(
        arguments: [
            (.nothing, 0, false, true), (.nothing, 31, false, true), (.stream, 0, false, false), (.stream, 29, false, false),
            (.stream, 30, false, true), (.stream, 29, true, false), (.stream, 31, true, false), (.poll, 0, false, false), (.poll, 29, false, false),
            (.poll, 30, false, true), (.poll, 31, true, false), (.streamThatEnds, 29, false, false), (.streamThatEnds, 30, false, true),
            (.streamThatEnds, 31, true, false), (.olderStream, 29, false, false), (.olderStream, 30, false, true), (.olderStream, 31, true, false),
        ] as [(Listening, Double, Bool, Bool)])
    func `a device that listens is pushed what it does not acknowledge in time`(
        _ listening: Listening, _ seconds: Double, _ isAcknowledged: Bool, _ isPushed: Bool
    ) async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        let (devices, address) = (scene.scene.cloud.listening, try #require(scene.device.address))
        var stream: UInt64?
        switch listening {
        case .nothing: break
        case .poll: devices.beginPoll(of: address)
        case .stream, .streamThatEnds: stream = devices.beginStream(of: address)
        case .olderStream:
            let older = devices.beginStream(of: address)
            stream = devices.beginStream(of: address)
            devices.end(older, of: address)
        }
        try await scene.save("a")
        var pushed = try await scene.sent()
        if listening == .streamThatEnds, let stream { devices.end(stream, of: address) }
        if isAcknowledged {
            try await scene.scene.cloud.takeNote(
                DeviceNoteRequest(heard: 1), in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.device.caller)
        }
        scene.scene.test.clock.move(bySeconds: seconds)
        pushed += try await scene.sent()
        #expect(pushed == (isPushed ? ["a"] : []))
        // Nothing is lost, and nothing comes twice.
        scene.scene.test.clock.move(bySeconds: Limits.pushGraceSeconds)
        pushed += try await scene.sent()
        #expect(pushed == (isAcknowledged ? [] : ["a"]))
        #expect(try await (scene.waiting(), scene.tasks()) == (0, 0))
    }

    @Test(
        arguments: [
            (false, 0, nil), (true, 0, 30), (true, 29, 1), (true, 30, nil), (true, 1000, nil), (true, -100, 30), (false, -100, nil),
        ] as [(Bool, Double, Double?)])
    func `who listens has thirty seconds from when a notification was queued, and never more`(_ isListening: Bool, _ age: Double, _ left: Double?) {
        let queued = Timestamp(secondsSince2001: 1000)
        let grace = Delivery.graceSeconds(isListening: isListening, isAlone: true)
        #expect(Delivery.rest(of: grace, queued: queued, at: queued + age) == left)
    }

    @Test(arguments: [false, true])
    func `a device that may listen to a neighbour has two seconds to acknowledge before it is pushed to`(_ isAcknowledged: Bool) async throws {
        let scene = try await Scene(SideBySideStore.servers(2)[0])
        try await scene.save("a")
        #expect(try await scene.sent().isEmpty)
        if isAcknowledged {
            try await scene.scene.cloud.takeNote(
                DeviceNoteRequest(heard: 1), in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.device.caller)
        }
        scene.scene.test.clock.move(bySeconds: Delivery.neighbourGraceSeconds)
        #expect(try await scene.sent() == (isAcknowledged ? [] : ["a"]))
    }

    @Test(arguments: Engine.ofRules) func `what a stream has not acknowledged is pushed, and the rest is not`(_ engine: Engine) async throws {
        let scene = try await Scene(try await engine.makeStore())
        let (devices, address) = (scene.scene.cloud.listening, try #require(scene.device.address))
        _ = devices.beginStream(of: address)
        try await scene.save("a", "b")
        #expect(try await scene.sent().isEmpty)
        scene.scene.test.clock.move(bySeconds: 20)
        try await scene.save("c")
        #expect(try await scene.sent().isEmpty)
        try await scene.scene.cloud.acknowledge(through: 1, for: address)
        scene.scene.test.clock.move(bySeconds: 10)
        #expect(try await scene.sent() == ["b"], "c came later")
        scene.scene.test.clock.move(bySeconds: 20)
        #expect(try await scene.sent() == ["c"])
        // A stream that reconnects again and again without acknowledging delays nothing.
        try await scene.save("d")
        try await scene.scene.test.runAllTasks()
        for _ in 0..<6 {
            _ = try await scene.scene.cloud.registerDevice(
                nil, in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.device.caller)
            scene.scene.test.clock.move(bySeconds: 5)
            try await scene.scene.test.runAllTasks()
        }
        #expect(scene.pushes.names == ["c", "d"])
    }

    @Test func `a device that was told nothing has no badge, and numbers that are none are refused`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        func note(_ request: DeviceNoteRequest) async throws {
            try await scene.scene.cloud.takeNote(request, in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.device.caller)
        }
        for (request, code) in [
            (DeviceNoteRequest(badge: 0, clientID: "other"), ServerErrorCode.notFound), (DeviceNoteRequest(badge: -1), .badRequest),
            (DeviceNoteRequest(badge: 1_000_000_000), .badRequest), (DeviceNoteRequest(heard: -1), .badRequest),
        ] {
            let error = await #expect(throws: ServerError.self) { try await note(request) }
            #expect(error?.code == code && error?.remedy != nil)
        }
        try await note(DeviceNoteRequest())
        try await note(DeviceNoteRequest(badge: 999_999_999))
    }

    @Test(arguments: Engine.ofRules) func `a badge counts on each device from where it was set`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, phone, pad) = (try await scene.signIn("ada"), try await scene.signIn("ada"), try await scene.signIn("ada"))
        var info = NotificationInfo()
        info.shouldBadge = true
        try await scene.subscribe(phone, .query("q", info: info))
        func badges(_ device: SubscriptionScene.Device) async throws -> [String?] { try await scene.told(device).map { $0.member("badge") } }
        func set(_ badge: Int64) async throws {
            try await scene.cloud.takeNote(
                DeviceNoteRequest(badge: badge), in: SubscriptionScene.container, SubscriptionScene.environment, by: phone.caller)
        }
        try await scene.user(author).modify([.create("a"), .create("b")])
        #expect(try await badges(phone) == ["1", "2"])
        try await set(0)
        try await scene.user(author).modify([.create("c")])
        #expect(try await badges(phone) == ["1"])
        try await set(7)
        try await scene.user(author).modify([.create("d")])
        #expect(try await badges(phone) == ["8"])
        #expect(try await badges(pad) == ["1", "2", "3", "4"], "which was not cleared")
    }

    @Test func `a browser is sent no more bytes than can be sealed for it`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        let long = String(repeating: "x", count: Limits.payloadBytes - 150)
        let other = try await scene.scene.signIn("ada")
        try await scene.scene.subscribe(scene.device, .query("q", info: .alert(long)))
        try await scene.save("a")
        _ = try await scene.sent()
        let text = try #require(scene.pushes.texts.first)
        #expect(text.utf8.count <= Limits.webPushPayloadBytes && text.contains(#""p":1"#))
        let whole = try #require(try await scene.scene.told(other).first)
        #expect(whole.text.utf8.count <= Limits.payloadBytes && whole.text.utf8.count > text.utf8.count)
    }

    @Test func `a token of Apple's wants a key of the container, and the form of one`() async throws {
        let scene = try await Scene(try await Engine.memory.makeStore())
        func register(_ token: String) async throws {
            try await scene.scene.cloud.registerPushToken(
                TokensRegisterRequest(apnsEnvironment: .development, apnsToken: token), in: SubscriptionScene.container,
                SubscriptionScene.environment, by: scene.device.caller)
        }
        let token = String(repeating: "0fA9", count: 16)
        let error = await #expect(throws: ServerError.self) { try await register(token) }
        #expect(error?.remedy?.contains("nacre push apns set") == true)
        try await scene.scene.cloud.registry.setPushKey(
            PushKeyEntry(
                container: SubscriptionScene.container, environment: .development, sealed: "s", keyID: "k", teamID: "t", topic: "com.example",
                created: scene.scene.test.clock.now))
        for bad in ["", "00", String(token.dropLast()), token + "0", String(repeating: "zz", count: 32), String(repeating: "00", count: 101)] {
            await #expect(throws: ServerError.self) { try await register(bad) }
        }
        try await register(token)
        try await scene.save("a")
        #expect(try await scene.sent() == ["a"])
    }

    @Test(
        arguments: [
            (.taken, 7, nil, false, false), (.retry(afterSeconds: nil), 0, 8.0, false, false), (.retry(afterSeconds: 60), 0, 60, false, false),
            (.retry(afterSeconds: 1), 0, 8, false, false), (.dropAddress(since: nil), 0, nil, true, false),
            (.dropAddress(since: Timestamp(secondsSince2001: 99)), 0, 8, false, false),
            (.dropAddress(since: Timestamp(secondsSince2001: 100)), 0, nil, true, false), (.giveUp(.tooLarge), 7, nil, false, true),
            (.giveUp(.refused), 7, nil, false, true), (.giveUp(.wrongPlace), 7, nil, false, true), (.giveUp(.expired), 7, nil, false, false),
            (.giveUp(.forbiddenAddress), 0, nil, true, false), (.giveUp(.badKey), 0, nil, true, false),
        ] as [(PushOutcome, Int64, Double?, Bool, Bool)])
    func `what becomes of a queue by each outcome`(_ outcome: PushOutcome, _ through: Int64, _ pause: Double?, _ drops: Bool, _ loses: Bool)
        async throws
    {
        let scene = try await Scene(try await Engine.memory.makeStore())
        try await scene.save("a")
        _ = try await scene.scene.cloud.runDueTasks(in: [.push])
        let address = try #require(scene.device.address)
        var next = try #require(try await scene.scene.cloud.notifications(for: address, after: 0, limit: 1).first)
        next.number = 7
        var delivery = Delivery(registered: Timestamp(secondsSince2001: 100), refusals: 3)
        delivery.add(PushReport(outcome), of: next)
        #expect(delivery.through == through && delivery.pause == pause && delivery.dropsAddress == drops && delivery.hasLost == loses)
        #expect(delivery.goesOn == (outcome == .taken || outcome == .giveUp(.expired)))
        #expect(delivery.refusals == (outcome == .taken ? 0 : pause == nil ? 3 : 4))
    }
}
