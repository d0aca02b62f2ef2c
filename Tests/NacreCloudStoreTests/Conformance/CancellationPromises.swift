import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudStore

/// Tests that a cancelled read ends, and that the store serves others.
@Suite(.timeLimit(.minutes(5))) struct CancellationPromises {
    /// The body of an in-memory engine runs on its task's thread, of which there may be only two. The read therefore
    /// cancels its own task, and ends even if it is not cancelled.
    @Test(arguments: Engine.allCases) func `a read whose task is cancelled ends with its next question`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        // More than a store has readers: each is free again for the next.
        for _ in 0..<6 {
            let (gate, signal) = AsyncStream<Void>.makeStream()
            let reader = Locked<Task<Void, any Error>?>(nil)
            let task = Task {
                for await _ in gate {}
                try await store.read { transaction in
                    reader.withLock { $0 }?.cancel()
                    for _ in 0..<1_000_000 { _ = try transaction.zones(in: Sample.database, named: ["x"]) }
                }
            }
            reader.withLock { $0 = task }
            signal.finish()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["x"]) }.isEmpty)
    }

    @Test(arguments: Engine.allCases) func `a read of a task that was cancelled before is not begun`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let wasBegun = Locked(false)
        let (gate, signal) = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in gate {}
            return try await store.read { _ in wasBegun.withLock { $0 = true } }
        }
        task.cancel()
        signal.finish()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!wasBegun.withLock { $0 })
    }

    @Test(arguments: Engine.allCases) func `a write is done whole, whether or not its task is cancelled`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let (began, signal) = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in began {}
            return try await store.write { transaction in
                var plan = WritePlan()
                plan.databases = [Sample.databaseRow]
                try transaction.apply(plan)
                return .commit(())
            }
        }
        task.cancel()
        signal.finish()
        try await task.value
        #expect(try await store.read { try $0.databases([Sample.database]) } == [Sample.databaseRow])
    }

    @Test func `SQLite stops in the middle of a question that has no end`() async throws {
        let store = try await Engine.sqlite.makeStore()
        let (began, signal) = AsyncStream<Void>.makeStream()
        let task = Task {
            try await store.read { transaction in
                guard let snapshot = transaction as? SQLiteSnapshot else { throw StoreError.closed }
                return try snapshot.ask { connection in
                    signal.yield()
                    _ = try connection.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
                }
            }
        }
        for await _ in began { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["x"]) }.isEmpty)
    }
}
