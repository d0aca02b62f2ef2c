import NacreCloudAccounts
import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// One request of a history with its number, time and randomness, so that it can be repeated with the same draws.
package final class HistoryContext: Sendable {
    @TaskLocal package static var current: HistoryContext?

    package let id: Int
    package let now: Timestamp
    private let random: Locked<SeededRandom>

    package init(id: Int, now: Timestamp) {
        self.id = id
        self.now = now
        random = Locked(SeededRandom(seed: UInt64(id) &* 0x2545_f491_4f6c_dd1d))
    }

    package func next() -> UInt64 {
        random.withLock { $0.next() }
    }
}

/// A store that records the order in which requests wrote, and the state that each read could see.
///
/// If the engine has one writer, the last runs of write bodies are in the order of their commits.
package final class HistoryStore: LayeredStore {
    private struct Log {
        var writes: [Int] = []
        var reads: [Int: Int64] = [:]
    }

    package let below: any Store
    private let database: DatabaseID
    private let log = Locked(Log())

    /// Makes the store.
    /// - Parameter database: The database whose position in its feed identifies the state that a read could see.
    package init(_ store: any Store, database: DatabaseID) {
        below = store
        self.database = database
    }

    /// The requests with a write transaction, in the order of these transactions, even if they wrote nothing.
    package var writes: [Int] {
        let runs = log.withLock { $0.writes }
        var seen: Set<Int> = []
        return runs.reversed().filter { seen.insert($0).inserted }.reversed()
    }

    /// lastSeq[request]: the database's `lastSeq` in the snapshot of each read-only request. A writing request may
    /// read the schema first.
    package var reads: [Int: Int64] {
        log.withLock { log in
            let writes = Set(log.writes)
            return log.reads.filter { !writes.contains($0.key) }
        }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        let id = HistoryContext.current?.id
        return try await below.write { [log] transaction in
            defer {
                if let id { log.withLock { $0.writes.append(id) } }
            }
            return try body(transaction)
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let id = HistoryContext.current?.id
        return try await below.read { [log, database] transaction in
            if let id {
                let seen = try transaction.databases([database]).first?.lastSeq ?? 0
                log.withLock { $0.reads[id] = seen }
            }
            return try body(transaction)
        }
    }
}

/// A cloud whose every request draws from its own context.
package struct HistoryCloud: Sendable {
    package static let start = Timestamp(secondsSince2001: 800_000_000)

    package let store: HistoryStore
    package let user: TestCloudUser

    package init(_ store: any Store) {
        let target = DatabaseTarget(container: TestCloud.container, environment: .development, scope: .private)
        let key = DatabaseKey(container: target.container, environment: target.environment, scope: .private, owner: "_ann")
        let history = HistoryStore(store, database: DatabaseID(key))
        self.store = history
        let cloud = Cloud(
            store: history, tokens: PlainTokens(),
            process: CloudProcess(
                clock: { HistoryContext.current?.now ?? Self.start }, random: { HistoryContext.current?.next() ?? 1 }))
        user = TestCloudUser(cloud: cloud, target: target, caller: Caller(.user("_ann"), client: .framework))
    }

    /// Returns the newest position in the database's feed.
    package func place() async throws -> Int64 {
        let id = try await user.cloud.databaseID(databaseVerdict(user.target, for: .read, by: user.caller).get())
        return try await store.read { try $0.databases([id]).first?.lastSeq ?? 0 }
    }
}
