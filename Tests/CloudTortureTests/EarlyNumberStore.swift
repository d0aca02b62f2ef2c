import CloudContainer
import CloudWire
import Locks

/// A store with the classic mistake: change numbers come from one sequence, and are taken before the transaction and not in it. So a commit may
/// become visible after one with a higher number, and whoever has read up to that one never hears of it.
///
/// It takes care that this happens: now and then a transaction is held back, with its number, until a later one is done and somebody has read.
final class EarlyNumberStore: Store {
    /// Above every number that the zones began with.
    private static let firstNumber: Int64 = 1 << 20
    private static let heldBackOnceIn: Int64 = 8

    private struct State {
        var last = EarlyNumberStore.firstNumber
        var underway = 0
        var held: CheckedContinuation<Void, Never>?
        /// A write has ended since.
        var isOvertaken = false
    }

    private let store: any Store
    private let state = Locked(State())

    init(_ store: any Store) {
        self.store = store
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let number = state.withLock { state in
            state.last += 1
            state.underway += 1
            return state.last
        }
        if number % Self.heldBackOnceIn == 0 { await holdBack() }
        defer { end() }
        return try await store.write { try body(EarlyNumberTransaction($0, number: number)) }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let isOvertaken = state.withLock { $0.isOvertaken }
        defer { if isOvertaken { release() } }
        return try await store.read(body)
    }

    func close() async {
        await store.close()
    }

    /// Only while others write, and only one at a time: so somebody is there to let it go on.
    private func holdBack() async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                guard state.held == nil, state.underway > 1 else { return false }
                state.held = continuation
                state.isOvertaken = false
                return true
            }
            if !isHeld { continuation.resume() }
        }
    }

    private func end() {
        let isAlone = state.withLock { state in
            state.underway -= 1
            if state.held != nil { state.isOvertaken = true }
            return state.underway == 1
        }
        if isAlone { release() }
    }

    private func release() {
        let held = state.withLock { state in
            defer {
                state.held = nil
                state.isOvertaken = false
            }
            return state.held
        }
        held?.resume()
    }
}

/// Puts the number that was drawn in the place of the one that the zone gives.
private final class EarlyNumberTransaction: WriteTransaction {
    private let inner: any WriteTransaction
    private let number: Int64
    private var zone: ZoneRow?

    init(_ inner: any WriteTransaction, number: Int64) {
        self.inner = inner
        self.number = number
    }

    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        var advance = try inner.advance(zoneNamed: name, in: database, operation: id, entries: entries)
        guard var row = advance.zone else { return advance }
        advance.zone?.lastSeq = number
        // The zone's own count becomes the highest number that is visible in it.
        row.lastSeq = max(row.lastSeq - 1, number)
        zone = row
        return advance
    }

    func apply(_ plan: WritePlan) throws {
        var plan = plan
        if let zone, !plan.records.isEmpty { plan.zones.append(zone) }
        try inner.apply(plan)
    }

    func leaseTasks(dueAt now: Timestamp, until: Timestamp, limit: Int) throws -> [TaskRow] {
        try inner.leaseTasks(dueAt: now, until: until, limit: limit)
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int { try inner.reclaim(zone, limit: limit) }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int { try inner.removeExpired(before: now, limit: limit) }

    func trimOperations(in database: DatabaseID, keeping count: Int) throws -> Int { try inner.trimOperations(in: database, keeping: count) }

    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow] { try inner.databases(ids) }

    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow] {
        try inner.databases(of: container, environment, after: id, limit: limit)
    }

    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] { try inner.zones(in: database, named: names) }

    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow] {
        try inner.zones(in: database, after: name, limit: limit)
    }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow] {
        try inner.zoneFeed(in: database, after: position, limit: limit)
    }

    func records(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] { try inner.records(in: zone, named: names) }

    func feed(
        of zone: ZoneAddress, view: FeedView, after position: FeedPosition, through last: ChangeNumber?, baseline: ChangeNumber, limit: Int
    ) throws -> [FeedEntry] {
        try inner.feed(of: zone, view: view, after: position, through: last, baseline: baseline, limit: limit)
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> [RecordRow] {
        try inner.records(in: zone, after: name, limit: limit)
    }

    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow] { try inner.tombstones(in: zone, limit: limit) }

    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents] {
        try inner.dependents(in: zone, of: names, outside: others, limit: limit)
    }

    func search(_ scan: IndexScan) throws -> [IndexHit] { try inner.search(scan) }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow] {
        try inner.entries(in: database, kind, keys: keys)
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow] {
        try inner.entries(in: database, kind, after: key, limit: limit)
    }
}
