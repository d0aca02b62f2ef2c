import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacrePostgres

/// Tests of connections that end, of transactions that PostgreSQL gives up, and of servers that share a database.
@Suite(.enabled(if: mayRun(PostgresServer.programs != nil), Comment(rawValue: PostgresServer.absent)), .timeLimit(.minutes(2)))
struct PostgresFaults {
    private static let database = DatabaseRow(
        id: DatabaseID(rawValue: 7), key: DatabaseKey(container: "c", environment: .development, scope: .private, owner: "_ann"), run: 1,
        lastSeq: 0)
    private static let zones = (1...2).map { number in
        ZoneRow(address: ZoneAddress(database: database.id, zone: Int64(number)), name: "zone\(number)", run: 1, lastSeq: 0)
    }

    private static func populate(_ store: any Store) async throws {
        var plan = WritePlan()
        plan.databases = [database]
        plan.zones = zones
        try await store.write { [plan] in .commit(try $0.apply(plan)) }
    }

    private static func advance(_ store: any Store) async throws -> ChangeNumber? {
        try await store.write { .commit(try $0.advance(zoneNamed: "zone1", in: database.id).zone?.number) }
    }

    /// Ends the other connections to a database.
    private static func endConnections(_ store: TemporaryPostgresStore) async throws {
        try await store.server.sql(
            store.database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    }

    @Test func `reads and writes go on after all connections have ended`() async throws {
        let store = try await TemporaryPostgresStore()
        try await Self.populate(store)
        for number in 1...3 {
            try await Self.endConnections(store)
            #expect(try await store.read { try $0.zones(in: Self.database.id, after: nil, limit: 9).count } == 2)
            #expect(try await Self.advance(store)?.seq == Int64(number))
        }
    }

    @Test func `a body whose connection ends before the commit runs again, and is done once`() async throws {
        let store = try await TemporaryPostgresStore()
        try await Self.populate(store)
        let runs = Locked(0)
        let seq = try await store.write { transaction in
            let seq = try transaction.advance(zoneNamed: "zone1", in: Self.database.id).zone?.lastSeq
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            guard let transaction = transaction as? PostgresTransaction else { throw StoreError.closed }
            if run == 1 { try transaction.ask { _ = try $0.send(.endConnection) } }
            return .commit(seq)
        }
        #expect(seq == 1)
        #expect(runs.withLock { $0 } == 2)
        #expect(try await Self.advance(store)?.seq == 2)
    }

    @Test func `writes that wait for each other are both done`() async throws {
        let store = try await TemporaryPostgresStore()
        try await Self.populate(store)
        let (first, second) = (Locked(false), Locked(false))
        @Sendable func take(_ names: [String], _ mine: Locked<Bool>, _ other: Locked<Bool>) async throws {
            try await store.write { transaction in
                _ = try transaction.advance(zoneNamed: names[0], in: Self.database.id)
                mine.withLock { $0 = true }
                while !other.withLock({ $0 }) { _ = try transaction.databases([]) }
                _ = try transaction.advance(zoneNamed: names[1], in: Self.database.id)
                return .commit(())
            }
        }
        async let one: Void = take(["zone1", "zone2"], first, second)
        async let two: Void = take(["zone2", "zone1"], second, first)
        _ = try await (one, two)
        #expect(try await store.read { try $0.zones(in: Self.database.id, after: nil, limit: 9).map(\.lastSeq) } == [2, 2])
    }

    @Test func `two servers on one database have one run, and take numbers that are unique and dense`() async throws {
        let one = try await TemporaryPostgresStore(options: PostgresOptions())
        let two = try await PostgresStore.open(one.server.url(one.database))
        try await Self.populate(one)
        let numbers = try await withThrowingTaskGroup(of: ChangeNumber?.self) { group in
            for index in 0..<60 {
                let store: any Store = index.isMultiple(of: 2) ? one : two
                group.addTask { try await Self.advance(store) }
            }
            return try await group.reduce(into: [ChangeNumber]()) { $0 += $1.map { [$0] } ?? [] }
        }
        #expect(numbers.map(\.seq).sorted() == Array(1...60))
        #expect(Set(numbers.map(\.run)).count == 1)
        await two.close()
    }

    @Test func `two transactions that make one database do not replace each other's row`() async throws {
        let store = try await TemporaryPostgresStore()
        let counts = try await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    try await store.write { transaction in
                        var plan = WritePlan()
                        if try transaction.lock(in: Self.database.id).database == nil {
                            plan.databases = [Self.database]
                            plan.zones = [Self.zones[0]]
                        }
                        plan.zonesChanged = [Self.zones[0].address]
                        try transaction.apply(plan)
                        return .commit(try transaction.databases([Self.database.id]).first?.lastSeq)
                    }
                }
            }
            return try await group.reduce(into: [Int64]()) { $0 += $1.map { [$0] } ?? [] }
        }
        #expect(counts.sorted() == Array(1...12))
    }

    @Test func `a cancelled read ends in the middle of a statement, and the connection serves others`() async throws {
        let store = try await TemporaryPostgresStore()
        let (began, signal) = AsyncStream<Void>.makeStream()
        let task = Task {
            try await store.read { transaction in
                guard let snapshot = transaction as? PostgresSnapshot else { throw StoreError.closed }
                signal.yield()
                _ = try snapshot.ask { try $0.ask(.endless) }
            }
        }
        for await _ in began { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for _ in 0..<8 { #expect(try await store.read { try $0.databases([]) }.isEmpty) }
    }

    @Test func `where a session loses its statements, as behind a pooler, they are no longer prepared`() async throws {
        let store = try await TemporaryPostgresStore()
        try await Self.populate(store)
        let runs = Locked(0)
        let seq = try await store.write { transaction in
            let seq = try transaction.advance(zoneNamed: "zone1", in: Self.database.id).zone?.lastSeq
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            guard let transaction = transaction as? PostgresTransaction else { throw StoreError.closed }
            if run == 1 { try transaction.ask { _ = try $0.ask(.forgetStatements) } }
            _ = try transaction.advance(zoneNamed: "zone1", in: Self.database.id)
            return .commit(seq)
        }
        #expect(seq == 1)
        #expect(try await Self.advance(store)?.seq == 3)
    }
}

extension Statement {
    fileprivate static let endConnection = Statement("SELECT pg_terminate_backend(pg_backend_pid())")
    fileprivate static let endless = Statement("SELECT pg_sleep(100)")
    fileprivate static let forgetStatements = Statement("DEALLOCATE ALL")
}
