import NacreCloudWire

/// The task that forgets a deleted zone, once nobody may ask any more what became of it.
enum ForgetZone {
    /// - Parameter place: of the deletion in the database's feed of zones.
    static func task(for zone: ZoneAddress, goneAt place: Int64, due: Timestamp) -> TaskRow {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.signed(place)
        return TaskRow(key: TaskKey(zone.database, .forgetZone, String(zone.zone)), payload: writer.bytes, due: due)
    }

    static func payload(of task: TaskRow) -> (zone: ZoneAddress, place: Int64)? {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let place = try? reader.signed() else { return nil }
        return (ZoneAddress(database: task.key.database, zone: key), place)
    }
}

extension Cloud {
    /// Removes the row of a zone that was deleted long ago. Tokens of the database from before its deletion expire: they would not hear of it.
    func forgetZone(_ task: TaskRow) async throws {
        guard let (zone, place) = ForgetZone.payload(of: task) else { throw task.malformed }
        try await takeTurn(at: task) {
            // Its records went right after it: this finds what a failing worker left.
            let left = try await store.write { .commit(try $0.reclaim(zone, limit: Limits.reclaimChunk)) }
            if left == 0 { try await forget(zone, goneAt: place, finishing: task.key) }
            return left > 0
        }
    }

    private func forget(_ zone: ZoneAddress, goneAt place: Int64, finishing task: TaskKey) async throws {
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
