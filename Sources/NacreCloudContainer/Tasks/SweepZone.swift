package import NacreCloudStorage
package import NacreCloudWire

/// The task that checks a zone's rows in the feed, links and index rows against its records, after a damaged record was
/// written over. The rows of the old body are unknown, and are found by a look at all rows.
///
/// Rows that it has passed stay right, because every save keeps the rows of what it saves. Done twice it finds nothing.
package struct SweepZone: Sendable {
    package let zone: ZoneAddress
    package var cursor: CheckCursor

    package static let tables: [KeptTable] = [.records, .feed, .links, .index]

    /// - Parameter number: the number of the change that wrote over a damaged record. Each change leaves a sweep of its
    ///   own, and none ends another's.
    package static func task(for zone: ZoneAddress, changedAt number: ChangeNumber, due: Timestamp) -> TaskRow {
        again(TaskKey(zone.database, .sweepZone, "\(zone.zone):\(ChangeTag.text(number))"), zone: zone, due: due)
    }

    /// Returns a task that begins at the first row.
    package static func again(_ key: TaskKey, zone: ZoneAddress, due: Timestamp) -> TaskRow {
        let sweep = SweepZone(zone: zone, cursor: CheckCursor(table: .records, row: .start(of: .records, in: zone)))
        return TaskRow(key: key, payload: sweep.payload, due: due)
    }

    private init(zone: ZoneAddress, cursor: CheckCursor) {
        self.zone = zone
        self.cursor = cursor
    }

    package init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let block = try? reader.block(), let cursor = CheckCursor(block), reader.isAtEnd,
            Self.tables.contains(cursor.table), cursor.row != nil
        else { throw task.malformed }
        self.init(zone: ZoneAddress(database: task.key.database, zone: key), cursor: cursor)
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.block(cursor.bytes)
        return writer.bytes
    }
}
