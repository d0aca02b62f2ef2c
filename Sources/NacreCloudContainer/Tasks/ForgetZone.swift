package import NacreCloudStorage
package import NacreCloudWire

/// The task that forgets a deleted zone, once no client may ask any more for the zone's fate.
package struct ForgetZone: TaskHandler {
    private var zone: ZoneAddress
    /// The position of the deletion in the database's feed of zones.
    private var place: Int64

    package static func task(for zone: ZoneAddress, goneAt place: Int64, due: Timestamp) -> TaskRow {
        TaskRow(
            key: TaskKey(zone.database, .forgetZone, String(zone.zone)), payload: ForgetZone(zone: zone, place: place).payload, due: due)
    }

    private init(zone: ZoneAddress, place: Int64) {
        self.zone = zone
        self.place = place
    }

    package init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let place = try? reader.signed() else { throw task.malformed }
        self.init(zone: ZoneAddress(database: task.key.database, zone: key), place: place)
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.signed(place)
        return writer.bytes
    }

    /// Removes the row of a zone deleted long ago. Older tokens of the database expire: they would not hear of it.
    package func chunk(_ leased: LeasedTask) async throws -> Bool {
        // The records went right after the zone. This removes what a failing worker left of them.
        let left = try await leased.cloud.store.write { .commit(try $0.reclaim(zone, limit: Limits.reclaimChunk)) }
        if left == 0 { try await leased.cloud.forget(zone, goneAt: place, finishing: leased.key) }
        return left > 0
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        let found = try Int64(row.key.name).flatMap { try zone(ZoneAddress(database: row.key.database, zone: $0)) }
        // A parked task is due again.
        return found.map { task(for: $0.address, goneAt: $0.feedSeq, due: row.isParked ? now : row.due) }
    }
}

extension Cloud {
    fileprivate func forget(_ zone: ZoneAddress, goneAt place: Int64, finishing task: TaskKey) async throws {
        try await store.write { transaction in
            var plan = WritePlan(finishing: task)
            if try transaction.lock(in: zone.database).database != nil {
                plan.databaseChanges = [DatabaseChange(zone.database, forgottenSeq: place)]
            }
            plan.zonesForgotten = [zone]
            try transaction.apply(plan)
            return .commit(())
        }
    }
}
