/// An index of a container's schema. Numbers are given once and never again: rows of an index that is gone can wait to be swept.
package struct IndexID: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A row of an index: where a record stands in it. One record may have many (a list's elements, a text's words).
///
/// Keys are bytes and are ordered as bytes; what they say is `NacreCloudContainer`'s affair.
package struct IndexEntry: Hashable, Sendable {
    package var index: IndexID
    package var key: [UInt8]

    package init(index: IndexID, key: [UInt8]) {
        self.index = index
        self.key = key
    }
}

/// A place in an index. Rows of one key are ordered by the bytes of their records' names.
package struct IndexPlace: Hashable, Sendable {
    package var key: [UInt8]
    package var name: String

    package init(key: [UInt8], name: String) {
        self.key = key
        self.name = name
    }
}

/// A piece of an index.
package struct IndexSpan: Hashable, Sendable {
    package var index: IndexID
    /// The first key, included.
    package var lower: [UInt8]
    /// The first key beyond; nil: to the end of the index.
    package var upper: [UInt8]?

    package init(index: IndexID, lower: [UInt8] = [], upper: [UInt8]? = nil) {
        self.index = index
        self.lower = lower
        self.upper = upper
    }
}

/// A walk over pieces of a zone's indexes, one piece after the other.
package struct IndexScan: Hashable, Sendable {
    package var zone: ZoneAddress
    package var spans: [IndexSpan]
    /// Of the first span only the rows beyond this one, in the direction of the walk.
    package var after: IndexPlace?
    /// The row at `after` itself comes too.
    package var includesAfter: Bool
    /// Each span by (key, name), both falling. The spans stay in their order.
    package var isDescending: Bool
    /// Rows of all spans.
    package var limit: Int
    /// The records come along.
    package var includesRecords: Bool
    /// Of the records only those of these names come along, where any do; rows of the others come alone.
    package var among: Set<String>?

    /// Whether the record of a row comes along.
    package func includesRecord(named name: String) -> Bool { includesRecords && among?.contains(name) ?? true }

    /// A row whose record is gone leads nowhere, and is not told; where only some records come along, rows are told without them.
    package var needsRecords: Bool { includesRecords && among == nil }

    package init(
        zone: ZoneAddress, spans: [IndexSpan], after: IndexPlace? = nil, includesAfter: Bool = false, isDescending: Bool = false, limit: Int,
        includesRecords: Bool = false
    ) {
        self.zone = zone
        self.spans = spans
        self.after = after
        self.includesAfter = includesAfter
        self.isDescending = isDescending
        self.limit = limit
        self.includesRecords = includesRecords
    }

    /// Of one span.
    package init(
        zone: ZoneAddress, index: IndexID, lower: [UInt8] = [], upper: [UInt8]? = nil, after: IndexPlace? = nil, includesAfter: Bool = false,
        isDescending: Bool = false, limit: Int, includesRecords: Bool = false
    ) {
        self.init(
            zone: zone, spans: [IndexSpan(index: index, lower: lower, upper: upper)], after: after, includesAfter: includesAfter,
            isDescending: isDescending, limit: limit, includesRecords: includesRecords)
    }

    /// Goes on behind a row that it gave: the spans before that row's are done.
    package mutating func goOn(behind last: IndexHit) {
        spans.removeFirst(last.span)
        after = last.place
        includesAfter = false
    }
}

package struct IndexHit: Hashable, Sendable {
    package var place: IndexPlace
    /// Which of the scan's spans it stands in.
    package var span: Int
    /// Where the scan asked for it.
    package var record: RecordRow?

    package init(place: IndexPlace, span: Int = 0, record: RecordRow?) {
        self.place = place
        self.span = span
        self.record = record
    }
}

/// What was read of a scan.
package struct IndexPortion: Hashable, Sendable {
    package var hits: [IndexHit]
    /// The scan's last row is among them: neither its limit nor the bytes of the question ended it.
    package var isWhole: Bool

    package init(hits: [IndexHit], isWhole: Bool) {
        self.hits = hits
        self.isWhole = isWhole
    }
}

/// A reference by which engines must find who refers: one whose target's end has a consequence.
package struct ReferenceLink: Hashable, Sendable {
    /// Numbers are kept in databases: never reuse one.
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        case deleteSelf = 1
        case validate = 2
        /// The same as `deleteSelf`, of a record that is somebody else's than its target.
        case othersDeleteSelf = 3
    }

    package var target: String
    package var kind: Kind

    package init(target: String, kind: Kind) {
        self.target = target
        self.kind = kind
    }
}

/// Who depends on a record, of the live records outside a given set.
package struct Dependents: Hashable, Sendable {
    package var target: String
    /// Somebody names it as its parent.
    package var isParent: Bool
    /// Somebody refers to it with `.validate`.
    package var isValidated: Bool
    /// Who refers to it with `.deleteSelf`, in the order of their names' bytes, up to the limit asked for.
    package var owned: [String]
    /// Who refers to it with `.othersDeleteSelf`, likewise.
    package var othersOwned: [String]

    package init(target: String, isParent: Bool, isValidated: Bool, owned: [String], othersOwned: [String] = []) {
        self.target = target
        self.isParent = isParent
        self.isValidated = isValidated
        self.owned = owned
        self.othersOwned = othersOwned
    }
}

/// Index rows of a record that is there already, put by who builds an index.
package struct IndexPut: Hashable, Sendable {
    package var zone: ZoneAddress
    package var name: String
    /// Of each index once.
    package var indexed: [IndexKeys]

    package init(zone: ZoneAddress, name: String, indexed: [IndexKeys]) {
        self.zone = zone
        self.name = name
        self.indexed = indexed
    }
}

/// A record's row that goes for good, with its places in the feeds. It has no index rows and no links any more: it is a tombstone.
package struct RecordRemoval: Hashable, Sendable {
    package var zone: ZoneAddress
    package var name: String
    package var leaves: [FeedPlace]

    package init(zone: ZoneAddress, name: String, leaves: [FeedPlace]) {
        self.zone = zone
        self.name = name
        self.leaves = leaves
    }
}
