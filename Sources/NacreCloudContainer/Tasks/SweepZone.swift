import NacreCloudWire

/// The task that holds a zone's places in the feed, links and index rows against its records, after a damaged record was written over: those of the old
/// body are not known, and are found by looking at all.
///
/// What it has passed stays right, because every save keeps the rows of what it saves; done twice it finds nothing.
struct SweepZone: Sendable {
    var key: TaskKey
    var zone: ZoneAddress
    var place: CheckPlace

    private static let tables: [KeptTable] = [.records, .feed, .links, .index]

    /// - Parameter number: of the change that wrote over something: each leaves a sweep of its own, and none ends another's.
    static func task(for zone: ZoneAddress, changedAt number: ChangeNumber, due: Timestamp) -> TaskRow {
        again(TaskKey(zone.database, .sweepZone, "\(zone.zone):\(ChangeTag.text(number))"), zone: zone, due: due)
    }

    /// From the beginning.
    static func again(_ key: TaskKey, zone: ZoneAddress, due: Timestamp) -> TaskRow {
        SweepZone(key: key, zone: zone, place: CheckPlace(table: .records, row: .start(of: .records, in: zone))).task(due: due)
    }

    private init(key: TaskKey, zone: ZoneAddress, place: CheckPlace) {
        self.key = key
        self.zone = zone
        self.place = place
    }

    init(_ task: TaskRow) throws(StoreError) {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let block = try? reader.block(), let place = CheckPlace(block), reader.isAtEnd,
            Self.tables.contains(place.table), place.row != nil
        else { throw task.malformed }
        self.init(key: task.key, zone: ZoneAddress(database: task.key.database, zone: key), place: place)
    }

    fileprivate func task(due: Timestamp) -> TaskRow {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.block(place.bytes)
        return TaskRow(key: key, payload: writer.bytes, due: due)
    }

    /// Behind a chunk; nil: the zone is done.
    fileprivate func moved(to next: CheckPlace?) -> SweepZone? {
        if let next, next.table == place.table, next.row != nil { return SweepZone(key: key, zone: zone, place: next) }
        guard let table = Self.tables.first(where: { $0.rawValue > place.table.rawValue }) else { return nil }
        return SweepZone(key: key, zone: zone, place: CheckPlace(table: table, row: .start(of: table, in: zone)))
    }
}

extension Cloud {
    func sweepZone(_ task: TaskRow) async throws {
        var sweep = try SweepZone(task)
        var chunks = 0
        while chunks < Limits.taskTurn, !Task.isCancelled {
            guard let row = sweep.place.row else { throw task.malformed }
            let slice = try await checkRows(of: sweep.place.table, after: row, .repair, limit: Limits.checkRows, in: sweep.zone)
            for database in slice.moved { committed(database) }
            chunks += 1
            guard let next = sweep.moved(to: slice.rows == 0 ? nil : slice.next) else {
                try await store.write { transaction in
                    try transaction.apply(WritePlan(finishing: task.key))
                    return .commit(())
                }
                return
            }
            sweep = next
        }
        try await putBack(sweep.task(due: clock()))
    }
}
