import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import Testing

/// Tests of `Fixtures/v8.sqlite` and `v9.sqlite`, before indexes were packed. The first is a file of version 7 after
/// version 8 changed its number alone; the second was written by version 9, with the suite of version 3.
@Suite struct NinthVersion {
    private static let index = IndexID(rawValue: 5)

    private static func scan(_ store: some Store) async throws -> [String] {
        try await store.read { try $0.search(IndexScan(zone: Sample.zone, index: index, limit: 99, includesRecords: true)) }.map {
            "\($0.place.key) \($0.place.name)"
        }
    }

    @Test func `a file of version 8 is opened and read exactly`() async throws {
        let folder = try TemporaryFolder.fixture("v8.sqlite")
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        let zone = try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]).first }
        #expect(zone?.bytes == 9)
        #expect(try await store.feed().map(\.record.name) == ["first", "gone", "é"])
        await store.close()
        #expect(try folder.sql("PRAGMA user_version") == ["10"])
    }

    @Test func `rows of version 9 are found where they are, and change with their records`() async throws {
        let folder = try TemporaryFolder.fixture("v9.sqlite")
        var options = SQLiteOptions.inFirstRun
        options.packing.rowsApart = 2
        let store = try await SQLiteStore.open(folder: folder.path, options: options)
        let before = ["[1] e\u{301}", "[1] é", "[2] one", "[3] é", "[4] one"]
        #expect(try await Self.scan(store) == before)
        #expect(try folder.sql("SELECT count(*) FROM record_index WHERE index_id = 5") == ["5"])
        // All rows of a record with many rows are stored otherwise, also those that other records store one by one.
        var many = Sample.put("one", 7, before: 5)
        many.unindexed = [IndexKeys(index: Self.index, keys: SortedKeys([2]))]
        many.indexed = [IndexKeys(index: Self.index, keys: SortedKeys(sorting: (5...9).map { [$0] }))]
        try await store.apply(WritePlan(\.records, [many]))
        let after = ["[1] e\u{301}", "[1] é", "[3] é", "[4] one", "[5] one", "[6] one", "[7] one", "[8] one", "[9] one"]
        #expect(try await Self.scan(store) == after)
        await store.close()
        let again = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        #expect(try await Self.scan(again) == after)
        await again.close()
    }
}
