import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire

/// One step of a history: a transaction of these calls in this order, committed or not.
struct HistoryStep: Sendable {
    enum Call: Sendable {
        case advance(String, String?, [EntryKey])
        case apply(WritePlan)
        case lease(now: Timestamp, until: Timestamp, limit: Int)
        case reclaim(ZoneAddress, limit: Int)
        case expire(before: Timestamp, limit: Int)
        case trim(keeping: Int, bytes: Int, through: Timestamp, limit: Int)
    }

    var database: DatabaseID
    var calls: [Call]
    var isCommitted: Bool

    /// The zone whose records it removed.
    var reclaimed: ZoneAddress? {
        if isCommitted, case .reclaim(let zone, _) = calls.last { return zone }
        return nil
    }

    enum Answer: Hashable, Sendable {
        case advance(Advance)
        case tasks([TaskDue], Set<TaskRow>, [TaskKind: Timestamp], count: Int, bytes: Int)
        case count(Int)
        case trimmed(TrimmedOperations)
        case applied
        case contradiction
    }

    /// Runs the step and returns all its answers, or that it was refused.
    func run(on store: any Store) async throws -> [Answer] {
        do {
            return try await store.write { transaction in
                let said = try calls.map { try self.answer(to: $0, in: transaction) }
                return isCommitted ? .commit(said) : .rollback(said)
            }
        } catch let error as StoreError where [.corrupt, .collision].contains(error.code) {
            return [.contradiction]
        }
    }

    private static let leased: Set<TaskKind> = [.cascade, .buildIndexes, .reclaimZone, .sweepZone]

    private func answer(to call: Call, in transaction: any WriteTransaction) throws -> Answer {
        switch call {
        case .advance(let zone, let operation, let keys):
            return .advance(try transaction.advance(zoneNamed: zone, in: database, operation: operation, entries: keys))
        case .apply(let plan):
            try transaction.apply(plan)
            return .applied
        case .lease(let now, let until, let limit):
            let due = try transaction.tasks(of: Self.leased, dueThrough: now, limit: limit)
            var plan = WritePlan()
            plan.tasks = try transaction.tasks(locking: due.map(\.key).filter { $0.database == database }).map { task in
                TaskRow(key: task.key, payload: task.payload, due: until, attempts: task.attempts + 1)
            }
            try transaction.apply(plan)
            let named = try transaction.tasks(of: .cascade, in: database, namesFrom: "", limit: limit)
            return .tasks(due, Set(plan.tasks), transaction.earliestTasks, count: named.count, bytes: named.bytes)
        case .reclaim(let zone, let limit):
            return .count(try transaction.reclaim(zone, limit: limit))
        case .expire(let now, let limit):
            return .count(try transaction.removeExpired(before: now, limit: limit))
        case .trim(let count, let bytes, let last, let limit):
            return .trimmed(
                try transaction.trimOperations(in: database, by: "c0", keeping: count, bytes: bytes, expiringThrough: last, limit: limit))
        }
    }
}

/// Makes steps that mostly make sense: it knows the places of records, as the domain does by reading first.
struct HistoryMaker {
    /// Small sets, so that steps often meet the same rows.
    static let databases = (1...2).map { DatabaseID(rawValue: Int64($0) * -7_777_777_777) }
    static let zoneNumbers = 1...4 as ClosedRange<Int64>
    static let zoneNames = ["Notes", "Ideas", "é", "e\u{301}"]
    static let names = (0..<24).map { "r\($0)" } + ["", "é", "e\u{301}", "r\u{0}", "R1", "\u{10000}", "\u{ffff}"]
    static let views = (0...2).map { FeedView(rawValue: Int64($0)) }
    static let containers = ["c", "d"]
    static let indexes = [1, 2, 3, .max - 1].map { IndexID(rawValue: $0) }
    /// Empty keys, prefixes of each other, and the bytes at both ends.
    static let keys: [[UInt8]] = [[], [0], [0, 0], [0, 255], [97], [97, 0], [97, 98], [97, 98, 99], [254], [255], [255, 0], [255, 255]]
    static let moments = (0..<12).map { Timestamp(secondsSince2001: Double($0) / 3) }

    private var random: SeededRandom
    /// places[zone][name]: the feed places of each record after the committed steps.
    private var places: [ZoneAddress: [[UInt8]: [ViewNumber]]] = [:]
    private var seq: Int64 = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    mutating func chance(_ numerator: Int, of denominator: Int) -> Bool {
        Int.random(in: 0..<denominator, using: &random) < numerator
    }

    mutating func pick<Element>(_ elements: some Collection<Element>) -> Element? {
        elements.randomElement(using: &random)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    private mutating func moment() -> Timestamp { pick(Self.moments) ?? .init(secondsSince2001: 0) }
    private mutating func bytes() -> [UInt8] { (0..<number(0...40)).map { _ in UInt8.random(in: 0...255, using: &random) } }
    private mutating func name() -> String { pick(Self.names) ?? "" }

    mutating func step() -> HistoryStep {
        let database = pick(Self.databases) ?? Self.databases[0]
        let before = places
        var calls: [HistoryStep.Call] = []
        for _ in 0..<number(1...2) {
            calls.append(call(in: database))
            // The removed records are read after the step.
            if case .reclaim = calls.last { break }
        }
        let isCommitted = chance(9, of: 10)
        if !isCommitted { places = before }
        return HistoryStep(database: database, calls: calls, isCommitted: isCommitted)
    }

    /// Undoes the changes of a refused step.
    mutating func undo(to earlier: HistoryMaker) {
        places = earlier.places
    }

    /// Forgets the removed records of a zone.
    mutating func keep(_ names: [String], in zone: ZoneAddress) {
        let kept = Set(names.map { Array($0.utf8) })
        places[zone] = places[zone]?.filter { kept.contains($0.key) }
    }

    private mutating func call(in database: DatabaseID) -> HistoryStep.Call {
        let zone = ZoneAddress(database: database, zone: Int64(number(1...4)))
        switch number(0...19) {
        case 0...2:
            let keys = (0..<number(0...3)).map { _ in entry(in: pick(Self.databases) ?? database).key }
            return .advance(pick(Self.zoneNames) ?? "", chance(1, of: 2) ? "op\(number(0...5))" : nil, keys)
        case 3: return .lease(now: moment(), until: moment(), limit: number(-1...4))
        case 4: return .reclaim(zone, limit: number(-1...12))
        case 5: return .expire(before: moment(), limit: number(-1...3))
        case 6: return .trim(keeping: number(-1...4), bytes: number(-1...12), through: moment(), limit: number(-1...4))
        default: return .apply(plan(in: database, zone))
        }
    }

    private mutating func plan(in database: DatabaseID, _ zone: ZoneAddress) -> WritePlan {
        var plan = WritePlan()
        if chance(1, of: 12) {
            let key = DatabaseKey(container: pick(Self.containers) ?? "", environment: .production, scope: .private, owner: name())
            plan.databases = [
                DatabaseRow(
                    id: database, key: key, run: Int64(number(1...3)), lastSeq: Int64(number(0...9)), forgottenSeq: Int64(number(0...9)),
                    bytes: Int64(number(0...99)))
            ]
        }
        if chance(1, of: 8) {
            plan.zones = (0..<number(1...2)).map { _ in zoneRow(in: database) }
        }
        if chance(1, of: 8) {
            plan.zoneChanges = [
                ZoneChange(
                    zone, state: chance(1, of: 8) ? .deleted : nil, clientChangeToken: chance(1, of: 2) ? bytes() : nil,
                    forgotten: ChangeNumber(run: Int64(number(0...2)), seq: Int64(number(0...9))), indexesBelow: Int64(number(0...9)),
                    bytesAdded: Int64(number(-9...9)))
            ]
        }
        if chance(1, of: 8) {
            plan.databaseChanges = [
                DatabaseChange(database, lastSeq: Int64(number(0...99)), forgottenSeq: Int64(number(0...9)), bytesAdded: Int64(number(-9...9)))
            ]
        }
        if chance(1, of: 40) { plan.zonesForgotten = [zone] }
        if chance(3, of: 4) {
            seq += 1
            let names = Set((0..<number(1...5)).map { _ in Array(name().utf8) })
            plan.records = names.sorted { $0.lexicographicallyPrecedes($1) }.map { put(String(decoding: $0, as: UTF8.self), in: zone) }
        }
        if chance(1, of: 8) {
            plan.indexed = (0..<number(1...3)).map { _ in IndexPut(zone: zone, name: name(), indexed: indexKeys()) }
        }
        if chance(1, of: 8) {
            plan.recordsRemoved = (0..<number(1...3)).map { _ in removal(of: name(), in: zone) }
        }
        if chance(1, of: 4) {
            plan.operations = [
                OperationRow(
                    database: database, id: "op\(number(0...9))", caller: "c\(number(0...1))", digest: bytes(), result: bytes(), expires: moment())
            ]
        }
        if chance(1, of: 4) {
            plan.entries = [entry(in: database), entry(in: database)]
            plan.entriesRemoved = [entry(in: database).key]
        }
        if chance(1, of: 4) {
            plan.tasks = [task(in: database), task(in: database)]
            plan.tasksFinished = [task(in: database).key]
        }
        if chance(1, of: 6) { plan.zonesChanged = [zone] }
        return plan
    }

    private mutating func zoneRow(in database: DatabaseID) -> ZoneRow {
        ZoneRow(
            address: ZoneAddress(database: database, zone: Int64(number(1...4))), name: pick(Self.zoneNames) ?? "",
            state: chance(2, of: 3) ? .live : pick(ZoneRow.State.allCases) ?? .live, run: Int64(number(1...3)),
            lastSeq: Int64(number(0...99)),
            feedSeq: Int64(number(0...9)), clientChangeToken: chance(1, of: 2) ? bytes() : nil,
            forgotten: ChangeNumber(run: Int64(number(0...2)), seq: Int64(number(0...9))), indexesBelow: Int64(number(0...9)),
            bytes: Int64(number(0...99)))
    }

    private mutating func put(_ name: String, in zone: ZoneAddress) -> RecordPut {
        let number = ChangeNumber(run: Int64(self.number(1...2)), seq: seq)
        let isTombstone = chance(1, of: 4)
        let row = RecordRow(
            name: name, type: chance(1, of: 2) ? "Note" : "Folder", number: number, isTombstone: isTombstone,
            parent: chance(1, of: 3) ? self.name() : nil, body: bytes())
        let key = Array(name.utf8)
        let leaves = places[zone]?[key]
        let views = Self.views.filter { _ in chance(2, of: 3) }
        // The owner's view has a record whenever it changes.
        let enters = ([.owner] + views.filter { $0 != .owner }).map { view in
            FeedRow(position: ViewNumber(view: view, number: number), entered: number, isDeparture: isTombstone || chance(1, of: 5))
        }
        places[zone, default: [:]][key] = enters.map(\.position)
        // Rarely false: both engines must refuse it.
        let isNew = leaves == nil || chance(1, of: 400)
        var put = RecordPut(zone: zone, row: row, leaves: leaves ?? [], enters: enters, isNew: isNew)
        put.replacedBytes = self.number(0...40)
        put.unlinked = links()
        put.linked = links()
        put.unindexed = indexKeys()
        put.indexed = indexKeys()
        return put
    }

    /// Returns links. Removed links often do not exist, and added ones often do: the sets are small enough.
    private mutating func links() -> [ReferenceLink] {
        (0..<max(number(-2...3), 0)).map { _ in
            ReferenceLink(target: name(), kind: pick(ReferenceLink.Kind.allCases) ?? .validate)
        }
    }

    private mutating func indexKeys() -> [IndexKeys] {
        IndexKeys.of((0..<max(number(-2...4), 0)).map { _ in IndexEntry(index: pick(Self.indexes) ?? Self.indexes[0], key: key()) })
    }

    /// Returns a key, mostly one of few, so that records share keys.
    mutating func key() -> [UInt8] {
        chance(7, of: 8) ? pick(Self.keys) ?? [] : bytes()
    }

    private mutating func removal(of name: String, in zone: ZoneAddress) -> RecordRemoval {
        RecordRemoval(zone: zone, name: name, leaves: places[zone]?.removeValue(forKey: Array(name.utf8)) ?? [])
    }

    private mutating func entry(in database: DatabaseID) -> EntryRow {
        EntryRow(
            key: EntryKey(database, pick(EntryKind.allCases) ?? .user, name()), value: bytes(), expires: chance(1, of: 2) ? moment() : nil)
    }

    private mutating func task(in database: DatabaseID) -> TaskRow {
        TaskRow(
            key: TaskKey(database, pick(TaskKind.allCases) ?? .reclaimZone, "t\(number(0...5))"), payload: bytes(), due: moment(),
            attempts: Int64(number(0...3)))
    }
}
