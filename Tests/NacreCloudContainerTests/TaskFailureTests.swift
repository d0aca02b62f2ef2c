import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of failing tasks: retried with growing pauses, and parked in the end.
@Suite struct TaskFailureTests {
    private static let now = Timestamp(secondsSince2001: 800_000_000)
    private static let database = DatabaseID(rawValue: 7)

    private static func task(attempts: Int64 = 0, due: Timestamp = now) -> TaskRow {
        TaskRow(key: TaskKey(database, .cascade, "1:x"), payload: [0xff], due: due, attempts: attempts)
    }

    private func put(_ task: TaskRow, _ test: TestCloud) async throws {
        try await test.store.write { transaction in
            try transaction.apply(WritePlan(putting: task))
            return .commit(())
        }
    }

    private func kept(_ test: TestCloud) async throws -> TaskRow? {
        try await test.cloud.listTasks(after: nil).tasks.first?.task
    }

    private static func task(_ kind: TaskKind, _ attempts: Int64, due: Double, from now: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(DatabaseID(rawValue: 7), kind, "1"), payload: [1], due: now + due, attempts: attempts)
    }

    @Test(
        arguments: [
            (0, 60, nil), (0, 0, nil), (1, 60, 0), (1, 0.5, 0), (2, 60, 1), (3, 60, 2), (5, 60, 8), (8, 60, nil), (16, 60, nil), (2, 0.5, nil),
        ] as [(Int64, Double, Double?)])
    func `a lease that nobody holds any more ends as if its turn had failed, the first at once`(_ attempts: Int64, _ due: Double, _ next: Double?) {
        let now = Timestamp(secondsSince2001: 1000)
        let freed = Self.task(.cascade, attempts, due: due, from: now).withoutLease(at: now)
        #expect(freed?.due == next.map { now + $0 } && (freed == nil || freed?.attempts == attempts))
        var parked = Self.task(.cascade, 1, due: 0, from: now)
        parked.due = TaskRow.parked
        #expect(parked.withoutLease(at: now) == nil)
    }

    @Test(arguments: Engine.ofRules) func `what a process was doing when it died is done by the next one, and no time has passed`(
        _ engine: Engine
    ) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        let first = TestCloud(store)
        let ann = first.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify((0..<300).map { .create("r\($0)") }, zone: "Z")
        try await ann.deleteZone("Z")
        // The worker dies in the middle of the first chunk: the lease is stored, and nothing after it.
        let dying = InterruptedStore(store)
        dying.interrupt { number in if number > 1 { throw StoreError(.unavailable, "The process is gone") } }
        _ = try? await TestCloud(dying).cloud.runDueTasks()
        try await store.reopen(run: 2)
        let next = TestCloud(store)
        #expect(try await next.cloud.runDueTasks().taken == 0, "the lease holds")
        #expect(try await next.cloud.endLeases() == 1)
        #expect(try await next.cloud.endLeases() == 0)
        #expect(try await next.cloud.runDueTasks().counts == (1, 0))
        next.clock.move(bySeconds: Limits.taskLeaseSeconds + 1)
        #expect(try await next.cloud.runDueTasks().taken == 0, "it was done")
    }

    @Test func `a task that got on in a turn is due at once when the process of the turn dies`() async throws {
        let test = try await TestCloud(.memory)
        let now = test.clock.now
        for attempts in [1, 5] as [Int64] {
            var leased = Self.task(.settleSubtree, attempts, due: Limits.taskLeaseSeconds, from: now)
            leased.payload = [1]
            let rest = LeasedTask(cloud: test.cloud, task: leased).rest([2])
            #expect(rest.due == leased.due && rest.payload == [2], "the turn keeps its lease")
            #expect(rest.withoutLease(at: now)?.due == now)
        }
    }

    @Test func `leases of every kind end, and what is due at its time stays`() async throws {
        let test = try await TestCloud(.memory)
        let now = test.clock.now
        var plan = WritePlan()
        plan.tasks = TaskKind.allCases.map { Self.task($0, 1, due: 60, from: now) }
        for (name, due, attempts) in [("scheduled", 50.0, 0), ("later", 61, 1), ("due", -5, 1)] as [(String, Double, Int64)] {
            plan.tasks.append(TaskRow(key: TaskKey(DatabaseID(rawValue: 7), .cascade, name), payload: [], due: now + due, attempts: attempts))
        }
        let all = plan
        try await test.store.write { transaction in
            try transaction.apply(all)
            return .commit(())
        }
        #expect(try await test.cloud.endLeases() == TaskKind.allCases.count)
        let due = try await test.store.read { try $0.tasks(of: Set(TaskKind.allCases), dueThrough: now, limit: 100) }
        let (handedOver, others) = (TaskKind.allCases.filter(\.isHandedOver), TaskKind.allCases.filter { !$0.isHandedOver })
        #expect(Set(due.map(\.key.kind)) == Set(others) && due.count == others.count + 1)
        #expect(Set(test.cloud.handed.passed(in: [.push])?.left.map(\.lane) ?? []) == Set(handedOver.map(\.lane)), "in its turn")
    }

    @Test(arguments: [(0, 1), (1, 1), (2, 2), (3, 4), (9, 256), (10, 512), (11, 600), (100, 600)] as [(Int64, Double)])
    func `the pause doubles with each attempt up to ten minutes`(attempts: Int64, seconds: Double) {
        #expect(TaskRow.pause(after: attempts) == seconds)
    }

    @Test(
        arguments: [
            (1, .corrupt, 1, 1), (15, .corrupt, 15, 600), (16, .corrupt, 16, nil), (17, .corrupt, 17, nil), (2, .full, 2, 2), (16, .full, 15, 600),
            (16, .unavailable, 15, 600), (16, .readOnly, 15, 600), (16, .closed, 15, 600),
        ] as [(Int64, StoreError.Code, Int64, Double?)])
    func `a task is parked after sixteen attempts, unless it is the store that cannot be reached`(
        attempts: Int64, cause: StoreError.Code, kept: Int64, pause: Double?
    ) {
        let next = Self.task(attempts: attempts).after(StoreError(cause, ""), at: Self.now)
        #expect(next.attempts == kept && next.isParked == (pause == nil))
        if let pause { #expect(next.due == Self.now + pause) }
        #expect(Self.task(attempts: attempts).after(CancellationError(), at: Self.now).isParked == (attempts >= Limits.taskAttempts))
    }

    @Test(arguments: Engine.ofRules) func `a malformed task fails with its cause each time, is parked, and runs again when it is put back`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        try await put(Self.task(), test)
        var seconds = 0.0
        for attempt in 1...Limits.taskAttempts {
            let failures = try await test.cloud.runDueTasks().failures
            let failure = try #require(failures.count == 1 ? failures.first : nil)
            #expect(failure.task.attempts == attempt && failure.task.isParked == (attempt == Limits.taskAttempts))
            #expect((failure.cause as? StoreError)?.text == "A task's payload is malformed")
            #expect(try await kept(test) == failure.task)
            guard !failure.task.isParked else { break }
            #expect(try await test.cloud.runDueTasks().taken == 0)
            seconds += TaskRow.pause(after: attempt)
            test.clock.move(bySeconds: TaskRow.pause(after: attempt))
        }
        #expect(seconds > 3600, "who mends something has an hour")
        test.clock.move(bySeconds: 1e10)
        #expect(try await test.cloud.runDueTasks().taken == 0)
        test.clock.move(bySeconds: -1e10)
        let key = Self.task().key
        #expect(try await test.cloud.retryTask(TaskKey(Self.database, .cascade, "1:y")) == false)
        #expect(try await test.cloud.retryTask(key))
        #expect(try await test.cloud.retryTask(key) == false, "it is not parked any more")
        #expect(try await test.cloud.runDueTasks().failures.map(\.task.attempts) == [1])
    }

    @Test(arguments: Engine.ofRules) func `a task whose worker dies each time is parked, too`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.deleteZone("Z")
        let reclaim = try #require(try await test.store.read { try $0.tasks(of: [.reclaimZone], dueThrough: test.clock.now, limit: 1) }.first)
        var task = try #require(try await test.store.write { .commit(try $0.tasks(locking: [reclaim.key])) }.first)
        task.attempts = Limits.taskAttempts
        try await put(task, test)
        let failure = try #require(try await test.cloud.runDueTasks().failures.first)
        #expect(failure.task.isParked && failure.database?.owner == "_ann")
        #expect(try await test.cloud.retryTask(task.key))
        #expect(try await test.cloud.runDueTasks().counts == (1, 0))
    }

    @Test(arguments: Engine.ofRules) func `progress makes a task's attempts begin anew`(engine: Engine) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        for part in 0..<2 { try await ann.modify((0..<400).map { .create("r\(part).\($0)") }, zone: "Z") }
        try await ann.deleteZone("Z")
        let due = try #require(try await test.store.read { try $0.tasks(of: [.reclaimZone], dueThrough: test.clock.now, limit: 1) }.first)
        var task = try #require(try await test.store.write { .commit(try $0.tasks(locking: [due.key])) }.first)
        task.attempts = 9
        try await put(task, test)
        // Found, leased in three calls, a chunk in two, a look at others; then the second chunk fails.
        failing.fail(atCall: 1 + 3 + 2 + 1 + 1)
        #expect(try await test.cloud.runDueTasks().failures.map(\.task.attempts) == [1])
    }

    @Test(arguments: TaskKind.allCases, ["12:x", "", "a:b", "é"])
    func `a task's text names it, and nothing else is one`(kind: TaskKind, name: String) {
        let key = TaskKey(DatabaseID(rawValue: -81_985_529), kind, name)
        #expect(TaskKey(text: key.text) == key)
        for text in ["", "cascade", "cascade:7", "cascade:x:7", "nothing:7:7", "cascade:99999999999999999999:7"] {
            #expect(TaskKey(text: text) == nil)
        }
    }
}
