import NacreCloudStorage
import NacreCloudWire

/// A body's access to the state. Reads and writes use its own copy; after the body every call fails.
final class MemoryTransaction: WriteTransaction {
    private(set) var state: MemoryState
    /// The first failure. Every later call fails with it, so that a body that swallows an error cannot commit half a
    /// plan.
    private(set) var failure: StoreError?
    private(set) var tasksPut: [TaskRow] = []
    /// The number of rows in its plans.
    private var rows = 0
    /// Whether calls fail once the task is cancelled, because its caller no longer waits.
    private let endsWithTask: Bool

    init(_ state: MemoryState, endsWithTask: Bool = false) {
        self.state = state
        self.endsWithTask = endsWithTask
    }

    /// Ends the transaction: every later call fails.
    func end() {
        failure = failure ?? .closed
    }

    private func ask<Value>(_ question: (MemoryState) -> Value) throws -> Value {
        if let failure { throw failure }
        if endsWithTask { try Task.checkCancellation() }
        return question(state)
    }

    private func change<Value>(_ change: (inout MemoryState) throws -> Value) throws -> Value {
        if let failure { throw failure }
        do {
            return try change(&state)
        } catch let error as StoreError {
            failure = error
            throw error
        }
    }

    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow] {
        try ask { state in Set(ids).compactMap { state.databases[$0] } }
    }

    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow] {
        try ask { $0.databases(of: container, environment, after: id, limit: limit) }
    }

    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] {
        try ask { $0.zones(in: database, named: names) }
    }

    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow] {
        try ask { $0.zones(in: database, after: name, limit: limit) }
    }

    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int {
        try ask { $0.zoneCount(in: database, upTo: most) }
    }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow] {
        try ask { $0.zoneFeed(in: database, after: position, limit: limit) }
    }

    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber] {
        try ask { state in (state.runEnds[place] ?? []).filter { runs.contains($0.run) } }
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow] {
        try ask { $0.records(in: zone, named: names, bytesMax: bytesMax) }
    }

    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try ask { state in
            state.records(in: zone, named: names, bytesMax: .max).map { row in
                var head = row
                head.body = []
                return head
            }
        }
    }

    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try ask { $0.children(in: zone, of: parent, after: name, limit: limit, bytesMax: bytesMax) }
    }

    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion] {
        try ask { state in
            var bytes = 0
            return scans.map { state.feed($0, &bytes, bytesMax) }
        }
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try ask { $0.records(in: zone, after: name, limit: limit, bytesMax: bytesMax) }
    }

    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow] {
        try ask { $0.tombstones(in: zone, limit: limit) }
    }

    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents] {
        try ask { $0.dependents(in: zone, of: names, outside: others, limit: limit) }
    }

    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        try ask { state in
            var bytes = 0
            return scans.map { state.search($0, &bytes, bytesMax) }
        }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow] {
        try ask { $0.entries(in: database, kind, keys: keys) }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow] {
        try ask { $0.entries(in: database, kind, after: key, limit: limit) }
    }

    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow? {
        try ask { $0.operation(in: database, id) }
    }

    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        try ask { $0.rows(of: table, after: place, limit: limit) }
    }

    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        try ask { $0.missing(rows) }
    }

    func bytes(of zone: ZoneAddress) throws -> Int64 {
        try ask { $0.bytes(of: zone) }
    }

    func faults(in table: KeptTable) throws -> [String] {
        try ask { _ in [] }
    }

    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try ask { $0.locked(zoneNamed: name, in: database, operation: id, entries: entries) }
    }

    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try change { try $0.advance(zoneNamed: name, in: database, operation: id, entries: entries) }
    }

    func apply(_ plan: WritePlan) throws {
        rows += plan.rowCount
        try change { state in
            try StoreError.requireSize(ofTransaction: rows)
            try state.apply(plan)
        }
        tasksPut += plan.tasks
    }

    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue] {
        try ask { $0.tasks(of: kinds, dueAfter: first, through: last, limit: limit) }
    }

    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int) {
        try ask { $0.tasks(of: kind, in: database, namesFrom: prefix, limit: limit) }
    }

    func tasks(locking keys: [TaskKey]) throws -> [TaskRow] {
        try ask { state in Set(keys.map(NamedKey.init)).compactMap { state.tasks[$0] } }
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int {
        try change { $0.reclaim(zone, limit: limit) }
    }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int {
        try change { $0.removeExpired(before: now, limit: limit) }
    }

    func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) throws -> TrimmedOperations {
        try change { $0.trimOperations(in: database, by: caller, keeping: count, bytes: bytes, expiringThrough: last, limit: limit) }
    }
}
