/// The tables of a store, for a check of all of it. Callers hold the numbers in a `CheckCursor`: never reuse one.
package enum KeptTable: UInt8, Hashable, Sendable, CaseIterable {
    case databases = 1
    case zones = 2
    case entries = 3
    case records = 4
    case feed = 5
    case links = 6
    case index = 7
    case operations = 8
    case tasks = 9
}

/// The key of a row in its table: its parts, in their order. The first is the database.
package struct RowKey: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case number(Int64)
        case text(String)
        case bytes([UInt8])
    }

    package var parts: [Part]

    package init(_ parts: [Part]) {
        self.parts = parts
    }

    package static func zone(_ zone: ZoneAddress, _ rest: Part...) -> RowKey {
        RowKey([.number(zone.database.rawValue), .number(zone.zone)] + rest)
    }

    package static func database(_ database: DatabaseID, _ rest: Part...) -> RowKey {
        RowKey([.number(database.rawValue)] + rest)
    }
}

/// A row as it is kept.
package struct KeptRow: Hashable, Sendable {
    package enum Value: Hashable, Sendable {
        case database(DatabaseRow)
        case zone(ZoneRow)
        case record(ZoneAddress, RecordRow)
        case derived(DerivedRow)
        case entry(EntryRow)
        case operation(OperationRow)
        case task(TaskRow)
        /// The bytes are not what was written, or nothing that this version knows. `mended` is the original row, if
        /// that can be found.
        indirect case unreadable(StoreError, mended: Value?)
    }

    package var key: RowKey
    package var value: Value

    package init(_ key: RowKey, _ value: Value) {
        self.key = key
        self.value = value
    }
}

/// A row that holds only data of a record, and can be made from it again.
package enum DerivedRow: Hashable, Sendable {
    case feed(ZoneAddress, FeedRow, name: String)
    case link(ZoneAddress, ReferenceLink, name: String)
    /// A link of an unknown kind, which no record has.
    case unknownLink(ZoneAddress, target: String, kind: Int64, name: String)
    case index(ZoneAddress, IndexEntry, name: String)

    package var zone: ZoneAddress {
        switch self {
        case .feed(let zone, _, _), .link(let zone, _, _), .unknownLink(let zone, _, _, _), .index(let zone, _, _): zone
        }
    }

    package var name: String {
        switch self {
        case .feed(_, _, let name), .link(_, _, let name), .unknownLink(_, _, _, let name), .index(_, _, let name): name
        }
    }
}
