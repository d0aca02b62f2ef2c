import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// The links, index rows and forgotten positions of `Fixtures/v1.sqlite`, in a database of their own.
enum FirstVersionIndexes {
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

    static var content: WritePlan {
        var plan = WritePlan(\.records, records)
        plan.databases = [database]
        plan.zones = [zone]
        plan.entries = entries
        return plan
    }

    static func check(_ store: SQLiteStore) async throws {
        var (database, zone) = (database, zone)
        (database.bytes, zone.bytes) = (6, 6)
        #expect(try await store.read { try $0.databases(of: "iCloud.second", .production, after: nil, limit: 9) } == [database])
        #expect(try await store.read { try $0.zones(in: address.database, named: ["Second"]) } == [zone])
        let rows = records.map(\.row)
        #expect(try await store.read { try $0.records(in: address, after: nil, limit: 9) } == [rows[1], rows[0]])
        #expect(try await store.read { try $0.tombstones(in: address, limit: 9) } == [rows[3], rows[2]])
        #expect(try await store.feed(address).map(\.record) == [rows[0], rows[1], rows[3], rows[2]])
        #expect(
            try await store.dependents(address, of: ["owner", "e\u{301}", "é", "owned"]) == [
                Dependents(target: "e\u{301}", isParent: false, isValidated: true, owned: []),
                Dependents(target: "owner", isParent: false, isValidated: false, owned: ["owned"]),
            ])
        var places = keys.map { IndexHit(position: IndexPosition(key: $0, name: "owner"), record: rows[0]) }
        places.insert(IndexHit(position: IndexPosition(key: [97], name: "owned"), record: rows[1]), at: 3)
        for isDescending in [false, true] {
            let scan = IndexScan(zone: address, index: index, isDescending: isDescending, limit: 9, includesRecords: true)
            #expect(try await store.read { try $0.search(scan) } == (isDescending ? places.reversed() : places))
        }
        for entry in entries {
            #expect(try await store.read { try $0.entries(in: entry.key.database, entry.key.kind, keys: [entry.key.key]) } == [entry])
        }
    }
}
