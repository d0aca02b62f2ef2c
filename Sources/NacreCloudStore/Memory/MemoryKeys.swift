import NacreCloudStorage
import NacreCloudWire

// The keys of the oracle's tables, in the same order as the columns of the SQL engines' keys.

struct RecordKey: Comparable, Sendable {
    var zone: ZoneAddress
    var name: NameBytes

    static func < (left: RecordKey, right: RecordKey) -> Bool {
        (left.zone.database.rawValue, left.zone.zone, left.name) < (right.zone.database.rawValue, right.zone.zone, right.name)
    }
}

struct FeedKey: Comparable, Sendable {
    var zone: ZoneAddress
    var view: FeedView
    var number: ChangeNumber
    var name: NameBytes

    static func < (left: FeedKey, right: FeedKey) -> Bool {
        (left.zone.database.rawValue, left.zone.zone, left.view.rawValue, left.number, left.name)
            < (right.zone.database.rawValue, right.zone.zone, right.view.rawValue, right.number, right.name)
    }
}

struct ChildKey: Comparable, Sendable {
    var zone: ZoneAddress
    var parent: NameBytes
    var child: NameBytes

    static func < (left: ChildKey, right: ChildKey) -> Bool {
        (left.zone.database.rawValue, left.zone.zone, left.parent, left.child)
            < (right.zone.database.rawValue, right.zone.zone, right.parent, right.child)
    }
}

struct TombstoneKey: Comparable, Sendable {
    var zone: ZoneAddress
    var number: ChangeNumber
    var name: NameBytes

    static func < (left: TombstoneKey, right: TombstoneKey) -> Bool {
        (left.zone.database.rawValue, left.zone.zone, left.number, left.name)
            < (right.zone.database.rawValue, right.zone.zone, right.number, right.name)
    }
}

struct LinkKey: Comparable, Sendable {
    var zone: ZoneAddress
    var target: NameBytes
    var kind: Int64
    var name: NameBytes

    static func < (left: LinkKey, right: LinkKey) -> Bool {
        (left.zone.database.rawValue, left.zone.zone, left.target, left.kind, left.name)
            < (right.zone.database.rawValue, right.zone.zone, right.target, right.kind, right.name)
    }
}

struct IndexKey: Comparable, Sendable {
    var zone: ZoneAddress
    var index: Int64
    var key: KeyBytes
    var name: NameBytes

    static func < (left: IndexKey, right: IndexKey) -> Bool {
        (left.zone.database.rawValue, left.zone.zone, left.index, left.key, left.name)
            < (right.zone.database.rawValue, right.zone.zone, right.index, right.key, right.name)
    }
}

struct ZoneKey: Comparable, Sendable {
    var address: ZoneAddress

    static func < (left: ZoneKey, right: ZoneKey) -> Bool {
        (left.address.database.rawValue, left.address.zone) < (right.address.database.rawValue, right.address.zone)
    }
}

struct ZoneNameKey: Comparable, Sendable {
    var database: DatabaseID
    var name: NameBytes

    static func < (left: ZoneNameKey, right: ZoneNameKey) -> Bool {
        (left.database.rawValue, left.name) < (right.database.rawValue, right.name)
    }
}

struct ZoneFeedKey: Comparable, Sendable {
    var database: DatabaseID
    var seq: Int64
    var name: NameBytes
    var zone: Int64

    static func < (left: ZoneFeedKey, right: ZoneFeedKey) -> Bool {
        (left.database.rawValue, left.seq, left.name, left.zone) < (right.database.rawValue, right.seq, right.name, right.zone)
    }
}

struct OperationKey: Comparable, Sendable {
    var database: DatabaseID
    var id: NameBytes

    static func < (left: OperationKey, right: OperationKey) -> Bool {
        (left.database.rawValue, left.id) < (right.database.rawValue, right.id)
    }
}

/// The key of an entry or a task: a database, a kind, and a name.
struct NamedKey: Hashable, Comparable, Sendable {
    var database: DatabaseID
    var kind: Int64
    var name: NameBytes

    init(_ database: DatabaseID, kind: Int64, name: String) {
        self.database = database
        self.kind = kind
        self.name = NameBytes(name)
    }

    init(_ key: EntryKey) {
        self.init(key.database, kind: key.kind.rawValue, name: key.key)
    }

    init(_ key: TaskKey) {
        self.init(key.database, kind: key.kind.rawValue, name: key.name)
    }

    static func < (left: NamedKey, right: NamedKey) -> Bool {
        (left.database.rawValue, left.kind, left.name) < (right.database.rawValue, right.kind, right.name)
    }
}
