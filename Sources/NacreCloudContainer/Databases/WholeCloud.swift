package import NacreCloudStorage
package import NacreCloudWire

/// A live record, as `Cloud.everything` returns it.
package struct KeptRecord: Sendable {
    package var name: String
    package var type: String
    package var parent: String?
    package var fields: RecordFields
    package var creator: String
    /// The change number with which the record was made in its zone.
    package var entered: ChangeNumber
}

/// A database with all its zones and records.
package struct KeptDatabase: Sendable {
    package var key: DatabaseKey
    /// The zones, by name.
    package var zones: [(name: String, records: [KeptRecord])]
}

extension Cloud {
    /// The most databases, zones of a database and records of a zone that are returned.
    private static let mostOfEach = 1_000_000

    /// All data of a container's users in an environment, from one snapshot. They are all in memory at once: only for
    /// small clouds, and never for a request over a network.
    package func everything(of container: String, _ environment: DatabaseKey.Environment) async throws -> [KeptDatabase] {
        try await stored {
            try await self.store.read { transaction in
                let databases = try transaction.databases(of: container, environment, after: nil, limit: Self.mostOfEach)
                return try databases.filter { $0.key.scope == .public || $0.key.scope == .private }.map { database in
                    let zones = try transaction.zones(in: database.id, after: nil, limit: Self.mostOfEach)
                    return KeptDatabase(
                        key: database.key,
                        zones: try zones.map { zone in
                            let rows = try transaction.records(in: zone.address, after: nil, limit: Self.mostOfEach)
                            return (zone.name, try rows.map { try KeptRecord($0, in: zone.address) })
                        })
                }
            }
        }
    }
}

extension KeptRecord {
    fileprivate init(_ row: RecordRow, in zone: ZoneAddress) throws {
        let content = try RecordBody.decode(row, in: zone)
        self.init(
            name: row.name, type: row.type, parent: row.parent, fields: content.fields, creator: content.created.userRecordName,
            entered: content.entered)
    }
}
