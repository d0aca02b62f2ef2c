import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// The records of a public database by type, as far as they were counted.
package struct RecordCounts: Hashable, Sendable {
    /// records[type]
    package var records: [String: Int] = [:]
    /// Whether all records were counted; false: there are at least as many.
    package var isWhole = false
}

extension Cloud {
    /// Counts the records of a container's public database, which keeps no count. Looks at as many rows and bytes as a
    /// page of a query does, at a portion of them in each call of the store.
    package func recordCounts(
        of container: String, _ environment: DatabaseKey.Environment, scanning rows: Int = Limits.queryScanRows, _ bytes: Int = Limits.queryScanBytes
    ) async throws -> RecordCounts {
        try await registry.requireContainer(container)
        let key = DatabaseKey(container: container, environment: environment, scope: .public, owner: "")
        let database = try await databaseID(key)
        var (counts, after) = (RecordCounts(), String?.none)
        var (rowsLeft, bytesLeft) = (rows, bytes)
        while !counts.isWhole, rowsLeft > 0, bytesLeft > 0 {
            let (position, limit, bytesMax) = (after, min(rowsLeft, Self.rowsInPortion), min(bytesLeft, QueryReader.portionBytes))
            let (types, last, read, isWhole) = try await stored(of: key) {
                try await self.store.read { transaction -> ([String], String?, Int, Bool) in
                    guard let zone = try transaction.zones(in: database, named: [ZoneID.defaultZoneName]).first else { return ([], nil, 0, true) }
                    let (rows, isWhole) = try transaction.portion(of: zone.address, after: position, limit: limit, bytesMax: bytesMax)
                    return (rows.map(\.type), rows.last?.name, rows.bodyBytes, isWhole)
                }
            }
            for type in types { counts.records[type, default: 0] += 1 }
            WorkMeter.current?.add(rows: types.count, bytes: read)
            (after, counts.isWhole) = (last, isWhole)
            (rowsLeft, bytesLeft) = (rowsLeft - types.count, bytesLeft - read)
        }
        return counts
    }

    private static let rowsInPortion = 1000
}
