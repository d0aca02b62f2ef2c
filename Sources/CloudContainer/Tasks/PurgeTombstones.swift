import CloudWire

/// The task that removes the tombstones of a zone's records once they are older than the retention: one task a zone and day.
struct PurgeTombstones: Sendable {
    var zone: ZoneAddress
    var zoneName: String

    private static let daySeconds: Double = 24 * 3600

    /// - Parameter time: of a deletion; the task is due when all of its day may go.
    static func task(for zone: ZoneRow, deletedAt time: Timestamp) -> TaskRow {
        let day = (time.secondsSince2001 / daySeconds).rounded(.down)
        var writer = ByteWriter()
        writer.signed(zone.address.zone)
        writer.string(zone.name)
        return TaskRow(
            key: TaskKey(zone.address.database, .purgeTombstones, "\(zone.address.zone):\(Int64(day))"), payload: writer.bytes,
            due: Timestamp(secondsSince2001: (day + 1) * daySeconds) + Limits.tombstoneSeconds)
    }

    init?(_ task: TaskRow) {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed(), let name = try? reader.string() else { return nil }
        zone = ZoneAddress(database: task.key.database, zone: key)
        zoneName = name
    }

    /// Removes one chunk, oldest changes first, and raises what the zone says is forgotten: older tokens expire.
    ///
    /// A tombstone that is too young, because a clock jumped, stops it; its own day's task goes on.
    /// - Returns: whether there may be more.
    func removeChunk(at now: Timestamp, finishing key: TaskKey, _ transaction: any WriteTransaction) throws -> Ending<Bool> {
        var plan = WritePlan(finishing: key)
        guard var row = try transaction.advance(zoneNamed: zoneName, in: zone.database, operation: nil).zone, row.address == zone else {
            try transaction.apply(plan)
            return .commit(false)
        }
        let found = try transaction.tombstones(in: zone, limit: Limits.purgeChunk)
        var removed = 0
        for tombstone in found {
            let gone = try StoredRecord(tombstone, in: zone).content.modified.timestamp
            guard gone + Limits.tombstoneSeconds <= now else {
                plan.tasks = [Self.task(for: row, deletedAt: gone)]
                break
            }
            // A zone without a feed has no such places, and removing none is no error.
            plan.recordsRemoved.append(
                RecordRemoval(zone: zone, name: tombstone.name, leaves: [FeedPlace(view: .owner, number: tombstone.number)]))
            row.forgotten = max(row.forgotten, tombstone.number)
            removed += 1
        }
        if removed > 0 { plan.zones = [row] }
        let isDone = removed < Limits.purgeChunk
        if !isDone { plan.tasksFinished = [] }
        try transaction.apply(plan)
        return .commit(!isDone)
    }
}

extension Cloud {
    func purgeTombstones(_ task: TaskRow) async throws {
        guard let purge = PurgeTombstones(task) else { throw task.malformed }
        let now = clock()
        while try await store.write({ try purge.removeChunk(at: now, finishing: task.key, $0) }) {}
    }
}
