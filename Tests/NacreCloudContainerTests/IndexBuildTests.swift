import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of indexes added to existing records: their rows are built while requests go on.
@Suite struct IndexBuildTests {
    private func schema(_ user: TestCloudUser) async throws -> Schema {
        try await user.cloud.schemas.schema(of: user.target.container, user.target.environment)
    }

    /// Makes records of `Note` without the field `late`, in two databases and three zones, some of more than one
    /// chunk.
    private func prepare(_ test: TestCloud) async throws -> [TestCloudUser] {
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        let (ann, open) = (test.user("_ann"), test.user("_ann", in: .public))
        try await ann.makeZone("A", "B", "Empty")
        for (user, zone, count) in [(ann, "A", 450), (ann, "B", 200), (open, ZoneID.defaultZoneName, 30)] {
            for part in stride(from: 0, to: count, by: 400) {
                try await user.modify((part..<min(count, part + 400)).map { .create("r\($0)", ["n": .int64(Int64($0))]) }, zone: zone)
            }
            try await user.modify([.delete("r3"), .make(.create, "other", type: "Other", ["late": .string("x")])], zone: zone)
        }
        return [ann, open]
    }

    /// Adds a field by a save, and its indexes, as a query would.
    private func save(_ fields: RecordFields, _ user: TestCloudUser) async throws {
        try await user.modify([.create("new", fields)], zone: "B")
        try await user.askForIndexes()
    }

    private func isWhole(_ users: [TestCloudUser]) async throws -> Bool {
        for user in users where try await !IndexCensus(user).isWhole() { return false }
        return true
    }

    @Test(arguments: Engine.ofRules) func `a field that comes later is built over all databases, then usable`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let users = try await prepare(test)
        try await save(["late": .int64(1)], users[0])
        let field = try #require(try await schema(users[0]).types["Note"]?.fields["late"])
        #expect(field.isBuilding && field.isSortable)
        #expect(try await isWhole(users) == false, "older records lack the row that says that they have no value")
        var turns = 0
        while try await test.cloud.runDueTasks().counts == (1, 0) { turns += 1 }
        #expect(turns > 0)
        #expect(try await schema(users[0]).building.isEmpty)
        #expect(try await schema(users[0]).types["Note"]?.fields["late"]?.values?.id == field.values?.id)
        #expect(try await isWhole(users))
    }

    @Test(arguments: Engine.ofRules)
    func `long texts have the rows of all their words, and of no others: made, changed, given up and beyond the room for words`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("A")
        try await ann.modify([.create("first", ["text": .string("one")])], zone: "A")
        try await ann.askForIndexes()
        _ = try await test.cloud.runDueTasks()
        #expect(try await schema(ann).types["Note"]?.fields["text"]?.tokens != nil)
        func text(_ number: Int, _ turn: Int, words: Int = 400) -> FieldValue {
            .string((0..<words).map { "w\($0 % 50 == 0 ? turn : number)x\($0)" }.joined(separator: " "))
        }
        func modify(_ turn: Int, _ kind: NacreCloudWire.OperationType, words: Int = 400) async throws {
            try await ann.modify((0..<20).map { .make(kind, "r\($0)", ["text": text($0, turn, words: words)]) }, zone: "A")
        }
        try await modify(1, .create)
        #expect(try await IndexCensus(ann).isWhole())
        try await modify(2, .forceUpdate)
        try await modify(3, .forceReplace, words: 1000)
        #expect(try await IndexCensus(ann).isWhole())
        // Other requests have all the room.
        #expect(test.cloud.wordRoom.take(Limits.foundTextBytes))
        try await modify(4, .forceUpdate)
        #expect(try await IndexCensus(ann).isWhole())
        test.cloud.wordRoom.giveBack(Limits.foundTextBytes)
        try await ann.modify((0..<20).map { .delete("r\($0)") } + [.make(.forceUpdate, "first", ["text": text(0, 5, words: 3000)])], zone: "A")
        #expect(try await IndexCensus(ann).isWhole())
        #expect(test.cloud.wordRoom.take(Limits.foundTextBytes), "all was given back")
    }

    @Test(arguments: Engine.ofRules) func `an index that was set by hand is built, and another one with it`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let users = try await prepare(test)
        let name = try await test.cloud.schemas.setIndexes(
            [.queryable, .sortable], of: "Note", field: "recordName", isNow: true, in: TestCloud.container)
        #expect(name.field == "___recordID" && name.before == [] && name.after == [.queryable, .sortable])
        // The build of the first restarts with both.
        try await users[1].modify([.create("new", ["late": .string("two words")])])
        try await users[1].askForIndexes()
        let count = try await schema(users[0]).building.count
        #expect(count == 6, "of the names, of n, and two each of Note.late and Other.late")
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await schema(users[0]).building.isEmpty)
        #expect(try await isWhole(users))
        await #expect(throws: ServerError.self) {
            try await test.cloud.schemas.setIndexes(.searchable, of: "Note", field: "n", in: TestCloud.container)
        }
        await #expect(throws: ServerError.noContainer) {
            try await test.cloud.schemas.setIndexes(.queryable, of: "Note", field: "n", in: "iCloud.com.example.other")
        }
    }

    /// Runs one step of the task's walk, so that a test can act in the middle.
    private func step(_ test: TestCloud, _ build: inout IndexProgress, _ user: TestCloudUser) async throws -> Bool {
        let part = Registry.Part.schema(container: user.target.container, user.target.environment)
        let database = try await test.cloud.databaseID(part.key)
        let known = KnownSchema(schema: try await schema(user), database: database)
        if build.indexes.isEmpty { build.indexes = known.schema.building }
        let walk = IndexWalk(
            container: user.target.container, environment: user.target.environment, schema: known, indexes: build.indexes)
        let from = build
        let next = try #require(try await test.store.write { try walk.step(from: from, $0) })
        build = next.0
        let task = TaskRow(key: TaskKey(database, .buildIndexes, "build"), payload: build.payload, due: test.clock.now)
        #expect(try IndexProgress(task) == build, "a task remembers where it was")
        return next.1
    }

    @Test func `a step of a build puts few rows, is in no group of others' writes, and says how far it is`() async throws {
        let noted = NotedTurns(try await Engine.memory.makeStore())
        let test = TestCloud(noted)
        let ann = test.user("_ann")
        let fields = RecordFields((0..<12).map { RecordFields.Field("f\($0)", .int64(Int64($0))) })
        try await ann.modify((0..<150).map { .create("r\($0)", fields) })
        try await ann.askForIndexes()
        var build = IndexProgress()
        while build.records == 0 { _ = try await step(test, &build, ann) }
        #expect(build.records < 150 && build.records * 12 <= Limits.indexBuildRows + 12)
        let task = TaskRow(key: TaskKey(DatabaseID(rawValue: 1), .buildIndexes, "build"), payload: build.payload, due: test.clock.now)
        #expect(ListedTask(task: task, database: nil).recordsDone == build.records)
        noted.reset()
        try await test.runAllTasks()
        #expect(try await IndexCensus(ann).isWhole())
        #expect(noted.turns.count { $0.rows == Limits.indexBuildRows && $0.isDoneAgain } >= 150 * 12 / (Limits.indexBuildRows + 12))
        noted.reset()
        try await ann.modify((200..<210).map { .create("r\($0)", fields) })
        #expect(noted.turns.map(\.derivedRows) == [10 * 12])
        #expect(noted.turns.first?.cost ?? 0 > 10 * 12, "so much beside others")
    }

    @Test(arguments: Engine.ofRules, [true, false]) func `saves between two steps miss nothing, before and behind the walk`(
        engine: Engine, losesZone: Bool
    ) async throws {
        let test = try await TestCloud(engine)
        let users = try await prepare(test)
        try await save(["late": .int64(1)], users[0])
        var build = IndexProgress()
        var steps = 0
        while true {
            let isDone = try await step(test, &build, users[0])
            steps += 1
            let seq = Int64(steps)
            for zone in ["A", "B"] {
                try await users[0].modify(
                    [
                        .update("r1", ["late": .int64(seq)]), .update("r199", ["late": .int64(seq)]), .delete("r\(10 + steps)"),
                        .create("s\(steps)"), .update("r150", ["n": .int64(seq)]),
                    ], zone: zone)
            }
            if losesZone, steps == 3 {
                try await users[0].deleteZone("A")
                try await users[0].makeZone("A")
            }
            if isDone { break }
        }
        #expect(steps > 4)
        #expect(try await isWhole(users))
    }

    @Test(arguments: Engine.ofRules) func `a build beside writers misses nothing`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let users = try await prepare(test)
        try await save(["late": .int64(1)], users[0])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    var random = SeededRandom(seed: UInt64(writer))
                    for _ in 0..<40 {
                        let names = Set((0..<5).map { _ in "r\(Int.random(in: 0..<450, using: &random))" })
                        let operations = names.sorted().map { name -> RecordOperation in
                            switch Int.random(in: 0..<4, using: &random) {
                            case 0: .delete(name)
                            case 1: .make(.forceReplace, name, ["n": .int64(1)])
                            default: .update(name, ["late": .int64(.random(in: 0..<9, using: &random))])
                            }
                        }
                        try await users[0].modify(operations, zone: ["A", "B"].randomElement(using: &random) ?? "A", atomic: false)
                    }
                }
            }
            group.addTask {
                while try await test.cloud.runDueTasks().taken > 0 {}
            }
            try await group.waitForAll()
        }
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await schema(users[0]).building.isEmpty)
        #expect(try await isWhole(users))
    }

    @Test(arguments: Engine.ofRules, [1, 2, 3, 5, 8, 13, 21, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44])
    func
        `a build that a failing store cuts short goes on when its lease ends`(engine: Engine, call: Int) async throws
    {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let users = try await prepare(test)
        try await save(["late": .int64(1)], users[0])
        failing.fail(atCall: call)
        _ = try? await test.cloud.runDueTasks()
        failing.fail(atCall: nil)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await schema(users[0]).building.isEmpty)
        #expect(try await isWhole(users))
    }

    @Test(arguments: Engine.ofRules) func `a build of many chunks lets others of its lane have their turn, and goes on`(engine: Engine) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 0)
        let ann = test.user("_ann")
        for part in 0..<3 {
            try await ann.modify((0..<400).map { .create("r\(part).\($0)") })
        }
        try await ann.modify([.create("new", ["late": .int64(1)])])
        try await ann.askForIndexes()
        try await ann.modify([.create("target"), .holder("holder", of: ["target"])])
        try await ann.modify([.delete("target")])
        #expect(try await test.cloud.runDueTasks().counts == (2, 0))
        #expect(try await schema(ann).building.isEmpty == false)
        try await test.runAllTasks()
        #expect(try await ann.living(["holder"]).isEmpty)
        #expect(try await schema(ann).building.isEmpty)
        #expect(try await IndexCensus(ann).isWhole())
    }

    @Test(arguments: Engine.ofRules, 2...8) func `a worker under way when another index comes writes off none of its rows`(
        engine: Engine, write: Int
    ) async throws {
        let inner = try await engine.makeStore()
        let store = InterruptedStore(inner)
        let test = TestCloud(store)
        let (ann, other) = (test.user("_ann"), TestCloud(inner, seed: 2).user("_ann"))
        for part in 0..<3 {
            try await ann.modify((0..<400).map { .create("r\(part).\($0)") })
        }
        try await ann.modify([.create("new", ["late": .int64(1)])])
        try await ann.askForIndexes()
        store.interrupt { number in
            guard number == write else { return }
            try await other.modify([.create("newer", ["later": .int64(1)])])
            try await other.askForIndexes()
        }
        try await test.runAllTasks()
        store.interrupt(nil)
        #expect(try await ann.living(["newer"]) == ["newer"], "the worker wrote so often")
        #expect(try await schema(other).building.isEmpty)
        #expect(try await IndexCensus(other).isWhole())
    }

    @Test(arguments: Engine.ofRules) func `an index that is given up in the middle holds up no other`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let users = try await prepare(test)
        try await save(["late": .int64(1), "later": .string("x")], users[0])
        var build = IndexProgress()
        for _ in 0..<3 { _ = try await step(test, &build, users[0]) }
        let target = users[0].target
        let database = try await test.cloud.databaseID(Registry.Part.schema(container: target.container, target.environment).key)
        let walk = IndexWalk(
            container: target.container, environment: target.environment,
            schema: KnownSchema(schema: try await schema(users[0]), database: database), indexes: build.indexes)
        _ = try await test.cloud.schemas.setIndexes([], of: "Note", field: "late", in: TestCloud.container)
        let from = build
        #expect(try await test.store.write { try walk.step(from: from, $0) } == nil, "no more rows by a schema that has changed")
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await schema(users[0]).building.isEmpty)
        #expect(try await isWhole(users))
        _ = try await test.cloud.schemas.setIndexes([.queryable, .sortable], of: "Note", field: "late", isNow: true, in: TestCloud.container)
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await isWhole(users), "a new index, not what was left of the old one")
    }

    @Test(arguments: Engine.ofRules) func `records from before there were schemas come into one as their type is saved`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("A", "B")
        for zone in ["A", "B"] { try await saveWithoutSchema(300, in: zone, ann, test) }
        try await ann.modify([.update("r1", ["more": .string("x")])], zone: "A")
        let note = try #require(try await schema(ann).types["Note"])
        #expect(note.fields.keys.sorted() == ["more", "n"], "what the record kept comes with it")
        try await ann.askForIndexes()
        #expect(try await schema(ann).types["Note"]?.fields.values.filter(\.isBuilding).count == 2)
        #expect(try await IndexCensus(ann).isWhole() == false)
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await schema(ann).building.isEmpty)
        #expect(try await IndexCensus(ann).isWhole(rows: 2 * 2 * 300 + 1), "n and the lack of more, and the one word")
    }

    /// Saves records as a server did before schemas.
    private func saveWithoutSchema(_ count: Int, in zone: String, _ user: TestCloudUser, _ test: TestCloud) async throws {
        let database = try await test.cloud.databaseID(databaseVerdict(user.target, for: .write, by: user.caller).get())
        let now = test.clock.now
        try await test.store.write { transaction in
            let row = try #require(try transaction.advance(zoneNamed: zone, in: database, operation: nil).zone)
            var rows = RecordPlan(
                zone: row.address, number: row.number, now: now, stamp: Record.Stamp(timestamp: now, userRecordName: "_ann", deviceID: nil),
                hasFeed: true, isPublic: false, schema: Schema())
            var plan = WritePlan()
            plan.records = (0..<count).map { index in
                let save = RecordVerdict.Save(type: "Note", parent: nil, fields: ["n": .int64(Int64(index))], over: nil)
                return rows.put(save, named: "r\(index)", links: ([], []), at: .hidden).put
            }
            plan.zonesChanged = [row.address]
            try transaction.apply(plan)
            return .commit(())
        }
    }
}

/// A store that notes the turns of writes.
private final class NotedTurns: LayeredStore {
    let below: any Store
    private let noted = Locked([Turn]())

    init(_ store: any Store) {
        below = store
    }

    var turns: [Turn] { noted.withLock { $0 } }

    func reset() { noted.withLock { $0 = [] } }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        noted.withLock { $0.append(.current) }
        return try await below.write(body)
    }
}
