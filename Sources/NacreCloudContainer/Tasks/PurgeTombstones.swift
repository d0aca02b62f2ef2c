package import NacreCloudStorage
package import NacreCloudWire

/// The task that removes a zone's tombstones once they are older than the retention: one for each zone and day.
package struct PurgeTombstones: TaskHandler {
    private var zone: ZoneAddress
    private var zoneName: String

    private static let daySeconds: Double = 24 * 3600

    /// - Parameter time: the time of a deletion. The task is due when all tombstones of its day may go.
    package static func task(for zone: ZoneRow, deletedAt time: Timestamp) -> TaskRow {
        task(for: zone, onDay: Int64((time.secondsSince2001 / daySeconds).rounded(.down)))
    }

    /// - Parameter day: days since 2001, as in the key of the task.
    package static func task(for zone: ZoneRow, onDay day: Int64) -> TaskRow {
        TaskRow(
            key: TaskKey(zone.address.database, .purgeTombstones, "\(zone.address.zone):\(day)"),
            payload: PurgeTombstones(zone: zone.address, zoneName: zone.name).payload,
            due: Timestamp(secondsSince2001: (Double(day) + 1) * daySeconds) + Limits.tombstoneSeconds)
    }

    private init(zone: ZoneAddress, zoneName: String) {
        self.zone = zone
        self.zoneName = zoneName
    }

    package init(_ task: TaskRow) throws {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let name = try? reader.string() else { throw task.malformed }
        self.init(zone: ZoneAddress(database: task.key.database, zone: key), zoneName: name)
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.string(zoneName)
        return writer.bytes
    }

    package func chunk(_ leased: LeasedTask) async throws -> Bool {
        let now = leased.cloud.clock()
        return try await leased.cloud.store.write { try removeChunk(at: now, finishing: leased.key, $0) }
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        let parts = row.key.name.split(separator: ":").compactMap { Int64($0) }
        let found = try parts.first.flatMap { try zone(ZoneAddress(database: row.key.database, zone: $0)) }
        return found.flatMap { zone in parts.last.map { task(for: zone, onDay: $0) } }
    }

    /// Removes one chunk, oldest changes first, and raises the zone's `forgotten`, so that older tokens expire.
    ///
    /// A tombstone that is too young, because a clock jumped, ends the work; the task of its own day goes on. A damaged
    /// one may be a live record: it stays, for the check.
    /// - Returns: whether there may be more.
    private func removeChunk(at now: Timestamp, finishing key: TaskKey, _ transaction: any WriteTransaction) throws -> Ending<Bool> {
        var plan = WritePlan(finishing: key)
        guard let row = try transaction.lock(zoneNamed: zoneName, in: zone.database).zone, row.address == zone else {
            try transaction.apply(plan)
            return .commit(false)
        }
        let found = try transaction.tombstones(in: zone, limit: Limits.purgeChunk)
        var (removed, forgotten) = (0, ChangeNumber.zero)
        for tombstone in found {
            let stored = StoredRecord(tombstone, in: zone)
            if stored.isDamaged { continue }
            let gone = stored.content.modified.timestamp
            guard gone + Limits.tombstoneSeconds <= now else {
                plan.tasks = [Self.task(for: row, deletedAt: gone)]
                break
            }
            // A zone without a feed has no positions like these, and removing one that is not there is not an error.
            plan.recordsRemoved.append(
                RecordRemoval(zone: zone, name: tombstone.name, leaves: RecordPlan.places(of: stored, hasFeed: true).map(\.position)))
            forgotten = max(forgotten, tombstone.number)
            removed += 1
        }
        if removed > 0 { plan.zoneChanges = [ZoneChange(zone, forgotten: forgotten)] }
        let isDone = removed == 0 || found.count < Limits.purgeChunk || !plan.tasks.isEmpty
        if !isDone { plan.tasksFinished = [] }
        try transaction.apply(plan)
        return .commit(!isDone)
    }
}
