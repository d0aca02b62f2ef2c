import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

// Conversions from columns to rows. Each reads the columns in the order in which its statements name them.

extension Cells {
    /// Reads a value that this version knows.
    func known<Raw, Known>(_ make: (Raw) -> Known?, _ raw: Raw, _ what: String) throws -> Known {
        guard let known = make(raw) else {
            throw StoreError(.corrupt, "A row has a value that this version does not know", ["what": what, "value": "\(raw)"])
        }
        return known
    }

    mutating func database() throws -> DatabaseRow {
        let id = DatabaseID(rawValue: try integer())
        let container = string()
        let environment = try known(DatabaseKey.Environment.init(rawValue:), string(), "environment")
        let scope = try known(DatabaseKey.Scope.init(rawValue:), string(), "scope")
        let key = DatabaseKey(container: container, environment: environment, scope: scope, owner: string())
        let (number, forgottenSeq) = (try self.number(), try integer())
        return DatabaseRow(id: id, key: key, run: number.run, lastSeq: number.seq, forgottenSeq: forgottenSeq, bytes: try integer())
    }

    mutating func zone(in database: DatabaseID) throws -> ZoneRow {
        let address = ZoneAddress(database: database, zone: try integer())
        let name = string()
        let state = try known(ZoneRow.State.init(rawValue:), try integer(), "zone state")
        let (number, feedSeq, token) = (try self.number(), try integer(), optionalBytes())
        return ZoneRow(
            address: address, name: name, state: state, run: number.run, lastSeq: number.seq, feedSeq: feedSeq, clientChangeToken: token,
            forgotten: try self.number(), indexesBelow: try integer(), bytes: try integer())
    }

    mutating func record() throws -> RecordRow {
        try record(named: string())
    }

    mutating func record(named name: String) throws -> RecordRow {
        let type = string()
        let (number, isTombstone, parent) = (try self.number(), try bool(), optionalString())
        return RecordRow(name: name, type: type, number: number, isTombstone: isTombstone, parent: parent, body: bytes())
    }

    mutating func entry(in database: DatabaseID) throws -> EntryRow {
        let kind = try known(EntryKind.init(rawValue:), try integer(), "kind of entry")
        let (name, value) = (string(), bytes())
        return EntryRow(key: EntryKey(database, kind, name), value: value, expires: try optionalTimestamp())
    }

    mutating func task(in database: DatabaseID) throws -> TaskRow {
        let kind = try known(TaskKind.init(rawValue:), try integer(), "task kind")
        let (name, due, attempts) = (string(), try timestamp(), try integer())
        return TaskRow(key: TaskKey(database, kind, name), payload: bytes(), due: due, attempts: attempts)
    }

    mutating func operation(in database: DatabaseID, _ id: String) throws -> OperationRow {
        let (digest, result, expires) = (bytes(), bytes(), try timestamp())
        return OperationRow(database: database, id: id, caller: string(), digest: digest, result: result, expires: expires)
    }
}

extension String {
    /// The first name behind this one, as bytes: no name lies between a name and the same name with a zero byte.
    var successor: [UInt8] { Array(utf8) + [0] }
}

extension String? {
    /// The first name of those behind this one; nil stands before all names.
    var nextName: [UInt8] { self?.successor ?? [] }
}

extension IndexScan {
    /// 0: rows come without records. 1: rows come with their records, and those without one are left out. 2: rows come
    /// with the records of some names.
    var mode: Int64 { needsRecords ? 1 : includesRecords ? 2 : 0 }
}

extension Sequence {
    /// Groups elements by a database or a zone, in the order of their first appearance.
    func grouped<Key: Hashable>(by key: (Element) -> Key) -> [(key: Key, elements: [Element])] {
        var places: [Key: Int] = [:]
        var groups: [(key: Key, elements: [Element])] = []
        for element in self {
            let key = key(element)
            if let place = places[key] {
                groups[place].elements.append(element)
            } else {
                places[key] = groups.count
                groups.append((key, [element]))
            }
        }
        return groups
    }
}
