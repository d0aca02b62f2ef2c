import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudStore
import NacreCloudWire
import NacreLocks

/// An engine over `MemoryStore` that guarantees no more than `Store` does.
///
/// Writes run concurrently, each on the state at its beginning. At the end only the rows that it locked are compared
/// with the current state. If one has changed, the body runs again, on the newest state of the database that it
/// locked, and still on the old state of all others. Otherwise its operations are applied to the newest state. Bodies
/// also run twice at random.
package final class SideBySideStore: Store {
    private let base: MemoryStore
    /// holders[row]: how many commits locked it. All openings of the data share it.
    private let holders: Locked<[RowLock: Int]>
    package let neighbours: (any Neighbours)?
    /// The run of this opening, if each has one of its own.
    private let ownRun: Int64?
    private let random: Locked<SeededRandom>
    private let failsOneOf = Locked<UInt64?>(nil)
    private let fault: PlantedFault?
    private let beforeCommit: @Sendable () async -> Void

    /// A fault of the engine, or a write that its user forgets, to test that the tests find it.
    package enum PlantedFault: Sendable {
        /// Locks do not exclude other writes.
        case noLocks
        /// Zones never learn which indexes they have.
        case noIndexNumbers
        /// Each opening writes in a run of its own.
        case runOfEachOpening
        /// Hints to other openings are lost.
        case noHints
    }

    /// Makes the engine.
    /// - Parameter beforeCommit: Awaited between a body and its commit.
    package convenience init(
        _ base: MemoryStore = MemoryStore(), seed: UInt64 = 1, fault: PlantedFault? = nil,
        beforeCommit: @escaping @Sendable () async -> Void = {}
    ) {
        self.init(base, Locked([:]), neighbours: nil, ownRun: nil, seed: seed, fault, beforeCommit)
    }

    private init(
        _ base: MemoryStore, _ holders: Locked<[RowLock: Int]>, neighbours: (any Neighbours)?, ownRun: Int64?, seed: UInt64, _ fault: PlantedFault?,
        _ beforeCommit: @escaping @Sendable () async -> Void
    ) {
        self.base = base
        self.holders = holders
        self.neighbours = neighbours
        self.ownRun = ownRun
        self.fault = fault
        self.beforeCommit = beforeCommit
        random = Locked(SeededRandom(seed: seed))
    }

    /// Opens new data several times, as servers do that share a store. The first opening comes first. The data are in
    /// the run of a `MemoryStore`.
    package static func servers(
        _ count: Int, fault: PlantedFault? = nil, beforeCommit: @escaping @Sendable () async -> Void = {}
    ) -> [SideBySideStore] {
        let (street, holders, history) = (Street(isSilent: fault == .noHints), Locked<[RowLock: Int]>([:]), "the only one")
        var kept = KeptRun(number: Run.first, history: history)
        let base = MemoryStore(run: kept.number)
        return (0..<count).map { place in
            kept = KeptRun.current(kept, in: fault == .runOfEachOpening ? "\(place)" : history, random: UInt64(place))
            base.beginRun(kept.number)
            return SideBySideStore(
                base, holders, neighbours: Street.House(street: street, place: place), ownRun: fault == .runOfEachOpening ? kept.number : nil,
                seed: UInt64(place + 1), fault, beforeCommit)
        }
    }

    /// One in so many bodies runs twice.
    private static let twiceOneOf: UInt64 = 8
    /// Yields between a body and its commit at most.
    private static let yieldsMax: UInt64 = 3

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        if let ownRun { base.beginRun(ownRun) }
        // Before the copy: a commit in between then counts as a later one.
        var seen = holders.withLock { $0 }
        guard let began = base.copy else { throw StoreError.closed }
        var mine = began
        var runsTwice = oneOf(Self.twiceOneOf)
        while true {
            let attempt = try Attempt(body, mine: mine, others: began, fault)
            if runsTwice, case .success = attempt.result {
                runsTwice = false
                continue
            }
            for _ in 0..<random.withLock({ $0.next() % (Self.yieldsMax + 1) }) { await Task.yield() }
            await beforeCommit()
            try mayFail()
            let (holders, seenNow) = (holders, seen)
            let holds = try await base.write { newest -> Ending<Bool> in
                guard holders.withLock({ now in attempt.locks.allSatisfy { now[$0] == seenNow[$0] } }) else { return .rollback(false) }
                for deed in attempt.deeds where try !deed(newest) { return .rollback(false) }
                guard case .success(.commit) = attempt.result else { return .rollback(true) }
                holders.withLock { now in
                    for lock in attempt.locks { now[lock, default: 0] += 1 }
                }
                return .commit(true)
            }
            if holds {
                switch try attempt.result.get() {
                case .commit(let value), .rollback(let value): return value
                }
            }
            seen = self.holders.withLock { $0 }
            guard let newest = base.copy else { throw StoreError.closed }
            mine = newest
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try mayFail()
        return try await base.read(body)
    }

    package func close() async {
        await base.close()
    }

    /// Makes one write or read in so many fail from now on, with some `StoreError`; nil: none.
    package func fail(oneOf count: UInt64?) {
        failsOneOf.withLock { $0 = count }
    }

    private func oneOf(_ count: UInt64) -> Bool {
        random.withLock { $0.next() % count == 0 }
    }

    private func mayFail() throws {
        guard let count = failsOneOf.withLock({ $0 }), oneOf(count) else { return }
        let codes: [StoreError.Code] = [.full, .readOnly, .unavailable]
        throw StoreError(codes[random.withLock { Int($0.next() % UInt64(codes.count)) }], "A planted failure")
    }
}

/// The openings of one store, which pass hints to each other.
private final class Street: Sendable {
    private let ears = Locked<[Int: @Sendable (DatabaseID) -> Void]>([:])
    private let isSilent: Bool

    init(isSilent: Bool) { self.isSilent = isSilent }

    struct House: Neighbours {
        let street: Street
        let place: Int

        func tell(_ database: DatabaseID) {
            if street.isSilent { return }
            for (place, ear) in street.ears.withLock({ $0 }) where place != self.place { ear(database) }
        }

        func listen(_ ear: @escaping @Sendable (DatabaseID) -> Void) { street.ears.withLock { $0[place] = ear } }
    }
}

/// A row that a write has locked.
private enum RowLock: Hashable, Sendable {
    case database(DatabaseID)
    case zone(ZoneAddress)
}

/// A body's run on its own states.
private struct Attempt<Value: Sendable>: Sendable {
    let result: Result<Ending<Value>, any Error>
    let deeds: [SideBySideTransaction.Deed]
    let locks: Set<RowLock>

    init(_ body: (any WriteTransaction) throws -> Ending<Value>, mine: MemoryCopy, others: MemoryCopy, _ fault: SideBySideStore.PlantedFault?) throws
    {
        (result, deeds, locks) = try mine.attempt { mine in
            try others.attempt { others in
                let transaction = SideBySideTransaction(mine, others: others, fault)
                let result = Result { try body(transaction) }
                return (result, transaction.deeds, transaction.locks)
            }
        }
    }
}

/// Records the operations of a body, to apply them to another state. Before its lock it reads one state; after it, a
/// newer state of the locked database, and the old state of all others.
private final class SideBySideTransaction: WriteTransaction {
    /// An operation. Returns false where a lock or a result differs from the body's run: the body must run again.
    typealias Deed = @Sendable (any WriteTransaction) throws -> Bool

    private let mine: any WriteTransaction
    private let others: any ReadTransaction
    private var locked: DatabaseID?
    private(set) var deeds: [Deed] = []
    private(set) var locks: Set<RowLock> = []

    private let fault: SideBySideStore.PlantedFault?

    init(_ mine: any WriteTransaction, others: any ReadTransaction, _ fault: SideBySideStore.PlantedFault?) {
        self.fault = fault
        self.mine = mine
        self.others = others
    }

    private func side(_ database: DatabaseID) -> any ReadTransaction {
        locked == nil || locked == database ? mine : others
    }

    // MARK: Reads

    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow] {
        try Set(ids).flatMap { try side($0).databases([$0]) }
    }

    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow] {
        try (locked == nil ? mine : others).databases(of: container, environment, after: id, limit: limit)
    }

    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] {
        try side(database).zones(in: database, named: names)
    }

    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow] {
        try side(database).zones(in: database, after: name, limit: limit)
    }

    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int {
        try side(database).zoneCount(in: database, upTo: most)
    }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow] {
        try side(database).zoneFeed(in: database, after: position, limit: limit)
    }

    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber] {
        try mine.ends(of: runs, in: place)
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow] {
        try side(zone.database).records(in: zone, named: names, bytesMax: bytesMax)
    }

    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try side(zone.database).heads(in: zone, named: names)
    }

    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion] {
        guard let first = scans.first else { return [] }
        return try side(first.zone.database).feed(scans, bytesMax: bytesMax)
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try side(zone.database).records(in: zone, after: name, limit: limit, bytesMax: bytesMax)
    }

    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try side(zone.database).children(in: zone, of: parent, after: name, limit: limit, bytesMax: bytesMax)
    }

    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow] {
        try side(zone.database).tombstones(in: zone, limit: limit)
    }

    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents] {
        try side(zone.database).dependents(in: zone, of: names, outside: others, limit: limit)
    }

    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        guard let first = scans.first else { return [] }
        return try side(first.zone.database).search(scans, bytesMax: bytesMax)
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow] {
        try side(database).entries(in: database, kind, keys: keys)
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow] {
        try side(database).entries(in: database, kind, after: key, limit: limit)
    }

    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow? {
        try side(database).operation(in: database, id)
    }

    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue] {
        try mine.tasks(of: kinds, dueAfter: first, through: last, limit: limit)
    }

    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int) {
        try side(database).tasks(of: kind, in: database, namesFrom: prefix, limit: limit)
    }

    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        try mine.rows(of: table, after: place, limit: limit)
    }

    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        try mine.missing(rows)
    }

    func bytes(of zone: ZoneAddress) throws -> Int64 {
        try mine.bytes(of: zone)
    }

    func faults(in table: KeptTable) throws -> [String] {
        try mine.faults(in: table)
    }

    // MARK: Writes

    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        let found = try mine.lock(zoneNamed: name, in: database, operation: id, entries: entries)
        return try took(found, in: database, entries) { try $0.lock(zoneNamed: name, in: database, operation: id, entries: entries) }
    }

    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        let found = try mine.advance(zoneNamed: name, in: database, operation: id, entries: entries)
        return try took(found, in: database, entries) { try $0.advance(zoneNamed: name, in: database, operation: id, entries: entries) }
    }

    private func took(
        _ found: Advance, in database: DatabaseID, _ keys: [EntryKey], _ again: @escaping @Sendable (any WriteTransaction) throws -> Advance
    ) throws -> Advance {
        if fault == .noLocks {
            deeds.append { newest in
                _ = try again(newest)
                return true
            }
            locked = locked ?? database
            return found
        }
        if let zone = found.zone {
            locks.insert(.zone(zone.address))
        } else if found.database != nil {
            locks.insert(.database(database))
        }
        deeds.append { newest in
            let now = try again(newest)
            return found.zone == now.zone && (found.zone != nil || found.database == now.database)
        }
        locked = locked ?? database
        var found = found
        found.entries =
            try found.entries.filter { $0.key.database == database }
            + Set(keys.filter { $0.database != database }).flatMap { try others.entries(in: $0.database, $0.kind, keys: [$0.key]) }
        return found
    }

    func apply(_ plan: WritePlan) throws {
        var plan = plan
        if fault == .noIndexNumbers {
            for index in plan.zoneChanges.indices { plan.zoneChanges[index].indexesBelow = 0 }
        }
        let missing = try plan.databases.map(\.id).filter { try mine.databases([$0]).isEmpty }
        let free = try plan.zones.filter { try mine.zones(in: $0.address.database, named: [$0.name]).isEmpty }
        try mine.apply(plan)
        deeds.append { [plan] newest in
            guard try newest.databases(missing).isEmpty else { return false }
            for zone in free where try !newest.zones(in: zone.address.database, named: [zone.name]).isEmpty { return false }
            try newest.apply(plan)
            return true
        }
    }

    var tasksPut: [TaskRow] { mine.tasksPut }

    func tasks(locking keys: [TaskKey]) throws -> [TaskRow] {
        let found = try mine.tasks(locking: keys)
        deeds.append { newest in Set(try newest.tasks(locking: keys)) == Set(found) }
        return found
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int {
        try does { try $0.reclaim(zone, limit: limit) }
    }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int {
        try does { try $0.removeExpired(before: now, limit: limit) }
    }

    func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) throws -> TrimmedOperations {
        try does { try $0.trimOperations(in: database, by: caller, keeping: count, bytes: bytes, expiringThrough: last, limit: limit) }
    }

    private func does<Value: Equatable & Sendable>(_ deed: @escaping @Sendable (any WriteTransaction) throws -> Value) throws -> Value {
        let value = try deed(mine)
        deeds.append { newest in try deed(newest) == value }
        return value
    }
}
