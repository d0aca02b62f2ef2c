import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of reads of whole tables, and of rows that can be rebuilt.
@Suite struct CheckPromises {
    private static func populated(_ engine: Engine) async throws -> any Store {
        let store = try await engine.makeStore()
        var put = Sample.put("é", 1, parent: "p")
        put.linked = [ReferenceLink(target: "b", kind: .validate), ReferenceLink(target: "a", kind: .deleteSelf)]
        put.indexed = [IndexKeys(index: IndexID(rawValue: 4), keys: SortedKeys(sorting: [[], [0, 1], [0]]))]
        let other = ZoneAddress(database: Sample.database, zone: -3)
        try await store.populate([put, Sample.put("e\u{301}", 2), Sample.put("gone", 3, isTombstone: true), Sample.put("x", 1, in: other)])
        var plan = WritePlan()
        plan.zones = [Sample.zoneRow("Other", other)]
        plan.zonesChanged = [other]
        plan.entries = ["t", "s"].map { EntryRow(key: EntryKey(Sample.database, .session, $0), value: Array($0.utf8), expires: nil) }
        plan.operations = ["o", "n"].map {
            OperationRow(
                database: Sample.database, id: $0, caller: "c", digest: [1], result: [2], expires: Timestamp(secondsSince2001: 5))
        }
        plan.tasks = [TaskRow(key: TaskKey(Sample.database, .reclaimZone, "k"), payload: [3], due: Timestamp(secondsSince2001: 1))]
        try await store.apply(plan)
        return store
    }

    @Test(arguments: Engine.allCases, KeptTable.allCases)
    func `a table is walked in the order of its keys, page by page, and every row is what was put`(engine: Engine, table: KeptTable) async throws {
        let store = try await Self.populated(engine)
        let whole = try await store.read { try $0.rows(of: table, after: nil, limit: 100) }
        for limit in [1, 2] {
            var read: [KeptRow] = []
            var last: RowKey?
            repeat {
                let after = last
                let page = try await store.read { try $0.rows(of: table, after: after, limit: limit) }
                read += page
                last = page.last?.key
            } while last != nil
            #expect(read == whole)
        }
        let oracle = try await Self.populated(.memory).read { try $0.rows(of: table, after: nil, limit: 100) }
        #expect(whole == oracle)
        let counts: [KeptTable: Int] = [
            .databases: 1, .zones: 2, .records: 4, .feed: 4, .links: 2, .index: 3, .entries: 2, .operations: 2, .tasks: 1,
        ]
        #expect(whole.count == counts[table])
        #expect(try await store.read { try $0.rows(of: table, after: nil, limit: -1) }.isEmpty)
        #expect(try await store.read { try $0.faults(in: table) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `derived rows are missing unless they are kept just so, go and come by a plan, and do so without harm`(engine: Engine) async throws {
        let store = try await Self.populated(engine)
        let number = Sample.number(9)
        let feed = FeedRow(position: ViewNumber(view: .owner, number: number), entered: number, isDeparture: false)
        let other = FeedRow(position: feed.position, entered: number, isDeparture: true)
        let rows: [DerivedRow] = [
            .feed(Sample.zone, feed, name: "é"), .link(Sample.zone, ReferenceLink(target: "z", kind: .validate), name: "é"),
            .index(Sample.zone, IndexEntry(index: IndexID(rawValue: 9), key: [7]), name: "é"),
        ]
        #expect(try await store.read { try $0.missing(rows) } == rows)
        for _ in 0..<2 {
            try await store.apply(WritePlan(\.derived, rows))
            #expect(try await store.read { try $0.missing(rows) }.isEmpty)
        }
        #expect(try await store.read { try $0.missing([.feed(Sample.zone, other, name: "é")]) }.count == 1)
        try await store.apply(WritePlan(\.derived, [.feed(Sample.zone, other, name: "é")]))
        #expect(try await store.read { try $0.missing(rows) } == [rows[0]], "replaced whole")
        for _ in 0..<2 {
            try await store.apply(WritePlan(\.derivedRemoved, rows))
            #expect(try await store.read { try $0.missing(rows) } == rows)
        }
        var both = WritePlan(\.derived, rows)
        both.derivedRemoved = rows
        try await store.apply(both)
        #expect(try await store.read { try $0.missing(rows) }.isEmpty, "what goes is taken away before what comes is put")
    }
}
