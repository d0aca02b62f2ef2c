import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of walks over a zone's records, and of their final removal.
@Suite struct PurgePromises {
    private static let share = FeedView(rawValue: 3)

    @Test(arguments: Engine.allCases)
    func `live records come in the order of their names' bytes, page by page`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = ["", "B", "a", "b\u{0}", "b\u{0}c", "e\u{301}", "é", "\u{ffff}", "\u{10000}"]
        let dead = (0..<5).map { Sample.put("a\($0)", 3, isTombstone: true) }
        let elsewhere = Sample.put("c", 1, in: ZoneAddress(database: Sample.database, zone: 8))
        try await store.populate((names.map { Sample.put($0, 2) } + dead + [elsewhere]).shuffled())
        for limit in [1, 4, 9, 10] {
            var read: [String] = []
            var last: String?
            repeat {
                let after = last
                let page = try await store.read { try $0.records(in: Sample.zone, after: after, limit: limit) }
                #expect(page.count <= limit)
                read += page.map(\.name)
                last = page.last?.name
            } while last != nil
            #expect(bytes(read) == bytes(names))
        }
        let one = try await store.read { try $0.records(in: Sample.zone, after: "a", limit: 1) }
        #expect(one == [Sample.record("b\u{0}", 2)])
        #expect(try await store.read { try $0.records(in: Sample.zone, after: nil, limit: 0) }.isEmpty)
        #expect(try await store.read { try $0.records(in: Sample.zone, after: nil, limit: -1) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `tombstones come in the order of their changes, then of their names' bytes`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var moved = Sample.put("moved", 1, isTombstone: true)
        moved.row.number = ChangeNumber(run: 2, seq: 1)
        let puts = [
            Sample.put("z", 1, isTombstone: true), Sample.put("e\u{301}", 2, isTombstone: true), Sample.put("é", 2, isTombstone: true),
            Sample.put("tenth", 10, isTombstone: true), moved,
        ]
        let elsewhere = Sample.put("c", 1, isTombstone: true, in: ZoneAddress(database: Sample.database, zone: 8))
        try await store.populate((puts + [Sample.put("alive", 1), elsewhere]).shuffled())
        let found = try await store.read { try $0.tombstones(in: Sample.zone, limit: 9) }
        #expect(found == puts.map(\.row))
        #expect(bytes(found.map(\.name)) == bytes(puts.map(\.row.name)))
        #expect(try await store.read { try $0.tombstones(in: Sample.zone, limit: 2) } == puts.prefix(2).map(\.row))
        #expect(try await store.read { try $0.tombstones(in: Sample.zone, limit: -1) }.isEmpty)

        // A record that is saved again is no tombstone any more.
        try await store.apply(WritePlan(\.records, [Sample.put("z", 11, before: 1)]))
        #expect(try await store.read { try $0.tombstones(in: Sample.zone, limit: 9) } == puts.dropFirst().map(\.row))
    }

    @Test(arguments: Engine.allCases)
    func `a removed record is gone from its zone and its feeds, and its name is free`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var puts = ["a", "b"].map { Sample.put($0, 1, parent: "p", isTombstone: true) }
        for index in puts.indices {
            let position = ViewNumber(view: Self.share, number: Sample.number(9))
            puts[index].enters.append(FeedRow(position: position, entered: position.number, isDeparture: true))
        }
        try await store.populate(puts)
        let removals = [
            RecordRemoval(zone: Sample.zone, name: "a", leaves: puts[0].enters.map(\.position)),
            RecordRemoval(zone: Sample.zone, name: "never", leaves: [ViewNumber(view: .owner, number: Sample.number(1))]),
        ]
        try await store.apply(WritePlan(\.recordsRemoved, removals))
        #expect(try await store.read { try $0.records(in: Sample.zone, named: ["a", "b"]) } == [puts[1].row])
        #expect(try await store.read { try $0.tombstones(in: Sample.zone, limit: 9) } == [puts[1].row])
        try await store.apply(WritePlan(\.records, [Sample.put("a", 2)]))
        #expect(try await store.names() == ["b", "a"])
        #expect(try await store.feed(view: Self.share).map(\.record.name) == ["b"])
    }

    @Test(arguments: Engine.allCases)
    func `reclaiming takes a zone's rows in chunks, records first, and nothing of another zone`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let sibling = ZoneAddress(database: Sample.database, zone: 8)
        var puts = (0..<25).map { Sample.put("r\($0)", Int64($0 + 1), parent: "p", isTombstone: $0 % 5 == 0) }
        puts.append(Sample.put("kept", 1, parent: "p", in: sibling))
        for index in puts.indices {
            let position = ViewNumber(view: Self.share, number: Sample.number(100 - Int64(index)))
            puts[index].enters.append(FeedRow(position: position, entered: position.number, isDeparture: false))
            puts[index].linked = [ReferenceLink(target: "p", kind: .deleteSelf)]
            puts[index].indexed = [1, 2].map { IndexKeys(index: IndexID(rawValue: $0), keys: SortedKeys([UInt8(index)])) }
        }
        try await store.populate(puts)

        for limit in [0, -1] {
            #expect(try await store.write { .commit(try $0.reclaim(Sample.zone, limit: limit)) } == 0)
        }
        var removed: [Int] = []
        repeat {
            removed.append(try await store.write { .commit(try $0.reclaim(Sample.zone, limit: 10)) })
            let left = max(25 - removed.reduce(0, +), 0)
            #expect(
                try await store.read { try $0.records(in: Sample.zone, after: nil, limit: 99) + $0.tombstones(in: Sample.zone, limit: 99) }.count
                    == left)
            #expect(try await store.feed().count <= left)
            #expect(try await store.feed(view: Self.share).count <= left)
        } while removed.last != 0
        // 25 records, as many links, and twice as many places in feeds and index rows.
        #expect(removed == [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 0])
        #expect(try await store.dependents(of: ["p"]).isEmpty)
        #expect(try await store.read { try $0.tombstones(in: Sample.zone, limit: 9) }.isEmpty)
        for (zone, left) in [(Sample.zone, 0), (sibling, 1)] {
            for index in [1, 2] as [Int64] {
                let scan = IndexScan(zone: zone, index: IndexID(rawValue: index), limit: 9)
                #expect(try await store.read { try $0.search(scan) }.count == left)
            }
        }
        #expect(try await store.names(sibling) == ["kept"])
        #expect(try await store.dependents(sibling, of: ["p"]) == [Dependents(target: "p", isParent: true, isValidated: false, owned: ["kept"])])

        // New records of the same names bring nothing of them back.
        try await store.apply(WritePlan(\.records, [Sample.put("r3", 200)]))
        #expect(try await store.names() == ["r3"])
        #expect(try await store.feed(view: Self.share).isEmpty)
    }
}
