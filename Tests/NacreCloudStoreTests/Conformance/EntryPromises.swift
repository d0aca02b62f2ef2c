import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct EntryPromises {
    private static func moment(_ seconds: Double) -> Timestamp { Timestamp(secondsSince2001: seconds) }

    private static func entry(_ kind: EntryKind, _ key: String, _ value: [UInt8] = [1], expires: Double? = nil) -> EntryRow {
        EntryRow(key: EntryKey(Sample.database, kind, key), value: value, expires: expires.map(moment))
    }

    private static func operation(
        _ id: String, expires: Double, by caller: String = "ann", in database: DatabaseID = Sample.database, result: [UInt8] = [3]
    ) -> OperationRow {
        OperationRow(database: database, id: id, caller: caller, digest: [1, 2], result: result, expires: moment(expires))
    }

    private static func task(
        _ name: String, due: Double, _ payload: [UInt8] = [1], of kind: TaskKind = .reclaimZone, in database: DatabaseID = Sample.database
    ) -> TaskRow {
        TaskRow(key: TaskKey(database, kind, name), payload: payload, due: moment(due))
    }

    private func logged(_ store: any Store, _ ids: [String], in database: DatabaseID = Sample.database) async throws -> [String] {
        try await store.write { transaction in
            .rollback(try ids.filter { try transaction.advance(zoneNamed: "none", in: database, operation: $0).operation != nil })
        }
    }

    @Test(arguments: Engine.allCases)
    func `entries are found by key, and listed in the order of their keys' bytes`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let keys = ["a", "b", "é", "B", "e\u{301}"]
        let entries = keys.map { Self.entry(.session, $0, Array($0.utf8), expires: 1.0 / 3) }
        try await store.apply(WritePlan(\.entries, entries + [Self.entry(.account, "c", []), Self.entry(.apiToken, "a")]))
        let found = try await store.read { try $0.entries(in: Sample.database, .session, keys: ["b", "c", "e\u{301}", "b"]) }
        #expect(Set(found.map(\.value)) == Set([Array("b".utf8), Array("e\u{301}".utf8)]))
        #expect(found.allSatisfy { $0.expires == Self.moment(1.0 / 3) })

        let ordered = bytes(keys).sorted { $0.lexicographicallyPrecedes($1) }
        let first = try await store.read { try $0.entries(in: Sample.database, .session, after: nil, limit: 2) }
        let rest = try await store.read { try $0.entries(in: Sample.database, .session, after: first.last?.key.key, limit: 9) }
        #expect((first + rest).map(\.value) == ordered)
        #expect(try await store.read { try $0.entries(in: Sample.database, .account, after: nil, limit: 9) } == [Self.entry(.account, "c", [])])
        #expect(try await store.read { try $0.entries(in: Sample.database, .session, after: nil, limit: -1) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `an entry put again is replaced, a removed one is gone, and one removed and put stays`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.apply(WritePlan(\.entries, [Self.entry(.user, "a", expires: 5), Self.entry(.user, "b"), Self.entry(.user, "c")]))
        var plan = WritePlan(\.entries, [Self.entry(.user, "a", [2]), Self.entry(.user, "c", [3])])
        plan.entriesRemoved = [EntryKey(Sample.database, .user, "b"), EntryKey(Sample.database, .user, "c"), EntryKey(Sample.database, .user, "no")]
        try await store.apply(plan)
        let left = try await store.read { try $0.entries(in: Sample.database, .user, after: nil, limit: 9) }
        #expect(left == [Self.entry(.user, "a", [2]), Self.entry(.user, "c", [3])])
    }

    @Test(arguments: Engine.allCases)
    func `a logged operation is found by the next advance and by reads, replaced whole when put again`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.apply(WritePlan(\.operations, [Self.operation("op", expires: 1)]))
        var again = Self.operation("op", expires: 2)
        (again.digest, again.result) = ([], [9, 9])
        try await store.apply(WritePlan(\.operations, [again]))
        let found = try await store.write { .commit(try $0.advance(zoneNamed: "none", in: Sample.database, operation: "op").operation) }
        #expect(found == again)
        #expect(try await store.read { try $0.operation(in: Sample.database, "op") } == again)
        #expect(try await store.read { try $0.operation(in: DatabaseID(rawValue: 1), "op") ?? $0.operation(in: Sample.database, "o") } == nil)
        #expect(try await logged(store, ["op"], in: DatabaseID(rawValue: 1)).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `trimming keeps the newest operations of one caller in one database, and tells up to when it went`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let other = DatabaseID(rawValue: 1)
        let ids = (0..<10).map { "op\($0)" }
        let mine = ids.enumerated().map { Self.operation($1, expires: Double(($0 * 7) % 10)) }
        let theirs = [Self.operation("theirs", expires: -1, in: other), Self.operation("bob's", expires: -1, by: "bob")]
        try await store.apply(WritePlan(\.operations, mine + theirs))
        func trim(keeping count: Int, bytes: Int = .max, through last: Double = 100, limit: Int = 100) async throws -> TrimmedOperations {
            try await store.write {
                .commit(
                    try $0.trimOperations(
                        in: Sample.database, by: "ann", keeping: count, bytes: bytes, expiringThrough: Self.moment(last), limit: limit))
            }
        }
        func trimmed(_ count: Int, _ latest: Double?) -> TrimmedOperations {
            TrimmedOperations(count: count, latest: latest.map(Self.moment))
        }
        #expect(try await trim(keeping: 10) == trimmed(0, nil))
        #expect(try await trim(keeping: 4, limit: 0) == trimmed(0, nil))
        #expect(try await trim(keeping: 4, limit: 2) == trimmed(2, 1))
        #expect(try await trim(keeping: 4, through: 3) == trimmed(2, 3), "what expires later stays, however many there are")
        #expect(try await trim(keeping: 4) == trimmed(2, 5))
        let newest = mine.filter { $0.expires >= Self.moment(6) }.map(\.id)
        #expect(try await logged(store, ids) == newest.sorted())
        #expect(try await trim(keeping: 4, bytes: 4) == trimmed(0, nil))
        #expect(try await trim(keeping: 4, bytes: 3, through: 5) == trimmed(0, nil), "nor for its bytes goes what expires later")
        #expect(try await trim(keeping: 4, bytes: 3) == trimmed(1, 6))
        try await store.apply(WritePlan(\.operations, [Self.operation("large", expires: 8.5, result: Array(repeating: 3, count: 100))]))
        #expect(try await trim(keeping: 4, bytes: 100) == trimmed(3, 8.5), "what stands behind a large one goes with it")
        #expect(try await trim(keeping: 0) == trimmed(1, 9))
        #expect(try await logged(store, ["bob's"]) == ["bob's"])
        #expect(try await logged(store, ["theirs"], in: other) == ["theirs"])
    }

    @Test(arguments: Engine.allCases)
    func `what expired goes in chunks, from every database, and nothing else`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var plan = WritePlan()
        plan.entries = (1...5).map { Self.entry(.session, "s\($0)", expires: Double($0)) } + [Self.entry(.session, "for ever")]
        plan.operations = (1...5).map { Self.operation("op\($0)", expires: Double($0)) }
        try await store.apply(plan)
        try await store.apply(WritePlan(\.operations, [Self.operation("theirs", expires: 0, in: DatabaseID(rawValue: 1))]))
        var removed: [Int] = []
        repeat {
            removed.append(try await store.write { .commit(try $0.removeExpired(before: Self.moment(4), limit: 4)) })
        } while removed.last != 0
        #expect(removed == [4, 3, 0])
        let entries = try await store.read { try $0.entries(in: Sample.database, .session, after: nil, limit: 9) }
        #expect(entries.map(\.key.key) == ["for ever", "s4", "s5"])
        #expect(try await logged(store, (1...5).map { "op\($0)" }) == ["op4", "op5"])
        #expect(try await logged(store, ["theirs"], in: DatabaseID(rawValue: 1)).isEmpty)
    }

    private func names(_ store: any Store, through last: Double, of kinds: Set<TaskKind> = [.reclaimZone], limit: Int = 9) async throws -> [String] {
        try await store.read { try $0.tasks(of: kinds, dueThrough: Self.moment(last), limit: limit) }.map(\.key.name)
    }

    @Test(arguments: Engine.allCases)
    func `due tasks of some kinds are found oldest first, in every database`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var cascade = Self.task("cascade", due: 2.5)
        cascade.key.kind = .cascade
        try await store.apply(WritePlan(\.tasks, [Self.task("late", due: 9), Self.task("second", due: 2), Self.task("now", due: 3), cascade]))
        try await store.apply(WritePlan(\.tasks, [Self.task("first", due: 1, [7], in: DatabaseID(rawValue: 1))]))
        #expect(try await names(store, through: 3) == ["first", "second", "now"])
        #expect(try await names(store, through: 3, limit: 2) == ["first", "second"])
        #expect(try await names(store, through: 3, of: [.cascade]) == ["cascade"])
        #expect(try await names(store, through: 9, of: Set(TaskKind.allCases)) == ["first", "second", "cascade", "now", "late"])
        #expect(try await names(store, through: 8.9, of: [.sweepZone]).isEmpty)
        #expect(try await names(store, through: 9, of: []).isEmpty)
        #expect(try await names(store, through: 9, limit: 0).isEmpty)
        #expect(try await names(store, through: 9, limit: -1).isEmpty)
        let due = try await store.read { try $0.tasks(of: [.reclaimZone], dueThrough: Self.moment(1), limit: 9) }
        #expect(due == [TaskDue(TaskKey(DatabaseID(rawValue: 1), .reclaimZone, "first"), due: Self.moment(1))])
    }

    @Test(arguments: Engine.allCases)
    func `tasks of a kind are counted with their bytes by how their names begin, up to a limit`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var cascade = Self.task("ada 1", due: 2.5, [1, 2, 3])
        cascade.key.kind = .cascade
        let named: [(String, [UInt8])] = [
            ("ada 1", [1, 2]), ("ada 2", [3]), ("ada 9\u{10fffd}", []), ("ad", [1]), ("adam 1", [1]), ("\u{e4}da 1", [1]),
        ]
        try await store.apply(WritePlan(\.tasks, named.map { Self.task($0.0, due: 1, $0.1) } + [cascade]))
        try await store.apply(WritePlan(\.tasks, [Self.task("ada 3", due: 1, [7], in: DatabaseID(rawValue: 1))]))
        func count(_ prefix: String, _ limit: Int = 9, of kind: TaskKind = .reclaimZone) async throws -> [Int] {
            let found = try await store.read { try $0.tasks(of: kind, in: Sample.database, namesFrom: prefix, limit: limit) }
            return [found.count, found.bytes]
        }
        #expect(try await count("ada ") == [3, 3])
        #expect(try await count("ada ", 1) == [1, 2])
        #expect(try await count("ada ", of: .cascade) == [1, 3])
        #expect(try await count("") == [6, 6])
        #expect(try await count("", 0) == [0, 0])
        #expect(try await count("", -1) == [0, 0])
        #expect(try await count("bob ") == [0, 0])
        #expect(try await count("", of: .sweepZone) == [0, 0])
    }

    @Test(arguments: Engine.allCases)
    func `tasks are read under their locks, each once, and a transaction knows the earliest of each kind that it put`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let kept = [Self.task("a", due: 4, [1, 2]), Self.task("b", due: 3)]
        let earliest = try await store.write { transaction -> Ending<[[TaskKind: Timestamp]]> in
            var earliest = [transaction.earliestTasks]
            try transaction.apply(WritePlan(\.tasks, [kept[0]]))
            earliest.append(transaction.earliestTasks)
            try transaction.apply(WritePlan(\.tasks, kept))
            earliest.append(transaction.earliestTasks)
            try transaction.apply(WritePlan(\.tasksFinished, [Self.task("no", due: 0).key]))
            earliest.append(transaction.earliestTasks)
            try transaction.apply(WritePlan(\.tasks, [Self.task("c", due: 2, of: .cascade)]))
            return .commit(earliest + [transaction.earliestTasks])
        }
        let kind = kept[0].key.kind
        #expect(earliest.map { $0[kind] } == [nil, Self.moment(4), Self.moment(3), Self.moment(3), Self.moment(3)])
        #expect(earliest.map { $0[.cascade] } == [nil, nil, nil, nil, Self.moment(2)] && earliest.last?.count == 2)
        let keys = [kept[0].key, kept[1].key, kept[0].key, Self.task("no", due: 0).key]
        let (found, none) = try await store.write { transaction in
            .commit((try transaction.tasks(locking: keys), transaction.earliestTasks))
        }
        #expect(found.count == 2 && Set(found) == Set(kept) && none.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `tasks of one key are one task, and a finished one is gone unless it is put anew`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.apply(WritePlan(\.tasks, [Self.task("a", due: 1), Self.task("b", due: 1), Self.task("c", due: 1)]))
        try await store.apply(WritePlan(\.tasks, [Self.task("a", due: 5, [2])]))
        var plan = WritePlan(\.tasksFinished, [Self.task("b", due: 0).key, Self.task("c", due: 0).key, Self.task("no", due: 0).key])
        plan.tasks = [Self.task("c", due: 6, [3])]
        try await store.apply(plan)
        #expect(try await names(store, through: 9) == ["a", "c"])
        let left = try await store.write { .commit(try $0.tasks(locking: ["a", "c"].map { Self.task($0, due: 0).key })) }
        #expect(Set(left) == [Self.task("a", due: 5, [2]), Self.task("c", due: 6, [3])])
    }
}

extension WriteTransaction {
    /// The earliest due time of the tasks of each kind that plans of this transaction have put.
    var earliestTasks: [TaskKind: Timestamp] { [TaskKind: Timestamp](tasksPut) }
}
