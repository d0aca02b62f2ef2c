import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension SweepZone: TaskHandler {
    mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        guard let row = cursor.row else { throw leased.task.malformed }
        let slice = try await leased.cloud.checkRows(of: cursor.table, after: row, .repair, limit: Limits.checkRowsMended, in: zone)
        for database in slice.moved { leased.cloud.committed(database) }
        if let next = following(slice.rows == 0 ? nil : slice.next) {
            cursor = next
            return true
        }
        try await leased.cloud.store.write { transaction in
            try transaction.apply(WritePlan(finishing: leased.key))
            return .commit(())
        }
        return false
    }

    /// Returns the cursor after a chunk; nil: the zone is done.
    private func following(_ next: CheckCursor?) -> CheckCursor? {
        if let next, next.table == cursor.table, next.row != nil { return next }
        guard let table = Self.tables.first(where: { $0.rawValue > cursor.table.rawValue }) else { return nil }
        return CheckCursor(table: table, row: .start(of: table, in: zone))
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        row.key.name.split(separator: ":").first.flatMap { Int64($0) }.map {
            again(row.key, zone: ZoneAddress(database: row.key.database, zone: $0), due: now)
        }
    }
}
