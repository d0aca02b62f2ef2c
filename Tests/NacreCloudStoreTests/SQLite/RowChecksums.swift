import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Rows of databases, zones and entries that are not what was written are errors, which a restore puts right.
@Suite struct RowChecksums {
    private static let column: [(table: String, column: String)] = [
        ("databases", "container"), ("databases", "owner"), ("databases", "incarnation"), ("databases", "last_seq"), ("databases", "forgotten_seq"),
        ("databases", "bytes"), ("databases", "checksum"), ("zones", "name"), ("zones", "state"), ("zones", "incarnation"), ("zones", "last_seq"),
        ("zones", "feed_seq"),
        ("zones", "bytes"), ("zones", "client_change_token"), ("zones", "forgotten_seq"), ("zones", "checksum"), ("entries", "value"),
        ("entries", "checksum"),
    ]

    private func prepared() async throws -> (folder: TemporaryFolder, number: Int) {
        let folder = try TemporaryFolder()
        let store = try await SQLiteStore.open(folder: folder.path)
        let test = TestCloud(store)
        let ann = test.user("_ann")
        try await ann.makeZone("Notes")
        for index in 0..<5 { try await ann.modify([.create("r\(index)", ["n": .int64(1)])], zone: "Notes", token: [1, 2, 3]) }
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        await store.close()
        return (folder, 5)
    }

    /// Flips a low bit of a column's value, through SQLite, so that nothing else is damaged.
    private func flip(_ column: (table: String, column: String), in folder: TemporaryFolder) throws {
        let row =
            switch column.table {
            case "databases": "scope = 'private'"
            case "zones": "name = 'Notes'"
            default: "kind = 10"
            }
        try folder.flip(column.column, of: column.table, where: row, byte: 2, bit: 0)
    }

    @Test(arguments: Self.column) func `a flipped bit is an error that names the row, and no repair guesses what it was`(
        column: (table: String, column: String)
    ) async throws {
        let (folder, _) = try await prepared()
        try flip(column, in: folder)
        let store = try await SQLiteStore.open(folder: folder.path)
        let test = TestCloud(store)
        let found = try await test.check()
        #expect(!found.isEmpty && found.allSatisfy { $0.outcome == .beyondRepair }, "\(found)")
        if column.table != "entries" {
            await #expect(throws: ServerError.self) { try await test.user("_ann").databaseChanges() }
            #expect(test.takeFaults().contains { $0.code == .corrupt && $0.values["database"] != nil }, "the log names it")
        }
        #expect(try await test.check(.repair).allSatisfy { $0.outcome == .beyondRepair })
        await store.close()
    }

    @Test func `a task of no kind that is known holds no other up`() async throws {
        let (folder, _) = try await prepared()
        try folder.sql("INSERT INTO tasks (db_id, kind, name, due, attempts, payload) VALUES (1, 999, 'x', -1e9, 0, x'')")
        let store = try await SQLiteStore.open(folder: folder.path)
        let test = TestCloud(store)
        try await test.user("_ann").deleteZone("Notes")
        #expect(try await test.cloud.runDueTasks(limit: 8).counts == (1, 0))
        #expect(try await test.check().map(\.outcome) == [.beyondRepair])
        await store.close()
    }
}
