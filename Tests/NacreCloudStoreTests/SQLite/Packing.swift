import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import NacreRandom
import Testing

@testable import NacreCloudStore

@Suite struct Packing {
    private static let index = IndexID(rawValue: 5)

    // MARK: Bytes

    @Test func `a block gives back its rows, whatever their keys and names`() throws {
        let names = [
            "", "a", "e\u{301}", "é", "8C7F0E5A-90AB-4D1E-8B0D-1234567890AB", "8c7f0e5a-90ab-4d1e-8b0d-1234567890ab",
            "11111111-1111-1111-1111-111111111111", "8c7f0E5a-90ab-4d1e-8b0d-1234567890ab", "8c7f0e5a090ab-4d1e-8b0d-1234567890ab",
            String(repeating: "x", count: 255),
        ]
        let keys: [[UInt8]] = [[], [2], [2, 97], [2, 97, 98], [2, 97, 99], [UInt8](repeating: 255, count: 513)]
        let ids: [Int64] = [0, 1, 300, .max, -1]
        var rows = keys.flatMap { key in names.map { PackedRow(key: key, name: $0, id: ids[($0.utf8.count + key.count) % ids.count]) } }
        rows.sort { $0.order(to: $1) < 0 }
        let bytes = RowBlock.encode(rows[...])
        let read = try RowBlock.decode(bytes)
        #expect(read == rows)
        #expect(read.map { Array($0.name.utf8) } == rows.map { Array($0.name.utf8) })
        for length in 0..<bytes.count { #expect(throws: MalformedBytes.self) { try RowBlock.decode(Array(bytes[..<length])) } }
        #expect(throws: MalformedBytes.self) { try RowBlock.decode(bytes + [0]) }
    }

    @Test func `a word of a thousand records takes some twenty bytes for each`() {
        var random = SeededRandom(seed: 1)
        func digits(_ count: Int) -> String { String((0..<count).compactMap { _ in "0123456789ABCDEF".randomElement(using: &random) }) }
        let names = (0..<1000).map { _ in "\(digits(8))-\(digits(4))-\(digits(4))-\(digits(4))-\(digits(12))" }.sorted()
        let rows = names.enumerated().map { PackedRow(key: [2] + Array("meeting".utf8), name: $0.element, id: Int64($0.offset) + 20_000) }
        #expect(RowBlock.encode(rows[...]).count < 23 * rows.count)
        let parts = RowBlock.parts(of: rows, most: 880)
        #expect(parts.flatMap { Array($0) } == rows)
        #expect(parts.allSatisfy { (600...880).contains(RowBlock.encode($0).count) })
    }

    @Test func `changes that wait are found by their keys, and later ones say what is so`() throws {
        let keys: [[UInt8]] = [[], [2], [2, 97], [2, 98], [2, 98, 0], [3]]
        let gone = SortedKeys(sorting: [[2, 98], [2, 97]])
        let made = WaitingChanges(gone: gone, come: SortedKeys(sorting: keys.filter { $0.count != 2 }))
        let changes = try WaitingChanges(made.bytes)
        #expect(made.count == changes.count)
        #expect((0..<changes.count).map { Array(changes.key(at: $0)) } == keys)
        #expect((0..<changes.count).map { changes.isGone(at: $0) } == [false, false, true, true, false, false])
        for (index, key) in keys.enumerated() {
            #expect(changes.place(of: key) == index && changes.isKey(key, at: index))
            #expect(changes.place(of: key + [0]) > index)
        }
        #expect(changes.place(of: [4]) == keys.count && !changes.isKey([4], at: keys.count))
        let later = WaitingChanges(gone: SortedKeys(sorting: [[3], [9]]), come: SortedKeys(sorting: [[2, 97], [1]]))
        let all = try WaitingChanges(changes.followed(by: later).bytes)
        #expect((0..<all.count).map { Array(all.key(at: $0)) } == [[], [1], [2], [2, 97], [2, 98], [2, 98, 0], [3], [9]])
        #expect((0..<all.count).map { all.isGone(at: $0) } == [false, false, false, false, true, false, true, true])
        // The bytes in files.
        let kept = WaitingChanges(gone: SortedKeys([2]), come: SortedKeys(sorting: [[3, 4], []]))
        #expect(kept.bytes == [1, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 1, 2, 0, 3, 4])
        // A key that is added is there, even if it is also removed.
        let both = WaitingChanges(gone: SortedKeys(sorting: [[1], [2]]), come: SortedKeys(sorting: [[2]]))
        #expect((0..<both.count).map { both.isGone(at: $0) } == [true, false])
        #expect(WaitingChanges(gone: SortedKeys(), come: SortedKeys()).count == 0)
        let bytes = changes.bytes
        for length in 0..<bytes.count - 1 { #expect((try? WaitingChanges(Array(bytes[..<length])))?.count != keys.count || length > 40) }
    }

    @Test func `what waits is packed when nobody writes or when it is much, and large writes wait where it is too much`() {
        let bound = PackingBound(rowsApart: 4, blockBytes: 900, idleBytes: 10, busyBytes: 100, fullBytes: 1000, smallWriteRows: 50)
        for (waiting, isUnderWay, isIdle, packs) in [
            (0, false, true, false), (9, false, true, false), (10, false, true, true), (99, false, false, false), (100, false, false, true),
            (0, true, false, true),
        ] { #expect(bound.packs(waiting: waiting, isUnderWay: isUnderWay, isIdle: isIdle) == packs, "\(waiting) \(isUnderWay) \(isIdle)") }
        for (rows, waiting, isAdmitted) in [
            (1_000_000, 999, true), (51, 1000, false), (50, 1000, true), (50, 1999, true), (50, 2000, false), (1, 2000, false), (0, 9999, true),
        ] { #expect(bound.admits(rows: rows, waiting: waiting) == isAdmitted, "\(rows) \(waiting)") }
    }

    @Test func `packing is put off for a write that waited for a long one, and not twice in a row`() {
        for (wasLong, writesWait, wasPutOff, isPutOff) in [
            (true, true, false, true), (true, true, true, false), (true, false, false, false), (false, true, false, false),
            (false, false, true, false),
        ] {
            let found = PackingBound.isPutOff(wasLong: wasLong, writesWait: writesWait, wasPutOff: wasPutOff)
            #expect(found == isPutOff, "\(wasLong) \(writesWait) \(wasPutOff)")
        }
    }

    // MARK: Stores

    private static func words(_ name: String, _ seq: Int64, before: Int64? = nil, gone: [UInt8] = [], _ come: [UInt8]) -> RecordPut {
        var put = Sample.put(name, seq, before: before)
        put.unindexed = [IndexKeys(index: index, keys: SortedKeys(sorting: gone.map { [2, $0] }))]
        put.indexed = [IndexKeys(index: index, keys: SortedKeys(sorting: come.map { [2, $0] }))]
        return put
    }

    private static func found(_ store: some Store) async throws -> [String] {
        try await store.read { try $0.search(IndexScan(zone: Sample.zone, index: index, limit: 10_000)) }.map {
            "\($0.position.key[1])\($0.position.name)"
        }
    }

    private static func options(_ change: (inout PackingBound) -> Void) -> SQLiteOptions {
        var options = SQLiteOptions.inFirstRun
        change(&options.packing)
        return options
    }

    @Test func `rows that wait are there after a restart, and are packed then`() async throws {
        let folder = try TemporaryFolder()
        let first = try await SQLiteStore.open(folder: folder.path, options: Self.options { ($0.idleBytes, $0.busyBytes) = (.max, .max) })
        try await first.populate([Self.words("a", 1, [1, 2, 3, 4]), Self.words("b", 2, [2, 3, 4])])
        try await first.apply(WritePlan(\.records, [Self.words("a", 3, before: 1, gone: [1, 2], [9])]))
        let rows = ["2b", "3a", "3b", "4a", "4b", "9a"]
        #expect(try await Self.found(first) == rows)
        await first.close()
        #expect(try folder.sql("SELECT count(*) FROM index_blocks") == ["0"])
        #expect(try folder.sql("SELECT count(*) FROM index_waiting") == ["2"])

        let second = try await SQLiteStore.open(folder: folder.path, options: Self.options { $0.busyBytes = 1 })
        #expect(try await Self.found(second) == rows)
        try await second.apply(WritePlan(\.records, [Self.words("c", 4, [3, 4, 5])]))
        // The writer packs after a write and before the next: the second one finds all of it done.
        try await second.apply(WritePlan(\.records, [Sample.put("d", 5)]))
        #expect(try await Self.found(second) == ["2b", "3a", "3b", "3c", "4a", "4b", "4c", "5c", "9a"])
        await second.close()
        #expect(second.statistics[.packings] > 0)
        #expect(try folder.sql("SELECT count(*) FROM index_waiting") == ["0"])
        #expect(try folder.sql("SELECT count(*) FROM record_index") == ["0"])
    }

    @Test func `a row that goes and comes again while its index is packed is there`() async throws {
        let store = try await TemporarySQLiteStore(options: Self.options { $0.busyBytes = 1 })
        try await store.populate([Self.words("a", 1, [1, 2, 3])])
        for round in 0..<20 as Range<Int64> {
            let (gone, come): ([UInt8], [UInt8]) = round.isMultiple(of: 2) ? ([1, 2], [7, 8]) : ([7, 8], [1, 2])
            try await store.apply(WritePlan(\.records, [Self.words("a", 2 + round, before: 1 + round, gone: gone, come)]))
            #expect(try await Self.found(store) == (come == [1, 2] ? ["1a", "2a", "3a"] : ["3a", "7a", "8a"]))
        }
    }

    @Test func `an index that lost its last row leaves nothing behind`() async throws {
        let store = try await TemporarySQLiteStore(options: Self.options { $0.busyBytes = 1 })
        let names = (0..<30).map { "r\($0)" }
        try await store.populate(names.map { Self.words($0, 1, [1, 2, 3]) })
        try await store.apply(WritePlan(\.records, names.map { Self.words($0, 2, before: 1, gone: [1, 2, 3], []) }))
        #expect(try await Self.found(store).isEmpty)
        try await store.apply(WritePlan(\.records, [Sample.put("last", 3)]))
        try await store.apply(WritePlan(\.records, [Sample.put("very last", 4)]))
        #expect(try store.folder.sql("SELECT count(*) FROM index_waiting") == ["0"])
        #expect(try store.folder.sql("SELECT count(*) FROM index_blocks") == ["0"])
    }

    @Test func `large writes that meet a full list are done later, and none fails`() async throws {
        let bound = PackingBound(rowsApart: 1, blockBytes: 900, idleBytes: .max, busyBytes: .max, fullBytes: 3000, smallWriteRows: 10)
        var options = SQLiteOptions.inFirstRun
        options.packing = bound
        let store = try await TemporarySQLiteStore(options: options)
        try await store.populate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask { try await store.apply(WritePlan(\.records, [Self.words("r\(number)", Int64(number + 1), Array(0..<200))])) }
            }
            try await group.waitForAll()
        }
        #expect(try await Self.found(store).count == 40 * 200)
        #expect(store.store.statistics[.packingWaits] > 0 && store.store.statistics[.packings] > 0)
        // One full list and one write: 200 keys of two bytes, with their places.
        let waiting = try store.folder.sql("SELECT COALESCE(SUM(LENGTH(changes)), 0) FROM index_waiting").compactMap { Int($0) }
        #expect(waiting.allSatisfy { $0 <= 3000 + 5 + 200 * 7 })
    }

    // MARK: Damage

    /// Makes a cloud of texts in two zones, whose words are packed and waiting.
    private static func texts(in folder: TemporaryFolder, _ change: (inout PackingBound) -> Void) async throws {
        let store = try await SQLiteStore.open(folder: folder.path, options: options(change))
        let test = TestCloud(store)
        let ann = test.user("_ann")
        try await ann.makeZone("Notes")
        try await ann.modify([.create("first", ["text": .string("x")])], zone: "Notes")
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        _ = try await test.cloud.schemas.setIndexes(.searchable, of: "Note", field: "text", isNow: true, in: TestCloud.container)
        try await test.runAllTasks()
        for index in 0..<12 {
            try await ann.modify([.create("r\(index)", ["text": .string("some words \(index) and many more of them")])], zone: "Notes")
        }
        try await ann.modify([.delete("r3"), .update("r4", ["text": .string("nothing else at all")])], zone: "Notes")
        await store.close()
    }

    private static func search(_ word: String, _ user: TestCloudUser) async throws -> [String] {
        let filter = QueryFilter(.containsAllTokens, fieldName: "text", value: .string(word))
        let request = RecordsQueryRequest(query: Query(recordType: "Note", filters: [filter]), zoneID: ZoneID(zoneName: "Notes"))
        return try await user.cloud.queryRecords(request, in: user.target, by: user.caller).records.map(\.recordName).sorted()
    }

    private static let withWords = (0..<12).filter { $0 != 3 && $0 != 4 }.map { "r\($0)" }.sorted()

    @Test(arguments: ["index_waiting", "index_blocks"], ["zone_id", "index_id", "key", "name", "round", "checksum", "changes", "rows"])
    func `an index that lies is an error or the truth, and a repair makes it again from its records`(table: String, column: String) async throws {
        let isWaiting = table == "index_waiting"
        guard isWaiting ? !["key", "rows"].contains(column) : !["round", "changes"].contains(column) else { return }
        let folder = try TemporaryFolder()
        try await Self.texts(in: folder) { ($0.idleBytes, $0.busyBytes) = isWaiting ? (.max, .max) : (1, 1) }
        let rows = try #require(Int(folder.sql("SELECT count(*) FROM \(table)").first ?? ""))
        try #require(rows > 1)
        for offset in [0, rows / 2, rows - 1] {
            let keys = isWaiting ? "db_id, zone_id, index_id, name, round" : "db_id, zone_id, index_id, key, name"
            let wrong =
                switch column {
                case "changes", "rows": "CAST(SUBSTR(\(column), 1, 7) || x'63' || SUBSTR(\(column), 9) AS BLOB)"
                case "key": "CAST(x'02ff' || key AS BLOB)"
                case "name": "name || 'x'"
                default: "\(column) + 4"
                }
            _ = try folder.sql(
                "UPDATE \(table) SET \(column) = \(wrong) WHERE (\(keys)) = (SELECT \(keys) FROM \(table) LIMIT 1 OFFSET \(offset))")
        }
        let store = try await SQLiteStore.open(folder: folder.path, options: Self.options { ($0.idleBytes, $0.busyBytes) = (.max, .max) })
        let test = TestCloud(store)
        let ann = test.user("_ann")
        if let found = try? await Self.search("words", ann) { #expect(Set(found).isSubset(of: Self.withWords)) }
        #expect(try await !test.check().filter { $0.table == "index" || $0.table == "records" }.isEmpty)
        try await test.check(.repair)
        try await test.check(.repair)
        #expect(try await test.check().isEmpty)
        #expect(try await Self.search("words", ann) == Self.withWords)
        #expect(try await Self.search("nothing", ann) == ["r4"])
        #expect(try await Self.search("some nothing", ann).isEmpty)
        await store.close()
    }
}
