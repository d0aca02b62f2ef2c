package import NacreCloudWire

/// A database: one container, environment, scope and owner, as a 64-bit key. The first part of every key.
package struct DatabaseID: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A zone of a database. A zone deleted and made again has another key.
package struct ZoneAddress: Hashable, Sendable {
    package var database: DatabaseID
    package var zone: Int64

    package init(database: DatabaseID, zone: Int64) {
        self.database = database
        self.zone = zone
    }
}

/// A position in the history of a zone or a database. `run` is the opening of the store in which the change was made.
/// `seq` rises with each commit.
package struct ChangeNumber: Hashable, Sendable, Comparable {
    package var run: Int64
    package var seq: Int64

    package init(run: Int64, seq: Int64) {
        self.run = run
        self.seq = seq
    }

    /// The number before every change. Every history contains it.
    package static let zero = ChangeNumber(run: 0, seq: 0)

    package static func < (left: ChangeNumber, right: ChangeNumber) -> Bool {
        (left.run, left.seq) < (right.run, right.seq)
    }
}

/// A position in a view of a zone's feed. Rows of one commit are ordered by name; a name of nil is after all of them.
package struct FeedPosition: Hashable, Sendable {
    package var number: ChangeNumber
    package var name: String?

    package init(_ number: ChangeNumber, name: String? = nil) {
        self.number = number
        self.name = name
    }

    package static let start = FeedPosition(.zero)
}

/// A position in a database's feed of zones. Zones of one commit are ordered by name; a name of nil is after all of
/// them.
package struct ZoneFeedPosition: Hashable, Sendable {
    package var seq: Int64
    package var name: String?

    package init(_ seq: Int64, name: String? = nil) {
        self.seq = seq
        self.name = name
    }

    package static let start = ZoneFeedPosition(0)
}

/// The reader of a zone's feed: 0 is the owner, who sees all of it. Each hierarchical share is another view.
package struct FeedView: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let owner = FeedView(rawValue: 0)
}

package struct DatabaseRow: Hashable, Sendable {
    package var id: DatabaseID
    package var key: DatabaseKey
    /// The run of its newest position in the feed of zones, or the run in which it was made.
    package var run: Int64
    /// The newest position in the database's feed of zones.
    package var lastSeq: Int64
    /// Zones removed at or before this position are forgotten: an older token may have missed one.
    package var forgottenSeq: Int64
    /// The bytes of all its zones.
    package var bytes: Int64

    package init(id: DatabaseID, key: DatabaseKey, run: Int64, lastSeq: Int64, forgottenSeq: Int64 = 0, bytes: Int64 = 0) {
        self.id = id
        self.key = key
        self.run = run
        self.lastSeq = lastSeq
        self.forgottenSeq = forgottenSeq
        self.bytes = bytes
    }

    package var number: ChangeNumber { ChangeNumber(run: run, seq: lastSeq) }
}

package struct ZoneRow: Hashable, Sendable {
    package enum State: Int64, Hashable, Sendable, CaseIterable {
        case live = 0
        case deleted = 1
        case purged = 2
        case encryptedDataReset = 3
    }

    package var address: ZoneAddress
    package var name: String
    package var state: State
    /// The run of its newest change, or the run in which it was made.
    package var run: Int64
    /// The newest change number of the zone.
    package var lastSeq: Int64
    /// The zone's position in its database's feed; 0: never in it. The engine sets it, and ignores it in a plan.
    package var feedSeq: Int64
    /// The app's own bytes, from the last save that carried some.
    package var clientChangeToken: [UInt8]?
    /// Tombstones at or before this number are gone: an older token may have missed one.
    package var forgotten: ChangeNumber
    /// Every index of the container's schema with a lower number has its rows in this zone, or is getting them. A save
    /// must know all of these indexes.
    package var indexesBelow: Int64
    /// The bytes of its records, without tombstones; 0 for a removed zone.
    package var bytes: Int64

    package init(
        address: ZoneAddress, name: String, state: State = .live, run: Int64, lastSeq: Int64, feedSeq: Int64 = 0,
        clientChangeToken: [UInt8]? = nil, forgotten: ChangeNumber = .zero, indexesBelow: Int64 = 0, bytes: Int64 = 0
    ) {
        self.address = address
        self.name = name
        self.state = state
        self.run = run
        self.lastSeq = lastSeq
        self.feedSeq = feedSeq
        self.clientChangeToken = clientChangeToken
        self.forgotten = forgotten
        self.indexesBelow = indexesBelow
        self.bytes = bytes
    }

    package var number: ChangeNumber { ChangeNumber(run: run, seq: lastSeq) }
}

/// The changes to an existing database row. The other columns keep what concurrent transactions wrote.
package struct DatabaseChange: Hashable, Sendable {
    package var database: DatabaseID
    /// The least value of `lastSeq` afterwards.
    package var lastSeq: Int64
    /// The least value of `forgottenSeq` afterwards.
    package var forgottenSeq: Int64
    /// The bytes that are added to `bytes`; may be negative.
    package var bytesAdded: Int64

    package init(_ database: DatabaseID, lastSeq: Int64 = 0, forgottenSeq: Int64 = 0, bytesAdded: Int64 = 0) {
        self.database = database
        self.lastSeq = lastSeq
        self.forgottenSeq = forgottenSeq
        self.bytesAdded = bytesAdded
    }

    package func applied(to row: DatabaseRow) -> DatabaseRow {
        var row = row
        row.lastSeq = max(row.lastSeq, lastSeq)
        row.forgottenSeq = max(row.forgottenSeq, forgottenSeq)
        row.bytes &+= bytesAdded
        return row
    }
}

/// The changes to an existing zone row. The other columns keep what concurrent transactions wrote.
package struct ZoneChange: Hashable, Sendable {
    package var zone: ZoneAddress
    /// The new state; nil: unchanged. A removed zone does not come back.
    package var state: ZoneRow.State?
    /// The new token; nil: unchanged.
    package var clientChangeToken: [UInt8]?
    /// The least value of `forgotten` afterwards.
    package var forgotten: ChangeNumber
    /// The least value of `indexesBelow` afterwards.
    package var indexesBelow: Int64
    /// The bytes that are added to `bytes`; may be negative.
    package var bytesAdded: Int64

    package init(
        _ zone: ZoneAddress, state: ZoneRow.State? = nil, clientChangeToken: [UInt8]? = nil, forgotten: ChangeNumber = .zero,
        indexesBelow: Int64 = 0, bytesAdded: Int64 = 0
    ) {
        self.zone = zone
        self.state = state
        self.clientChangeToken = clientChangeToken
        self.forgotten = forgotten
        self.indexesBelow = indexesBelow
        self.bytesAdded = bytesAdded
    }

    package func applied(to row: ZoneRow) -> ZoneRow {
        var row = row
        if let state { row.state = state }
        if let clientChangeToken { row.clientChangeToken = clientChangeToken }
        row.forgotten = max(row.forgotten, forgotten)
        row.indexesBelow = max(row.indexesBelow, indexesBelow)
        row.bytes &+= bytesAdded
        return row
    }
}

/// A record or its tombstone, as kept. The parts that engines search by are columns, the rest is in the body.
package struct RecordRow: Hashable, Sendable {
    package var name: String
    package var type: String
    /// The change number of its last change, which is also its position in the feed.
    package var number: ChangeNumber
    package var isTombstone: Bool
    /// The name of its parent record.
    package var parent: String?
    /// The encoding of `RecordBody`, with its checksum.
    package var body: [UInt8]

    package init(name: String, type: String, number: ChangeNumber, isTombstone: Bool, parent: String?, body: [UInt8]) {
        self.name = name
        self.type = type
        self.number = number
        self.isTombstone = isTombstone
        self.parent = parent
        self.body = body
    }
}

/// A record to write, with its rows in the feeds.
package struct RecordPut: Hashable, Sendable {
    package var zone: ZoneAddress
    package var row: RecordRow
    /// The earlier positions of the record in the feed of each view, which are removed.
    package var leaves: [ViewNumber]
    /// The new positions of the record.
    package var enters: [FeedRow]
    /// No row of this name existed before, live or not: an engine may insert without looking.
    package var isNew: Bool
    /// The bytes that counted for this record before, of its body and its assets: 0 for a new record or a tombstone.
    package var replacedBytes = 0
    /// The bytes of its assets' files.
    package var assetBytes = 0
    /// The index rows to remove, and below those to add, each index once in each. A row that is already gone or already
    /// there is not an error: an index may be half built.
    package var unindexed: [IndexKeys] = []
    package var indexed: [IndexKeys] = []
    /// The links to remove, and below those to add.
    package var unlinked: [ReferenceLink] = []
    package var linked: [ReferenceLink] = []

    package init(zone: ZoneAddress, row: RecordRow, leaves: [ViewNumber], enters: [FeedRow], isNew: Bool) {
        self.zone = zone
        self.row = row
        self.leaves = leaves
        self.enters = enters
        self.isNew = isNew
    }

    /// The bytes by which it changes the size of its zone. A tombstone counts nothing.
    package var growth: Int { (row.isTombstone ? 0 : row.body.count + assetBytes) - replacedBytes }
}

package struct ViewNumber: Hashable, Sendable {
    package var view: FeedView
    package var number: ChangeNumber

    package init(view: FeedView, number: ChangeNumber) {
        self.view = view
        self.number = number
    }
}

/// The one row of a record in a view of its zone's feed.
package struct FeedRow: Hashable, Sendable {
    package var position: ViewNumber
    /// The change number with which the record entered the view.
    package var entered: ChangeNumber
    /// The record left the view (deleted, or no longer shared): the reader of the view gets a deletion.
    package var isDeparture: Bool

    package init(position: ViewNumber, entered: ChangeNumber, isDeparture: Bool) {
        self.position = position
        self.entered = entered
        self.isDeparture = isDeparture
    }
}

/// A request for the next rows of a view of a zone's feed.
package struct FeedScan: Hashable, Sendable {
    package var zone: ZoneAddress
    package var view: FeedView
    package var after: FeedPosition
    /// The last change number that is read; nil: all.
    package var through: ChangeNumber?
    /// Departures and tombstones at or before this number are left out.
    package var baseline: ChangeNumber
    package var limit: Int

    package init(
        of zone: ZoneAddress, view: FeedView, after: FeedPosition, through: ChangeNumber? = nil, baseline: ChangeNumber, limit: Int
    ) {
        self.zone = zone
        self.view = view
        self.after = after
        self.through = through
        self.baseline = baseline
        self.limit = limit
    }
}

/// The rows that were read of a feed.
package struct FeedPortion: Hashable, Sendable {
    /// The rows in order, each with its record.
    package var entries: [FeedEntry]
    /// The last row asked for is among them: neither the limit nor the byte bound of the request cut it off.
    package var isWhole: Bool

    package init(entries: [FeedEntry], isWhole: Bool) {
        self.entries = entries
        self.isWhole = isWhole
    }
}

package struct FeedEntry: Hashable, Sendable {
    package var feed: FeedRow
    package var record: RecordRow

    package init(feed: FeedRow, record: RecordRow) {
        self.feed = feed
        self.record = record
    }
}

/// The state that a transaction which changes records starts from; nil for rows that do not exist.
package struct Advance: Hashable, Sendable {
    /// The current run of the store. A zone or a database that this transaction makes begins in it.
    package var run: Int64
    package var database: DatabaseRow?
    /// The zone's row with `lastSeq` raised, in the current run.
    package var zone: ZoneRow?
    package var operation: OperationRow?
    /// The requested entries that exist, in no order.
    package var entries: [EntryRow]

    package init(run: Int64, database: DatabaseRow?, zone: ZoneRow?, operation: OperationRow?, entries: [EntryRow] = []) {
        self.run = run
        self.database = database
        self.zone = zone
        self.operation = operation
        self.entries = entries
    }
}

/// The result of a request with an operation ID, kept so that its retry gets the same answer.
package struct OperationRow: Hashable, Sendable {
    package var database: DatabaseID
    package var id: String
    /// The caller whose share of the log it takes.
    package var caller: String
    /// The digest of the request's body.
    package var digest: [UInt8]
    package var result: [UInt8]
    package var expires: Timestamp

    package init(database: DatabaseID, id: String, caller: String, digest: [UInt8], result: [UInt8], expires: Timestamp) {
        self.database = database
        self.id = id
        self.caller = caller
        self.digest = digest
        self.result = result
        self.expires = expires
    }
}

/// The result of trimming logged operations.
package struct TrimmedOperations: Hashable, Sendable {
    package var count: Int
    /// The latest expiry among the removed ones; nil: nothing was removed.
    package var latest: Timestamp?

    package init(count: Int, latest: Timestamp?) {
        self.count = count
        self.latest = latest
    }
}
