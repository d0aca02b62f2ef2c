package import NacreCloudWire

/// What an engine must offer, and nothing more: it keeps and finds, it never decides.
///
/// Every verb takes a set; none carries a rule of CloudKit in its name, none a column. A database is the unit of everything:
/// a transaction touches one (the registry of containers, accounts and tokens is made of databases too).
///
/// Promises of every engine:
/// - A `write` that returned is durable: it survives the process, the kernel and the power (honest disks assumed).
/// - All of a transaction is seen or nothing of it, by every later and every concurrent `read`.
/// - Two writes that hold one lock run one after the other, and what the later one reads of the locked row's database after it took the lock is what
///   the earlier one left. Nothing else keeps writes apart: an engine may run those that hold no lock in common side by side, and show each of them
///   rows of other databases as they were when it began. Each verb says which rows it locks.
/// - A read is one snapshot of each database that it looks at, of all that was committed when it began.
/// - Change numbers of a zone become visible in their order.
/// - Each opening of what it keeps is a run, whose number is above all earlier ones (`Run.number`): a number that was taken is never taken again,
///   not even after an older copy was put back.
/// - The body runs synchronously, where it may block nobody: off the cooperative thread pool, but for small reads that wait for nothing. It may run
///   more than once: it has no side effects, and draws no time and no randomness.
/// - A body that throws leaves nothing behind; its error is the caller's. Failures of the engine are `StoreError`s.
package protocol Store: Sendable {
    /// Runs `body` in a transaction and returns what it returned, once that is durable.
    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value

    /// Runs `body` on one snapshot. Ends soon with `CancellationError` when its task is cancelled: with the body's next question, or in the middle
    /// of the one under way.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value

    /// Lets running transactions end, then closes. Idempotent; later calls fail with `StoreError.closed`.
    func close() async
}

/// How a write ends, with what it has to say.
package enum Ending<Value: Sendable>: Sendable {
    case commit(Value)
    /// Nothing of the transaction stays; `Value` is returned all the same.
    case rollback(Value)
}

/// One snapshot. Valid only during the body it is handed to, and on its thread.
package protocol ReadTransaction {
    /// The rows that exist, in no order.
    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow]

    /// Databases of a container in one environment, in the order of their keys, after `id`.
    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow]

    /// The live zones of these names, in no order.
    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow]

    /// Live zones in the order of their names' bytes, after `name`.
    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow]

    /// How many live zones there are, `most` at most. Costs in proportion to them, a few hundredths of a microsecond each.
    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int

    /// Zones of any state whose place in the database's feed is after `position`, in the order of (place, name).
    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow]

    /// Where runs ended that a zone or a database was changed in before its newest run: their last change numbers, in no order.
    /// Of each zone and database the newest `Run.endsKept` are kept.
    func ends(of runs: [Int64], in place: NumberedPlace) throws -> [ChangeNumber]

    /// Records of these names, live ones and tombstones, in the names' order, each once. Reading ends behind the one with which their bodies take
    /// `bytesMax`: where they take less, none is missing.
    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow]

    /// The same without their bodies, which are empty: costs the same however large the records are.
    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow]

    /// A portion of each of these feeds, in their order; all are of one database. Reading ends behind the row with which the records' bodies take
    /// `bytesMax`: that portion is not whole then, and the later ones are empty and not whole.
    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion]

    /// Live records in the order of their names' bytes, after `name`. Reading ends behind the one with which their bodies take `bytesMax`: where they
    /// take less and are fewer than `limit`, they are the last.
    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow]

    /// Live records that name `parent` as their parent, in the order of their names' bytes, after `name`. Reading ends as that of all live records does.
    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow]

    /// Tombstones in the order of their change numbers, then their names' bytes.
    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow]

    /// Who depends on each of `names`, of the live records outside `others`: one answer for each name of which there is something to say, in no order.
    /// - Parameter limit: how many names of owned records each answer holds at most.
    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents]

    /// A portion of each of these scans, in their order, each in the direction and up to the limit of its scan; all are of one database. Reading ends
    /// behind the row with which the bodies of records that come along take `bytesMax`: that portion is not whole then, and the later ones are empty
    /// and not whole.
    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion]

    /// Entries of these keys, in no order. Expired ones may still be there: the caller looks.
    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow]

    /// Entries in the order of their keys' bytes, after `key`.
    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow]

    /// The logged operation of that ID; nil where there is none. An expired one may still be there: the caller looks.
    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow?

    /// Tasks of these kinds, of all databases, that are due after `first` and at or before `last`, in the order of (due, database, kind, name). Locks
    /// nothing, and may tell of a moment ago: a transaction that takes one of them names its database and looks again, under the task's lock.
    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue]

    /// Tasks of a kind whose names begin with `prefix`, whatever they wait for: how many there are, and what their payloads take together, of the first
    /// `limit` by name. Reads no payload.
    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int)

    /// The next rows of a whole table, of all databases, in the order of their keys, after `place`. One that cannot be read is told as such and
    /// does not fail the others. Where they are large, fewer than `limit` may come: there are no more where none comes.
    func rows(of table: KeptTable, after place: KeptPlace?, limit: Int) throws -> [KeptRow]

    /// Those of the rows that are not kept, or not just so, in their order.
    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow]

    /// What the bodies of a zone's live records take together, as they are kept. Looks at all of them.
    func bytes(of zone: ZoneAddress) throws -> Int64

    /// What is wrong with how the rows of a table are found, as the engine finds it: a text for each, for people. Looks through the table.
    func faults(in table: KeptTable) throws -> [String]
}

extension ReadTransaction {
    /// All tasks of these kinds that are due at or before `last`, however long they have been.
    package func tasks(of kinds: Set<TaskKind>, dueThrough last: Timestamp, limit: Int) throws -> [TaskDue] {
        try tasks(of: kinds, dueAfter: Timestamp(secondsSince2001: -1e15), through: last, limit: limit)
    }

    /// Live records in the order of their names' bytes, after `name`.
    package func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> [RecordRow] {
        try records(in: zone, after: name, limit: limit, bytesMax: .max)
    }

    /// The next live records of a zone, by name, as many as a portion has.
    /// - Returns: `isWhole`: they are its last.
    func portion(of zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> (rows: [RecordRow], isWhole: Bool) {
        let rows = try records(in: zone, after: name, limit: limit, bytesMax: bytesMax)
        return (rows, rows.count < limit && rows.reduce(0) { $0 + $1.body.count } < bytesMax)
    }

    /// All records of these names, live ones and tombstones, in the names' order.
    package func records(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try records(in: zone, named: names, bytesMax: .max)
    }

    /// Rows of one feed.
    package func feed(
        of zone: ZoneAddress, view: FeedView, after position: FeedPosition, through last: ChangeNumber?, baseline: ChangeNumber, limit: Int
    ) throws -> [FeedEntry] {
        let scan = FeedScan(of: zone, view: view, after: position, through: last, baseline: baseline, limit: limit)
        return try feed([scan], bytesMax: .max).flatMap(\.entries)
    }

    /// Rows of one scan.
    package func search(_ scan: IndexScan) throws -> [IndexHit] {
        try search([scan], bytesMax: .max).flatMap(\.hits)
    }
}

package protocol WriteTransaction: ReadTransaction {
    /// Locks the row of a live zone, or with no name the database's own; where there is no zone of that name, the database's in its place. Takes no
    /// change number: see `advance`, which gives the same otherwise.
    ///
    /// Of a database that has no row yet nothing is locked. Of two transactions that make the same row, one runs again.
    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance

    /// Takes the next change number of a live zone, and locks what `lock` does: the first call of every transaction that changes records. It is of the run
    /// of now; where the zone's newest change is of an earlier one, the end of that is kept for `ends`. So it is with the database's feed, when a
    /// plan places zones in it.
    /// It also finds the logged operation of that ID and the entries of these keys (of any database), because every change asks for them
    /// here and a round trip less counts.
    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance

    /// Puts everything of a plan, or throws and leaves the transaction to be rolled back. Locks each row that it puts, until the end.
    ///
    /// The plans of a transaction have `Limits.transactionRows` rows together at most; of more nothing happens (`StoreError.tooLarge`), so that a request
    /// whose cost nobody bounded ends before others have waited for it.
    func apply(_ plan: WritePlan) throws

    /// The tasks that plans of this transaction have put, in their order.
    var tasksPut: [TaskRow] { get }

    /// The tasks of these keys that are there, in no order, under the locks of their rows. Locks of zones and databases are taken before these.
    func tasks(locking keys: [TaskKey]) throws -> [TaskRow]

    /// Removes up to `limit` rows of a zone, in this order: its records, live or not, its places in feeds, its links, its index rows. Returns how
    /// many it removed; 0 when nothing is left. Locks what it removes: nobody else writes to a zone that is gone.
    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int

    /// Removes up to `limit` entries and logged operations, of any database, that expired before `now`. Returns how many. Locks what it removes.
    func removeExpired(before now: Timestamp, limit: Int) throws -> Int

    /// Removes up to `limit` logged operations of one caller in a database, those that expire first: of all but the `count` that expire last, and of these
    /// as many as have results of `bytes` together, those that expire at or before `last`. Locks what it removes. Looks at `count` and `limit` rows at most.
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

/// Everything that a transaction puts, in sets.
///
/// An engine applies it in this order: databases, changes of databases and of zones, zones, forgotten zones, records with their feed rows, links and index rows,
/// index rows of others, derived rows, records removed, operations, entries, tasks,
/// and last the database's bytes and feed, so that locks are always taken in one order.
package struct WritePlan: Sendable {
    /// Inserted; one that is there is replaced whole, which only a repair may do: others rewind what counts in it.
    package var databases: [DatabaseRow] = []
    package var databaseChanges: [DatabaseChange] = []
    package var zoneChanges: [ZoneChange] = []
    /// Inserted; one that is there is replaced whole, which only a repair may do: others rewind what counts in it. Feed places are the engine's: see
    /// `zonesChanged`.
    package var zones: [ZoneRow] = []
    /// Zones whose row goes, and the ends of their runs: nothing will ask for them again.
    package var zonesForgotten: [ZoneAddress] = []
    /// Inserted, or replaced whole, tombstones included. All rows of a plan belong to the zone they name. Their growth is added to the bytes of its row
    /// and of its database's.
    package var records: [RecordPut] = []
    package var indexed: [IndexPut] = []
    package var recordsRemoved: [RecordRemoval] = []
    package var operations: [OperationRow] = []
    package var entries: [EntryRow] = []
    package var entriesRemoved: [EntryKey] = []
    /// Inserted; a task with the key of one that is there replaces it.
    package var tasks: [TaskRow] = []
    package var tasksFinished: [TaskKey] = []
    /// Zones that changed: their database's `lastSeq` is raised by one, in the run of now, and becomes the place of all of them in its feed.
    package var zonesChanged: [ZoneAddress] = []
    /// Rows that go and come whatever their records' own puts say; it is not an error where one that goes is not there.
    package var derivedRemoved: [DerivedRow] = []
    /// Put, or replaced whole.
    package var derived: [DerivedRow] = []

    package init() {}

    /// By how much its records change the bytes of their zones, which a zone's row and its database's count along: those of which that is not 0.
    package var growth: [ZoneAddress: Int64] {
        guard let first = records.first?.zone else { return [:] }
        // Nearly always all records are of one zone.
        var (ofFirst, ofOthers) = (Int64(0), [ZoneAddress: Int64]())
        for place in records.indices {
            let growth = Int64(records[place].growth)
            if records[place].zone == first { ofFirst += growth } else { ofOthers[records[place].zone, default: 0] += growth }
        }
        ofOthers[first] = ofFirst
        return ofOthers.filter { $0.value != 0 }
    }

    /// Rows that it puts and removes, without those of indexes and feeds. Costs a step for each record.
    package var rowCount: Int {
        var count = databases.count + databaseChanges.count + zoneChanges.count + zones.count + zonesForgotten.count + recordsRemoved.count
        count += operations.count + entries.count + entriesRemoved.count + tasks.count + tasksFinished.count + zonesChanged.count
        count += derivedRemoved.count + derived.count
        for place in records.indices {
            count += 1 + records[place].unlinked.count + records[place].linked.count
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

/// Why an engine could not do what it was asked. Static text; the values are for logs.
package struct StoreError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable {
        /// No room: writes fail, reads go on, and writes resume by themselves.
        case full
        /// The files cannot be written now: writes fail, reads go on, and writes resume by themselves.
        case readOnly
        /// The disk or the network failed; the transaction did not happen.
        case unavailable
        /// The snapshot of a read was in the way of what others wrote, and so it was ended. A smaller read may come through.
        case outpaced
        /// What was read is not what was written.
        case corrupt
        /// A row that the transaction makes is there already: another one made it since this one looked. The transaction did not happen; the same
        /// request, asked again, finds the row.
        case collision
        /// A transaction has more rows than one may have: its maker's mistake. It did not happen, and trying again would not help.
        case tooLarge
        case closed
        /// Another process has the folder.
        case inUse
        /// Made by a newer version.
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

    /// - Parameter rows: of all plans of a transaction.
    package static func requireSize(ofTransaction rows: Int) throws(StoreError) {
        guard rows > Limits.transactionRows else { return }
        throw StoreError(.tooLarge, "A transaction has more rows than one may have", ["rows": String(rows), "most": String(Limits.transactionRows)])
    }
}
