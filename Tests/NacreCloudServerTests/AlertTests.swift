import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreLocks
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// Tests of alerts: how the watch tells of them, on a clock that the test moves, and the admin API's endpoints.
@Suite(.timeLimit(.minutes(5))) struct AlertTests {
    /// Readings that a test sets.
    private final class SetReadings: AlertReadings {
        let free = Locked<Double>(50)
        let parked = Locked(0)
        let traffic = Locked<[Timestamp: Int64]>([:])

        var measures: Set<AlertMeasure> { [.diskFree, .tasksParked, .unlike] }
        func disk() async -> (free: Double, all: Double)? { (free.withLock { $0 }, 100) }
        func backups() async -> (newest: Timestamp?, isFailing: Bool) { (nil, false) }
        func tasks(at now: Timestamp) async throws -> (parked: Int, oldestDue: Timestamp?) { (parked.withLock { $0 }, nil) }
        func webhookLag() async throws -> Double { 0 }
        func publicUsage(of container: String, _ environment: DatabaseKey.Environment) async throws -> Usage { throw ServerError.internalError }
        func traffic(of scope: AlertScope, from: Timestamp, to: Timestamp) async throws -> AlertTraffic? {
            traffic.withLock { $0[from] }.map { AlertTraffic(requests: $0) }
        }
    }

    /// A watch over set readings, on the clock of a server of the test.
    private struct Scene {
        let server: TestServer
        let readings = SetReadings()
        let teller: AlertTeller
        let watch: AlertWatch

        init(mail: MailConfiguration? = nil, over server: TestServer? = nil) async throws {
            let server = if let server { server } else { try await TestServer(publicURL: "https://cloud.example", mail: mail) }
            self.server = server
            let postman = mail.map { Postman($0, publicURL: "https://cloud.example", sealer: server.sealer, clock: server.clock.serverClock) }
            teller = AlertTeller(
                postman: postman, hosts: PushHosts(names: []), sealer: server.sealer, clock: server.clock.serverClock, logger: server.log.logger,
                server: "cloud.example")
            watch = AlertWatch(
                server.cloud.registry, readings, teller, backupSeconds: nil, clock: server.clock.serverClock, logger: server.log.logger)
        }

        /// Adds a rule about the disk, which tells a URL.
        /// - Returns: the secret of its signatures.
        func addRule(webhook url: String? = nil, mail: [String] = [], holdSeconds: Double = 60) async throws -> String? {
            var rule = AlertRule(name: "room", measure: .diskFree, limit: 10, holdSeconds: holdSeconds)
            rule.mail = mail
            let made = try url.map(teller.webhook)
            rule.webhook = made?.webhook
            _ = try await server.cloud.registry.set(rule)
            return made?.secret
        }

        /// Lets the clock go on for some looks of the watch.
        func look(_ count: Int = 1, from sleeps: inout Int) async {
            for _ in 0..<count {
                server.clock.advance(30)
                sleeps += 1
                await server.clock.sleeps(sleeps)
            }
        }

        /// The lines of alerts in the log, of one rule.
        func lines(_ message: String, _ rule: String = "room") -> [JSON] {
            server.log.objects(message).filter { $0["name"] == .string(rule) }
        }
    }

    private static func message(_ seen: PushService.Seen?) throws -> AlertMessage {
        try JSONDecoder().decode(AlertMessage.self, from: Data(try #require(seen).body))
    }

    @Test func `a disk that fills is told once with what to do, silenced, told after the silence, and told when it has room`() async throws {
        let service = try PushService()
        defer { service.close() }
        let scene = try await Scene()
        _ = try await scene.addRule(webhook: service.url + "/alerts")
        var sleeps = 1
        scene.watch.start()
        await scene.server.clock.sleeps(sleeps)
        scene.readings.free.withLock { $0 = 8 }
        await scene.look(2, from: &sleeps)
        #expect(service.seen.isEmpty && scene.lines("An alert began").isEmpty)
        await scene.look(5, from: &sleeps)
        let line = try #require(scene.lines("An alert began").first)
        #expect(scene.lines("An alert began").count == 1 && line["level"] == .string("error") && line["quantity"] == .string("8 %"))
        #expect(line["remedy"]?.text?.contains("Make room") == true && line["limit"] == .string("10 %"))
        #expect(service.seen.count == 1)
        let message = try Self.message(service.seen.first)
        #expect(message.event == .began && message.figure == 8 && message.alert == "room" && message.unit == "percent")
        #expect(message.text == "room began: 8 %, limit 10 %, of the server" && message.time - (message.since ?? 0) == 60_000)
        // Four hours and a silence, in which nothing is told.
        let silence = AlertSilence(until: scene.server.clock.now + 20_000, by: "Ada", why: "a disk is on its way")
        try await scene.server.cloud.registry.setAlertSilence(silence, of: "room")
        scene.server.clock.advance(14_400)
        sleeps += 1
        await scene.server.clock.sleeps(sleeps)
        await scene.look(3, from: &sleeps)
        #expect(service.seen.count == 1 && scene.lines("An alert goes on").isEmpty)
        scene.server.clock.advance(6000)
        sleeps += 1
        await scene.server.clock.sleeps(sleeps)
        #expect(scene.lines("An alert goes on").count == 1 && service.seen.count == 2)
        scene.readings.free.withLock { $0 = 60 }
        await scene.look(3, from: &sleeps)
        #expect(scene.lines("An alert ended").count == 1)
        #expect(try service.seen.map { try Self.message($0).event } == [.began, .goesOn, .ended])
        await scene.watch.stop()
    }

    @Test func `a webhook's receiver checks time and body by the secret, and no redirect is followed`() async throws {
        let service = try PushService()
        defer { service.close() }
        let scene = try await Scene()
        let secret = try #require(try await scene.addRule(webhook: service.url + "/alerts"))
        service.answerNext(.init(status: 302, headers: ["Location": service.url + "/elsewhere"]))
        #expect(try await scene.watch.test("room").map(\.report.said) == ["written", "status 302"])
        #expect(try await scene.watch.test("room").map(\.report.isTaken) == [true, true])
        #expect(service.seen.map(\.target) == ["/alerts", "/alerts"])
        let seen = try #require(service.seen.last)
        #expect(try Self.message(seen).event == .test && seen.headers["X-Nacre-Alert"] == "room")
        // A receiver reads the signature as t=SECONDS,v1=CODE.
        let parts = try #require(seen.headers["X-Nacre-Signature"]).split(separator: ",").map { $0.split(separator: "=", maxSplits: 1) }
        #expect(parts.map { $0[0] } == ["t", "v1"] && parts[0][1] == "\(scene.server.clock.now.secondsSince1970)")
        func code(_ body: [UInt8]) -> String {
            Hex.encode(HMACSHA256.code(for: Array("\(parts[0][1]).".utf8) + body, key: Array(secret.utf8)))
        }
        #expect(code(seen.body) == parts[1][1] && code(seen.body + [0x20]) != parts[1][1])
        #expect(!scene.server.log.texts.contains { $0.contains(secret) })
    }

    @Test func `a receiver that fails is tried four times, and then the log says so`() async throws {
        let service = try PushService()
        defer { service.close() }
        let scene = try await Scene()
        _ = try await scene.addRule(webhook: service.url, holdSeconds: 0)
        scene.readings.free.withLock { $0 = 5 }
        service.answerNext(.init(status: 500), .init(status: 503), .init(status: 500), .init(status: 500))
        var sleeps = 1
        scene.watch.start()
        await scene.server.clock.sleeps(sleeps)
        await scene.look(5, from: &sleeps)
        #expect(service.seen.count == 4)
        let line = try #require(scene.lines("An alert could not be told").first)
        #expect(line["reason"] == .string("status 500") && line["remedy"]?.text?.contains("nacre alert test room") == true)
        await scene.watch.stop()
    }

    @Test func `an alert that fires survives a restart and is not told again, also where its state could not be kept at once`() async throws {
        let first = try await Scene()
        _ = try await first.addRule(holdSeconds: 0)
        first.readings.free.withLock { $0 = 5 }
        var sleeps = 1
        first.server.store.fail(.full)
        first.watch.start()
        await first.server.clock.sleeps(sleeps)
        #expect(
            first.lines("An alert began").count == 1 && first.server.log.objects("The states of alerts could not be kept, and will be").count == 1)
        first.server.store.fail(nil)
        await first.look(from: &sleeps)
        await first.watch.stop()
        let second = try await Scene(over: first.server)
        second.readings.free.withLock { $0 = 5 }
        second.watch.start()
        sleeps += 1
        await second.server.clock.sleeps(sleeps)
        #expect(second.lines("An alert began").count == 1)
        #expect(try await second.watch.list().first { $0.rule.name == "room" }?.state.phase == .firing)
        second.readings.free.withLock { $0 = 50 }
        await second.look(from: &sleeps)
        #expect(second.lines("An alert ended").count == 1)
        await second.watch.stop()
        #expect(try await second.server.cloud.registry.alertStates().isEmpty)
    }

    @Test func `a message that no way has taken is sent by the next server, once`() async throws {
        let service = try PushService()
        defer { service.close() }
        let first = try await Scene()
        _ = try await first.addRule(webhook: service.url, holdSeconds: 0)
        first.readings.free.withLock { $0 = 5 }
        service.answerNext(.init(status: 503))
        var sleeps = 1
        first.watch.start()
        await first.server.clock.sleeps(sleeps)
        await first.watch.stop()
        #expect(service.seen.count == 1)
        let second = try await Scene(over: first.server)
        second.readings.free.withLock { $0 = 5 }
        second.watch.start()
        sleeps += 1
        await second.server.clock.sleeps(sleeps)
        await second.look(from: &sleeps)
        await second.watch.stop()
        #expect(try service.seen.map { try Self.message($0).event } == [.began, .began])
        #expect(Set(service.seen.map(\.body)).count == 1, "the message is that of the first server")
        #expect(try await second.server.cloud.registry.untoldAlerts().deliveries.isEmpty)
    }

    @Test func `failed and slow requests, an old backup and a parked task are told and ended by webhook, from their causes on`() async throws {
        let (service, server, telemetry) = (try PushService(), try await TestServer(publicURL: "https://cloud.example"), Telemetry())
        defer { service.close() }
        let clock = server.clock.serverClock
        let backups = ScheduledBackups(
            BackupSchedule(folder: server.folder.path, everySeconds: 3600, keep: 1), BackupRunner(folder: server.folder.path, nil), clock: clock,
            logger: server.log.logger, telemetry)
        let teller = AlertTeller(
            postman: nil, hosts: PushHosts(names: []), sealer: server.sealer, clock: clock, logger: server.log.logger, server: "cloud.example")
        let readings = ServerReadings(cloud: server.cloud, folder: nil, scheduled: backups, recorder: server.recorder)
        let watch = AlertWatch(server.cloud.registry, readings, teller, backupSeconds: nil, clock: clock, logger: server.log.logger)
        let webhook = try teller.webhook(service.url + "/alerts").webhook
        func add(_ name: String, _ measure: AlertMeasure, _ limit: Double, _ change: (inout AlertRule) -> Void = { _ in }) async throws {
            var rule = AlertRule(name: name, measure: measure, limit: limit, holdSeconds: 0)
            rule.webhook = webhook
            if measure.isOfTraffic { (rule.spanSeconds, rule.least) = (300, 20) }
            change(&rule)
            #expect(rule.fault(reading: readings.measures) == nil)
            _ = try await server.cloud.registry.set(rule)
        }
        try await add("failed", .errors, 50) { $0.errors = "server" }
        try await add("slow", .latency, 0.001) { $0.percentile = 50 }
        try await add("old", .backupAge, 7200)
        try await add("tasks-parked", .tasksParked, 1)

        // The newest backup is of now, two hours before the watch begins.
        telemetry.gauge(.backupTime).set(Int(server.clock.now.millisecondsSince1970) * 1_000_000)
        server.clock.advance(7200)
        // The receiver of a webhook is gone.
        let made = try await server.cloud.createWebhook(NewWebhook(url: service.url + "/gone"), in: TestServer.container, .development)
        service.answerNext(.init(status: 410))
        let save = RecordOperation(.create, RecordChange(recordName: "a", recordType: "Note"))
        _ = try await server.cloud.modifyRecords(
            RecordsModifyRequest(operations: [save], zoneID: ZoneID(zoneName: ZoneID.defaultZoneName)),
            in: DatabaseTarget(container: TestServer.container, environment: .development, scope: .public),
            by: Caller(.user("_ann"), client: .framework), digest: [])
        while try await server.cloud.runDueTasks().taken > 0 {}
        // The store fails.
        server.store.fail(.unavailable)
        let target = "/database/1/\(TestServer.container)/development/public/records/query?ckAPIToken=\(server.names["api"] ?? "")"
        let question = Question(method: "POST", target: target, body: Array(#"{"query":{"recordType":"Note"}}"#.utf8))
        for _ in 0..<20 { #expect(await server.respond(question).status >= 500) }
        server.store.fail(nil)
        server.clock.advance(10)

        watch.start()
        await server.clock.sleeps(for: 30)
        func told(_ event: AlertMessage.Event) throws -> [String: Double] {
            let messages = try service.seen.filter { $0.target == "/alerts" }.map { try Self.message($0) }.filter { $0.event == event }
            return Dictionary(messages.map { ($0.alert, $0.figure ?? 0) }, uniquingKeysWith: { first, _ in first })
        }
        let began = try told(.began)
        #expect(Set(began.keys) == ["failed", "slow", "old", "tasks-parked"])
        #expect(began["failed"] == 100)
        #expect(began["tasks-parked"] == 1)
        #expect(began["old"] == 7210)

        // The causes end; figures of traffic are calm for five minutes.
        telemetry.gauge(.backupTime).set(Int(server.clock.now.millisecondsSince1970) * 1_000_000)
        #expect(try await server.cloud.resumeWebhook(made.webhook.id) == 1)
        while try await server.cloud.runDueTasks().taken > 0 {}
        for _ in 0..<2 {
            server.clock.advance(330)
            await server.clock.sleeps(for: 30)
        }
        #expect(Set(try told(.ended).keys) == ["failed", "slow", "old", "tasks-parked"])
        await watch.stop()
    }

    @Test func `a mail is short and says what, since when, the figure, the limit and what to do`() async throws {
        let sink = try MailSink()
        defer { sink.close() }
        let mail = try #require(MailConfiguration(url: "smtp://127.0.0.1:\(sink.port)", password: nil, from: "nacre@cloud.example"))
        let scene = try await Scene(mail: mail)
        _ = try await scene.addRule(mail: ["ops@example.com"], holdSeconds: 0)
        scene.readings.free.withLock { $0 = 5 }
        scene.watch.start()
        await scene.server.clock.sleeps(1)
        let sent = try #require(sink.mails.first)
        #expect(sink.mails.count == 1 && sent.to == "<ops@example.com>")
        for text in [
            "Subject: [cloud.example] room began", "room began: 5 %, limit 10 %, of the server", "Since:      2026-05-09T06:13:20Z",
            "What to do: Make room", "nacre alert silence room",
        ] {
            #expect(sent.text.contains(text), "\(text) in \(sent.text)")
        }
        #expect(!scene.server.log.texts.contains { $0.contains("ops@example.com") })
        await scene.watch.stop()
    }

    @Test func `the last whole hour is compared with the same hours of the weeks before`() async throws {
        let scene = try await Scene()
        var rule = AlertRule(name: "odd", measure: .unlike, limit: 1, holdSeconds: 0)
        (rule.spanSeconds, rule.least) = (3600, 20)
        let now = scene.server.clock.now
        let hour = Timestamp(secondsSince2001: (now.secondsSince2001 / 3600).rounded(.down) * 3600 - 3600)
        scene.readings.traffic.withLock { traffic in
            for week in 1...4 { traffic[hour + -Double(week) * 604_800] = 100 }
        }
        // An hour without requests is an outage.
        #expect(try await rule.reading(from: scene.readings, at: now) == .figure(2))
        scene.readings.traffic.withLock { $0[hour] = 120 }
        #expect(try await rule.reading(from: scene.readings, at: now) == .figure(0.4))
        scene.readings.traffic.withLock { traffic in for week in 1...2 { traffic[hour + -Double(week) * 604_800] = nil } }
        #expect(try await rule.reading(from: scene.readings, at: now) == .tooLittle)
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:9000/hook", true), ("http://localhost/x", true), ("https://hooks.example.com/a?b=c", true),
            ("https://a.hooks.example.org/", true), ("https://hooks.example.org/", false), ("http://hooks.example.com/", false),
            ("https://hooks.example.com:8443/", false), ("https://elsewhere.example/", false), ("http://127.0.0.1@evil.example/", false),
            ("http://evil.example\\@127.0.0.1/", false), ("http://169.254.169.254/latest", false), ("ftp://localhost/", false), ("", false),
        ] as [(String, Bool)])
    func `alerts go to this machine and to hosts that the operator allows`(url: String, isAllowed: Bool) async throws {
        let server = try await TestServer()
        let teller = AlertTeller(
            postman: nil, hosts: PushHosts(names: ["hooks.example.com", "*.hooks.example.org"]), sealer: server.sealer,
            clock: server.clock.serverClock, logger: server.log.logger, server: "")
        #expect(teller.allows(url) == isAllowed)
    }

    // MARK: The admin API

    @Test func `a rule is added, changed with its secret kept, silenced with who and why in the audit log, and removed`() async throws {
        let service = try PushService()
        defer { service.close() }
        let scene = try await AdministeredServer()
        func post(_ path: String, _ body: String) async -> Answer { await scene.administrate("POST", "/admin/1/alerts" + path, body) }
        func listed(_ name: String) async throws -> AdminMessages.Alert? {
            let answer = await scene.administrate("GET", "/admin/1/alerts")
            return try JSONDecoder().decode(AdminMessages.Alerts.self, from: Data(answer.body)).alerts.first { $0.name == name }
        }
        let rule = #"{"name":"many","kind":"tasks-parked","limit":3,"webhook":"\#(service.url)"#
        let added = await post("", rule + #""}"#)
        #expect(added.status == 201 && added.json?["secret"]?.text?.count == 64)
        let changed = await post("", rule + #"","holdSeconds":0}"#)
        #expect(changed.status == 200 && changed.json?["secret"] == nil)
        #expect(try await listed("many")?.holdSeconds == 0)
        #expect(await post("/test", #"{"name":"many"}"#).text.contains(#"{"isTaken":true,"said":"status 200","way":"webhook"}"#))
        #expect(await post("/silence", #"{"name":"many","seconds":3600,"by":"Ada"}"#).json?["field"] == .string("why"))
        #expect(await post("/silence", #"{"name":"many","seconds":3600,"by":"Ada","why":"moving"}"#).status == 200)
        #expect(try await listed("many")?.silence?.by == "Ada")
        let audit = await scene.administrate("GET", "/admin/1/audit").text
        #expect(audit.contains(#""by":"Ada","name":"many","seconds":"3600","why":"moving""#), "\(audit)")
        #expect(!audit.contains(service.url))
        #expect(await post("/silence", #"{"name":"many"}"#).text == #"{"name":"many"}"#)
        #expect(await post("/remove", #"{"name":"many"}"#).text == #"{"hasDefault":false,"name":"many"}"#)
        #expect(try await listed("many") == nil)
        #expect(try await listed("tasks-parked")?.isDefault == true)
        for path in ["/remove", "/test", "/silence"] { #expect(await post(path, #"{"name":"many"}"#).status == 404) }
    }

    @Test func `the server's own rule may be changed and silenced, and comes back when the change is removed`() async throws {
        let scene = try await AdministeredServer()
        func post(_ path: String, _ body: String) async -> Answer { await scene.administrate("POST", "/admin/1/alerts" + path, body) }
        #expect(await post("/remove", #"{"name":"tasks-parked"}"#).json?["remedy"]?.text?.contains("nacre alert silence") == true)
        #expect(await post("", #"{"name":"tasks-parked","kind":"tasks-parked","limit":5}"#).status == 201)
        #expect(await post("/remove", #"{"name":"tasks-parked"}"#).text == #"{"hasDefault":true,"name":"tasks-parked"}"#)
        #expect(await post("/silence", #"{"name":"tasks-parked","seconds":60,"by":"Ada","why":"x"}"#).status == 200)
    }

    @Test(
        arguments: [
            (#""kind":"weather","limit":1"#, "kind", "tasks-parked"), (#""kind":"backup-age","limit":1"#, "kind", "--backup-dir"),
            (#""kind":"latency","limit":250"#, "percentile", "95"),
            (#""kind":"tasks-parked","limit":0"#, "limit", "above 0"), (#""kind":"tasks-parked","limit":1,"mail":["a@b.example"]"#, "mail", "--smtp"),
            (#""kind":"tasks-parked","limit":1,"webhook":"https://hooks.example.com/"#, "webhook", "--alert-host"),
            (
                #""kind":"quota-used","limit":90,"container":"iCloud.com.example.Nobody","environment":"production"#, "container",
                "nacre container create"
            ),
        ] as [(String, String, String)])
    func `a rule that cannot be is refused, and the answer says what to do`(body: String, field: String, remedy: String) async throws {
        let scene = try await AdministeredServer()
        let closed = body.hasSuffix("]") || body.last?.isNumber == true ? body : body + "\""
        let answer = await scene.administrate("POST", "/admin/1/alerts", #"{"name":"x",\#(closed)}"#)
        #expect(answer.status >= 400 && answer.json?["field"] == .string(field), "\(answer.text)")
        #expect(answer.json?["remedy"]?.text?.contains(remedy) == true, "\(answer.text)")
    }

    @Test func `parked tasks, the oldest due one, the lag of webhooks, a quota and the disk are read from the server`() async throws {
        let scene = try await AdministeredServer()
        let server = scene.server
        let readings = ServerReadings(cloud: server.cloud, folder: server.folder.path, scheduled: nil, recorder: server.recorder)
        let now = server.clock.now
        let feed = WebhookFeed(webhook: "6f1d", zone: ZoneAddress(database: DatabaseID(rawValue: 7), zone: 1))
        let tasks = [
            WebhookTask(since: now + -40).row(of: feed, due: now + 600),
            TaskRow(key: TaskKey(DatabaseID(rawValue: 7), .cascade, "late"), payload: [], due: now + -90),
            TaskRow(key: TaskKey(DatabaseID(rawValue: 7), .cascade, "parked"), payload: [], due: TaskRow.parked),
        ]
        try await server.store.write { transaction in
            var plan = WritePlan()
            plan.tasks = tasks
            try transaction.apply(plan)
            return .commit(())
        }
        func reading(_ measure: AlertMeasure, _ scope: AlertScope = AlertScope()) async throws -> AlertReading {
            try await AlertRule(name: "x", measure: measure, limit: 1, scope: scope).reading(from: readings, at: now)
        }
        #expect(try await reading(.tasksParked) == .figure(1))
        #expect(try await reading(.taskOverdue) == .figure(90))
        #expect(try await reading(.webhookLag) == .figure(40))
        guard case .figure(let free) = try await reading(.diskFree), case .figure(let bytes) = try await reading(.diskFreeBytes) else {
            Issue.record("the disk cannot be read")
            return
        }
        #expect((0...100).contains(free) && bytes >= 0)
        let scope = AlertScope(container: TestServer.container, environment: .production)
        #expect(try await reading(.quotaUsed, scope) == .tooLittle, "there is no quota")
        _ = try await server.cloud.setQuotas(of: TestServer.container, .production) { $0.publicBytes = 1000 }
        guard case .figure(let used) = try await reading(.quotaUsed, scope) else {
            Issue.record("the quota cannot be read")
            return
        }
        #expect((0..<100).contains(used))
    }

    @Test func `errors and latency are read from telemetry, of a part of the server only as telemetry shows them`() async throws {
        let server = try await TestServer()
        let readings = ServerReadings(cloud: server.cloud, folder: nil, scheduled: nil, recorder: server.recorder)
        func note(_ users: ClosedRange<Int>, status: Int) {
            for user in users {
                let series = TelemetrySeries(
                    operation: "records/query", databases: .personal, container: TestServer.container, environment: "production")
                server.recorder.add(series, at: server.clock.now, by: "user-\(user)") { sums, _ in
                    sums.requests += 10
                    if status >= 500 { sums.serverErrors += 10 }
                    for _ in 0..<10 { sums.latency.record(microseconds: 100_000) }
                }
            }
            server.clock.advance(20)
        }
        func reading(_ measure: AlertMeasure, _ scope: AlertScope) async throws -> AlertReading {
            var rule = AlertRule(name: "x", measure: measure, limit: 1, scope: scope)
            (rule.spanSeconds, rule.least) = (300, 20)
            if measure == .errors { rule.errors = "server" } else { rule.percentile = 95 }
            return try await rule.reading(from: readings, at: server.clock.now)
        }
        let parts = [
            AlertScope(container: TestServer.container), AlertScope(operation: "records/query"), AlertScope(environment: .production),
            AlertScope(databases: .private),
        ]
        #expect(try await reading(.errors, AlertScope()) == .tooLittle)
        note(1...4, status: 500)
        #expect(try await reading(.errors, AlertScope()) == .figure(100))
        for part in parts { #expect(try await reading(.errors, part) == .tooLittle, "\(part.text)") }
        note(5...9, status: 200)
        #expect(try await reading(.errors, AlertScope()) == .figure(100 * 40 / 90))
        for part in parts { #expect(try await reading(.errors, part) == .figure(0), "\(part.text)") }
        #expect(try await reading(.errors, AlertScope(databases: .public)) == .tooLittle)
        guard case .figure(let milliseconds) = try await reading(.latency, parts[0]) else {
            Issue.record("there is no latency")
            return
        }
        #expect(abs(milliseconds - 100) <= 100 * LatencyHistogram.relativeError)
    }
}
