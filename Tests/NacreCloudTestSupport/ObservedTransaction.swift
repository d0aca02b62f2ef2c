import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire

/// The verbs of a store's transactions, by their Swift names.
package enum StoreVerb: String, Sendable, CaseIterable {
    case databases, zones, zoneFeed, ends, records, heads, children, tombstones, feed, dependents, search, entries, operation, tasks, rows, missing,
        bytes, faults
    case lock, advance, apply, lockTasks, reclaim, removeExpired, trimOperations
}

/// Passes every verb on, after a call of `before`, which may throw instead.
class ObservedReads: ReadTransaction {
    private let reads: any ReadTransaction
    fileprivate let before: (StoreVerb) throws -> Void
    /// Called with the bytes of bodies that each read returned.
    var read: (Int) -> Void = { _ in }
    /// Called with the number of entries that each read returned.
    var foundEntries: (Int) -> Void = { _ in }

    init(_ reads: any ReadTransaction, before: @escaping (StoreVerb) throws -> Void) {
        self.reads = reads
        self.before = before
    }

    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow] {
        try before(.databases)
        return try reads.databases(ids)
    }

    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow] {
        try before(.databases)
        return try reads.databases(of: container, environment, after: id, limit: limit)
    }

    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue] {
        try before(.tasks)
        return try reads.tasks(of: kinds, dueAfter: first, through: last, limit: limit)
    }

    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int) {
        try before(.tasks)
        return try reads.tasks(of: kind, in: database, namesFrom: prefix, limit: limit)
    }

    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] {
        try before(.zones)
        return try reads.zones(in: database, named: names)
    }

    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow] {
        try before(.zones)
        return try reads.zones(in: database, after: name, limit: limit)
    }

    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int {
        try before(.zones)
        return try reads.zoneCount(in: database, upTo: most)
    }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow] {
        try before(.zoneFeed)
        return try reads.zoneFeed(in: database, after: position, limit: limit)
    }

    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber] {
        try before(.ends)
        return try reads.ends(of: runs, in: place)
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow] {
        try before(.records)
        let rows = try reads.records(in: zone, named: names, bytesMax: bytesMax)
        read(rows.reduce(0) { $0 + $1.body.count })
        return rows
    }

    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try before(.heads)
        let rows = try reads.heads(in: zone, named: names)
        read(rows.reduce(0) { $0 + $1.body.count })
        return rows
    }

    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion] {
        try before(.feed)
        return try reads.feed(scans, bytesMax: bytesMax)
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try before(.records)
        let rows = try reads.records(in: zone, after: name, limit: limit, bytesMax: bytesMax)
        read(rows.reduce(0) { $0 + $1.body.count })
        return rows
    }

    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try before(.children)
        let rows = try reads.children(in: zone, of: parent, after: name, limit: limit, bytesMax: bytesMax)
        read(rows.reduce(0) { $0 + $1.body.count })
        return rows
    }

    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow] {
        try before(.tombstones)
        return try reads.tombstones(in: zone, limit: limit)
    }

    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents] {
        try before(.dependents)
        return try reads.dependents(in: zone, of: names, outside: others, limit: limit)
    }

    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        try before(.search)
        let portions = try reads.search(scans, bytesMax: bytesMax)
        read(portions.reduce(0) { $0 + $1.hits.reduce(0) { $0 + ($1.record?.body.count ?? 0) } })
        return portions
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow] {
        try before(.entries)
        let found = try reads.entries(in: database, kind, keys: keys)
        foundEntries(found.count)
        return found
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow] {
        try before(.entries)
        let found = try reads.entries(in: database, kind, after: key, limit: limit)
        foundEntries(found.count)
        return found
    }

    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow? {
        try before(.operation)
        return try reads.operation(in: database, id)
    }

    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        try before(.rows)
        return try reads.rows(of: table, after: place, limit: limit)
    }

    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        try before(.missing)
        return try reads.missing(rows)
    }

    func bytes(of zone: ZoneAddress) throws -> Int64 {
        try before(.bytes)
        return try reads.bytes(of: zone)
    }

    func faults(in table: KeptTable) throws -> [String] {
        try before(.faults)
        return try reads.faults(in: table)
    }
}

/// Does the same for a write transaction. Its closures may change plans and advances, for stores with a fault.
final class ObservedTransaction: ObservedReads, WriteTransaction {
    private let writes: any WriteTransaction
    private let advanced: (Advance) -> Advance
    private let planned: (WritePlan) -> WritePlan

    init(
        _ writes: any WriteTransaction, before: @escaping (StoreVerb) throws -> Void, advanced: @escaping (Advance) -> Advance = { $0 },
        planned: @escaping (WritePlan) -> WritePlan = { $0 }
    ) {
        self.writes = writes
        self.advanced = advanced
        self.planned = planned
        super.init(writes, before: before)
    }

    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try before(.lock)
        return try writes.lock(zoneNamed: name, in: database, operation: id, entries: entries)
    }

    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try before(.advance)
        return advanced(try writes.advance(zoneNamed: name, in: database, operation: id, entries: entries))
    }

    func apply(_ plan: WritePlan) throws {
        try before(.apply)
        try writes.apply(planned(plan))
    }

    var tasksPut: [TaskRow] { writes.tasksPut }

    func tasks(locking keys: [TaskKey]) throws -> [TaskRow] {
        try before(.lockTasks)
        return try writes.tasks(locking: keys)
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int {
        try before(.reclaim)
        return try writes.reclaim(zone, limit: limit)
    }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int {
        try before(.removeExpired)
        return try writes.removeExpired(before: now, limit: limit)
    }

    func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) throws -> TrimmedOperations {
        try before(.trimOperations)
        return try writes.trimOperations(in: database, by: caller, keeping: count, bytes: bytes, expiringThrough: last, limit: limit)
    }
}

/// A transaction that changes plans and advances.
package func bentTransaction(
    _ transaction: any WriteTransaction, advanced: @escaping (Advance) -> Advance = { $0 }, planned: @escaping (WritePlan) -> WritePlan
) -> any WriteTransaction {
    ObservedTransaction(transaction, before: { _ in }, advanced: advanced, planned: planned)
}
