import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct RecordPromises {
    @Test(arguments: Engine.allCases)
    func `records come back as they were put, tombstones too`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let long = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let puts = [
            Sample.put("plain", 1), Sample.put("child", 2, parent: "plain", body: []), Sample.put("gone", 3, isTombstone: true, body: [0]),
            Sample.put("long", 4, body: long), Sample.put("zero\u{0}inside", 5), Sample.put("", 6, parent: ""),
        ]
        try await store.populate(puts)
        let asked = puts.map(\.row.name) + ["plain", "nobody"]
        let found = try await store.read { try $0.records(in: Sample.zone, named: asked) }
        #expect(found.count == puts.count)
        #expect(Set(found) == Set(puts.map(\.row)))
    }

    @Test(arguments: Engine.allCases)
    func `records are read up to so many bytes, and one of them always`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = (0..<5).map { "r\($0)" }
        try await store.populate(names.enumerated().map { Sample.put($1, Int64($0) + 1, body: Array(repeating: 7, count: 100)) })
        for (bytesMax, count) in [(1, 1), (100, 1), (101, 2), (300, 3), (500, 5), (.max, 5)] {
            let found = try await store.read { try $0.records(in: Sample.zone, named: names + ["nobody"], bytesMax: bytesMax) }
            #expect(found.count == count)
            let inOrder = try await store.read { try $0.records(in: Sample.zone, after: nil, limit: 9, bytesMax: bytesMax) }
            #expect(inOrder == found)
            let later = try await store.read { try $0.records(in: Sample.zone, after: "r0", limit: 2, bytesMax: bytesMax) }
            #expect(later.map(\.name) == Array(names[1...].prefix(min(count, 2))))
        }
    }

    @Test(arguments: Engine.allCases)
    func `heads are records without their bodies, tombstones too`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let puts = [
            Sample.put("plain", 1, body: [1, 2]), Sample.put("child", 2, parent: "plain", body: [3]),
            Sample.put("gone", 3, isTombstone: true, body: [4]),
        ]
        try await store.populate(puts)
        let found = try await store.read { try $0.heads(in: Sample.zone, named: ["gone", "nobody", "plain", "child", "plain"]) }
        #expect(found.allSatisfy { $0.body.isEmpty })
        let heads = puts.map { put in
            var head = put.row
            head.body = []
            return head
        }
        #expect(found.count == 3 && Set(found) == Set(heads))
        #expect(try await store.read { try $0.heads(in: Sample.zone, named: []) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `names that look alike and differ in bytes are two records`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("é", 1, body: [1]), Sample.put("e\u{301}", 2, body: [2])])
        let one = try await store.read { try $0.records(in: Sample.zone, named: ["e\u{301}"]) }
        #expect(one.map(\.body) == [[2]])
        let both = try await store.read { try $0.records(in: Sample.zone, named: ["é", "e\u{301}"]) }
        #expect(both.map(\.body).sorted { $0[0] < $1[0] } == [[1], [2]])
    }

    @Test(arguments: Engine.allCases)
    func `a record put again is replaced whole`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("note", 1, parent: "folder")])
        var again = Sample.put("note", 2, before: 1, body: [9])
        again.row.type = "Memo"
        try await store.apply(WritePlan(\.records, [again]))
        #expect(try await store.read { try $0.records(in: Sample.zone, named: ["note"]) } == [again.row])
    }

    @Test(arguments: Engine.allCases)
    func `a record said to be new that is there collides, and nothing of its plan stays`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("note", 1)])
        let plan = WritePlan(\.records, [Sample.put("other", 2), Sample.put("note", 2)])
        await #expect { try await store.apply(plan) } throws: { ($0 as? StoreError)?.code == .collision }
        #expect(try await store.names() == ["note"])
    }

    @Test(arguments: Engine.allCases)
    func `zones and databases do not see each other's records`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let sibling = ZoneAddress(database: Sample.database, zone: 8)
        let stranger = ZoneAddress(database: DatabaseID(rawValue: 1), zone: 7)
        try await store.populate([Sample.put("note", 1), Sample.put("note", 1, body: [8], in: sibling)])
        try await store.apply(WritePlan(\.records, [Sample.put("note", 1, parent: "p", body: [1], in: stranger)]))
        for (zone, body) in [(Sample.zone, [1, 2, 3]), (sibling, [8]), (stranger, [1])] as [(ZoneAddress, [UInt8])] {
            #expect(try await store.read { try $0.records(in: zone, named: ["note"]) }.map(\.body) == [body])
            #expect(try await store.feed(zone).map(\.record.body) == [body])
        }
        #expect(try await store.parents(["p"]).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `parents are those that a live record outside the others names`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([
            Sample.put("folder", 1), Sample.put("a", 2, parent: "folder"), Sample.put("b", 3, parent: "folder"),
            Sample.put("shelf", 4), Sample.put("c", 5, parent: "shelf"),
            Sample.put("box", 6), Sample.put("d", 7, parent: "box", isTombstone: true),
            Sample.put("e", 8, parent: "missing"),
        ])
        let names = ["folder", "shelf", "box", "missing", "a", "folder"]
        func parents(outside others: [String]) async throws -> [String] {
            try await store.parents(names, outside: others)
        }
        #expect(try await parents(outside: []) == ["folder", "missing", "shelf"])
        #expect(try await parents(outside: ["a", "c", "x"]) == ["folder", "missing"])
        #expect(try await parents(outside: ["a", "b", "c", "e"]) == [])
    }

    @Test(arguments: Engine.allCases)
    func `a record that changed its parent is no longer the old one's child`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("a", 1, parent: "old")])
        try await store.apply(WritePlan(\.records, [Sample.put("a", 2, before: 1, parent: "new")]))
        let moved = try await store.parents(["old", "new"])
        #expect(moved == ["new"])
        try await store.apply(WritePlan(\.records, [Sample.put("a", 3, before: 2, parent: "new", isTombstone: true)]))
        #expect(try await store.parents(["old", "new"]).isEmpty)
    }
}
