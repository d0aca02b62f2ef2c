import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacrePostgres

/// Tests of what an opening finds: tables of another version, data of another history, no server.
@Suite(.enabled(if: mayRun(PostgresServer.programs != nil), Comment(rawValue: PostgresServer.absent)), .timeLimit(.minutes(2)))
struct PostgresOpening {
    private static func refusal(_ url: String) async -> StoreError? {
        do {
            await (try PostgresStore.open(url)).close()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    private static func run(_ store: PostgresStore) async throws -> Int64 {
        try await store.write { .rollback(try $0.lock(in: DatabaseID(rawValue: 1)).run) }
    }

    @Test func `tables are made once, and a dry run makes none`() async throws {
        let server = try await PostgresServer.shared
        let name = try await server.makeDatabase()
        try await server.sql(name, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        let refusal = await Self.refusal(server.url(name))
        #expect(refusal?.text == "The database has no tables of nacre")
        #expect(refusal?.values["remedy"] == "Run nacre migrate with this database.")
        let tried = try await PostgresStore.migrate(server.url(name), isDryRun: true)
        #expect(tried.count > 20)
        #expect(await Self.refusal(server.url(name)) == refusal)
        #expect(try await PostgresStore.migrate(server.url(name)) == tried)
        #expect(try await PostgresStore.migrate(server.url(name)).isEmpty)
        #expect(await Self.refusal(server.url(name)) == nil)
        server.dropDatabase(name)
    }

    @Test func `tables of a newer or an older version are refused with both versions, and what to do`() async throws {
        let server = try await PostgresServer.shared
        let name = try await server.makeDatabase()
        try await server.sql(name, "UPDATE nacre SET version = 99")
        let newer = await Self.refusal(server.url(name))
        #expect(newer?.code == .newerVersion)
        #expect(newer?.values == ["database": "99", "nacre": "1", "remedy": "Use that version of nacre."])
        await #expect {
            try await PostgresStore.migrate(server.url(name))
        } throws: { error in
            (error as? StoreError)?.code == .newerVersion
        }
        try await server.sql(name, "UPDATE nacre SET version = 0")
        let older = await Self.refusal(server.url(name))
        #expect(older?.values["remedy"] == "Run nacre migrate with this database.")
        server.dropDatabase(name)
    }

    @Test func `data have one run until they are a copy, or another server's`() async throws {
        let server = try await PostgresServer.shared
        let name = try await server.makeDatabase()
        let first = try await PostgresStore.open(server.url(name))
        let run = try await Self.run(first)
        #expect(run > Run.first)
        await first.close()
        let again = try await PostgresStore.open(server.url(name))
        #expect(try await Self.run(again) == run)
        await again.close()
        let copy = name + "_copy"
        try await server.sql("postgres", "CREATE DATABASE \(copy) TEMPLATE \(name)")
        let copied = try await PostgresStore.open(server.url(copy))
        let later = try await Self.run(copied)
        #expect(later > run)
        await copied.close()
        try await server.sql(copy, "UPDATE nacre SET identity = 'another history'")
        let promoted = try await PostgresStore.open(server.url(copy))
        #expect(try await Self.run(promoted) > later)
        await promoted.close()
        for database in [name, copy] { server.dropDatabase(database) }
    }

    @Test func `a server on PostgreSQL never takes itself for the only one`() async throws {
        let server = try await PostgresServer.shared
        let name = try await server.makeDatabase()
        let store = try await PostgresStore.open(server.url(name))
        #expect(store.neighbours != nil)
        await store.close()
        server.dropDatabase(name)
    }

    @Test(arguments: [
        "postgres://ann:se-cret@127.0.0.1:1/nacre", "postgres://ann:se-cret@[nowhere/nacre", "host=127.0.0.1 port=1 password=se-cret nonsense=1",
        "postgres://ann:se-cret@127.0.0.1:1/nacre?nonsense=se-cret",
    ])
    func `an error of opening quotes no password`(url: String) async throws {
        let refusal = try #require(await Self.refusal(url))
        #expect(refusal.code == .unavailable)
        #expect(!"\(refusal)".contains("se-cret"))
    }

    @Test func `a name that is too long for an index is refused, and the store goes on`() async throws {
        let store = try await TemporaryPostgresStore()
        var random = SystemRandomNumberGenerator()
        // PostgreSQL compresses a key: only noise stays long.
        let name = String((0..<9000).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126, using: &random))) })
        let row = EntryRow(key: EntryKey(DatabaseID(rawValue: 1), .user, name), value: [])
        var plan = WritePlan()
        plan.entries = [row]
        let written = plan
        await #expect {
            try await store.write { .commit(try $0.apply(written)) }
        } throws: { error in
            (error as? StoreError)?.code == .tooLarge
        }
        #expect(try await store.read { try $0.databases([]) }.isEmpty)
    }
}
