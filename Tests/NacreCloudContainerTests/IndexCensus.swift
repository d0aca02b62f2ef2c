import NacreCloudContainer
import NacreCloudTestSupport

@testable import NacreCloudContainer

/// All index rows of a user's database beside those that its records should have.
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
        (found, expected) = try await cloud.registry.read(of: target.container, target.environment) { known, transaction in
            var found: Set<Row> = []
            var expected: Set<Row> = []
            for zone in try transaction.zones(in: database, after: nil, limit: 1000) {
                for row in try transaction.records(in: zone.address, after: nil, limit: .max) {
                    guard let type = known.schema.types[row.type] else { continue }
                    for entry in IndexRows(type).keys(of: StoredRecord(row, in: zone.address)).flatMap(\.entries) {
                        expected.insert(Row(zone: zone.address.zone, entry: entry, name: row.name))
                    }
                }
                for index in known.schema.types.values.flatMap(\.fields.values).flatMap(\.indexes).map(\.index) {
                    for hit in try transaction.search(IndexScan(zone: zone.address, index: index, limit: .max)) {
                        found.insert(Row(zone: zone.address.zone, entry: IndexEntry(index: index, key: hit.place.key), name: hit.place.name))
                    }
                }
            }
            return (found, expected)
        }
    }

    /// - Parameter rows: how many there should be, where a test knows it.
    func isWhole(rows: Int? = nil) -> Bool {
        found == expected && (rows == nil || rows == found.count)
    }
}
