/// An index of a container's schema. A number is never used twice: rows of a removed index may wait to be swept.
package struct IndexID: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A row of an index: the key of a record in it. One record may have many (a list's elements, a text's words).
///
/// Keys are bytes and are ordered as bytes. Only `NacreCloudContainer` knows their meaning.
package struct IndexEntry: Hashable, Sendable {
    package var index: IndexID
    package var key: [UInt8]

    package init(index: IndexID, key: [UInt8]) {
        self.index = index
        self.key = key
    }
}

/// A position in an index. Rows of one key are ordered by the bytes of their records' names.
package struct IndexPosition: Hashable, Sendable {
    package var key: [UInt8]
    package var name: String

    package init(key: [UInt8], name: String) {
        self.key = key
        self.name = name
    }
}

/// A range of keys of an index.
package struct IndexSpan: Hashable, Sendable {
    package var index: IndexID
    /// The first key, included.
    package var lower: [UInt8]
    /// The first key after the range; nil: the range goes to the end of the index.
    package var upper: [UInt8]?

    package init(index: IndexID, lower: [UInt8] = [], upper: [UInt8]? = nil) {
        self.index = index
        self.lower = lower
        self.upper = upper
    }
}

/// A scan over ranges of a zone's indexes, one range after the other.
package struct IndexScan: Hashable, Sendable {
    package var zone: ZoneAddress
    package var spans: [IndexSpan]
    /// The row after which the first span is read, in the direction of the scan. Other spans ignore it.
    package var after: IndexPosition?
    /// Whether the row at `after` is read too.
    package var includesAfter: Bool
    /// Whether each span is read by falling (key, name). The spans stay in their order.
    package var isDescending: Bool
    /// The most rows of all spans together.
    package var limit: Int
    /// Whether rows come with their records.
    package var includesRecords: Bool
    /// The names of the only records that come with their rows; nil: all records do.
    package var among: Set<String>?

    /// Whether the record of a row is included.
    package func includesRecord(named name: String) -> Bool { includesRecords && among?.contains(name) ?? true }

    /// Whether rows without a record are left out. If only some records are included, rows without one stay.
    package var needsRecords: Bool { includesRecords && among == nil }

    package init(
        zone: ZoneAddress, spans: [IndexSpan], after: IndexPosition? = nil, includesAfter: Bool = false, isDescending: Bool = false, limit: Int,
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

    /// Makes a scan of one span.
    package init(
        zone: ZoneAddress, index: IndexID, lower: [UInt8] = [], upper: [UInt8]? = nil, after: IndexPosition? = nil, includesAfter: Bool = false,
        isDescending: Bool = false, limit: Int, includesRecords: Bool = false
    ) {
        self.init(
            zone: zone, spans: [IndexSpan(index: index, lower: lower, upper: upper)], after: after, includesAfter: includesAfter,
            isDescending: isDescending, limit: limit, includesRecords: includesRecords)
    }

    /// Continues after a row of this scan. The spans before that row's are done.
    package mutating func goOn(behind last: IndexHit) {
        spans.removeFirst(last.span)
        after = last.position
        includesAfter = false
    }
}

package struct IndexHit: Hashable, Sendable {
    package var position: IndexPosition
    /// The position of its span in the scan.
    package var span: Int
    /// The record, if the scan includes it.
    package var record: RecordRow?

    package init(position: IndexPosition, span: Int = 0, record: RecordRow?) {
        self.position = position
        self.span = span
        self.record = record
    }
}

/// The rows that were read of a scan.
package struct IndexPortion: Hashable, Sendable {
    package var hits: [IndexHit]
    /// The scan's last row is among them: neither its limit nor the byte bound of the request cut it off.
    package var isWhole: Bool

    package init(hits: [IndexHit], isWhole: Bool) {
        self.hits = hits
        self.isWhole = isWhole
    }
}

/// A reference that engines must find by its target: one for which removing the target has a consequence.
package struct ReferenceLink: Hashable, Sendable {
    /// The kinds of links. Numbers are kept in databases: never reuse one.
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        case deleteSelf = 1
        case validate = 2
        /// The same as `deleteSelf`, in a record whose creator is not the creator of its target.
        case othersDeleteSelf = 3
    }

    package var target: String
    package var kind: Kind

    package init(target: String, kind: Kind) {
        self.target = target
        self.kind = kind
    }
}

/// The dependents of a record among the live records outside a given set.
package struct Dependents: Hashable, Sendable {
    package var target: String
    /// Whether a record names it as its parent.
    package var isParent: Bool
    /// Whether a record refers to it with `.validate`.
    package var isValidated: Bool
    /// The names of records that refer to it with `.deleteSelf`, by their bytes, up to the requested limit.
    package var owned: [String]
    /// The names of records that refer to it with `.othersDeleteSelf`, likewise.
    package var othersOwned: [String]

    package init(target: String, isParent: Bool, isValidated: Bool, owned: [String], othersOwned: [String] = []) {
        self.target = target
        self.isParent = isParent
        self.isValidated = isValidated
        self.owned = owned
        self.othersOwned = othersOwned
    }
}

/// The index rows of an existing record, written by an index build.
package struct IndexPut: Hashable, Sendable {
    package var zone: ZoneAddress
    package var name: String
    /// The rows, each index once.
    package var indexed: [IndexKeys]

    package init(zone: ZoneAddress, name: String, indexed: [IndexKeys]) {
        self.zone = zone
        self.name = name
        self.indexed = indexed
    }
}

/// A tombstone's row to remove for good, with its positions in the feeds. It has no index rows and no links.
package struct RecordRemoval: Hashable, Sendable {
    package var zone: ZoneAddress
    package var name: String
    package var leaves: [ViewNumber]

    package init(zone: ZoneAddress, name: String, leaves: [ViewNumber]) {
        self.zone = zone
        self.name = name
        self.leaves = leaves
    }
}
