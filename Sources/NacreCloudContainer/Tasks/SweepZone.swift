import NacreCloudWire

/// The task that checks a zone's places in the feed, links and index rows against its records, after a damaged record
/// was written over. The rows of the old body are unknown, and are found by a look at all rows.
///
/// Rows that it has passed stay right, because every save keeps the rows of what it saves. Done twice it finds nothing.
struct SweepZone: TaskHandler {
    private var zone: ZoneAddress
    private var place: CheckPlace

    private static let tables: [KeptTable] = [.records, .feed, .links, .index]

    /// - Parameter number: the number of the change that wrote over a damaged record. Each change leaves a sweep of its
    ///   own, and none ends another's.
    static func task(for zone: ZoneAddress, changedAt number: ChangeNumber, due: Timestamp) -> TaskRow {
        again(TaskKey(zone.database, .sweepZone, "\(zone.zone):\(ChangeTag.text(number))"), zone: zone, due: due)
    }

    /// Returns a task that begins at the first row.
    private static func again(_ key: TaskKey, zone: ZoneAddress, due: Timestamp) -> TaskRow {
        let sweep = SweepZone(zone: zone, place: CheckPlace(table: .records, row: .start(of: .records, in: zone)))
        return TaskRow(key: key, payload: sweep.payload, due: due)
    }

    private init(zone: ZoneAddress, place: CheckPlace) {
        self.zone = zone
        self.place = place
    }

    init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let block = try? reader.block(), let place = CheckPlace(block), reader.isAtEnd,
            Self.tables.contains(place.table), place.row != nil
        else { throw task.malformed }
        self.init(zone: ZoneAddress(database: task.key.database, zone: key), place: place)
    }

    var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.block(place.bytes)
        return writer.bytes
    }

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
