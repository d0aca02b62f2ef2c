import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct FeedPromises {
    @Test(arguments: Engine.allCases)
    func `a feed is ordered by run, number and the bytes of the name`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = ["b", "é", "B", "e\u{301}", "\u{10000}", "\u{ffff}"]
        var puts = names.map { Sample.put($0, 2) } + [Sample.put("first", 1), Sample.put("tenth", 10)]
        var moved = Sample.put("moved", 1)
        moved.row.number = ChangeNumber(run: 2, seq: 1)
        moved.enters[0].position.number = moved.row.number
        puts.append(moved)
        try await store.populate(puts.shuffled())
        let expected = ["first"] + names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } + ["tenth", "moved"]
        #expect(bytes(try await store.names()) == bytes(expected))
    }

    @Test(arguments: Engine.allCases)
    func `an entry holds its feed row and the record as it is`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let view = FeedView(rawValue: 12)
        var put = Sample.put("note", 5, parent: "folder")
        put.enters = [
            FeedRow(position: ViewNumber(view: view, number: Sample.number(3)), entered: ChangeNumber(run: 0, seq: 2), isDeparture: true)
        ]
        try await store.populate([put])
        #expect(try await store.feed(view: view) == [FeedEntry(feed: put.enters[0], record: put.row)])
        #expect(try await store.feed().isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `pages follow each other without a gap or a repetition, also within a commit`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let puts = (0..<23).map { Sample.put("r\($0)", Int64($0 / 7 + 1)) }
        try await store.populate(puts)
        let whole = try await store.names()
        #expect(whole.count == 23)
        for limit in [1, 2, 7, 22, 23, 24] {
            var read: [String] = []
            var position = FeedPosition.start
            while let last = try await store.feed(after: position, limit: limit).last {
                read += try await store.names(after: position, limit: limit)
                position = FeedPosition(last.feed.position.number, name: last.record.name)
            }
            #expect(read == whole)
        }
        #expect(try await store.names(limit: 0).isEmpty)
        #expect(try await store.names(limit: -3).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `a position without a name is after its whole commit, one with a name within it`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("a", 1), Sample.put("b", 1), Sample.put("c", 1), Sample.put("a2", 2)])
        #expect(try await store.names(after: FeedPosition(Sample.number(1))) == ["a2"])
        #expect(try await store.names(after: FeedPosition(Sample.number(1), name: "")) == ["a", "b", "c", "a2"])
        #expect(try await store.names(after: FeedPosition(Sample.number(1), name: "b")) == ["c", "a2"])
        #expect(try await store.names(after: FeedPosition(Sample.number(1), name: "bb")) == ["c", "a2"])
        #expect(try await store.names(after: FeedPosition(ChangeNumber(run: 0, seq: 99))).count == 4)
        #expect(try await store.names(after: FeedPosition(ChangeNumber(run: 2, seq: 0))).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `nothing after the last number is read`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate((1...6).map { Sample.put("r\($0)", $0) })
        #expect(try await store.feed(through: Sample.number(4)).map(\.record.name) == ["r1", "r2", "r3", "r4"])
        #expect(try await store.feed(after: FeedPosition(Sample.number(3)), through: Sample.number(4)).map(\.record.name) == ["r4"])
        #expect(try await store.feed(after: FeedPosition(Sample.number(3), name: "x"), through: Sample.number(3)).isEmpty)
        #expect(try await store.feed(through: ChangeNumber(run: 0, seq: 99)).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `a question for several feeds is answered in its order, up to so many bytes in all`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let puts = (1...4).map { Sample.put("r\($0)", $0) }
        try await store.populate(puts)
        let size = puts[0].row.body.count
        let scans = [3, 1, 9].map { FeedScan(of: Sample.zone, view: .owner, after: .start, baseline: .zero, limit: $0) }
        for (bytesMax, names, areWhole) in [
            (Int.max, [["r1", "r2", "r3"], ["r1"], ["r1", "r2", "r3", "r4"]], [false, false, true]),
            (3 * size + 1, [["r1", "r2", "r3"], ["r1"], []], [false, false, false]),
            (2 * size, [["r1", "r2"], [], []], [false, false, false]), (1, [["r1"], [], []], [false, false, false]),
        ] {
            let portions = try await store.read { try $0.feed(scans, bytesMax: bytesMax) }
            #expect(portions.map { $0.entries.map(\.record.name) } == names && portions.map(\.isWhole) == areWhole, "\(bytesMax) bytes")
        }
        #expect(try await store.read { try $0.feed([], bytesMax: 1) }.isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `deletions up to the baseline are left out, later ones and living records are not`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var departed = Sample.put("departed", 2)
        departed.enters[0].isDeparture = true
        var dead = Sample.put("dead", 3, isTombstone: true)
        dead.enters[0].isDeparture = false
        try await store.populate([Sample.put("old", 1), departed, dead, Sample.put("deleted", 4, isTombstone: true), Sample.put("new", 5)])
        func names(baseline: Int64, limit: Int = 100) async throws -> [String] {
            try await store.feed(baseline: Sample.number(baseline), limit: limit).map(\.record.name)
        }
        #expect(try await names(baseline: 0) == ["old", "departed", "dead", "deleted", "new"])
        #expect(try await names(baseline: 2) == ["old", "dead", "deleted", "new"])
        #expect(try await names(baseline: 3) == ["old", "deleted", "new"])
        #expect(try await names(baseline: 9) == ["old", "new"])
        #expect(try await names(baseline: 9, limit: 2) == ["old", "new"])
    }

    @Test(arguments: Engine.allCases)
    func `a record changed again stands at its new place only`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Sample.put("a", 1), Sample.put("b", 1)])
        try await store.apply(WritePlan(\.records, [Sample.put("a", 2, before: 1)]))
        #expect(try await store.names() == ["b", "a"])
        try await store.apply(WritePlan(\.records, [Sample.put("a", 3, before: 2, isTombstone: true)]))
        let feed = try await store.feed()
        #expect(feed.map(\.record.name) == ["b", "a"])
        #expect(feed.map(\.feed.isDeparture) == [false, true])
    }

    @Test(arguments: Engine.allCases)
    func `entering one view and leaving another are one plan`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let (left, right) = (FeedView(rawValue: 1), FeedView(rawValue: 2))
        var put = Sample.put("note", 1)
        put.enters.append(FeedRow(position: ViewNumber(view: left, number: Sample.number(1)), entered: Sample.number(1), isDeparture: false))
        try await store.populate([put])
        var moved = Sample.put("note", 2, before: 1)
        moved.leaves.append(ViewNumber(view: left, number: Sample.number(1)))
        moved.enters += [
            FeedRow(position: ViewNumber(view: left, number: Sample.number(2)), entered: Sample.number(1), isDeparture: true),
            FeedRow(position: ViewNumber(view: right, number: Sample.number(2)), entered: Sample.number(2), isDeparture: false),
        ]
        try await store.apply(WritePlan(\.records, [moved]))
        #expect(try await store.feed().map(\.feed) == [moved.enters[0]])
        #expect(try await store.feed(view: left).map(\.feed) == [moved.enters[1]])
        #expect(try await store.feed(view: right).map(\.feed) == [moved.enters[2]])
    }
}
