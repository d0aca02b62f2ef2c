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

/// A place in the history of a zone or a database. `run` is the opening of the store in which the change was made, `seq` rises with each commit.
package struct ChangeNumber: Hashable, Sendable, Comparable {
    package var run: Int64
    package var seq: Int64

    package init(run: Int64, seq: Int64) {
        self.run = run
        self.seq = seq
    }

    /// Before every change: in every history there is.
    package static let zero = ChangeNumber(run: 0, seq: 0)

    package static func < (left: ChangeNumber, right: ChangeNumber) -> Bool {
        (left.run, left.seq) < (right.run, right.seq)
    }
}

/// A place in a view of a zone's feed. Rows of one commit are ordered by name; nil is after all of them.
package struct FeedPosition: Hashable, Sendable {
    package var number: ChangeNumber
    package var name: String?

    package init(_ number: ChangeNumber, name: String? = nil) {
        self.number = number
        self.name = name
    }

    package static let start = FeedPosition(.zero)
}

/// A place in a database's feed of zones. Zones of one commit are ordered by name; nil is after all of them.
package struct ZoneFeedPosition: Hashable, Sendable {
    package var seq: Int64
    package var name: String?

    package init(_ seq: Int64, name: String? = nil) {
        self.seq = seq
        self.name = name
    }

    package static let start = ZoneFeedPosition(0)
}

/// For whom a zone's feed is read: 0 is for the owner, who sees all of it; each hierarchical share is another view.
package struct FeedView: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let owner = FeedView(rawValue: 0)
}

package struct DatabaseRow: Hashable, Sendable {
    package var id: DatabaseID
    package var key: DatabaseKey
    /// The run of its newest place in the feed of zones, or in which it was made.
    package var run: Int64
    /// The newest place in the database's feed of zones.
    package var lastSeq: Int64
    /// Zones that went at or before this place are forgotten: a token from before it may have missed one.
    package var forgottenSeq: Int64
    /// Of all its zones.
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
    /// The run of its newest change, or in which it was made.
    package var run: Int64
    /// The newest change number of the zone.
    package var lastSeq: Int64
    /// The zone's place in its database's feed; 0: never in it. Kept by the engine, ignored in a plan.
    package var feedSeq: Int64
    /// The app's own bytes of the last save that carried some.
    package var clientChangeToken: [UInt8]?
    /// Tombstones at or before this number are gone: a token from before it may have missed one.
    package var forgotten: ChangeNumber
    /// Every index of the container's schema with a lower number has its rows in this zone, or is getting them. A save must know as many.
    package var indexesBelow: Int64
    /// Of the bodies of its records, without tombstones; 0 where it is gone.
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

/// What changes in a database's row that is there. Nothing else of it does, whatever other transactions did to it since it was read.
package struct DatabaseChange: Hashable, Sendable {
    package var database: DatabaseID
    /// `lastSeq` is at least this afterwards.
    package var lastSeq: Int64
    /// `forgottenSeq` is at least this afterwards.
    package var forgottenSeq: Int64
    /// `bytes` rises by it, or falls.
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

/// What changes in a zone's row that is there. Nothing else of it does, whatever other transactions did to it since it was read.
package struct ZoneChange: Hashable, Sendable {
    package var zone: ZoneAddress
    /// nil: it stays what it is. A zone that is gone does not come back.
    package var state: ZoneRow.State?
    /// nil: it stays what it is.
    package var clientChangeToken: [UInt8]?
    /// `forgotten` is at least this afterwards.
    package var forgotten: ChangeNumber
    /// `indexesBelow` is at least this afterwards.
    package var indexesBelow: Int64
    /// `bytes` rises by it, or falls.
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

/// A record or its tombstone, as kept: what engines look for in columns, everything else in the body.
package struct RecordRow: Hashable, Sendable {
    package var name: String
    package var type: String
    /// Of its last change: also its place in the feed.
    package var number: ChangeNumber
    package var isTombstone: Bool
    /// The name of the record that it names as its parent.
    package var parent: String?
    /// `RecordBody`'s encoding, with its checksum.
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

/// One record to keep, and the rows by which the feeds show it.
package struct RecordPut: Hashable, Sendable {
    package var zone: ZoneAddress
    package var row: RecordRow
    /// Where the record was in each view's feed before: those rows go.
    package var leaves: [FeedPlace]
    /// Where it is now.
    package var enters: [FeedRow]
    /// There was no row of this name before, live or not: an engine may insert without looking.
    package var isNew: Bool
    /// Bytes that counted for this record before, of its body and its assets: 0 where there was none, or a tombstone.
    package var replacedBytes = 0
    /// Bytes of its assets' files.
    package var assetBytes = 0
    /// Index rows that go, and that come, each index once in each. It is not an error where one that goes is not there, or one that comes is there already: an
    /// index may be half built.
    package var unindexed: [IndexKeys] = []
    package var indexed: [IndexKeys] = []
    /// Links that go, and that come.
    package var unlinked: [ReferenceLink] = []
    package var linked: [ReferenceLink] = []

    package init(zone: ZoneAddress, row: RecordRow, leaves: [FeedPlace], enters: [FeedRow], isNew: Bool) {
        self.zone = zone
        self.row = row
        self.leaves = leaves
        self.enters = enters
        self.isNew = isNew
    }

    /// By how much it changes what its zone's records take. A tombstone counts nothing.
    package var growth: Int { (row.isTombstone ? 0 : row.body.count + assetBytes) - replacedBytes }
}

package struct FeedPlace: Hashable, Sendable {
    package var view: FeedView
    package var number: ChangeNumber

    package init(view: FeedView, number: ChangeNumber) {
        self.view = view
        self.number = number
    }
}

/// A record's one appearance in a view of its zone's feed.
package struct FeedRow: Hashable, Sendable {
    package var place: FeedPlace
    /// The change number with which the record entered the view.
    package var entered: ChangeNumber
    /// The record left the view (deleted, or no longer shared): its viewer reads a deletion.
    package var isDeparture: Bool

    package init(place: FeedPlace, entered: ChangeNumber, isDeparture: Bool) {
        self.place = place
        self.entered = entered
        self.isDeparture = isDeparture
    }
}

/// The next rows of a view of a zone's feed.
package struct FeedScan: Hashable, Sendable {
    package var zone: ZoneAddress
    package var view: FeedView
    package var after: FeedPosition
    /// The last change number that is read; nil: all.
    package var through: ChangeNumber?
    /// Rows of departures and tombstones at or before it are left out.
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

/// What was read of a feed.
package struct FeedPortion: Hashable, Sendable {
    /// In order, each with its record.
    package var entries: [FeedEntry]
    /// The last row asked for is among them: neither the limit nor the bytes of the question ended it.
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

/// What a transaction that changes records starts from; nil is what there is not.
package struct Advance: Hashable, Sendable {
    /// In which the store is now: a zone or a database that this transaction makes begins in it.
    package var run: Int64
    package var database: DatabaseRow?
    /// With `lastSeq` raised, in the run of now.
    package var zone: ZoneRow?
    package var operation: OperationRow?
    /// Those asked for that are there, in no order.
    package var entries: [EntryRow]

    package init(run: Int64, database: DatabaseRow?, zone: ZoneRow?, operation: OperationRow?, entries: [EntryRow] = []) {
        self.run = run
        self.database = database
        self.zone = zone
        self.operation = operation
        self.entries = entries
    }
}

/// What a request with an operation ID did, kept so that its retry gets the same answer.
package struct OperationRow: Hashable, Sendable {
    package var database: DatabaseID
    package var id: String
    /// Whose share of the log it takes.
    package var caller: String
    /// Of the request's body.
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

/// What a trim of logged operations removed.
package struct TrimmedOperations: Hashable, Sendable {
    package var count: Int
    /// The latest expiry among them; nil: nothing was removed.
    package var latest: Timestamp?

    package init(count: Int, latest: Timestamp?) {
        self.count = count
        self.latest = latest
    }
}
