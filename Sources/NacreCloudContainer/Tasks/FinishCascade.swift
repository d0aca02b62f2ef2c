import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The task that continues a cascade too large for one transaction: in chunks, it deletes what hangs on deleted
/// records.
///
/// A holder is spared if its target lives again, or if it does not refer to the target any more. A holder that a record
/// outside the cascade holds is spared too: the deletion was answered, and cannot be refused any more. Each chunk
/// stores the remaining work in its own transaction. Only the worker with the lease may do that, so that it overwrites
/// no other worker's rest.
package struct FinishCascade: TaskHandler {
    private var zone: ZoneAddress
    private var zoneName: String
    /// The user who deleted the first record.
    private var userRecordName: String
    /// Deleted records whose holders are still to be deleted.
    private var targets: [String]
    /// The last holder that was looked at, in the order of the names, for targets with too many holders for one chunk.
    private var passed: [String: String] = [:]

    /// On this server: targets of one chunk.
    private static let targetsPerChunk = 100

    /// Returns the task for the part of a cascade that a batch left; none where nothing is left.
    package static func tasks(after batch: ModifyBatch, in zone: ZoneRow, by user: String, due: Timestamp) -> [TaskRow] {
        let targets = batch.unfinished
        guard !targets.isEmpty else { return [] }
        let rest = FinishCascade(zone: zone.address, zoneName: zone.name, userRecordName: user, targets: targets)
        let name = "\(zone.address.zone):\(ChangeTag.text(zone.number))"
        return [TaskRow(key: TaskKey(zone.address.database, .cascade, name), payload: rest.payload, due: due)]
    }

    private init(zone: ZoneAddress, zoneName: String, userRecordName: String, targets: [String]) {
        self.zone = zone
        self.zoneName = zoneName
        self.userRecordName = userRecordName
        self.targets = targets
    }

    package init(_ task: TaskRow) throws {
        do {
            var reader = ByteReader(task.payload)
            zone = ZoneAddress(database: task.key.database, zone: try reader.signed())
            zoneName = try reader.string()
            userRecordName = try reader.string()
            targets = []
            for _ in 0..<(try reader.count()) { targets.append(try reader.string()) }
            guard !reader.isAtEnd else { return }
            for _ in 0..<(try reader.count()) { passed[try reader.string()] = try reader.string() }
        } catch {
            throw task.malformed
        }
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        writer.string(zoneName)
        writer.string(userRecordName)
        writer.number(UInt64(targets.count))
        for target in targets { writer.string(target) }
        guard !passed.isEmpty else { return writer.bytes }
        writer.number(UInt64(passed.count))
        for (target, holder) in passed.sorted(by: { $0.key < $1.key }) {
            writer.string(target)
            writer.string(holder)
        }
        return writer.bytes
    }

    private struct Outcome: Sendable {
        /// The cascade that remains; nil: none.
        var rest: FinishCascade?
        /// Whether something was written that followers of the database will read.
        var movedFeed: Bool
    }

    package mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let cloud = leased.cloud
        guard let key = try await cloud.store.read({ try $0.databases([leased.key.database]).first?.key }) else { throw leased.task.malformed }
        let now = cloud.clock()
        let cascade = self
        let outcome = try await cloud.schemas.withSchema(of: key.container, key.environment) { schema in
            try await cloud.store.write { try cascade.run(leased, at: now, with: schema, keeping: cloud.bounds.webhooksKeep, $0) }
        }
        if outcome.movedFeed { cloud.committed(zone.database) }
        guard let rest = outcome.rest else { return false }
        self = rest
        return true
    }

    /// Does one chunk, in the order of the zone's commits.
    private func run(
        _ leased: LeasedTask, at now: Timestamp, with schema: KnownSchema, keeping most: WebhookExtent, _ transaction: any WriteTransaction
    ) throws -> Ending<Outcome> {
        let advance = try transaction.advance(
            zoneNamed: zoneName, in: zone.database, operation: nil,
            entries: [schema.versionKey, EntryKey(zone.database, .zoneShare, zoneName)])
        guard schema.isCurrent(by: advance.entries), advance.zone.map(schema.knowsIndexes) ?? true else { throw SchemaInterruption.moved }
        try leased.requireLease(transaction)
        var plan = WritePlan(finishing: leased.key)
        guard let row = advance.zone, row.address == zone, let key = advance.database?.key else {
            try transaction.apply(plan)
            return .commit(Outcome(rest: nil, movedFeed: false))
        }
        var rest = self
        var bytes = Limits.cascadeBytes
        var batch = ModifyBatch(deleting: try rest.takeHolders(within: &bytes, transaction), inPublic: key.scope == .public)
        batch.settle(within: try CascadeWalk.reach(of: batch, in: zone, room: Limits.cascadeChunk, bytes: bytes, transaction))
        rest.targets += batch.unfinished
        let hasFeed = key.hasFeed(inZoneNamed: zoneName)
        let webhooks = schema.schema.webhooks(watching: key, zoneNamed: zoneName)
        if !batch.going.isEmpty {
            var rows = RecordPlan(
                zone: zone, number: row.number, now: now, stamp: Record.Stamp(timestamp: now, userRecordName: userRecordName), hasFeed: hasFeed,
                isPublic: batch.isPublic, schema: schema.schema)
            rows.forgotten = row.forgotten
            batch.findShares()
            // These records go, however large the shares that go with them are.
            var endless = Patience.endless
            try batch.loadCompanions(in: zone, within: .max, &endless, transaction)
            plan.records = (batch.goingRecords + batch.sharedAlong.deleted).map { rows.put(deleting: $0) }
            plan.tasks.append(PurgeTombstones.task(for: row, deletedAt: now))
            plan.addAssets(used: [], released: rows.released, of: row, at: now)
            if batch.writesOverDamage { plan.tasks.append(SweepZone.task(for: zone, changedAt: row.number, due: now)) }
            if hasFeed { plan.zonesChanged = [zone] }
            plan.addSharing(
                of: row, isShared: advance.entries.contains { $0.isShare(of: row) }, puts: plan.records,
                before: { name in batch.companions[name]?.content.sharing }, by: Caller(.user(userRecordName)), at: now)
            let transitions = batch.goingRecords.map { RecordTransition(deleting: $0) }
            plan.tasks += try FireSubscriptions.tasks(
                of: transitions, in: row, hasFeed: hasFeed, by: FireSubscriptions.Author(user: userRecordName, deviceID: nil), due: now, transaction)
            _ = try plan.add(transitions, in: row, for: webhooks, keeping: most, at: now, transaction)
        }
        let isDone = rest.targets.isEmpty
        if !isDone { plan.tasks.append(leased.rest(rest.payload)) }
        try transaction.apply(plan)
        return .commit(Outcome(rest: isDone ? nil : rest, movedFeed: (hasFeed || !webhooks.isEmpty) && !batch.going.isEmpty))
    }

    /// Takes the holders of the newest targets, as many as a chunk may have. Those of one target are taken together,
    /// unless their bodies are more than there is room for. A target with more holders stays, with the name of its last
    /// holder in `passed`: holders that are spared must not be met again for ever.
    /// - Parameter bytes: the room that is left for bodies.
    private mutating func takeHolders(within bytes: inout Int, _ transaction: any WriteTransaction) throws -> [StoredRecord] {
        let asked = Array(targets.suffix(Self.targetsPerChunk).reversed())
        let living = Set(try transaction.heads(in: zone, named: asked).lazy.filter { !$0.isTombstone }.map(\.name))
        let answers = try transaction.dependents(
            in: zone, of: asked.filter { !living.contains($0) }, outside: [], limit: Limits.owningReferences + 1)
        let owned = Dictionary(answers.map { ($0.target, $0.holders) }, uniquingKeysWith: { first, _ in first })
        var names: [String] = []
        var met: Set<String> = []
        // The end of each target's holders in `names`.
        var ends: [Int] = []
        for target in asked {
            let more = (owned[target] ?? []).filter { name in passed[target].map { name > $0 } ?? true }
            guard names.isEmpty || names.count + more.count <= Limits.owningReferences else { break }
            names += more.sorted().filter { met.insert($0).inserted }
            ends.append(names.count)
        }
        var left = names[...]
        let rows = try transaction.records(in: zone, next: &left, bytesMax: bytes)
        bytes -= rows.reduce(0) { $0 + $1.body.count }
        let read = names.count - left.count
        for (index, end) in ends.enumerated() {
            guard end <= read else {
                if read > (index == 0 ? 0 : ends[index - 1]) { passed[asked[index]] = names[read - 1] }
                break
            }
            passed[asked[index]] = nil
            targets.removeLast()
        }
        return rows.filter { !$0.isTombstone }.map { StoredRecord($0, in: zone) }
            .filter { $0.isDamaged || !$0.content.fields.owners.isDisjoint(with: asked) }.filter { $0.row.type != UserRecord.type }
    }

    /// Returns nil: nothing but the payload says which records were still to go.
    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}
