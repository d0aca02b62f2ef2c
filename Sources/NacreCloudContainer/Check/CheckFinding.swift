import NacreCloudWire

/// Something that the check found wrong, and what became of it.
package struct CheckFinding: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// Repair can put it right.
        case mendable
        /// It was put right.
        case mended
        /// What it was is gone. It stays an error until its app saves it again, or the administrator takes it away.
        case lost
        /// Nothing here tells what it was: a backup does.
        case beyondRepair
    }

    package var table: String
    /// `container/environment/scope/owner`, or its number where the database is not known.
    package var database: String
    /// Empty where there is none.
    package var zone: String
    /// Its name, or that of another row; empty where there is none to show.
    package var record: String
    package var what: String
    package var outcome: Outcome

    package init(table: String, database: String, zone: String, record: String, what: String, outcome: Outcome) {
        self.table = table
        self.database = database
        self.zone = zone
        self.record = record
        self.what = what
        self.outcome = outcome
    }
}

/// What a check may do.
package enum CheckMode: Hashable, Sendable {
    case look
    /// Puts right what can be made again, and says of damaged records that they are lost.
    case repair
    /// And takes lost records away, so that every device hears of a deletion: the administrator's word, never the server's.
    case removeLost

    var writes: Bool { self != .look }

    /// Rows of one step. What is mended is looked at once more in a transaction, for which others' writes wait.
    var rows: Int { writes ? Limits.checkRowsMended : Limits.checkRows }
}

/// What one step of a check looked at.
package struct CheckSlice: Hashable, Sendable {
    package var findings: [CheckFinding]
    package var rows: Int
    /// Where the next step begins; nil: there is none.
    package var next: CheckPlace?
    /// Databases whose feeds moved.
    var moved: Set<DatabaseID> = []
}

/// One thing that is wrong, with what puts it right.
struct CheckProblem {
    enum Mending {
        case none
        case put(DerivedRow)
        case remove(DerivedRow)
        /// The record as it was, where one column alone was damaged.
        case restore(ZoneAddress, RecordRow)
        /// A damaged record becomes one that is known to be lost.
        case lose(StoredRecord, ZoneRow)
        /// A damaged or lost record becomes a tombstone.
        case bury(StoredRecord, ZoneRow)
        case discard(ZoneAddress, RecordRow)
        case raise(ZoneRow, to: ChangeNumber)
        case raiseDatabase(DatabaseRow, to: Int64)
        /// The bytes of a zone's records, in its row and its database's.
        case recount(ZoneRow)
        /// Those of all zones, in the database's row.
        case recountDatabase(DatabaseRow)
        case rewrite(KeptRow.Value)
        case replace(TaskKey, TaskRow?)
    }

    var zone: String
    var record: String
    var what: String
    var mending: Mending
    /// What it says when nothing is mended.
    var outcome: CheckFinding.Outcome?

    init(_ what: String, zone: String = "", record: String = "", _ mending: Mending, outcome: CheckFinding.Outcome? = nil) {
        self.what = what
        self.zone = zone
        self.record = record
        self.mending = mending
        self.outcome = outcome
    }
}
