package import NacreCloudStorage
import NacreCloudWire

/// The progress of a task that writes or removes index rows in the zones of a container's environment. It is kept in
/// the task's payload.
package struct IndexProgress: Hashable, Sendable {
    private static let version: UInt8 = 2
    /// The indexes whose rows are written or removed. Empty before a build's first turn, which takes all that wait.
    package var indexes: Set<IndexID> = []
    /// The database of the current zone. All databases up to it are done, apart from that zone and those after it.
    package var database: DatabaseID?
    /// The current zone, in which the records up to `record` are done; nil: the next database is next.
    package var zone: String?
    package var record: String?
    /// The number of finished records of all databases. Some of them may count twice.
    package var records = 0

    package init(of indexes: Set<IndexID> = []) {
        self.indexes = indexes
    }

    package init(_ task: TaskRow) throws(StoreError) {
        guard !task.payload.isEmpty else { return }
        do {
            var reader = ByteReader(task.payload)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            for _ in 0..<(try reader.count()) { indexes.insert(IndexID(rawValue: try reader.signed())) }
            database = try reader.byte() == 0 ? nil : DatabaseID(rawValue: try reader.signed())
            zone = try reader.byte() == 0 ? nil : try reader.string()
            record = try reader.byte() == 0 ? nil : try reader.string()
            records = Int(clamping: try reader.number())
            guard reader.isAtEnd else { throw MalformedBytes() }
        } catch {
            throw StoreError(.corrupt, "A task's payload is malformed", ["task": task.key.name])
        }
    }

    package var payload: [UInt8] {
        guard !indexes.isEmpty else { return [] }
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.number(UInt64(indexes.count))
        for index in indexes.map(\.rawValue).sorted() { writer.signed(index) }
        writer.byte(database == nil ? 0 : 1)
        if let database { writer.signed(database.rawValue) }
        for name in [zone, record] {
            writer.byte(name == nil ? 0 : 1)
            if let name { writer.string(name) }
        }
        writer.number(UInt64(max(records, 0)))
        return writer.bytes
    }

    /// Moves to the next database of a container's environment. Returns false if there is none.
    package mutating func goOn(in container: String, _ environment: DatabaseKey.Environment, _ transaction: any ReadTransaction) throws -> Bool {
        guard let database = try transaction.databases(of: container, environment, after: database, limit: 1).first else { return false }
        self.database = database.id
        zone = try transaction.zones(in: database.id, after: nil, limit: 1).first?.name
        record = nil
        return true
    }
}

extension RecordTypeDefinition {
    /// Returns the type with only these indexes, nil if it has none of them.
    package func only(_ indexes: Set<IndexID>) -> RecordTypeDefinition? {
        var kept = RecordTypeDefinition(name: name)
        for (name, field) in fields {
            var field = field
            for kind in IndexKind.allCases where field[kind].map({ !indexes.contains($0.index) }) ?? false { field[kind] = nil }
            if !field.indexes.isEmpty { kept.fields[name] = field }
        }
        kept.pairs = pairs.filter { indexes.contains($0.definition.index) }
        guard !kept.indexes.isEmpty else { return nil }
        // The fields of a pair stay, without indexes of their own, because their definitions describe its values.
        for pair in kept.pairs {
            for name in [pair.first, pair.second] where kept.fields[name] == nil { kept.fields[name] = fields[name]?.withoutIndexes }
        }
        return kept
    }
}
