import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

private struct Refusal: Error, Equatable {}

@Suite struct TransactionPromises {
    /// A plan with every kind of row.
    private static let everything: WritePlan = {
        let later = Timestamp(secondsSince2001: 1)
        var plan = WritePlan()
        plan.databases = [Sample.databaseRow]
        plan.zones = [Sample.zoneRow()]
        var note = Sample.put("note", 1, parent: "folder")
        note.linked = [ReferenceLink(target: "owner", kind: .deleteSelf)]
        note.indexed = [IndexKeys(index: IndexID(rawValue: 1), keys: SortedKeys([1]))]
        plan.records = [note, Sample.put("gone", 1, isTombstone: true)]
        plan.indexed = [IndexPut(zone: Sample.zone, name: "note", indexed: [IndexKeys(index: IndexID(rawValue: 2), keys: SortedKeys([1]))])]
        plan.recordsRemoved = [RecordRemoval(zone: Sample.zone, name: "gone", leaves: [ViewNumber(view: .owner, number: Sample.number(1))])]
        plan.operations = [OperationRow(database: Sample.database, id: "op", caller: "", digest: [], result: [], expires: later)]
        plan.entries = [EntryRow(key: EntryKey(Sample.database, .user, "ann"), value: [])]
        plan.tasks = [TaskRow(key: TaskKey(Sample.database, .reclaimZone, "7"), payload: [], due: later)]
        plan.zonesChanged = [Sample.zone]
        return plan
    }()

    private func isEmpty(_ store: any Store) async throws -> Bool {
        let nothingRead = try await store.read { transaction in
            let answers: [Bool] = [
                try transaction.databases([Sample.database]).isEmpty,
                try transaction.zones(in: Sample.database, after: nil, limit: 9).isEmpty,
                try transaction.zoneFeed(in: Sample.database, after: .start, limit: 9).isEmpty,
                try transaction.records(in: Sample.zone, named: ["note"]).isEmpty,
                try transaction.feed(of: Sample.zone, view: .owner, after: .start, through: nil, baseline: .zero, limit: 9).isEmpty,
                try transaction.dependents(in: Sample.zone, of: ["folder", "owner"], outside: [], limit: 9).isEmpty,
                try transaction.search(IndexScan(zone: Sample.zone, index: IndexID(rawValue: 1), limit: 9)).isEmpty,
                try transaction.search(IndexScan(zone: Sample.zone, index: IndexID(rawValue: 2), limit: 9)).isEmpty,
                try transaction.entries(in: Sample.database, .user, after: nil, limit: 9).isEmpty,
            ]
            return answers.allSatisfy { $0 }
        }
        let nothingElse = try await store.write { transaction in
            let operation = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: "op").operation
            return .rollback(try operation == nil && transaction.tasks(locking: Self.everything.tasks.map(\.key)).isEmpty)
        }
        return nothingRead && nothingElse
    }

    @Test(arguments: Engine.allCases)
    func `a transaction of too many rows is refused before any is written, in one plan or several`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let key = EntryKey(Sample.database, .user, "ann")
        var half = WritePlan()
        half.entriesRemoved = Array(repeating: key, count: Limits.transactionRows / 2)
        var refusal: StoreError?
        do {
            try await store.write { [half] transaction -> Ending<Void> in
                try transaction.apply(Self.everything)
                try transaction.apply(half)
                try? transaction.apply(half)
                return .commit(())
            }
        } catch let error as StoreError { refusal = error }
        #expect(refusal?.code == .tooLarge)
        #expect(try await isEmpty(store))
    }

    @Test(arguments: Engine.allCases)
    func `a transaction reads what it wrote`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = try await store.write { transaction in
            try transaction.apply(Self.everything)
            let feed = try transaction.feed(of: Sample.zone, view: .owner, after: .start, through: nil, baseline: .zero, limit: 9)
            return .commit(feed.map(\.record.name))
        }
        #expect(names == ["note"])
        #expect(try await !isEmpty(store))
    }

    @Test(arguments: Engine.allCases)
    func `a rollback returns its value and leaves nothing`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let value = try await store.write { transaction in
            try transaction.apply(Self.everything)
            return .rollback("said all the same")
        }
        #expect(value == "said all the same")
        #expect(try await isEmpty(store))
    }

    @Test(arguments: Engine.allCases)
    func `a body that throws leaves nothing, and its error is the caller's`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        await #expect(throws: Refusal()) {
            try await store.write { transaction -> Ending<Void> in
                try transaction.apply(Self.everything)
                throw Refusal()
            }
        }
        await #expect(throws: Refusal()) { try await store.read { _ in throw Refusal() } }
        #expect(try await isEmpty(store))
    }

    @Test(arguments: Engine.allCases)
    func `a body that swallows an engine's error cannot commit`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        await #expect {
            try await store.write { transaction in
                var plan = Self.everything
                plan.zonesChanged = [ZoneAddress(database: Sample.database, zone: 404)]
                try? transaction.apply(plan)
                return .commit(())
            }
        } throws: { ($0 as? StoreError)?.code == .corrupt }
        #expect(try await isEmpty(store))
    }

    @Test(arguments: Engine.allCases)
    func `a failure at any call leaves the state as it was`(engine: Engine) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let save: @Sendable (any WriteTransaction) throws -> Ending<Void> = { transaction in
            _ = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil)
            _ = try transaction.records(in: Sample.zone, named: ["note"])
            try transaction.apply(Self.everything)
            return .commit(())
        }
        for call in 1...4 {
            failing.fail(atCall: call)
            await #expect(throws: FailingStore.failure) { try await failing.write(save) }
            #expect(failing.callsMade == call)
            failing.fail(atCall: nil)
            #expect(try await isEmpty(failing))
        }
        try await failing.write(save)
        #expect(try await !isEmpty(failing))
    }

    @Test(arguments: Engine.allCases)
    func `calls are counted by transaction`(engine: Engine) async throws {
        let counting = CountingStore(try await engine.makeStore())
        try await counting.populate()
        try await counting.read { _ = try ($0.databases([]), $0.zones(in: Sample.database, named: [])) }
        #expect(counting.transactions == [.init(kind: .write, verbs: [.apply]), .init(kind: .read, verbs: [.databases, .zones])])
    }

    @Test(arguments: Engine.allCases)
    func `a reader sees its snapshot while writes commit`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("first", 1)])
        let (opened, written) = (Locked(false), Locked(false))
        async let counts = store.read { transaction in
            func count() throws -> Int {
                try transaction.feed(of: Sample.zone, view: .owner, after: .start, through: nil, baseline: .zero, limit: 9).count
            }
            let before = try count()
            opened.withLock { $0 = true }
            // Bounded by the write below, which does not wait for this read; in memory, where bodies run on the
            // callers' thread, by the count.
            for _ in 0..<100_000 where !written.withLock({ $0 }) {
                _ = try transaction.databases([Sample.database])
            }
            return [before, try count()]
        }
        while !opened.withLock({ $0 }) { await Task.yield() }
        try await store.apply(WritePlan(\.records, [Sample.put("second", 2)]))
        written.withLock { $0 = true }
        #expect(try await counts == [1, 1])
        #expect(try await store.names() == ["first", "second"])
    }

    @Test(arguments: Engine.allCases)
    func `numbers taken by concurrent writers are unique and dense, and readers see no gap`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let writes = 120
        try await withThrowingTaskGroup(of: Int64?.self) { group in
            for index in 0..<writes {
                group.addTask {
                    try await store.write { transaction in
                        let advance = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil)
                        guard let zone = advance.zone else { return .rollback(nil) }
                        // Every tenth is rolled back, and another one gets its number.
                        try transaction.apply(WritePlan(\.records, [Sample.put("r\(index)", zone.lastSeq)]))
                        return index % 10 == 0 ? .rollback(nil) : .commit(zone.lastSeq)
                    }
                }
                group.addTask {
                    let seen = try await store.feed(limit: 1000).map(\.feed.position.number.seq)
                    #expect(seen == Array(1...Int64(max(seen.count, 1))).prefix(seen.count).map { $0 })
                    return nil
                }
            }
            var numbers: [Int64] = []
            for try await number in group {
                numbers += number.map { [$0] } ?? []
            }
            #expect(numbers.sorted() == Array(1...Int64(writes - writes / 10)))
        }
        #expect(try await store.feed(limit: 1000).count == writes - writes / 10)
    }

    @Test(arguments: Engine.allCases)
    func `a transaction kept beyond its body answers nothing`(engine: Engine) async throws {
        struct Escaped: @unchecked Sendable {
            // Sendable: used by this test alone, to show that the transaction is refused.
            var transaction: any WriteTransaction
        }
        let store = try await engine.makeStore()
        let escaped = try await store.write { .commit(Escaped(transaction: $0)) }
        #expect(throws: StoreError.closed) { try escaped.transaction.databases([Sample.database]) }
        #expect(throws: StoreError.closed) { try escaped.transaction.apply(WritePlan()) }
    }

    @Test(arguments: Engine.allCases)
    func `a closed store says so, and may be closed again`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        async let once: Void = store.close()
        async let twice: Void = store.close()
        _ = await (once, twice)
        await store.close()
        await #expect(throws: StoreError.closed) { try await store.apply(WritePlan()) }
        await #expect(throws: StoreError.closed) { try await store.read { try $0.databases([]) } }
    }

    @Test(arguments: Engine.allCases)
    func `writes accepted before a close are done or refused, never lost in silence`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<50 {
                group.addTask {
                    do {
                        try await store.apply(WritePlan(\.records, [Sample.put("r\(index)", 1)]))
                    } catch let error as StoreError {
                        #expect(error == .closed)
                    }
                }
            }
            group.addTask { await store.close() }
            try await group.waitForAll()
        }
    }
}
