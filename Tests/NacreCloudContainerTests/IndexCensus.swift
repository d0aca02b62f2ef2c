import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

@testable import NacreCloudContainer

extension RecordTypeDefinition {
    /// Returns the rows of a record in its type's indexes, index by index, for comparison with `IndexRows`.
    func indexEntries(of record: StoredRecord) -> Set<IndexEntry> {
        guard record.isLive else { return [] }
        var entries: Set<IndexEntry> = []
        for (name, field) in fields where !field.isEncrypted {
            let value = record.value(of: name)
            let keys = value.map { IndexKey.keys(of: $0, as: field.type) } ?? []
            if let values = field.values {
                for key in keys.isEmpty && field.isSortable ? [IndexKey.none] : keys { entries.insert(IndexEntry(index: values.index, key: key)) }
            }
            guard let words = field.tokens, let value else { continue }
            for word in SearchWords.of(value) { entries.insert(IndexEntry(index: words.index, key: IndexKey.text(word.utf8).key)) }
        }
        for pair in pairs {
            guard let first = fields[pair.first], let second = fields[pair.second], let value = record.value(of: pair.first) else { continue }
            let order = record.value(of: pair.second).flatMap { IndexKey.key(of: $0, as: second.type) } ?? IndexKey.none
            for key in IndexKey.keys(of: value, as: first.type) {
                entries.insert(IndexEntry(index: pair.definition.index, key: IndexKey.prefix(key) + order))
            }
        }
        return entries
    }
}

/// All index rows of a user's database, and those that its records should have.
struct IndexCensus {
    struct Row: Hashable {
        var zone: Int64
        var entry: IndexEntry
        var name: String
    }

    var found: Set<Row> = []
    var expected: Set<Row> = []

    init(_ user: TestCloudUser) async throws {
        let (cloud, target) = (user.cloud, user.target)
        let database = try await cloud.databaseID(databaseVerdict(target, for: .read, by: user.caller).get())
        (found, expected) = try await cloud.schemas.read(of: target.container, target.environment) { known, transaction in
            var found: Set<Row> = []
            var expected: Set<Row> = []
            for zone in try transaction.zones(in: database, after: nil, limit: 1000) {
                for row in try transaction.records(in: zone.address, after: nil, limit: .max) {
                    guard let type = known.schema.types[row.type] else { continue }
                    for entry in type.indexEntries(of: StoredRecord(row, in: zone.address)) {
                        expected.insert(Row(zone: zone.address.zone, entry: entry, name: row.name))
                    }
                }
                for index in known.schema.types.values.flatMap(\.fields.values).flatMap(\.indexes).map(\.index) {
                    for hit in try transaction.search(IndexScan(zone: zone.address, index: index, limit: .max)) {
                        found.insert(Row(zone: zone.address.zone, entry: IndexEntry(index: index, key: hit.position.key), name: hit.position.name))
                    }
                }
            }
            return (found, expected)
        }
    }

    /// Returns whether the rows are right.
    /// - Parameter rows: The expected number, where a test knows it.
    func isWhole(rows: Int? = nil) -> Bool {
        found == expected && (rows == nil || rows == found.count)
    }
}
