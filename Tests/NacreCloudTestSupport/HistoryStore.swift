package import NacreCloudContainer
package import NacreCloudWire
import NacreLocks

/// One request of a history: its number, its time and its randomness, so that it can be asked again and drawn alike.
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

/// A store that remembers in which order requests wrote, and what each one that read could see.
///
/// Bodies of writes run one after the other in every engine that has one writer: their last runs are the order of their commits.
package final class HistoryStore: LayeredStore {
    private struct Log {
        var writes: [Int] = []
        var reads: [Int: Int64] = [:]
    }

    package let below: any Store
    private let database: DatabaseID
    private let log = Locked(Log())

    /// - Parameter database: whose place in its own feed says what a read could see.
    package init(_ store: any Store, database: DatabaseID) {
        below = store
        self.database = database
    }

    /// The requests that asked to write, in the order in which they did; those that wrote nothing too.
    package var writes: [Int] {
        let runs = log.withLock { $0.writes }
        var seen: Set<Int> = []
        return runs.reversed().filter { seen.insert($0).inserted }.reversed()
    }

    /// The database's `lastSeq` of the snapshot on which each request read that only reads: one that writes may look at the schema first.
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

/// A cloud whose every request is drawn from its own context.
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
            store: history, clock: { HistoryContext.current?.now ?? Self.start }, random: { HistoryContext.current?.next() ?? 1 },
            tokens: PlainTokens())
        user = TestCloudUser(cloud: cloud, target: target, caller: Caller(.user("_ann"), client: .framework))
    }

    /// The newest place in the database's feed.
    package func place() async throws -> Int64 {
        let id = try await user.cloud.databaseID(databaseVerdict(user.target, for: .read, by: user.caller).get())
        return try await store.read { try $0.databases([id]).first?.lastSeq ?? 0 }
    }
}
