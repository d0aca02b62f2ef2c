import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of runs: each opening is a run, whose number its changes have, and the ends of earlier runs are known.
@Suite struct RunPromises {
    private static let zone = FeedAddress.zone(Sample.zone)
    private static let database = FeedAddress.database(Sample.database)

    private static func number(_ run: Int64, _ seq: Int64) -> ChangeNumber {
        ChangeNumber(run: run, seq: seq)
    }

    @Test(arguments: Engine.allCases)
    func `the first change after an opening is of its run, and keeps where the one before ended`(engine: Engine) async throws {
        let store = try await ReopenableStore(engine, run: 5)
        try await store.populate()
        #expect(try await store.change() == Advance(run: 5, database: Sample.databaseRow, zone: Sample.zoneRow(in: 5, lastSeq: 1), operation: nil))
        #expect(try await store.ends([1, 5], in: Self.zone) == [Self.number(1, 0)])
        #expect(try await store.change().zone?.number == Self.number(5, 2))
        #expect(try await store.ends([1, 5], in: Self.database) == [Self.number(1, 0)])
        #expect(try await store.read { try $0.databases([Sample.database]) }.map(\.number) == [Self.number(5, 2)])

        try await store.reopen(run: 6)
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) }.map(\.number) == [Self.number(5, 2)], "no change yet")
        #expect(try await store.ends([5], in: Self.zone).isEmpty)
        try await store.reopen(run: 9)
        let advance = try await store.change()
        #expect(advance.run == 9 && advance.zone?.number == Self.number(9, 3) && advance.database?.number == Self.number(5, 2))
        for place in [Self.zone, Self.database] {
            #expect(try await store.ends([1, 4, 5, 6, 9], in: place) == [Self.number(1, 0), Self.number(5, 2)])
        }
        #expect(try await store.ends([], in: Self.zone).isEmpty)
        #expect(try await store.ends([5], in: .zone(ZoneAddress(database: Sample.database, zone: 404))).isEmpty)
        await store.close()
    }

    @Test(arguments: Engine.allCases)
    func `a change that is undone enters no run`(engine: Engine) async throws {
        let store = try await ReopenableStore(engine, run: 5)
        try await store.populate()
        try await store.write { transaction in
            _ = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil)
            return .rollback(())
        }
        #expect(try await store.ends([1], in: Self.zone).isEmpty)
        #expect(try await store.read { try $0.zones(in: Sample.database, named: ["Notes"]) } == [Sample.zoneRow()])
        await store.close()
    }

    @Test(arguments: Engine.allCases)
    func `of many runs the newest ends are kept, and none of a zone that is forgotten`(engine: Engine) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        try await store.populate()
        let last = Int64(Run.endsKept) + 4
        for run in 1...last {
            try await store.reopen(run: run)
            _ = try await store.change()
        }
        for place in [Self.zone, Self.database] {
            let ends = try await store.ends(Array(1...last), in: place)
            #expect(ends == (4..<last).map { Self.number($0, $0) })
        }
        try await store.apply(WritePlan(\.zonesForgotten, [Sample.zone]))
        #expect(try await store.ends(Array(1...last), in: Self.zone).isEmpty)
        #expect(try await store.ends(Array(1...last), in: Self.database).count == Run.endsKept)
        await store.close()
    }

    @Test func `a run's number is above all earlier ones, and two openings of one copy do not share it`() {
        var last = Run.none
        for random in [0, UInt64.max, 1 << 32, 7 << 40, 0] {
            let next = Run.number(after: last, random: random)
            #expect(next > last)
            #expect(next != Run.number(after: last, random: ~random))
            last = next
        }
        #expect(Run.number(after: Run.first, random: 0) > Run.first)
        let late = Int64(Int32.max - 1) << 32
        #expect(Run.number(after: late, random: .max) == .max)
    }
}

extension Sample {
    fileprivate static func zoneRow(in run: Int64, lastSeq: Int64) -> ZoneRow {
        var row = zoneRow(lastSeq: lastSeq)
        row.run = run
        return row
    }
}

extension Store {
    /// Takes a change number of "Notes", and then its next place in the database's feed.
    fileprivate func change() async throws -> Advance {
        try await write { transaction in
            let advance = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil)
            try transaction.apply(WritePlan(\.zonesChanged, [Sample.zone]))
            return .commit(advance)
        }
    }

    fileprivate func ends(_ runs: [Int64], in place: FeedAddress) async throws -> [ChangeNumber] {
        try await read { try $0.ends(of: runs, in: place) }.sorted()
    }
}
