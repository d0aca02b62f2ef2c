import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests with long random histories: an engine's answers and contents equal the oracle's.
@Suite struct EnginesAgree {
    /// Operations of all runs together; a step has one or two. `NACRE_OPERATIONS` sets another number.
    private static let operations = LongSearch.rounds("NACRE_OPERATIONS", part: 3_000, whole: 6_000)
    private static let runs = 4

    @Test(arguments: 0..<runs)
    func `SQLite agrees with memory after every step`(run: Int) async throws {
        let seed = HistorySeed.value &+ UInt64(run)
        let (memory, sqlite) = (MemoryStore(), try await TemporarySQLiteStore())
        var maker = HistoryMaker(seed: seed)
        var done = 0
        var stepNumber = 0
        while done < Self.operations / Self.runs {
            let earlier = maker
            let step = maker.step()
            let (expected, found) = (try await step.run(on: memory), try await step.run(on: sqlite))
            // Made only when needed: the text of a step costs more than its run.
            func context() -> String { "NACRE_SEED=\(seed &- UInt64(run)) run \(run) step \(stepNumber): \(step)" }
            try #require(difference(found, expected) == nil, "\(context())")
            if expected == [.contradiction] {
                maker.undo(to: earlier)
            } else if let zone = step.reclaimed {
                maker.keep(try await memory.read { try $0.records(in: zone, named: HistoryMaker.names) }.map(\.name), in: zone)
            }
            let question = Question(&maker, in: step.database)
            let wanted = try await question.ask(memory)
            // Reader threads answer in one half of the runs, the asking thread mostly in the other.
            let read = try await Turn.$current.withValue(Turn(asker: run.isMultiple(of: 2) ? "" : "_ann")) { try await question.ask(sqlite) }
            try #require(difference(read, wanted) == nil, "\(context()); \(question)")
            done += step.calls.count
            stepNumber += 1
        }
        #expect((sqlite.store.statistics[.readsAtOnce] > 0) == !run.isMultiple(of: 2))
        #expect(sqlite.store.statistics[.packings] > 0)
        for question in Question.everything {
            let (wanted, read) = (try await question.ask(memory), try await question.ask(sqlite))
            try #require(difference(read, wanted) == nil, "NACRE_SEED=\(seed &- UInt64(run)) run \(run)")
        }
    }

    /// A history costs more here: each question is a round trip.
    @Test(.enabled(if: mayRun(PostgresServer.programs != nil), Comment(rawValue: PostgresServer.absent)), arguments: 0..<2)
    func `PostgreSQL agrees with memory after every step`(run: Int) async throws {
        let seed = HistorySeed.value &+ UInt64(run)
        let (memory, postgres) = (MemoryStore(), try await Engine.postgres.makeStore())
        var maker = HistoryMaker(seed: seed)
        var (done, stepNumber) = (0, 0)
        while done < Self.operations / (Self.runs * 2) {
            let earlier = maker
            let step = maker.step()
            let (expected, found) = (try await step.run(on: memory), try await step.run(on: postgres))
            func context() -> String { "NACRE_SEED=\(seed &- UInt64(run)) run \(run) step \(stepNumber): \(step)" }
            try #require(difference(found, expected) == nil, "\(context())")
            if expected == [.contradiction] {
                maker.undo(to: earlier)
            } else if let zone = step.reclaimed {
                maker.keep(try await memory.read { try $0.records(in: zone, named: HistoryMaker.names) }.map(\.name), in: zone)
            }
            let question = Question(&maker, in: step.database)
            let (wanted, read) = (try await question.ask(memory), try await question.ask(postgres))
            try #require(difference(read, wanted) == nil, "\(context()); \(question)")
            done += step.calls.count
            stepNumber += 1
        }
        for question in Question.everything {
            let (wanted, read) = (try await question.ask(memory), try await question.ask(postgres))
            try #require(difference(read, wanted) == nil, "NACRE_SEED=\(seed &- UInt64(run)) run \(run)")
        }
        await postgres.close()
    }

    /// Concurrent tasks write and read: the engine chooses the order, so only order-independent properties are
    /// checked.
    @Test(arguments: Engine.allCases)
    func `concurrent histories keep every record in the feed once, and the feed in order`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate()
        let seed = HistorySeed.value
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededRandom(seed: seed &+ UInt64(task))
                    for _ in 0..<120 {
                        let names = Set((0..<Int.random(in: 1...4, using: &random)).map { _ in "r\(Int.random(in: 0..<40, using: &random))" })
                        let isKept = Int.random(in: 0..<8, using: &random) > 0
                        try await Self.save(names, isKept: isKept, on: store)
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<100 {
                        let numbers = try await store.feed(limit: 1000).map { ($0.feed.position.number, $0.record.number) }
                        try #require(zip(numbers, numbers.dropFirst()).allSatisfy { $0.0 <= $1.0 }, "NACRE_SEED=\(seed)")
                        try #require(numbers.allSatisfy { $0.0 == $0.1 }, "NACRE_SEED=\(seed)")
                    }
                }
            }
            try await group.waitForAll()
        }
        let names = try await store.feed(limit: 1000).map(\.record.name)
        #expect(Set(names).count == names.count)
    }

    /// Saves as the domain does: takes a number, reads, decides, puts.
    private static func save(_ names: Set<String>, isKept: Bool, on store: any Store) async throws {
        try await store.write { transaction in
            guard let zone = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil).zone else { return .rollback(()) }
            let rows = try transaction.records(in: Sample.zone, named: Array(names))
            let before = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0.number.seq) })
            try transaction.apply(WritePlan(\.records, names.map { Sample.put($0, zone.lastSeq, before: before[$0]) }))
            return isKept ? .commit(()) : .rollback(())
        }
    }
}

/// Returns the first part of an answer that differs; nil if none does.
func difference<Answer: Equatable>(_ found: Answer, _ expected: Answer) -> String? {
    guard found != expected else { return nil }
    for (left, right) in zip(Mirror(reflecting: found).children, Mirror(reflecting: expected).children) {
        let (left, right) = (String(reflecting: left), String(reflecting: right))
        if left != right { return "found \(left), expected \(right)" }
    }
    return "found \(found), expected \(expected)"
}

/// One random question for each read verb.
struct Question: Sendable, CustomStringConvertible {
    private let database: DatabaseID
    private let zone: ZoneAddress
    private let names: [String]
    private let others: [String]
    private let after: String?
    private let seq: Int64
    private let position: FeedPosition
    private let last: ChangeNumber?
    private let baseline: ChangeNumber
    private let view: FeedView
    private let kind: EntryKind
    private let limit: Int
    private let container: String
    private let scans: [IndexScan]
    private let bytesMax: Int

    init(_ maker: inout HistoryMaker, in database: DatabaseID) {
        func names(_ maker: inout HistoryMaker) -> [String] {
            (0..<maker.number(0...6)).compactMap { _ in maker.pick(HistoryMaker.names) }
        }
        func number(_ maker: inout HistoryMaker) -> ChangeNumber {
            ChangeNumber(run: Int64(maker.number(0...2)), seq: Int64(maker.number(0...maker.number(1...6000))))
        }
        self.database = database
        zone = ZoneAddress(database: database, zone: Int64(maker.number(1...4)))
        self.names = names(&maker)
        others = names(&maker)
        after = maker.chance(1, of: 3) ? nil : maker.pick(HistoryMaker.names)
        seq = Int64(maker.number(0...12))
        position = maker.chance(1, of: 3) ? .start : FeedPosition(number(&maker), name: maker.chance(1, of: 2) ? after : nil)
        last = maker.chance(1, of: 2) ? nil : number(&maker)
        baseline = maker.chance(1, of: 2) ? .zero : number(&maker)
        view = maker.pick(HistoryMaker.views) ?? .owner
        kind = maker.pick(EntryKind.allCases) ?? .user
        limit = maker.number(0...9)
        container = maker.pick(HistoryMaker.containers) ?? ""
        scans = (0..<4).map { _ in Self.scan(&maker, of: ZoneAddress(database: database, zone: Int64(maker.number(1...2)))) }
        bytesMax = maker.chance(1, of: 2) ? .max : maker.number(0...400)
    }

    private static func scan(_ maker: inout HistoryMaker, of zone: ZoneAddress) -> IndexScan {
        let spans = (0..<maker.number(1...3)).map { _ in
            IndexSpan(
                index: maker.pick(HistoryMaker.indexes) ?? HistoryMaker.indexes[0], lower: maker.chance(1, of: 2) ? [] : maker.key(),
                upper: maker.chance(1, of: 2) ? nil : maker.key())
        }
        var scan = IndexScan(
            zone: zone, spans: spans,
            after: maker.chance(1, of: 2) ? nil : IndexPosition(key: maker.key(), name: maker.pick(HistoryMaker.names) ?? ""),
            includesAfter: maker.chance(1, of: 3), isDescending: maker.chance(1, of: 2), limit: maker.number(-1...20),
            includesRecords: maker.chance(1, of: 2))
        if maker.chance(1, of: 3) { scan.among = Set((0..<maker.number(0...4)).compactMap { _ in maker.pick(HistoryMaker.names) }) }
        return scan
    }

    /// Questions for all contents of each zone and view.
    static var everything: [Question] {
        HistoryMaker.databases.flatMap { database in
            HistoryMaker.zoneNumbers.flatMap { zone in
                HistoryMaker.views.flatMap { view in
                    EntryKind.allCases.map { Question(database, zone: zone, view, $0) }
                }
            }
        }
    }

    private init(_ database: DatabaseID, zone: Int64, _ view: FeedView, _ kind: EntryKind) {
        self.database = database
        self.zone = ZoneAddress(database: database, zone: zone)
        names = HistoryMaker.names
        others = []
        after = nil
        seq = 0
        position = .start
        last = nil
        baseline = .zero
        self.view = view
        self.kind = kind
        limit = 1000
        bytesMax = .max
        container = HistoryMaker.containers[0]
        let address = self.zone
        scans = HistoryMaker.indexes.map { IndexScan(zone: address, index: $0, limit: 10_000, includesRecords: $0 == HistoryMaker.indexes[0]) }
    }

    var description: String {
        "asked \(zone) \(names) outside \(others) after \(after ?? "nil") \(seq) \(position) through \(last as Any) from \(baseline) \(view) \(kind) \(limit), \(bytesMax) bytes, \(scans)"
    }

    /// The answers, as sets where the engine may choose the order. The random bytes beside similar names tell them
    /// apart.
    struct Answer: Hashable, Sendable {
        var databases: Set<DatabaseRow>
        var zonesNamed: Set<ZoneRow>
        var zones: [ZoneRow]
        var zoneFeed: [ZoneRow]
        var records: [RecordRow]
        var feeds: [FeedPortion]
        var dependents: Set<[[UInt8]]>
        var live: [RecordRow]
        var tombstones: [RecordRow]
        var ofContainer: [DatabaseRow]
        /// The keys and names of each scan, as bytes.
        var places: [[[UInt8]]]
        /// The span of each scan; `areWhole` tells whether it reached its end.
        var spans: [[Int]]
        var areWhole: [Bool]
        var found: [RecordRow?]
        var entriesByKey: Set<EntryRow>
        var entries: [EntryRow]
        var bytes: Int64
    }

    func ask(_ store: any Store) async throws -> Answer {
        try await store.read { transaction in
            let found = try transaction.search(scans, bytesMax: bytesMax)
            let feeds = try transaction.feed(
                [zone, ZoneAddress(database: database, zone: 1), zone].map {
                    FeedScan(of: $0, view: view, after: position, through: last, baseline: baseline, limit: limit)
                }, bytesMax: bytesMax)
            let hits = found.map(\.hits)
            return Answer(
                databases: Set(try transaction.databases([database])),
                zonesNamed: Set(try transaction.zones(in: database, named: HistoryMaker.zoneNames + names)),
                zones: try transaction.zones(in: database, after: after, limit: limit),
                zoneFeed: try transaction.zoneFeed(in: database, after: ZoneFeedPosition(seq, name: after), limit: limit),
                records: try transaction.records(in: zone, named: names, bytesMax: bytesMax),
                feeds: feeds,
                dependents: Set(try transaction.dependents(in: zone, of: names, outside: others, limit: limit).map(\.asBytes)),
                live: try transaction.records(in: zone, after: after, limit: limit),
                tombstones: try transaction.tombstones(in: zone, limit: limit),
                ofContainer: try transaction.databases(of: container, .production, after: seq % 2 == 0 ? nil : database, limit: limit),
                places: hits.map { $0.flatMap { [$0.position.key, Array($0.position.name.utf8)] } },
                spans: hits.map { $0.map(\.span) }, areWhole: found.map(\.isWhole), found: hits.flatMap { $0.map(\.record) },
                entriesByKey: Set(try transaction.entries(in: database, kind, keys: names)),
                entries: try transaction.entries(in: database, kind, after: after, limit: limit), bytes: try transaction.bytes(of: zone))
        }
    }
}

extension Dependents {
    /// The names as bytes: `String` treats canonically equivalent ones as one.
    fileprivate var asBytes: [[UInt8]] {
        [Array(target.utf8), [isParent ? 1 : 0, isValidated ? 1 : 0]] + owned.map { Array($0.utf8) } + [[]] + othersOwned.map { Array($0.utf8) }
    }
}
