package import NacreCloudStorage
package import NacreCloudWire

/// The task that removes the records, assets and sealed keys of a deleted zone, in chunks.
package struct ReclaimZone: TaskHandler {
    private var zone: ZoneAddress
    /// On this server: assets of one chunk of work. Each asset may have thousands of chunks.
    private static let assetsPerChunk = 10

    package static func task(for zone: ZoneAddress, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(zone.database, .reclaimZone, String(zone.zone)), payload: ReclaimZone(zone: zone).payload, due: due)
    }

    private init(zone: ZoneAddress) {
        self.zone = zone
    }

    package init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed() else { throw task.malformed }
        zone = ZoneAddress(database: task.key.database, zone: key)
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        return writer.bytes
    }

    package func chunk(_ leased: LeasedTask) async throws -> Bool {
        let (zone, now) = (zone, leased.cloud.clock())
        return try await leased.cloud.store.write { transaction in
            let count = try transaction.reclaim(zone, limit: Limits.reclaimChunk)
            if count > 0 { return .commit(true) }
            let assets = Array(try transaction.assets(of: zone, limit: Self.assetsPerChunk).few)
            var plan = WritePlan()
            if assets.isEmpty {
                plan.entriesRemoved = try transaction.scopeEntries(of: zone, limit: Limits.reclaimChunk)
                if plan.entriesRemoved.isEmpty { plan = WritePlan(finishing: leased.key) }
            } else {
                // A task that died in the middle does these assets again: a missing chunk is no error.
                plan.tasks = [CollectAssets.task(forChunksOf: assets, in: zone, due: now)]
                for asset in assets { plan.remove(asset, in: zone.database) }
            }
            try transaction.apply(plan)
            return .commit(plan.tasksFinished.isEmpty)
        }
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        Int64(row.key.name).map { task(for: ZoneAddress(database: row.key.database, zone: $0), due: now) }
    }
}
