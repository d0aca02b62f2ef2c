import FoundationEssentials
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of `Fixtures/v2.sqlite`, with the additions of the second version of the schema: links, index rows and
/// forgotten places. It is never written again: every later version must open it and read this.
///
/// It was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying `nacre.sqlite`
/// out of it.
@Suite struct SecondVersion {
    private static let database = DatabaseRow(
        id: DatabaseID(rawValue: 77), key: DatabaseKey(container: "iCloud.second", environment: .production, scope: .private, owner: "_bob"),
        run: 2, lastSeq: 5, forgottenSeq: 4)
    private static let address = ZoneAddress(database: database.id, zone: 1)
    private static let index = IndexID(rawValue: 12)
    private static let keys: [[UInt8]] = [[], [0], [0, 0], [97], [97, 0], [255, 255]]

    private static let zone: ZoneRow = {
        var row = Sample.zoneRow("Second", address, lastSeq: 9)
        row.forgotten = ChangeNumber(run: 1, seq: 3)
        return row
    }()

    private static let records: [RecordPut] = {
        var owner = Sample.put("owner", 4, in: address)
        owner.indexed = [IndexKeys(index: index, keys: SortedKeys(sorting: keys))]
        var owned = Sample.put("owned", 5, in: address)
        owned.indexed = [index, IndexID(rawValue: 13)].map { IndexKeys(index: $0, keys: SortedKeys([97])) }
        owned.linked = [ReferenceLink(target: "owner", kind: .deleteSelf), ReferenceLink(target: "e\u{301}", kind: .validate)]
        return [owner, owned, Sample.put("later", 7, isTombstone: true, in: address), Sample.put("first", 6, isTombstone: true, in: address)]
    }()

    private static let entries = [
        EntryRow(key: EntryKey(database.id, .schemaVersion, "production"), value: [1]),
        EntryRow(key: EntryKey(database.id, .recordType, "Note"), value: [2, 3]),
    ]

    private static var content: WritePlan {
        var plan = WritePlan(\.records, records)
        plan.databases = [database]
        plan.zones = [zone]
        plan.entries = entries
        return plan
    }

    @Test func `a file of version 2 is opened and read exactly`() async throws {
        let folder = try TemporaryFolder.fixture("v2.sqlite")
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        try await check(store)
        #expect(try folder.sql("SELECT key FROM record_index").count == Self.records.map(\.indexed.rowCount).reduce(0, +))
        #expect(try folder.sql(TemporaryFolder.rowsAstray).isEmpty)
        await store.close()
    }

    @Test func `a file of version 1 takes what the second version keeps`() async throws {
        let folder = try TemporaryFolder.fixture("v1.sqlite")
        for isFirstOpening in [true, false] {
            let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
            if isFirstOpening { try await store.apply(Self.content) }
            try await check(store)
            await store.close()
        }
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version writes what the second file holds`() async throws {
        let folder = try TemporaryFolder()
        let store = try await SQLiteStore.open(folder: ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"] ?? folder.path)
        try await store.apply(Self.content)
        try await check(store)
        await store.close()
    }

    private func check(_ store: SQLiteStore) async throws {
        // Later versions count the bytes of records.
        var (database, zone) = (Self.database, Self.zone)
        (database.bytes, zone.bytes) = (6, 6)
        #expect(try await store.read { try $0.databases(of: "iCloud.second", .production, after: nil, limit: 9) } == [database])
        #expect(try await store.read { try $0.zones(in: Self.address.database, named: ["Second"]) } == [zone])
        let rows = Self.records.map(\.row)
        #expect(try await store.read { try $0.records(in: Self.address, after: nil, limit: 9) } == [rows[1], rows[0]])
        #expect(try await store.read { try $0.tombstones(in: Self.address, limit: 9) } == [rows[3], rows[2]])
        #expect(try await store.feed(Self.address).map(\.record) == [rows[0], rows[1], rows[3], rows[2]])
        #expect(
            try await store.dependents(Self.address, of: ["owner", "e\u{301}", "é", "owned"]) == [
                Dependents(target: "e\u{301}", isParent: false, isValidated: true, owned: []),
                Dependents(target: "owner", isParent: false, isValidated: false, owned: ["owned"]),
            ])
        var places = Self.keys.map { IndexHit(place: IndexPlace(key: $0, name: "owner"), record: rows[0]) }
        places.insert(IndexHit(place: IndexPlace(key: [97], name: "owned"), record: rows[1]), at: 3)
        for isDescending in [false, true] {
            let scan = IndexScan(zone: Self.address, index: Self.index, isDescending: isDescending, limit: 9, includesRecords: true)
            #expect(try await store.read { try $0.search(scan) } == (isDescending ? places.reversed() : places))
        }
        for entry in Self.entries {
            #expect(try await store.read { try $0.entries(in: entry.key.database, entry.key.kind, keys: [entry.key.key]) } == [entry])
        }
    }
}
