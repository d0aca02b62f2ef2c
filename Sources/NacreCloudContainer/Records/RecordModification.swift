import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// One `records/modify` request. Its time, new names and keys are fixed beforehand, and its transaction may run more
/// than once.
struct RecordModification: Sendable {
    package struct Outcome: Sendable {
        package var response: RecordsResponse
        /// The zone of the answered records; nil: no save has made or met one.
        package var zone: ZoneAddress?
        /// Something was written that devices which follow the database's feed will read, or receivers of webhooks.
        var movedFeed: Bool
        /// Rows of indexes and of webhooks that were added and removed. Each counts as much work as a record.
        package var derivedRows = 0
        /// Damaged records that the request met: their rows are not as they were written.
        package var damaged: [StoredRecord] = []
    }

    package let request: RecordsModifyRequest
    let zone: RequestedZone
    /// The GUIDs for the URLs of the shares that the request makes; nil: it makes none.
    private let shareLinks: ShareLinks?
    package let log: OperationLog?
    private let now: Timestamp
    /// The key that the default zone gets if this is the first save into it.
    private let newZone: Int64
    package let items: [ModifyBatch.Item]
    private let madeNames: [OperationResult.MadeName]
    private let faults: [Int: ServerError]
    /// Names of the records that the saves refer to with more than a pointer.
    package let targets: Set<String>
    /// The opened receipts that the saves carry, by their texts.
    private let receipts: [String: AssetReceipt]
    /// The most records that may go with those that the batch deletes.
    private let cascadeRoom: Int
    /// The most that is kept of a webhook's feed.
    private let webhooksKeep: WebhookExtent
    /// The quotas of the server, for a container without its own.
    private let quotas: Quotas
    /// The tasks that wait in this process. A commit that leaves notifications needs room among them.
    private let handed: HandedTasks
    /// Words of the texts that the request brings, and, where these are long, of the texts that they replace.
    package var words = FoundWords()
    /// Draws the secrets of one-time URLs.
    private let secret: @Sendable () -> String

    /// Index rows that the saves may write, as far as the schema and the found words show.
    package func indexRows(by schema: Schema) -> Int { words.count / IndexKeys.perRow + items.indexRows(by: schema) }

    private var database: DatabaseID { zone.database.id }
    private var key: DatabaseKey { zone.database.key }
    private var caller: Caller { zone.database.caller }
    private var hasFeed: Bool { zone.hasFeed }
    private var isPublic: Bool { key.scope == .public }

    package init(
        _ request: RecordsModifyRequest, in zone: RequestedZone, shareLinks: ShareLinks?, digest: [UInt8], age: Double?, now: Timestamp,
        newZone: Int64, cascadeRoom: Int, webhooksKeep: WebhookExtent, quotas: Quotas, handed: HandedTasks,
        receipt: (String) -> AssetReceipt?, name: @escaping @Sendable () -> String
    ) throws(ServerError) {
        let (key, caller) = (zone.database.key, zone.database.caller)
        if let fault = RequestShape.fault(of: request, by: caller) { throw fault }
        self.request = request
        self.zone = zone
        self.shareLinks = shareLinks
        log = OperationLog(request.extension, by: caller, digest: digest, age: age)
        self.now = now
        self.newZone = newZone
        var items: [ModifyBatch.Item] = []
        var made: [OperationResult.MadeName] = []
        var faults: [Int: ServerError] = [:]
        items.reserveCapacity(request.operations.count)
        for (index, item) in request.operations.enumerated() {
            let operation: RecordOperation
            var manifest: SentManifest?
            switch item {
            case .success(let readable):
                operation = readable.namingParticipants(name)
                faults[index] = RequestShape.fault(of: operation, in: request.zoneID, of: key, by: caller)
                do { manifest = try SentManifest(operation, in: key.scope) } catch { faults[index] = faults[index] ?? error }
            case .failure(let fault):
                operation = RecordOperation(.forceUpdate, RecordChange(recordName: fault.recordName))
                faults[index] = fault.error
            }
            let given = operation.change.recordName
            if given == nil { made.append(OperationResult.MadeName(index: index, name: name())) }
            items.append(ModifyBatch.Item(name: given ?? made[made.count - 1].name, operation: operation, manifest: manifest))
        }
        self.items = items
        madeNames = made
        self.faults = faults
        targets = Set(items.lazy.flatMap { $0.operation.change.set.bindingReferences }.map(\.link.target))
        if targets.count > Limits.targetsPerRequest { throw .refersToTooMuch("\(Limits.targetsPerRequest)", isOne: items.count == 1) }
        var receipts: [String: AssetReceipt] = [:]
        for text in items.lazy.flatMap({ $0.operation.change.set.receipts }) { receipts[text] = receipt(text) }
        self.receipts = receipts
        self.cascadeRoom = cascadeRoom
        self.webhooksKeep = webhooksKeep
        self.quotas = quotas
        self.handed = handed
        secret = name
    }

    /// The texts that the request brings and that searches look into.
    func broughtTexts(by schema: Schema) -> SearchedTexts { SearchedTexts(of: items, by: schema) }

    /// Whether the request may change records that exist.
    var mayReplace: Bool { items.contains { $0.operation.type != .create } }

    /// The searched texts of the records that the request changes, as stored. Costs two calls of the store.
    func storedTexts(on snapshot: any ReadTransaction, by schema: Schema, _ patience: Patience) throws -> SearchedTexts {
        var patience = patience
        guard let zone = try snapshot.zones(in: database, named: [request.zoneID.zoneName]).first?.address else {
            return SearchedTexts(of: [] as [StoredRecord], by: schema)
        }
        let searched = FieldNames(Set(items.compactMap(\.operation.change.recordType)).flatMap(schema.searchedFields))
        let rows = try snapshot.records(in: zone, named: Array(Set(items.map(\.name))), bytesMax: Limits.answerBytes)
        try patience.take(rows)
        return SearchedTexts(of: rows.map { StoredRecord($0, in: zone, only: searched) }, by: schema)
    }

    /// - Throws: `LongDecision` where the decision would look at more than `patience` allows.
    package func run(_ transaction: any WriteTransaction, with schema: KnownSchema, _ patience: Patience) throws -> Ending<Outcome> {
        let advance = try transaction.advance(
            zoneNamed: request.zoneID.zoneName, in: database, operation: log?.id, entries: entries(for: schema))
        let decision = try decision(from: advance, schema, patience, transaction) {
            isPublic ? advance.database : try transaction.lock(in: database).database
        }
        switch decision {
        case .unwritten(let outcome): return .rollback(outcome)
        case .write(let batch, let changes, let base, let showing): return try write(batch, changes, on: base, showing, transaction)
        }
    }

    /// Returns the answer where nothing is to be written; nil: something may be, and the writer has to decide.
    ///
    /// A request that changes nothing may be answered from the snapshot, which holds every write that was answered
    /// before the request came.
    func unwritten(on snapshot: any ReadTransaction, with schema: KnownSchema, _ patience: Patience) throws -> Outcome? {
        let standing = try snapshot.standing(
            zoneNamed: request.zoneID.zoneName, in: database, operation: log?.id, entries: entries(for: schema))
        guard let standing else { return nil }
        do {
            guard case .unwritten(let outcome) = try decision(from: standing, schema, patience, snapshot, counted: { standing.database }) else {
                return nil
            }
            return outcome
        } catch SchemaInterruption.lacks {
            return nil
        }
    }

    /// Keys of the entries that a transaction reads beside the zone and the logged operation.
    private func entries(for schema: KnownSchema) -> [EntryKey] {
        [schema.versionKey, schema.quotaKey, SubscriptionCounts.key(SubscriptionCounts.all, in: database)] + zone.shareEntries
            + (log?.entries(in: database) ?? [])
            + receipts.values.lazy.filter { $0.database == database }.map { StoredAsset.key($0.asset, in: $0.database) }
            + [isPublic ? schema.assignmentKey(of: caller) : nil].compactMap(\.self)
    }

    private enum Decision {
        /// Every item was refused, was done before, or leaves its record as it is.
        case unwritten(Outcome)
        case write(ModifyBatch, Changes, Base, ShownRecords)
    }

    /// - Parameter counted: reads the database's row with its count of bytes, locked where something is written.
    private func decision(
        from advance: Advance, _ schema: KnownSchema, _ patience: Patience, _ transaction: any ReadTransaction, counted: () throws -> DatabaseRow?
    ) throws -> Decision {
        var patience = patience
        // The current schema decides what is shown, also of an operation that was done before.
        guard schema.isCurrent(by: advance.entries) else { throw SchemaInterruption.moved }
        let roles = isPublic ? try schema.roles(of: caller, by: advance.entries) : CallerRoles(caller)
        // Resolve another user's zone before anything of it is answered, also for an operation that was done before.
        let ofOther = zone.database.isOthers ? try zone.resolve(advance.zone, transaction) : nil
        let showing = ofOther?.showing ?? zone.database.knowing(schema.schema, roles).showing(zoneNamed: zone.name)
        if let operation = advance.operation {
            return .unwritten(try replay(operation, in: advance.zone, showing, &patience, transaction))
        }
        if let fault = log?.fault(horizon: try OperationHorizon.of(log, in: database, among: advance.entries), at: now) { throw fault }
        if let zone = advance.zone, !schema.knowsIndexes(of: zone) { throw SchemaInterruption.moved }
        let found = try ofOther ?? zone.resolve(advance.zone, transaction)
        let base = try base(of: advance, found, by: schema.schema)
        let stored = try load(from: base.zone, as: found?.membership ?? .owner, isNew: advance.zone == nil, &patience, transaction)
        let scopes = try scopes(of: base, transaction)
        var batch = ModifyBatch(
            items, faults: faults, stored: stored,
            in: RecordSetting(
                scope: key.scope, environment: key.environment, caller: caller, seesDetails: request.extension.wantsDetails,
                schema: schema.schema, customRoles: roles.custom, assets: try sentAssets(to: base.zone, by: advance.entries),
                membership: found?.membership ?? .owner, hasFeed: hasFeed, shareGUIDs: try shareLinks?.guids(for: base.zone) ?? [:],
                newestKeys: scopes.newest, owner: key.owner, now: now, secret: secret))
        batch.scopes = scopes
        try settle(&batch, on: base, &patience, transaction)
        var changes = try settleQuota(of: &batch, on: base, by: schema, advance, counted)
        let falls = (request.atomic ?? true) && hasFeed && batch.settleAtomically()
        if !falls {
            if let additions = batch.additions { throw SchemaInterruption.lacks(additions) }
            changes = changes ?? self.changes(of: batch, on: base, by: schema.schema)
        }
        guard !falls, let changes, !changes.puts.isEmpty else {
            return .unwritten(Outcome(response: response(to: batch, with: [], showing), movedFeed: false, damaged: batch.damaged))
        }
        return .write(batch, changes, base, showing)
    }

    /// Decides the items that depend on other records: cascades, parents, references and shares.
    private func settle(_ batch: inout ModifyBatch, on base: Base, _ patience: inout Patience, _ transaction: any ReadTransaction) throws {
        let zone = base.zone.address
        let reach = try CascadeWalk.reach(of: batch, in: zone, room: cascadeRoom, bytes: patience.bytes(upTo: Limits.cascadeBytes), transaction)
        try patience.take(reach.bytes)
        var known = KnownParents()
        repeat {
            batch.settle(within: reach)
            // In a public database the parents of others' records are none of the caller's business.
            if key.scope == .public { return }
            if hasFeed {
                batch.findShares()
                try batch.loadCompanions(in: zone, within: Limits.unansweredBytes, &patience, transaction)
                try batch.loadScopes(in: zone, transaction)
            }
        } while batch.settleShares(try transaction.surroundings(of: batch, in: zone, isZoneShared: base.isShared, &known, &patience))
    }

    /// Returns the zone's own scope, and those of shares that saves are sealed for. Costs a call of the store for each
    /// if a save brings encrypted values, and none otherwise.
    private func scopes(of base: Base, _ transaction: any ReadTransaction) throws -> SaveScopes {
        guard !base.isNewZone, !isPublic, items.contains(where: \.bringsSealed) else { return SaveScopes() }
        let zone = base.zone.address
        var scopes = SaveScopes(zone: try transaction.newestManifest(of: zone))
        for id in Set(items.compactMap(\.manifest?.form.parts.keyID.scope)) where id != scopes.zone {
            if let manifest = try transaction.newestManifest(of: KnownScope(id, isOfShare: true), in: zone) { scopes.add(manifest) }
        }
        return scopes
    }

    private func sentAssets(to zone: ZoneRow, by entries: [EntryRow]) throws -> SentAssets {
        var sent = SentAssets(zone: zone.address, receipts: receipts, now: now)
        guard !receipts.isEmpty else { return sent }
        for entry in entries where entry.key.kind == .asset {
            let asset = try StoredAsset(entry)
            sent.stored[asset.id] = asset
        }
        return sent
    }

    // MARK: Loading

    /// The rows that the change builds on: stored ones, or new ones for a first save into a default zone.
    private struct Base {
        var zone: ZoneRow
        var newDatabase: DatabaseRow?
        var isNewZone: Bool
        /// The database has subscriptions.
        var isWatched: Bool
        /// The webhooks that are told of changes in the zone.
        var webhooks: [Webhook]
        /// The zone has shares: other users than its owner may see it.
        var isShared: Bool
    }

    private func base(of advance: Advance, _ found: ResolvedZone?, by schema: Schema) throws -> Base {
        if let row = advance.database, row.key != key { throw ServerError.internalError }
        let isWatched = advance.entries.contains { $0.key.kind == .subscribed }
        let webhooks = schema.webhooks(watching: key, zoneNamed: zone.name)
        if let row = found?.row {
            let isShared = advance.entries.contains { $0.isShare(of: row) }
            return Base(zone: row, newDatabase: nil, isNewZone: false, isWatched: isWatched, webhooks: webhooks, isShared: isShared)
        }
        let first = ZoneRow(
            address: ZoneAddress(database: database, zone: newZone), name: ZoneID.defaultZoneName,
            run: advance.run, lastSeq: (advance.database?.lastSeq ?? 0) + 1, indexesBelow: schema.nextIndex)
        let newDatabase = advance.database == nil ? DatabaseRow(id: database, key: key, run: advance.run, lastSeq: 0) : nil
        return Base(zone: first, newDatabase: newDatabase, isNewZone: true, isWatched: isWatched, webhooks: webhooks, isShared: false)
    }

    /// Loads the records of the batch and the parents that it sets. Then it loads kept parents, roots of shares, forced
    /// deletions and targets. No field of a target is kept, only its creator and view.
    /// - Throws: `ServerError.answerTooLarge` where the first group has no room in an answer. `.looksAtTooMuch` where
    ///   the second, which no answer shows, is too large; for one operation `.refersToTooMuch`.
    private func load(
        from zone: ZoneRow, as membership: ZoneMembership, isNew: Bool, _ patience: inout Patience, _ transaction: any ReadTransaction
    ) throws -> [String: StoredRecord] {
        guard !isNew else { return [:] }
        var wanted = items.lazy.filter { $0.operation.type != .forceDelete }.map(\.name) as [String]
        var others = items.lazy.filter { $0.operation.type == .forceDelete }.map(\.name) as [String]
        for index in items.indices {
            if case .set(let reference) = items[index].operation.change.parent { wanted.append(reference.recordName) }
        }
        var stored: [String: StoredRecord] = [:]
        if !wanted.isEmpty { try add(wanted, from: zone, to: &stored, within: Limits.answerBytes, &patience, transaction) }
        others += items.indices.compactMap { index -> String? in
            guard case .keep = items[index].operation.change.parent, !items[index].operation.type.isDelete else { return nil }
            return stored[items[index].name]?.row.parent
        }
        others += items.compactMap { $0.operation.change.sharing?.value.forRecord }
        // A share goes with its root and is read later (`loadCompanions`): a save of the root or below it needs none of
        // its participants.
        others += stored.values.compactMap { $0.content.sharing?.root }
        guard !others.isEmpty || !targets.isEmpty else { return stored }
        // In a public database the creator of a target matters, and its body names it. In others only its existence
        // matters.
        let asked = Set(wanted)
        let whole = Set(others).subtracting(asked)
        let pointedAt = (isPublic ? targets(beside: stored) : targets).subtracting(asked).subtracting(whole)
        // For a caller who does not see the whole zone, the target's view matters too.
        let looksInside = isPublic || !membership.seesAll
        var left = Limits.unansweredBytes
        try transaction.eachPortion(of: Array(looksInside ? whole.union(pointedAt) : whole), in: zone.address, &patience) { rows in
            for row in rows {
                left -= row.body.count
                stored[row.name] = StoredRecord(row, in: zone.address, only: whole.contains(row.name) ? nil : FieldNames([]))
            }
            guard left < 0 else { return }
            throw items.count > 1 ? ServerError.looksAtTooMuch : .refersToTooMuch("\(Limits.unansweredBytes) bytes", isOne: true)
        }
        guard !looksInside, !pointedAt.isEmpty else { return stored }
        for head in try transaction.heads(in: zone.address, named: Array(pointedAt)) {
            stored[head.name] = StoredRecord(row: head, content: .unknown)
        }
        return stored
    }

    /// The targets of the saves, without those that the stored records already refer to. In a public database a record
    /// keeps these references, whatever became of the targets.
    private func targets(beside stored: [String: StoredRecord]) -> Set<String> {
        var targets: Set<String> = []
        for index in items.indices {
            let kept = stored[items[index].name]?.content.fields.bindingReferences.links ?? []
            for reference in items[index].operation.change.set.bindingReferences where !kept.contains(reference.link) {
                targets.insert(reference.link.target)
            }
        }
        return targets
    }

    package func add(
        _ names: [String], from zone: ZoneRow, to stored: inout [String: StoredRecord], within bytes: Int, _ patience: inout Patience,
        _ transaction: any ReadTransaction
    ) throws {
        for record in try transaction.stored(in: zone.address, named: Array(Set(names)), within: bytes, &patience) {
            stored[record.row.name] = record
        }
    }

    // MARK: Writing

    /// The changes of a batch to its records.
    private struct Changes {
        var puts: [RecordPut] = []
        /// The records that the saves made, in the order of the saves, which is that of the first puts.
        var saved: [StoredRecord] = []
        var stamp: Record.Stamp
        /// Assets that records had before and have no longer.
        var released: Set<AssetID> = []
        /// Names of records that came into a view or left one. The records below them move too.
        var moved: [String] = []
        /// Makes the rows of further records.
        var rows: RecordPlan
    }

    private func changes(of batch: ModifyBatch, on base: Base, by schema: Schema) -> Changes {
        var rows = RecordPlan(
            zone: base.zone.address, number: base.zone.number, now: now,
            stamp: Record.Stamp(timestamp: now, userRecordName: caller.userRecordName ?? "", deviceID: caller.deviceID), hasFeed: hasFeed,
            isPublic: batch.isPublic, schema: schema)
        rows.forgotten = base.zone.forgotten
        rows.words = words
        var changes = Changes(stamp: rows.stamp, rows: rows)
        changes.puts.reserveCapacity(items.count)
        changes.saved.reserveCapacity(items.count)
        for index in batch.items.indices {
            guard case .save(let save) = batch.verdicts[index] else { continue }
            let name = batch.items[index].name
            let change = rows.put(save, named: name, links: batch.links(of: save), at: batch.position(of: name))
            changes.puts.append(change.put)
            if let live = save.over, live.isLive, live.content.shared.view != change.record.content.shared.view { changes.moved.append(name) }
            changes.saved.append(change.record)
        }
        for record in batch.goingRecords { changes.puts.append(rows.put(deleting: record)) }
        let along = batch.sharedAlong
        for record in along.deleted { changes.puts.append(rows.put(deleting: record)) }
        changes.released = rows.released
        if changes.puts.isEmpty { return changes }
        for record in along.moved {
            let position = batch.position(of: record.row.name)
            changes.puts.append(rows.put(record, at: position))
            if record.content.shared.view != position.view { changes.moved.append(record.row.name) }
        }
        let put = Set(along.moved.map(\.row.name))
        for record in batch.touchedParents where !put.contains(record.row.name) { changes.puts.append(rows.put(touching: record)) }
        changes.rows = rows
        return changes
    }

    /// Holds the batch against the quota of its database. Two requests at once cannot take the same room: every change
    /// of the count locks the zone of a public database or the row of a private one.
    /// - Parameter counted: reads the database's row, under that lock.
    /// - Returns: the changes of the batch then; nil where there is no quota, or the server itself asks.
    private func settleQuota(
        of batch: inout ModifyBatch, on base: Base, by schema: KnownSchema, _ advance: Advance, _ counted: () throws -> DatabaseRow?
    ) throws -> Changes? {
        let entry = try advance.entries.first { $0.key == schema.quotaKey }.map { try QuotaEntry($0) }
        guard !caller.isServer, let limit = quotas.with(entry).limit(of: key.scope) else { return nil }
        let changes = self.changes(of: batch, on: base, by: schema.schema)
        var claims: [Int: QuotaClaim] = [:]
        for index in batch.items.indices {
            guard case .save(let save) = batch.verdicts[index] else { continue }
            claims[index] = QuotaClaim(save, as: changes.puts[claims.count])
        }
        guard claims.values.contains(where: \.needsRoom) else { return changes }
        // Clamp a count that a flipped bit made absurd: one above the limit counts as full, a negative one as 0.
        let used = min(max(try counted()?.bytes ?? 0, 0), Int64(Limits.quotaBytes))
        guard batch.settleQuota(claims, used: used, limit: limit) else { return changes }
        return self.changes(of: batch, on: base, by: schema.schema)
    }

    private func write(
        _ batch: ModifyBatch, _ changes: Changes, on base: Base, _ showing: ShownRecords, _ transaction: any WriteTransaction
    ) throws -> Ending<Outcome> {
        var plan = WritePlan()
        plan.records = changes.puts
        plan.tasks = FinishCascade.tasks(after: batch, in: base.zone, by: changes.stamp.userRecordName, due: now)
        if !batch.going.isEmpty { plan.tasks.append(PurgeTombstones.task(for: base.zone, deletedAt: now)) }
        let assets = batch.keptAssets
        let saved = assets.filter { batch.firstUsedAssets.contains($0.id) }.map { (bytes: $0.size, sent: $0.created) }
        try plan.removeUnsaved(saved, of: caller.userRecordName ?? "", in: database, transaction)
        plan.addAssets(used: assets, released: changes.released, of: base.zone, at: now)
        var derivedRows = plan.records.reduce(0) { $0 + $1.indexed.rowCount + $1.unindexed.rowCount }
        plan.entries += try shareLinks?.rows(to: changes.saved, in: base.zone) ?? []
        addBase(base, to: &plan)
        addOperation(batch, number: base.zone.number, to: &plan)
        if base.isWatched || !base.webhooks.isEmpty {
            let saves = batch.verdicts.compactMap { verdict -> RecordVerdict.Save? in if case .save(let save) = verdict { save } else { nil } }
            let transitions =
                zip(saves, changes.saved).map { RecordTransition(from: $0.over, to: $1) } + batch.goingRecords.map { RecordTransition(deleting: $0) }
            if base.isWatched { plan.tasks += try notifications(of: transitions, in: base.zone, transaction) }
            derivedRows += try plan.add(transitions, in: base.zone, for: base.webhooks, keeping: webhooksKeep, at: now, transaction)
        }
        let before = { (name: String) in (batch.stored[name] ?? batch.companions[name])?.content.sharing }
        plan.addSharing(of: base.zone, isShared: base.isShared, puts: plan.records, before: before, by: caller, at: now)
        var rows = changes.rows
        if rows.forgets > .zero { plan.zoneChanges.append(ZoneChange(base.zone.address, forgotten: rows.forgets)) }
        if batch.writesOverDamage { plan.tasks.append(SweepZone.task(for: base.zone.address, changedAt: base.zone.number, due: now)) }
        try transaction.apply(plan)
        try transaction.settleSubtrees(below: changes.moved, of: base.zone, as: &rows, by: caller, at: now)
        return .commit(
            Outcome(
                response: response(to: batch, with: changes.saved, showing), zone: base.zone.address, movedFeed: hasFeed || !base.webhooks.isEmpty,
                derivedRows: derivedRows,
                damaged: batch.damaged))
    }

    private func notifications(
        of transitions: [RecordTransition], in zone: ZoneRow, _ transaction: any WriteTransaction
    ) throws -> [TaskRow] {
        let author = FireSubscriptions.Author(caller)
        let tasks = try FireSubscriptions.tasks(of: transitions, in: zone, hasFeed: hasFeed, by: author, due: now, transaction)
        try FireSubscriptions.requireRoom(for: author, isOwn: key.owner == author.user, leaving: tasks, within: handed, transaction)
        return tasks
    }

    private func addBase(_ base: Base, to plan: inout WritePlan) {
        if let row = base.newDatabase { plan.databases.append(row) }
        if base.isNewZone { plan.zones.append(base.zone) }
        let address = base.zone.address
        if let token = request.extension.clientChangeToken { plan.zoneChanges.append(ZoneChange(address, clientChangeToken: token)) }
        if hasFeed { plan.zonesChanged.append(address) }
    }

    private func addOperation(_ batch: ModifyBatch, number: ChangeNumber, to plan: inout WritePlan) {
        guard let log else { return }
        let failures = batch.verdicts.indices.compactMap { index -> OperationResult.Failure? in
            guard case .refuse(let error) = batch.verdicts[index] else { return nil }
            return OperationResult.Failure(index: index, error: error)
        }
        plan.operations.append(log.row(OperationResult(number: number, madeNames: madeNames, failures: failures), in: database, at: now))
        // Trims the log once in `commitsPerTask` commits on average. The number was drawn at random for another
        // purpose.
        if newZone % TrimOperations.commitsPerTask == 0 { plan.tasks.append(TrimOperations.task(in: database, of: log.caller, due: now)) }
    }
}
