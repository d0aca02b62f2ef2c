import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of tasks that a commit hands to its own process: done at once, and by the next process if this one dies.
@Suite struct HandedTaskTests {
    private static let now = Timestamp(secondsSince2001: 800_000_000)

    private static func task(
        _ name: String, _ kind: TaskKind = .fireSubscriptions, in database: Int64 = 7, at seconds: Double = 0, bytes: Int = 1
    ) -> TaskRow {
        TaskRow(
            handingOver: TaskKey(DatabaseID(rawValue: database), kind, name), payload: [UInt8](repeating: 1, count: bytes), at: now + seconds)
    }

    private static func names(_ handed: HandedTasks, in lanes: [TaskLane] = [.push]) -> [String] {
        var names: [String] = []
        while let task = handed.next(in: lanes) { names.append(task.key.name) }
        return names
    }

    @Test func `tasks are taken lane by lane, in the order in which they came due, each once`() {
        let handed = HandedTasks()
        var mine = Self.task("kept", at: 1)
        mine.isHandedOver = false
        let due = handed.take(over: [Self.task("b", at: 2), mine, Self.task("other", .cascade)])
        #expect(due == [.fireSubscriptions: Self.now + 2, .cascade: Self.now])
        _ = handed.take(over: [Self.task("a", at: 1), Self.task("c", at: 2), Self.task("d", at: 3)])
        #expect(Self.names(handed) == ["a", "b", "c", "d"], "what is not handed over is found in the store")
        #expect(Self.names(handed, in: [.upkeep, .prompt]) == ["other"] && handed.passed(in: [.push]) == nil)
        #expect(handed.take(over: [mine]) == [.fireSubscriptions: mine.due])
        _ = handed.take(over: [Self.task("e")])
        handed.removeAll()
        #expect(Self.names(handed) == [])
    }

    @Test func `databases take turns`() {
        let handed = HandedTasks()
        _ = handed.take(over: ["a", "b", "c", "d"].map { Self.task($0) })
        _ = handed.take(over: [Self.task("x", in: 8), Self.task("y", in: 8, at: 1), Self.task("z", in: 9, at: 2)])
        #expect(handed.next(in: [.push])?.key.name == "a")
        _ = handed.take(over: [Self.task("w", in: 10, at: 3)])
        #expect(Self.names(handed) == ["x", "z", "w", "b", "y", "c", "d"])
        #expect(!handed.hasNext(in: .push))
    }

    @Test func `the database comes next for which least was done, and one that comes has no more than its turn`() {
        let handed = HandedTasks()
        func place(_ database: Int64) -> HandedTasks.LineKey { HandedTasks.LineKey(lane: .push, database: DatabaseID(rawValue: database)) }
        _ = handed.take(over: ["a", "b", "c"].map { Self.task($0) })
        _ = handed.take(over: (1...6).map { Self.task("x\($0)", in: 8) })
        #expect(handed.next(in: [.push])?.key.name == "a")
        handed.charge(place(7), 2)
        #expect((0..<4).map { _ in handed.next(in: [.push])?.key.name } == ["x1", "x2", "x3", "b"])
        // Earlier usage of a database counts even if nothing of it waits.
        handed.charge(place(7), 10)
        #expect((0..<2).map { _ in handed.next(in: [.push])?.key.name } == ["x4", "x5"])
        _ = handed.take(over: ["y1", "y2"].map { Self.task($0, in: 9) })
        #expect(Self.names(handed).last == "c")
    }

    @Test func `a task that is not done goes on before those that came after it`() {
        let handed = HandedTasks()
        _ = handed.take(over: ["a", "b"].map { Self.task($0) } + [Self.task("x", in: 8)])
        guard let first = handed.next(in: [.push]) else { return #expect(Bool(false), "there is one") }
        #expect(handed.hasNext(in: .push, besides: first.key.database))
        handed.goOn(first)
        #expect(Self.names(handed) == ["x", "a", "b"] && !handed.hasNext(in: .push, besides: first.key.database))
    }

    @Test(arguments: [(2, 100, 1), (100, 5, 2)]) func `beyond so many, or so many bytes, none is remembered until those are found`(
        _ most: Int, _ bytes: Int, _ size: Int
    ) {
        let handed = HandedTasks(mostTasks: most, mostBytes: bytes)
        for name in ["a", "b", "c"] { _ = handed.take(over: [Self.task(name, bytes: size)]) }
        #expect(handed.passed(in: [.push]) == nil, "those in memory come first")
        #expect(Self.names(handed) == ["a", "b"])
        let passed = handed.passed(in: [.push])
        #expect(passed?.lineKeys == [HandedTasks.LineKey(lane: .push, database: DatabaseID(rawValue: 7))])
        _ = handed.take(over: [Self.task("d", bytes: size)])
        #expect(Self.names(handed) == [], "it would overtake c")
        if let passed { handed.found(passed) }
        #expect(handed.passed(in: [.push]) != nil, "another one came meanwhile")
        if let passed = handed.passed(in: [.push]) { handed.found(passed, but: passed.lineKeys) }
        #expect(handed.passed(in: [.push]) != nil, "not all were taken up")
        if let passed = handed.passed(in: [.push]) { handed.found(passed) }
        _ = handed.take(over: [Self.task("e", bytes: size)])
        #expect(handed.passed(in: [.push]) == nil && Self.names(handed) == ["e"])
    }

    @Test(arguments: [(4, 100, 1), (100, 8, 2)]) func `where there is no room, the database that has most gives way, and others come in their turn`(
        _ most: Int, _ bytes: Int, _ size: Int
    ) {
        let handed = HandedTasks(mostTasks: most, mostBytes: bytes)
        for name in ["a", "b", "c", "d", "e"] { _ = handed.take(over: [Self.task(name, bytes: size)]) }
        for name in ["x", "y"] { _ = handed.take(over: [Self.task(name, in: 8, bytes: size)]) }
        // Both have the same usage by now.
        _ = handed.take(over: [Self.task("z", in: 8, bytes: size)])
        #expect((0..<3).map { _ in handed.next(in: [.push])?.key.name } == ["a", "x", "b"])
        let passed = handed.passed(in: [.push])?.lineKeys.map(\.database.rawValue)
        #expect(passed == [7], "what it has left is looked for while others wait")
        _ = handed.take(over: [Self.task("f", bytes: size)])
        #expect(Self.names(handed) == ["y"], "f comes behind c")
        #expect(Set(handed.passed(in: [.push])?.lineKeys.map(\.database.rawValue) ?? []) == [7, 8])
    }

    @Test func `what was taken up from the store stays in memory`() {
        let handed = HandedTasks(mostTasks: 1)
        for name in ["a", "b"] { _ = handed.take(over: [Self.task(name)]) }
        #expect(Self.names(handed) == ["a"])
        for name in ["b", "c"] {
            var again = Self.task(name).kept
            again.attempts = 2
            handed.takeUp([again])
        }
        _ = handed.take(over: [Self.task("x", in: 8)])
        #expect(Self.names(handed) == ["b", "c"], "their rows have another lease, and would not be found")
    }

    @Test func `one lane does not take those of another for found`() {
        let handed = HandedTasks(mostTasks: 0)
        _ = handed.take(over: [Self.task("a")])
        #expect(handed.passed(in: [.upkeep]) == nil, "its worker has nothing to look for")
        _ = handed.take(over: [Self.task("c", .cascade)])
        let (mine, other) = (handed.passed(in: [.push]), handed.passed(in: [.prompt]))
        if let other { handed.found(other) }
        #expect(handed.passed(in: [.prompt]) == nil && other != nil)
        #expect(mine != nil && handed.passed(in: [.push]) == mine && handed.passed(in: TaskLane.allCases) == mine)
    }

    @Test(arguments: Engine.ofRules) func `a task that is handed over is kept like any other, and told with its commit`(_ engine: Engine)
        async throws
    {
        let store = try await engine.makeStore()
        let task = Self.task("a")
        let put = try await store.write { transaction -> Ending<[TaskRow]> in
            try transaction.apply(WritePlan(putting: task))
            return .commit(transaction.tasksPut)
        }
        #expect(put == [task])
        let kept = try await store.write { .commit(($0.tasksPut, try $0.tasks(locking: [task.key]))) }
        #expect(kept.0.isEmpty && kept.1 == [task.kept] && task.kept != task)
        #expect(kept.1[0].due == Self.now + Limits.taskLeaseSeconds && kept.1[0].attempts == 1)
    }

    private struct Scene {
        let scene: SubscriptionScene
        let author: SubscriptionScene.Device
        let device: SubscriptionScene.Device

        init(_ store: any Store) async throws {
            scene = try await SubscriptionScene(store)
            (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
            try await scene.subscribe(device, .query("q"))
            try await scene.test.runAllTasks()
        }

        func save(_ name: String) async throws { try await scene.user(author).modify([.create(name)]) }

        func told(by cloud: Cloud? = nil) async throws -> [String] {
            try await (cloud ?? scene.cloud).notifications(for: #require(device.address), after: 0, limit: .max).map { Told($0).summary }
        }
    }

    @Test(arguments: [Engine.memory, .sqlite]) func `what a save leaves to be told is neither looked for nor leased nor read back`(
        _ engine: Engine
    ) async throws {
        let store = CountingStore(try await engine.makeStore())
        let scene = try await Scene(store)
        try await scene.save("a")
        store.reset()
        #expect(try await scene.scene.cloud.runDueTasks(in: [.push]).counts == (1, 0))
        #expect(try await scene.told() == ["q a 1"])
        // The queue of the device, and the end of the task.
        #expect(store.transactions.filter { $0.kind == .write }.count == 2)
        #expect(try await scene.scene.cloud.listTasks(after: nil).tasks.allSatisfy { $0.task.key.kind != .fireSubscriptions })
    }

    @Test(arguments: [Engine.memory, .sqlite]) func `what several saves leave is told in their order, together`(_ engine: Engine)
        async throws
    {
        let store = CountingStore(try await engine.makeStore())
        let scene = try await Scene(store)
        for name in ["a", "b", "c"] { try await scene.save(name) }
        store.reset()
        #expect(try await scene.scene.cloud.runDueTasks(in: [.push]).counts == (3, 0))
        #expect(try await scene.told() == ["q a 1", "q b 1", "q c 1"])
        // The queue of the device, and the end of the tasks.
        #expect(store.transactions.filter { $0.kind == .write }.count == 2)
        #expect(try await scene.scene.cloud.listTasks(after: nil).tasks.allSatisfy { $0.task.key.kind != .fireSubscriptions })
    }

    @Test(arguments: Engine.ofRules) func `each device hears of several saves in their order, of its own of none, and once of what is told once`(
        _ engine: Engine
    ) async throws {
        let scene = try await Scene(try await engine.makeStore())
        try await scene.scene.subscribe(scene.device, .query("once", once: true))
        try await scene.scene.test.runAllTasks()
        for (index, device) in [scene.author, scene.device, scene.author, scene.device, scene.author].enumerated() {
            try await scene.scene.user(device).modify([.create("\(index)")])
        }
        try await scene.scene.test.runAllTasks()
        #expect(Set(try await scene.told().prefix(2)) == ["once 0 1", "q 0 1"])
        #expect(try await scene.told().dropFirst(2) == ["q 2 1", "q 4 1"])
        let author = try #require(scene.author.address)
        #expect(try await scene.scene.cloud.notifications(for: author, after: 0, limit: .max).map { Told($0).summary } == ["q 1 1", "q 3 1"])
    }

    @Test(arguments: Engine.ofRules) func `what was handed over to a process that dies is done by the next one, and by no other before`(
        _ engine: Engine
    ) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        let scene = try await Scene(store)
        try await scene.save("a")
        #expect(try await TestCloud(store).cloud.runDueTasks().taken == 0, "its process has it")
        try await store.reopen(run: 2)
        let next = TestCloud(store)
        #expect(try await next.cloud.runDueTasks().taken == 0)
        #expect(try await next.cloud.endLeases() == 1)
        #expect(try await next.cloud.runDueTasks().counts == (1, 0))
        #expect(try await scene.told(by: next.cloud) == ["q a 1"])
    }

    @Test(arguments: Engine.ofRules, [1, Limits.taskLeaseSeconds + 1])
    func `what waited when a process died is told before what is saved from then on, in its order`(_ engine: Engine, _ seconds: Double) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        let scene = try await Scene(store)
        let cloud = scene.scene.cloud
        for name in ["c", "b", "a"] {
            try await scene.save(name)
            scene.scene.test.clock.move(bySeconds: 0.001)
        }
        try await store.reopen(run: 2)
        scene.scene.test.clock.move(bySeconds: seconds)
        #expect(try await cloud.endLeases() == 3)
        for name in ["e", "d"] { try await scene.save(name) }
        #expect(try await cloud.runDueTasks(limit: 1).counts == (1, 0))
        // The others were taken up.
        try await store.reopen(run: 3)
        #expect(try await cloud.endLeases() == 4)
        #expect(try await cloud.runDueTasks(limit: 1).counts == (1, 0))
        try await scene.save("f")
        var told: [[String]] = []
        var turns: WorkerRound
        repeat {
            turns = try await cloud.runDueTasks(limit: 2)
            told.append(try await scene.told())
        } while turns.areMore
        let all = ["q c 1", "q b 1", "q a 1", "q e 1", "q d 1", "q f 1"]
        #expect(told.allSatisfy { all.starts(with: $0) } && told.last == all, "\(told)")
        #expect(try await cloud.listTasks(after: nil).tasks.allSatisfy { $0.task.key.kind != .fireSubscriptions })
        #expect(cloud.handed.passed(in: [.push]) == nil)
    }

    @Test(arguments: [Engine.memory, .sqlite]) func `a task that had got on when its process died is told in its order`(
        _ engine: Engine
    ) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        let scene = try await Scene(store)
        let (cloud, clock) = (scene.scene.cloud, scene.scene.test.clock)
        for number in 0..<Limits.firingChunk {
            let filter = QueryFilter(.notEquals, fieldName: "open", value: .string("x\(number)"))
            try await scene.scene.subscribe(scene.device, .query("\(1000 + number)", [filter]))
        }
        let bob = try await scene.scene.signIn("bob")
        try await scene.scene.subscribe(bob, .query("q"))
        try await scene.scene.test.runAllTasks()
        for name in ["b", "a"] {
            try await scene.save(name)
            clock.move(bySeconds: 1)
        }
        // While others wait, a task of more than one portion goes back after each.
        let other = try await scene.scene.signIn("bob")
        try await scene.scene.user(other).modify([.create("x")])
        #expect(try await cloud.runDueTasks(in: [.push], limit: 1).counts == (1, 0))
        #expect(try await scene.told() == [])
        try await store.reopen(run: 2)
        _ = try await cloud.endLeases()
        try await scene.scene.test.runAllTasks()
        #expect(try await scene.told() == ["q b 1", "q a 1"])
    }

    @Test(arguments: [Engine.memory, .sqlite]) func `what found no room in memory, and was not begun, is neither leased again nor taken for begun`(
        _ engine: Engine
    ) async throws {
        let store = CountingStore(try await engine.makeStore())
        let scene = try await Scene(store)
        let handed = scene.scene.cloud.handed
        _ = handed.take(over: (2..<5_001).map { Self.task("\($0)", .cascade, in: 100 + Int64($0)) })
        for name in ["a", "b"] { try await scene.save(name) }
        let kept = try await scene.scene.cloud.listTasks(after: nil).tasks.map(\.task).filter { $0.key.kind == .fireSubscriptions }
        store.reset()
        #expect(try await scene.scene.cloud.runDueTasks(in: [.push], limit: 1).counts == (1, 0))
        #expect(try await scene.scene.cloud.runDueTasks(in: [.push], limit: 1).counts == (1, 0))
        #expect(kept.count == 2 && kept.allSatisfy { $0.attempts == 1 })
        // The queue of the device and the end of the task, for each, and nothing for taking them up.
        #expect(store.transactions.filter { $0.kind == .write && $0.verbs.contains(.apply) }.count == 4)
        #expect(try await scene.told() == ["q a 1", "q b 1"])
    }

    @Test(arguments: Engine.ofRules) func `a process that comes late to what it was handed leaves it to who has it by then`(_ engine: Engine)
        async throws
    {
        let scene = try await Scene(try await engine.makeStore())
        try await scene.save("a")
        // The worker is late, and still has its lease.
        scene.scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds - 1)
        #expect(try await scene.scene.cloud.runDueTasks().counts == (1, 0))
        try await scene.save("b")
        scene.scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds + 1)
        let other = TestCloud(scene.scene.test.store)
        other.clock.move(bySeconds: 2 * Limits.taskLeaseSeconds)
        #expect(try await other.cloud.runDueTasks().counts == (1, 0))
        #expect(try await scene.scene.cloud.runDueTasks().taken == 0)
        #expect(try await scene.told() == ["q a 1", "q b 1"])
    }

    @Test(arguments: Engine.ofRules) func `tasks that found no room in memory are found in the store, in their order`(_ engine: Engine) async throws {
        let scene = try await Scene(try await engine.makeStore())
        let cloud = scene.scene.cloud
        // The memory gets as many as it holds, less two, of another lane, and none of a database that has more.
        _ = cloud.handed.take(over: (2..<5_000).map { Self.task("\($0)", .cascade, in: 100 + Int64($0)) })
        for name in ["a", "b", "c", "d"] {
            try await scene.save(name)
            scene.scene.test.clock.move(bySeconds: 0.001)
        }
        #expect(cloud.handed.passed(in: [.push]) == nil, "those that found room come first")
        var told: [[String]] = []
        while true {
            // Another lane, which looks for its own tasks, does not count these as found.
            _ = try await cloud.runDueTasks(in: [.upkeep])
            let turns = try await cloud.runDueTasks(in: [.push], limit: 1)
            if turns.taken > 0 { told.append(try await scene.told()) }
            if !turns.areMore { break }
        }
        let all = ["q a 1", "q b 1", "q c 1", "q d 1"]
        #expect(told.allSatisfy { all.starts(with: $0) } && told.last == all && cloud.handed.passed(in: [.push]) == nil, "\(told)")
        #expect(try await cloud.listTasks(after: nil).tasks.allSatisfy { $0.task.key.kind != .fireSubscriptions })
        cloud.handed.removeAll()
        try await scene.save("e")
        #expect(cloud.handed.next(in: [.push]) != nil)
    }

    @Test(arguments: Engine.ofRules) func `a database that has much in the store has nobody wait who saves in another, and keeps its order`(
        _ engine: Engine
    ) async throws {
        let scene = try await Scene(try await engine.makeStore())
        let cloud = scene.scene.cloud
        let bob = try await scene.scene.signIn("bob")
        try await scene.scene.subscribe(bob, .query("q"))
        try await scene.scene.test.runAllTasks()
        _ = cloud.handed.take(over: (2..<5_000).map { Self.task("\($0)", .cascade, in: 100 + Int64($0)) })
        for name in ["a", "b", "c", "d"] { try await scene.save(name) }
        let other = try await scene.scene.signIn("bob")
        try await scene.scene.user(other).modify([.create("x")])
        let address = try #require(bob.address)
        func heard() async throws -> [String] {
            try await cloud.notifications(for: address, after: 0, limit: .max).map { Told($0).summary }
        }
        // One each, and then the ones that gave way to bob's.
        for told in [["q a 1"], ["q a 1"], ["q a 1", "q b 1"], ["q a 1", "q b 1", "q c 1"]] {
            #expect(try await cloud.runDueTasks(in: [.push], limit: 1).counts == (1, 0))
            #expect(try await scene.told() == told)
        }
        #expect(try await heard() == ["q x 1"])
        while try await cloud.runDueTasks(in: [.push]).areMore {}
        #expect(try await scene.told() == ["q a 1", "q b 1", "q c 1", "q d 1"])
    }

    /// The waiting tasks of an author, and whether they are too many.
    struct Waiting {
        var scope: DatabaseKey.Scope
        var count = 1
        var bytes = 1
        var isFull = true
    }

    @Test(
        arguments: [
            Waiting(scope: .private, count: Limits.changesWaitingToBeTold), Waiting(scope: .public, bytes: Limits.bytesWaitingToBeTold),
            // Others' subscriptions take the time.
            Waiting(scope: .public, count: Limits.changesWaitingToBeTold, isFull: false),
        ], Engine.ofRules)
    func `who has left as much as may wait to be told is asked to wait, and nobody else is`(_ size: Waiting, _ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("bob"))
        let (own, other) = (scene.user(ada, in: size.scope), scene.user(ada, in: size.scope == .public ? .private : .public))
        try await scene.subscribe(ada, .query("q"), in: size.scope)
        try await own.modify([.create("a")])
        let task = try #require(try await scene.cloud.listTasks(after: nil).tasks.first { $0.task.key.kind == .fireSubscriptions }?.task)
        let database = task.key.database
        var plan = WritePlan()
        plan.tasks = (0..<size.count).map {
            TaskRow(
                handingOver: TaskKey(database, .fireSubscriptions, "\(scene.names["ada"] ?? "") \($0)"),
                payload: [UInt8](repeating: 0, count: size.bytes), at: scene.test.clock.now)
        }
        try await scene.cloud.store.write { [plan] transaction in
            try transaction.apply(plan)
            return .commit(())
        }
        func save(_ name: String, text: String = "") async -> ServerError? {
            do {
                try await own.modify([.create(name, ["text": .string(text)])])
                return nil
            } catch { return error as? ServerError }
        }
        #expect(ServerError.tooMuchToTell.retryAfter != nil && ServerError.tooMuchToTell.code == .throttled)
        #expect(await save("b") == (size.isFull ? .tooMuchToTell : nil))
        #expect(try await own.lookup(["b"]).first?.error?.code == (size.isFull ? .notFound : nil), "nothing of it was written")
        try await other.modify([.create("b")])
        try await scene.user(bob, in: size.scope).modify([.create("c")])
        try await scene.cloud.store.write { [keys = plan.tasks.map(\.key)] transaction in
            var plan = WritePlan()
            plan.tasksFinished = keys
            try transaction.apply(plan)
            return .commit(())
        }
        #expect(await save("d") == nil)
    }
}
