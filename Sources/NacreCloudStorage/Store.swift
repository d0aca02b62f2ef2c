package import NacreCloudWire

/// The interface of a storage engine, and nothing more: an engine keeps and finds, it never decides.
///
/// Every method takes a set of rows. No method knows a rule of CloudKit, and none names a column. The database is the
/// unit of everything: a transaction touches one (the registry of containers, accounts and tokens is made of databases
/// too).
///
/// Promises of every engine:
/// - A `write` that returned is durable: it survives the process, the kernel and the power (honest disks assumed).
/// - Every later and every concurrent `read` sees all of a transaction or nothing of it.
/// - Two writes that hold one lock run one after the other. After it took the lock, the later one reads the locked
///   row's database as the earlier one left it. Nothing more keeps writes apart: an engine may run writes without a
///   common lock side by side. Each of them may see rows of other databases as they were when it began. Each method
///   says which rows it locks.
/// - A read is one snapshot of each database that it looks at, of all that was committed when it began.
/// - Change numbers of a zone become visible in their order.
/// - The data are in a run, whose number is above all earlier ones (`Run.number`). All servers that have the store open
///   are in one run. Another one begins no later than with the first write after something was lost that a client may
///   have seen. A number that was taken is therefore never taken again, not even after an older copy was restored.
/// - The body runs synchronously, off the cooperative thread pool, so that it blocks no other task. Only small reads
///   that wait for nothing may run on the pool. The body may run more than once: it has no side effects, and reads no
///   clock and no randomness.
/// - A body that throws leaves nothing behind; its error reaches the caller. Failures of the engine are `StoreError`s.
package protocol Store: Sendable {
    /// Runs `body` in a transaction and returns its value, once the transaction is durable.
    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value

    /// Runs `body` on one snapshot. If its task is cancelled, it soon ends with `CancellationError`: at the body's next
    /// call, or in the middle of the running one.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value

    /// The servers that have the data open beside this one; nil: the engine lets one process at a time open them.
    var neighbours: (any Neighbours)? { get }

    /// Waits for running transactions, then closes. Idempotent; later calls fail with `StoreError.closed`.
    func close() async
}

/// The end of a write, with the value that it returns.
package enum Ending<Value: Sendable>: Sendable {
    case commit(Value)
    /// Undoes the whole transaction, and still returns `Value`.
    case rollback(Value)
}

/// One snapshot. Valid only during the body that it is passed to, and on its thread.
package protocol ReadTransaction {
    /// Returns the rows that exist, in no order.
    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow]

    /// Returns databases of a container in one environment, in the order of their keys, after `id`.
    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow]

    /// Returns the live zones of these names, in no order.
    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow]

    /// Returns live zones in the order of their names' bytes, after `name`.
    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow]

    /// Counts the live zones, `most` at most. The cost grows with the count, by a few hundredths of a microsecond each.
    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int

    /// Returns zones of any state whose position in the database's feed is after `position`, ordered by (`feedSeq`,
    /// name).
    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow]

    /// Returns the last change numbers of these runs in a zone or a database, in no order. It covers runs before the
    /// newest one that changed it. The newest `Run.endsKept` are kept of each.
    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber]

    /// Returns the records of these names, live ones and tombstones, in the names' order, each once. Reading ends with
    /// the record whose body brings the sum to `bytesMax`. If the bodies take less, none is missing.
    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow]

    /// Returns the same rows with empty bodies. The cost does not depend on the size of the records.
    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow]

    /// Returns a portion of each feed, in their order; all are of one database. Reading ends with the row whose
    /// record's body brings the sum to `bytesMax`. That portion is then not whole, and the later ones are empty and not
    /// whole.
    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion]

    /// Returns live records in the order of their names' bytes, after `name`. Reading ends with the record whose body
    /// brings the sum to `bytesMax`. If the bodies take less and there are fewer than `limit`, they are the last.
    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow]

    /// Returns live records that name `parent` as their parent, in the order of their names' bytes, after `name`.
    /// `limit` and `bytesMax` end reading as in `records(in:after:limit:bytesMax:)`.
    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow]

    /// Returns tombstones in the order of their change numbers, then of their names' bytes.
    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow]

    /// Finds the live records outside `others` that depend on each of `names`. Returns one answer for each name that
    /// has dependents, in no order.
    /// - Parameter limit: the most names of owned records in each answer.
    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents]

    /// Returns a portion of each scan, in their order, in the direction and up to the limit of its scan; all are of one
    /// database. Reading ends with the row whose included body brings the sum to `bytesMax`. That portion is then not
    /// whole, and the later ones are empty and not whole.
    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion]

    /// Returns the entries of these keys, in no order. Expired ones may still be there: the caller checks.
    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow]

    /// Returns entries in the order of their keys' bytes, after `key`.
    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow]

    /// Returns the logged operation of that ID, nil if there is none. The caller checks whether it has expired.
    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow?

    /// Returns tasks of these kinds, of all databases, that are due after `first` and at or before `last`. Their order
    /// is (due, database, kind, name). Locks nothing, and may return a slightly older state. A transaction that takes a
    /// task names its database and reads it again, under the task's lock.
    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue]

    /// Counts the tasks of a kind whose names begin with `prefix`, due or not, and the bytes of their payloads. It
    /// covers the first `limit` by name, and reads no payload.
    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int)

    /// Returns the next rows of a whole table, of all databases, in the order of their keys, after `place`. An
    /// unreadable row comes as `KeptRow.Value.unreadable` and does not fail the others. If rows are large, fewer than
    /// `limit` may come: only an empty answer is the end.
    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow]

    /// Returns the rows that are not kept, or not exactly like this, in their order.
    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow]

    /// Sums the bytes of the bodies of a zone's live records, as they are kept. Reads all of them.
    func bytes(of zone: ZoneAddress) throws -> Int64

    /// Returns the faults that the engine finds in a table's structure, one text each, for people. Reads all of it.
    func faults(in table: KeptTable) throws -> [String]
}

extension ReadTransaction {
    /// Returns all tasks of these kinds that are due at or before `last`, however long they have been.
    package func tasks(of kinds: Set<TaskKind>, dueThrough last: Timestamp, limit: Int) throws -> [TaskDue] {
        try tasks(of: kinds, dueAfter: Timestamp(secondsSince2001: -1e15), through: last, limit: limit)
    }

    /// Returns live records in the order of their names' bytes, after `name`.
    package func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> [RecordRow] {
        try records(in: zone, after: name, limit: limit, bytesMax: .max)
    }

    /// Returns the next portion of a zone's live records, by name.
    /// - Returns: `isWhole`: they are its last.
    package func portion(of zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> (rows: [RecordRow], isWhole: Bool) {
        let rows = try records(in: zone, after: name, limit: limit, bytesMax: bytesMax)
        return (rows, rows.count < limit && rows.reduce(0) { $0 + $1.body.count } < bytesMax)
    }

    /// Returns all records of these names, live ones and tombstones, in the names' order.
    package func records(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try records(in: zone, named: names, bytesMax: .max)
    }

    /// Returns the rows of one feed.
    package func feed(
        of zone: ZoneAddress, view: FeedView, after position: FeedPosition, through last: ChangeNumber?, baseline: ChangeNumber, limit: Int
    ) throws -> [FeedEntry] {
        let scan = FeedScan(of: zone, view: view, after: position, through: last, baseline: baseline, limit: limit)
        return try feed([scan], bytesMax: .max).flatMap(\.entries)
    }

    /// Returns the rows of one scan.
    package func search(_ scan: IndexScan) throws -> [IndexHit] {
        try search([scan], bytesMax: .max).flatMap(\.hits)
    }
}

package protocol WriteTransaction: ReadTransaction {
    /// Locks the row of a live zone, or the database's own row if no name is given or no zone has that name. Takes no
    /// change number; apart from that the result is the one of `advance`.
    ///
    /// Locks nothing of a database that has no row yet. If two transactions make the same row, one runs again.
    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance

    /// Takes the next change number of a live zone, and locks what `lock` does. It is the first call of every
    /// transaction that changes records. The number is of the current run. If the zone's newest change is of an earlier
    /// run, the end of that run is kept for `ends`. The same holds for the database's feed, when a plan puts zones into
    /// it.
    ///
    /// The call also finds the logged operation of that ID and the entries of these keys (of any database). Every
    /// change needs them here, and one call saves a round trip.
    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance

    /// Writes everything of a plan, or throws and leaves the transaction to be rolled back. Locks each row that it
    /// writes, until the end.
    ///
    /// The plans of a transaction have at most `Limits.transactionRows` rows together. A larger one writes nothing
    /// (`StoreError.tooLarge`): a request without a bound ends before other writes have waited for it.
    func apply(_ plan: WritePlan) throws

    /// The tasks that plans of this transaction have written, in their order.
    var tasksPut: [TaskRow] { get }

    /// Returns the existing tasks of these keys, in no order, and locks their rows. Lock zones and databases first.
    func tasks(locking keys: [TaskKey]) throws -> [TaskRow]

    /// Removes up to `limit` rows of a zone, in this order: its records, live or not, its positions in feeds, its
    /// links, its index rows. Returns the number removed, 0 if nothing is left. Locks the rows that it removes: no
    /// other transaction writes to a removed zone.
    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int

    /// Removes up to `limit` entries and logged operations, of any database, that expired before `now`. Returns the
    /// number removed. Locks the rows that it removes.
    func removeExpired(before now: Timestamp, limit: Int) throws -> Int

    /// Removes up to `limit` logged operations of one caller in a database, those that expire first. It keeps the
    /// `count` that expire last, as far as their results take at most `bytes` together. It removes only operations that
    /// expire at or before `last`. Locks the rows that it removes. Looks at `count` and `limit` rows at most.
    func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) throws -> TrimmedOperations
}

extension WriteTransaction {
    package func advance(zoneNamed name: String, in database: DatabaseID, operation id: String? = nil) throws -> Advance {
        try advance(zoneNamed: name, in: database, operation: id, entries: [])
    }

    package func lock(zoneNamed name: String? = nil, in database: DatabaseID) throws -> Advance {
        try lock(zoneNamed: name, in: database, operation: nil, entries: [])
    }
}

/// Everything that a transaction writes, in sets.
///
/// An engine applies it in this order, so that locks are always taken in one order: databases, changes of databases and
/// of zones, zones, forgotten zones, records with their feed rows, links and index rows, index rows of others, derived
/// rows, records removed, operations, entries, tasks, and last the database's bytes and feed.
package struct WritePlan: Sendable {
    /// Rows to insert. Only a repair may name an existing row, which is then replaced whole: any other writer would
    /// rewind its counters.
    package var databases: [DatabaseRow] = []
    package var databaseChanges: [DatabaseChange] = []
    package var zoneChanges: [ZoneChange] = []
    /// Rows to insert. Only a repair may name an existing row, which is then replaced whole: any other writer would
    /// rewind its counters. The engine sets the positions in the feed: see `zonesChanged`.
    package var zones: [ZoneRow] = []
    /// Zones whose rows are removed, with the ends of their runs, because no request will ask for them again.
    package var zonesForgotten: [ZoneAddress] = []
    /// Records to insert or to replace whole, tombstones included. Each names its zone. Their growth is added to the
    /// bytes of the zone's row and of its database's.
    package var records: [RecordPut] = []
    package var indexed: [IndexPut] = []
    package var recordsRemoved: [RecordRemoval] = []
    package var operations: [OperationRow] = []
    package var entries: [EntryRow] = []
    package var entriesRemoved: [EntryKey] = []
    /// Tasks to insert. A task replaces an existing one with the same key.
    package var tasks: [TaskRow] = []
    package var tasksFinished: [TaskKey] = []
    /// Zones that changed. Their database's `lastSeq` is raised by one, in the current run, and becomes the position of
    /// all of them in its feed.
    package var zonesChanged: [ZoneAddress] = []
    /// Rows to remove, independent of `records`. A row that does not exist is not an error.
    package var derivedRemoved: [DerivedRow] = []
    /// Rows to insert or to replace whole, independent of `records`.
    package var derived: [DerivedRow] = []

    package init() {}

    /// The bytes by which the plan's records change each zone, added to the rows of the zone and its database. Zones
    /// without a change are left out.
    package var growth: [ZoneAddress: Int64] {
        guard let first = records.first?.zone else { return [:] }
        // Nearly always all records are of one zone.
        var (ofFirst, ofOthers) = (Int64(0), [ZoneAddress: Int64]())
        for index in records.indices {
            let growth = Int64(records[index].growth)
            if records[index].zone == first { ofFirst += growth } else { ofOthers[records[index].zone, default: 0] += growth }
        }
        ofOthers[first] = ofFirst
        return ofOthers.filter { $0.value != 0 }
    }

    /// The number of rows that it writes and removes, without those of indexes and feeds. Costs a step for each record.
    package var rowCount: Int {
        var count = databases.count + databaseChanges.count + zoneChanges.count + zones.count + zonesForgotten.count + recordsRemoved.count
        count += operations.count + entries.count + entriesRemoved.count + tasks.count + tasksFinished.count + zonesChanged.count
        count += derivedRemoved.count + derived.count
        for index in records.indices {
            count += 1 + records[index].unlinked.count + records[index].linked.count
        }
        return count
    }

    package var isEmpty: Bool {
        databases.isEmpty && databaseChanges.isEmpty && zoneChanges.isEmpty && zones.isEmpty && zonesForgotten.isEmpty && records.isEmpty
            && indexed.isEmpty
            && recordsRemoved.isEmpty && operations.isEmpty && entries.isEmpty && entriesRemoved.isEmpty
            && tasks.isEmpty && tasksFinished.isEmpty && zonesChanged.isEmpty
            && derivedRemoved.isEmpty && derived.isEmpty
    }
}

/// A failure of an engine. The text is static; the values are for logs.
package struct StoreError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// No room: writes fail, reads go on, and writes resume by themselves.
        case full
        /// The files cannot be written now: writes fail, reads go on, and writes resume by themselves.
        case readOnly
        /// The disk or the network failed; the transaction did not happen.
        case unavailable
        /// The read was ended because its snapshot obstructed other transactions' writes. A smaller read may succeed.
        case outpaced
        /// The bytes that were read are not those that were written.
        case corrupt
        /// A row that the transaction makes exists already: another transaction made it in the meantime. The
        /// transaction did not happen; the same request, asked again, finds the row.
        case collision
        /// A transaction has more rows than `Limits.transactionRows`: a programming error. It did not happen, and a
        /// retry does not help.
        case tooLarge
        case closed
        /// Another process has the folder open.
        case inUse
        /// The data was made by a newer version.
        case newerVersion
        /// The log beside the data was written for other data.
        case foreignLog
    }

    package var code: Code
    package var text: String
    package var values: [String: String]

    package init(_ code: Code, _ text: String, _ values: [String: String] = [:]) {
        self.code = code
        self.text = text
        self.values = values
    }

    package static let closed = StoreError(.closed, "The store is closed")

    /// - Parameter rows: the rows of all plans of a transaction.
    package static func requireSize(ofTransaction rows: Int) throws(StoreError) {
        guard rows > Limits.transactionRows else { return }
        throw StoreError(.tooLarge, "A transaction has more rows than one may have", ["rows": String(rows), "most": String(Limits.transactionRows)])
    }
}
