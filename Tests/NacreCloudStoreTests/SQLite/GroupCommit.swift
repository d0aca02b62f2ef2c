import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

private struct Refusal: Error {}

@Suite struct GroupCommit {
    /// Runs `writes` so that all of them wait while another write holds the writer, and commit in as few groups as
    /// possible.
    private func together<Value: Sendable>(
        _ writes: Int, on store: SQLiteStore, _ write: @escaping @Sendable (Int) async -> Value
    ) async throws -> [Value] {
        let (hold, isRunning) = (ThreadHold(), Locked(false))
        async let holder: Void = store.write { _ in
            isRunning.withLock { $0 = true }
            hold.wait()
            return .rollback(())
        }
        while !isRunning.withLock({ $0 }) { await Task.yield() }
        let values = await withTaskGroup(of: (Int, Value).self) { group in
            for index in 0..<writes {
                group.addTask { (index, await write(index)) }
            }
            while store.waitingWrites < writes { await Task.yield() }
            hold.release()
            return await group.reduce(into: [Int: Value]()) { $0[$1.0] = $1.1 }
        }
        try await holder
        return (0..<writes).compactMap { values[$0] }
    }

    @Test func `a write adds the rows that it wrote to its request's meter, also where they are more than what the request names`()
        async throws
    {
        let temporary = try await TemporarySQLiteStore()
        let meter = WorkMeter()
        meter.add(rows: 10)
        var plan = WritePlan()
        plan.entries = (0..<500).map { EntryRow(key: EntryKey(Sample.database, .session, "s\($0)"), value: []) }
        let rows = plan
        try await WorkMeter.$current.withValue(meter) { try await temporary.apply(rows) }
        #expect((500..<600).contains(meter.cost))
    }

    @Test func `200 concurrent writes need far fewer commits`() async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate()
        let before = temporary.store.statistics[.commits]
        let errors = try await together(200, on: temporary.store) { index in
            await Result { try await temporary.apply(WritePlan(\.records, [Sample.put("r\(index)", 1)])) }
        }
        for result in errors {
            try result.get()
        }
        #expect(try await temporary.names(limit: 1000).count == 200)
        let commits = temporary.store.statistics[.commits] - before
        #expect(commits >= 1)
        #expect(commits <= 40, "one at a time there would be 200")
    }

    @Test func `a write that holds the writer too long is told, with its operation and what it changed, which is charged`() async throws {
        let told = Locked<[HeldWriter]>([])
        var options = SQLiteOptions.inFirstRun
        options.writerHold = .nanoseconds(-1)
        options.report = { event in
            if case .heldWriter(let write) = event { told.withLock { $0.append(write) } }
        }
        let temporary = try await TemporarySQLiteStore(options: options)
        try await temporary.populate()
        told.withLock { $0 = [] }
        let meter = WorkMeter(requestID: "7", operation: "/save")
        try await WorkMeter.$current.withValue(meter) {
            var plan = WritePlan()
            plan.entries = (0..<30).map { EntryRow(key: EntryKey(Sample.database, .user, "\($0)"), value: []) }
            try await temporary.apply(plan)
        }
        let write = try #require(told.withLock { $0 }.first)
        #expect(write.operation == "/save" && write.requestID == "7" && write.rows >= 30 && write.milliseconds >= 0)
        #expect(meter.cost == 30, "what is written is charged")
        told.withLock { $0 = [] }
        options.writerHold = .seconds(1000)
        let patient = try await TemporarySQLiteStore(options: options)
        try await patient.populate()
        #expect(told.withLock { $0 }.isEmpty)
    }

    @Test func `a large write is in no group that others have begun, which would wait for it`() async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate()
        let seen = Locked<[Int: Int]>([:])
        _ = try await together(8, on: temporary.store) { index in
            await Turn.$current.withValue(Turn(asker: "\(index)", rows: index % 2 == 0 ? 400 : 1)) {
                await Result {
                    try await temporary.write { [statistics = temporary.store.statistics] transaction in
                        try transaction.apply(WritePlan(\.records, [Sample.put("r\(index)", 1)]))
                        seen.withLock { $0[index] = statistics[.commits] }
                        return .commit(())
                    }
                }
            }
        }
        let commits = seen.withLock { $0 }
        let large = Set(commits.filter { $0.key % 2 == 0 }.values)
        #expect(large.count == 4, "each in a group of its own: \(commits)")
        let small = commits.filter { $0.key % 2 == 1 }.values
        #expect(small.allSatisfy { $0 <= large.min() ?? -1 }, "small ones came first, and were committed before: \(commits)")
        #expect(try await temporary.names(limit: 100).count == 8)
    }

    @Test func `one failing request in a group does not harm its neighbours`() async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate([Sample.put("taken", 1)])
        let before = temporary.store.statistics[.commits]
        let results = try await together(40, on: temporary.store) { index in
            await Result {
                try await temporary.write { transaction in
                    try transaction.apply(WritePlan(\.records, [Sample.put("r\(index)", 1)]))
                    switch index % 4 {
                    case 1: throw Refusal()
                    case 2: return .rollback(index)
                    case 3: try transaction.apply(WritePlan(\.records, [Sample.put("taken", 2)]))
                    default: break
                    }
                    return .commit(index)
                }
            }
        }
        for (index, result) in results.enumerated() {
            switch index % 4 {
            case 1: #expect(throws: Refusal.self) { try result.get() }
            case 3: #expect(throws: StoreError.self) { try result.get() }
            default: #expect(try result.get() == index)
            }
        }
        let kept = Set(try await temporary.names(limit: 1000))
        #expect(kept == Set(stride(from: 0, to: 40, by: 4).map { "r\($0)" } + ["taken"]))
        #expect(temporary.store.statistics[.commits] - before < 10)
    }

    @Test func `what a request of the group is shown is what its neighbours before it left`() async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate()
        let counts = try await together(30, on: temporary.store) { index in
            await Result {
                try await temporary.write { transaction in
                    let zone = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil).zone
                    return index % 3 == 0 ? .rollback(nil) : .commit(zone?.lastSeq)
                }
            }
        }
        let numbers = try counts.compactMap { try $0.get() }
        #expect(Set(numbers).count == numbers.count)
        #expect(Set(numbers) == Set(1...20))
    }

    @Test func `a small write goes before the batches of others that came first, and everybody gets one in turn`() async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate()
        let order = Locked([String]())
        let turns = (0..<12).map { Turn(asker: $0 % 4 == 0 ? "uploader" : "another", rows: 400) } + [Turn(asker: "small")]
        let (hold, isRunning) = (ThreadHold(), Locked(false))
        async let holder: Void = temporary.write { _ in
            isRunning.withLock { $0 = true }
            hold.wait()
            return .rollback(())
        }
        while !isRunning.withLock({ $0 }) { await Task.yield() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, turn) in turns.enumerated() {
                group.addTask {
                    try await Turn.$current.withValue(turn) {
                        try await temporary.write { transaction in
                            order.withLock { $0.append(turn.asker) }
                            try transaction.apply(WritePlan(\.records, [Sample.put("r\(index)", 1)]))
                            return .commit(())
                        }
                    }
                }
                while temporary.store.waitingWrites < index + 1 { await Task.yield() }
            }
            hold.release()
            try await group.waitForAll()
        }
        try await holder
        let found = order.withLock { $0 }
        #expect(found.count == turns.count && found.first == "small")
        for pair in 0..<3 { #expect(Set(found[(1 + 2 * pair)...].prefix(2)) == ["uploader", "another"], "\(found)") }
    }

    @Test func `a queue that is full refuses at once, and takes requests again later`() async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate()
        let (hold, isRunning) = (ThreadHold(), Locked(false))
        async let holder: Void = temporary.write { _ in
            isRunning.withLock { $0 = true }
            hold.wait()
            return .rollback(())
        }
        while !isRunning.withLock({ $0 }) { await Task.yield() }
        let refusals = await withTaskGroup(of: StoreError?.self) { group in
            for _ in 0..<SQLiteStore.waitingWritesOfOneMaximum + 10 {
                group.addTask {
                    do {
                        try await temporary.apply(WritePlan())
                        return nil
                    } catch {
                        return error as? StoreError
                    }
                }
            }
            var refusals: [StoreError] = []
            for await refusal in group {
                if let refusal { refusals.append(refusal) }
                // The refusals come first: no write can end while the writer is held.
                if refusals.count == 10 { hold.release() }
            }
            return refusals
        }
        try await holder
        #expect(refusals.count == 10)
        #expect(refusals.allSatisfy { $0.code == .unavailable })
        try await temporary.apply(WritePlan(\.records, [Sample.put("after", 1)]))
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch let error {
            self = .failure(error)
        }
    }
}
