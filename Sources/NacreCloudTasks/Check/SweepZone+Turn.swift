import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension SweepZone: TaskHandler {
    mutating func chunk(_ turn: TaskTurn) async throws -> Bool {
        guard let row = place.row else { throw turn.task.malformed }
        let slice = try await turn.cloud.checkRows(of: place.table, after: row, .repair, limit: Limits.checkRowsMended, in: zone)
        for database in slice.moved { turn.cloud.committed(database) }
        if let next = following(slice.rows == 0 ? nil : slice.next) {
            place = next
            return true
        }
        try await turn.cloud.store.write { transaction in
            try transaction.apply(WritePlan(finishing: turn.key))
            return .commit(())
        }
        return false
    }

    /// Returns the place after a chunk; nil: the zone is done.
    private func following(_ next: CheckPlace?) -> CheckPlace? {
        if let next, next.table == place.table, next.row != nil { return next }
        guard let table = Self.tables.first(where: { $0.rawValue > place.table.rawValue }) else { return nil }
        return CheckPlace(table: table, row: .start(of: table, in: zone))
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        row.key.name.split(separator: ":").first.flatMap { Int64($0) }.map {
            again(row.key, zone: ZoneAddress(database: row.key.database, zone: $0), due: now)
        }
    }
}
