import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of `Fixtures/v3.sqlite`, with the additions of the third version of the schema: numbers by which index rows
/// lead to records, one of them used a second time. It is never written again: every later version must open it and
/// read this.
///
/// It was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying `nacre.sqlite`
/// out of it.
@Suite struct ThirdVersion {
    private static let index = IndexID(rawValue: 5)
    private static let later = IndexID(rawValue: 6)

    private static func put(_ name: String, _ seq: Int64, before: Int64? = nil, _ keys: [UInt8], isTombstone: Bool = false) -> RecordPut {
        var put = Sample.put(name, seq, before: before, isTombstone: isTombstone, body: [UInt8](repeating: 3, count: 700))
        put.indexed = [IndexKeys(index: index, keys: SortedKeys(sorting: keys.map { [$0] }))]
        return put
    }

    /// Makes, changes, removes and remakes records, and puts one in an index that was added later.
    private static func write(to store: any Store) async throws {
        try await store.populate([put("one", 1, [1, 2]), put("e\u{301}", 2, [1]), put("gone", 3, [1, 3])])
        var gone = put("gone", 4, before: 3, [], isTombstone: true)
        gone.unindexed = [IndexKeys(index: index, keys: SortedKeys(sorting: [[1], [3]]))]
        var again = put("one", 5, before: 1, [2, 4])
        again.unindexed = [IndexKeys(index: index, keys: SortedKeys([1]))]
        try await store.apply(WritePlan(\.records, [gone, again]))
        try await store.apply(WritePlan(\.recordsRemoved, [RecordRemoval(zone: Sample.zone, name: "gone", leaves: gone.enters.map(\.place))]))
        try await store.apply(WritePlan(\.records, [put("é", 6, [1, 3])]))
        let built = IndexPut(zone: Sample.zone, name: "e\u{301}", indexed: [IndexKeys(index: later, keys: SortedKeys([]))])
        try await store.apply(WritePlan(\.indexed, [built]))
    }

    private static func check(_ store: any Store, in folder: TemporaryFolder) async throws {
        let (one, two, three) = (put("one", 5, []).row, put("e\u{301}", 2, []).row, put("é", 6, []).row)
        let hits = [([1], two), ([1], three), ([2], one), ([3], three), ([4], one)].map { key, row in
            IndexHit(place: IndexPlace(key: key, name: row.name), record: row)
        }
        for isDescending in [false, true] {
            let scan = IndexScan(zone: Sample.zone, index: index, isDescending: isDescending, limit: 9, includesRecords: true)
            #expect(try await store.read { try $0.search(scan) } == (isDescending ? hits.reversed() : hits))
        }
        let scan = IndexScan(zone: Sample.zone, index: later, limit: 9, includesRecords: true)
        #expect(try await store.read { try $0.search(scan) }.map(\.record) == [two])
        #expect(try await store.feed().map(\.record) == [two, one, three])
        #expect(try folder.sql("SELECT name || ' ' || id FROM records ORDER BY id") == ["one 1", "e\u{301} 2", "é 3"])
        #expect(try folder.sql(TemporaryFolder.rowsAstray).isEmpty)
    }

    @Test func `a file of version 3 is opened and read exactly`() async throws {
        let folder = try TemporaryFolder.fixture("v3.sqlite")
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        try await Self.check(store, in: folder)
        await store.close()
    }

    @Test(arguments: ["v1.sqlite", "v2.sqlite"])
    func `a file of an earlier version gets the tables of a new one`(name: String) async throws {
        let (old, new) = (try TemporaryFolder.fixture(name), try TemporaryFolder())
        var kept: [[String]] = []
        for folder in [old, new] {
            await (try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)).close()
            let tables = try folder.sql("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            kept.append(try tables + folder.sql("PRAGMA user_version"))
            #expect(try folder.sql("PRAGMA integrity_check") == ["ok"])
        }
        #expect(kept[0] == kept[1])
    }

    @Test func `operations that an earlier version logged count for their callers`() async throws {
        let folder = try TemporaryFolder.fixture("v3.sqlite")
        try folder.sql(
            """
            INSERT INTO operations (db_id, operation_id, expires, digest, result)
            VALUES (1, '_ann/1', 5, x'', x''), (1, '_ann/2/3', 6, x'', x''), (1, '/1', 7, x'', x''), (1, 'op', 8, x'', x'')
            """)
        await (try await SQLiteStore.open(folder: folder.path)).close()
        #expect(
            try folder.sql("SELECT operation_id || ' ' || caller FROM operations WHERE db_id = 1 ORDER BY expires")
                == ["_ann/1 _ann", "_ann/2/3 _ann", "/1 ", "op "])
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version writes what the third file holds`() async throws {
        let folder = try TemporaryFolder()
        let path = ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"]
        let store = try await SQLiteStore.open(folder: path ?? folder.path)
        try await Self.write(to: store)
        if path == nil { try await Self.check(store, in: folder) }
        await store.close()
    }

    @Test func `rows lead to their records after the file was tidied by another program`() async throws {
        let folder = try TemporaryFolder.fixture("v3.sqlite")
        try folder.sql("DELETE FROM record_index WHERE name = 'one'")
        try folder.sql("DELETE FROM records WHERE name = 'one'")
        try folder.sql("VACUUM")
        #expect(try folder.sql("SELECT id FROM records ORDER BY id") == ["2", "3"])
        #expect(try folder.sql(TemporaryFolder.rowsAstray).isEmpty)
    }
}
