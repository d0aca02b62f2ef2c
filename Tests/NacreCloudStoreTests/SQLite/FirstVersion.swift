import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of `Fixtures/v1.sqlite`, written by the first version of the schema and never again: every later version
/// must open it and read this.
///
/// The file was made by running this suite with `NACRE_WRITE_FIXTURE` set to an empty folder, and copying
/// `rows/nacre.sqlite` out of it.
@Suite struct FirstVersion {
    private static let shareView = FeedView(rawValue: 4)
    private static let sibling = ZoneAddress(database: Sample.database, zone: -8)

    private static let databases = [
        Sample.databaseRow,
        DatabaseRow(
            id: DatabaseID(rawValue: .min), key: DatabaseKey(container: "registry", environment: .production, scope: .registry, owner: "Zoë"),
            run: 3, lastSeq: .max - 1),
    ]

    private static let zones: [ZoneRow] = {
        var app = Sample.zoneRow(lastSeq: 5)
        app.clientChangeToken = [0, 1, 254, 255]
        let states = ZoneRow.State.allCases.filter { $0 != .live }
        return [app, Sample.zoneRow("Ideas", sibling)]
            + states.enumerated().map { Sample.zoneRow("Old", ZoneAddress(database: Sample.database, zone: Int64(100 + $0)), state: $1) }
    }()

    private static let records: [RecordPut] = {
        var shared = Sample.put("shared", 4, body: [UInt8](repeating: 9, count: 9000))
        let position = ViewNumber(view: shareView, number: ChangeNumber(run: 2, seq: 1))
        shared.enters.append(FeedRow(position: position, entered: Sample.number(2), isDeparture: true))
        return [
            Sample.put("folder", 1, body: []), Sample.put("note", 2, parent: "folder"), Sample.put("gone", 3, isTombstone: true), shared,
            Sample.put("é", 5, body: [1]), Sample.put("e\u{301}", 5, body: [2]), Sample.put("zero\u{0}inside", 5),
            Sample.put("elsewhere", 1, in: sibling),
        ]
    }()

    private static let operation = OperationRow(
        database: Sample.database, id: "operation", caller: "", digest: [1, 2, 3], result: [4, 5], expires: Timestamp(secondsSince2001: 0.1 + 0.2))

    private static let entries = [
        EntryRow(key: EntryKey(Sample.database, .session, "session"), value: [7], expires: Timestamp(secondsSince2001: -1.5)),
        EntryRow(key: EntryKey(Sample.database, .sealingKey, "key"), value: []),
    ]

    private static let task = TaskRow(
        key: TaskKey(Sample.database, .trimOperations, "task"), payload: [8, 8], due: Timestamp(secondsSince2001: 700_000_000.25), attempts: 2)

    private static var content: WritePlan {
        var plan = WritePlan()
        plan.databases = databases
        plan.zones = zones
        plan.records = records
        plan.operations = [operation]
        plan.entries = entries
        plan.tasks = [task]
        plan.zonesChanged = [Sample.zone, sibling]
        return plan
    }

    @Test func `a file of version 1 is opened and read exactly`() async throws {
        let folder = try TemporaryFolder.fixture("v1.sqlite")
        let store = try await SQLiteStore.open(folder: folder.path, options: .inFirstRun)
        try await check(store)
        try await FirstVersionIndexes.check(store)
        #expect(try folder.sql("PRAGMA user_version") == [String(Migration.current)])
        #expect(try folder.sql(TemporaryFolder.rowsAstray).isEmpty)
        await store.close()
    }

    /// With `NACRE_WRITE_FIXTURE=FOLDER` the file stays there: how the fixture of a new version is made.
    @Test func `this version writes what the first file holds`() async throws {
        let folder = try TemporaryFolder()
        let kept = ProcessInfo.processInfo.environment["NACRE_WRITE_FIXTURE"].map { $0 + "/rows" }
        let store = try await SQLiteStore.open(folder: kept ?? folder.path, options: .inFirstRun)
        try await store.apply(Self.content)
        try await store.apply(FirstVersionIndexes.content)
        // The check takes the next change number.
        if kept == nil { try await check(store) }
        try await FirstVersionIndexes.check(store)
        await store.close()
    }

    private func check(_ store: SQLiteStore) async throws {
        var rows = Self.databases
        rows[0].lastSeq = 1
        rows[0].bytes = 9011
        let ids = rows.map(\.id)
        #expect(Set(try await store.read { try $0.databases(ids) }) == Set(rows))

        var live = Self.zones[0...1]
        live[0].feedSeq = 1
        live[1].feedSeq = 1
        live[0].bytes = 9008
        live[1].bytes = 3
        #expect(try await store.read { try $0.zones(in: Sample.database, after: nil, limit: 9) } == [live[1], live[0]])
        #expect(try await store.read { try $0.zoneFeed(in: Sample.database, after: .start, limit: 9) } == [live[1], live[0]])

        let mine = Self.records.filter { $0.zone == Sample.zone }
        let asked = mine.map(\.row.name)
        let found = try await store.read { try $0.records(in: Sample.zone, named: asked) }
        #expect(Set(found) == Set(mine.map(\.row)))
        #expect(bytes(try await store.names()) == bytes(["folder", "note", "gone", "shared", "e\u{301}", "zero\u{0}inside", "é"]))
        #expect(try await store.feed(view: Self.shareView) == [FeedEntry(feed: mine[3].enters[1], record: mine[3].row)])
        #expect(try await store.feed(Self.sibling).map(\.record) == [Self.records[7].row])
        #expect(try await store.parents(["folder", "note"]) == ["folder"])
        #expect(try await store.read { try $0.tombstones(in: Sample.zone, limit: 9) } == [mine[2].row])
        let names = mine.filter { !$0.row.isTombstone }.map(\.row.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(bytes(try await store.read { try $0.records(in: Sample.zone, after: nil, limit: 9) }.map(\.name)) == bytes(names))
        #expect(try await store.read { try $0.databases(of: "registry", .production, after: nil, limit: 9) } == [rows[1]])

        for entry in Self.entries {
            #expect(try await store.read { try $0.entries(in: Sample.database, entry.key.kind, keys: [entry.key.key]) } == [entry])
        }
        let advance = try await store.write { .commit(try $0.advance(zoneNamed: "Notes", in: Sample.database, operation: "operation")) }
        live[0].lastSeq = 6
        #expect(advance == Advance(run: Run.first, database: rows[0], zone: live[0], operation: Self.operation))

        #expect(try await store.write { .commit(try $0.tasks(locking: [Self.task.key])) } == [Self.task])
        #expect(
            try await store.read { try $0.tasks(of: [.trimOperations], dueThrough: Self.task.due, limit: 9) }
                == [TaskDue(Self.task.key, due: Self.task.due)])
        // The buried zones are there too: their numbers can be forgotten, and their name is free.
        try await store.apply(WritePlan(\.zonesChanged, Self.zones[2...].map(\.address)))
        let buried = try await store.read { try $0.zoneFeed(in: Sample.database, after: ZoneFeedPosition(1), limit: 9) }
        #expect(Set(buried.map(\.state)) == [.deleted, .purged, .encryptedDataReset])
    }
}
