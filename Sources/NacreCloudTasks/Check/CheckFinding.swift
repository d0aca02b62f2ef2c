import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire

/// A fault that the check found, and its outcome.
package struct CheckFinding: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// A repair can mend it.
        case mendable
        /// The repair has mended it.
        case mended
        /// The original is gone. It stays an error until its app saves it again, or the administrator removes it.
        case lost
        /// No row here tells the original: a backup does.
        case beyondRepair
    }

    package var table: String
    /// `container/environment/scope/owner`, or the database's number if its key is not known.
    package var database: String
    /// The zone's name; empty if there is none.
    package var zone: String
    /// The name of the record or of another row; empty if there is none to show.
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

/// The changes that a check may make.
package enum CheckMode: Hashable, Sendable {
    case look
    /// Restores what can be derived from other data, and marks damaged records as lost.
    case repair
    /// Repairs, and removes lost records, so that every device gets a deletion. Only the administrator orders this,
    /// never the server.
    case removeLost

    var writes: Bool { self != .look }

    /// The most rows of one step. A repair reads its rows again in a transaction, for which other writes wait.
    var rows: Int { writes ? Limits.checkRowsMended : Limits.checkRows }
}

/// The result of one step of a check.
package struct CheckSlice: Hashable, Sendable {
    package var findings: [CheckFinding]
    package var rows: Int
    /// The cursor at which the next step begins; nil: this was the last.
    package var next: CheckCursor?
    /// Databases whose feeds moved.
    var moved: Set<DatabaseID> = []
}

/// A fault, with its repair.
struct CheckProblem {
    enum Mending {
        case none
        case put(DerivedRow)
        case remove(DerivedRow)
        /// Writes the record's original row: only one column was damaged.
        case restore(ZoneAddress, RecordRow)
        /// Marks a damaged record as lost.
        case lose(StoredRecord, ZoneRow)
        /// Turns a damaged or lost record into a tombstone.
        case bury(StoredRecord, ZoneRow)
        case discard(ZoneAddress, RecordRow)
        case raise(ZoneRow, to: ChangeNumber)
        case raiseDatabase(DatabaseRow, to: Int64)
        /// Counts the bytes of a zone's records again, in its row and its database's.
        case recount(ZoneRow)
        /// Counts the bytes of all zones again, in the database's row.
        case recountDatabase(DatabaseRow)
        case rewrite(KeptRow.Value)
        case replace(TaskKey, TaskRow?)
    }

    var zone: String
    var record: String
    var what: String
    var mending: Mending
    /// The outcome in the finding, in place of the default one.
    var outcome: CheckFinding.Outcome?

    init(_ what: String, zone: String = "", record: String = "", _ mending: Mending, outcome: CheckFinding.Outcome? = nil) {
        self.what = what
        self.zone = zone
        self.record = record
        self.mending = mending
        self.outcome = outcome
    }
}
