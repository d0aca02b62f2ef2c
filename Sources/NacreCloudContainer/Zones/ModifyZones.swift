package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The verdict of the rules on one operation on one zone.
enum ZoneVerdict: Equatable, Sendable {
    case create
    /// The zone exists, and is answered as it is.
    case keep(ZoneRow)
    /// The default zone, which exists with or without a row.
    case keepDefault
    case delete(ZoneRow)
    case refuse(ServerError)

    /// Decides one operation. CloudKit: custom zones live in private databases; the default zone always exists.
    /// Creating a zone that exists succeeds.
    /// - Parameters:
    ///   - end: the reason for which the user removed the zone, which was not saved anew; nil: the user did not.
    ///   - hasRoom: the database may have one zone more.
    package init(
        _ operation: ZoneOperation, over existing: ZoneRow?, in database: DatabaseKey, by caller: Caller, end: ZoneRow.State? = nil,
        hasRoom: Bool = true
    ) {
        if let fault = ownerVerdict(operation.zoneID, in: database, by: caller) {
            self = .refuse(fault)
            return
        }
        switch (operation.type, existing) {
        case (.create, _) where operation.zoneID.isDefault: self = .keepDefault
        case (.delete, _) where operation.zoneID.isDefault: self = .refuse(.cannotDeleteDefaultZone)
        case (.delete, let zone?): self = .delete(zone)
        case (.delete, nil): self = .refuse(.zoneNotFound(operation.zoneID, end: end))
        case (.create, let zone?): self = .keep(zone)
        case (.create, nil):
            let fault = Names.recordNameFault(operation.zoneID.zoneName, field: "zoneName") ?? (hasRoom ? nil : .noRoomForZones)
            self = fault.map(ZoneVerdict.refuse) ?? .create
        }
    }
}

extension Cloud {
    /// `zones/modify`: makes and deletes zones, each on its own, in one transaction. Deleted zones keep their rows
    /// until a task has reclaimed them.
    /// - Parameters:
    ///   - digest: the digest of the request's bytes; two requests with one operation ID must have one digest. Without
    ///     a digest the ID is ignored.
    ///   - age: seconds since a repeated request was sent for the first time; nil: it is not repeated.
    package func modifyZones(
        _ request: ZonesModifyRequest, in target: DatabaseTarget, by caller: Caller, digest: [UInt8]? = nil, age: Double? = nil
    ) async throws -> ZonesResponse {
        let opened = try await database(target, for: .zones, by: caller)
        let (key, database) = (opened.key, opened.id)
        if let fault = RequestShape.fault(count: request.operations.count, field: "operations", by: caller) { throw fault }
        let names = request.operations.map(\.zoneID.zoneName)
        guard Set(names).count == names.count else { throw ServerError.repeatedItem(field: "operations") }
        if let fault = RequestShape.fault(of: request.extension) { throw fault }
        let change = ZoneModification(
            operations: request.operations, database: database, key: key, caller: caller, now: clock(),
            newKeys: names.map { _ in Int64(bitPattern: random() >> 1) },
            log: digest.flatMap { OperationLog(request.extension, by: caller, digest: $0, age: age) }, handed: handed)
        let (outcomes, movedFeed) = try await carryOut(change)
        if movedFeed { committed(database) }
        return ZonesResponse(
            zones: try outcomes.map { outcome in
                switch outcome {
                case .live(let row): .zone(try shown(opened.resolve(row)))
                case .defaultZone: .zone(defaultZone(in: key))
                case .deleted(let name): .deleted(key.zoneID(name))
                case .refused(let zoneID, let error): .failure(key.shown(zoneID), error)
                }
            })
    }
}

extension Cloud {
    func carryOut(_ change: ZoneModification) async throws -> (outcomes: [ZoneModification.Outcome], movedFeed: Bool) {
        let key = change.key
        return try await schemas.withSchema(of: key.container, key.environment) { schema in
            try await stored(of: key) { try await self.store.write { try change.run(with: schema, $0) } }
        }
    }
}

/// One `zones/modify` request. Its time and new keys are fixed beforehand, and its transaction may run more than once.
struct ZoneModification: Sendable {
    package enum Outcome: Sendable {
        case live(ZoneRow)
        case defaultZone
        case deleted(String)
        case refused(ZoneID, ServerError)
    }

    package var operations: [ZoneOperation]
    package var database: DatabaseID
    package var key: DatabaseKey
    package var caller: Caller
    package var now: Timestamp
    /// A key for each operation's zone, used if the zone is made.
    var newKeys: [Int64]
    package var log: OperationLog?
    /// The tasks that wait in this process. A commit that leaves notifications needs room among them.
    package var handed: HandedTasks
    /// The reason why zones go.
    var reason = ZoneRow.State.deleted

    /// - Parameter schema: the schema of the container. A new zone, being empty, is complete in each of its indexes.
    package func run(
        with schema: KnownSchema, _ transaction: any WriteTransaction
    ) throws -> Ending<(outcomes: [Outcome], movedFeed: Bool)> {
        let advance = try transaction.lock(
            zoneNamed: nil, in: database, operation: log?.id,
            entries: [schema.versionKey, SubscriptionCounts.key(SubscriptionCounts.all, in: database)] + (log?.entries(in: database) ?? [])
                + operations.lazy.filter { $0.type == .delete }.map { EntryKey(database, .zoneShare, $0.zoneID.zoneName) }
                + operations.lazy.map { .purgedZone($0.zoneID.zoneName, in: database) })
        let row = advance.database
        if let row, row.key != key { throw ServerError.internalError }
        let names = operations.map(\.zoneID.zoneName)
        let found = Dictionary(
            try transaction.zones(in: database, named: names).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let purged = Dictionary(
            advance.entries.lazy.filter { $0.key.kind == .purgedZone }.map { ($0.key, $0.zoneEnd) }, uniquingKeysWith: { first, _ in first })
        if let operation = advance.operation { return .rollback((try replay(operation, over: found, purged: purged), false)) }
        if let fault = log?.fault(horizon: try OperationHorizon.of(log, in: database, among: advance.entries), at: now) { throw fault }
        guard schema.isCurrent(by: advance.entries) else { throw SchemaInterruption.moved }
        var plan = WritePlan()
        var outcomes: [Outcome] = []
        let makesZones = operations.contains { $0.type == .create && found[$0.zoneID.zoneName] == nil }
        var room = makesZones ? Limits.zonesPerDatabase - (try transaction.zoneCount(in: database, upTo: Limits.zonesPerDatabase)) : 0
        for (index, operation) in operations.enumerated() {
            let name = operation.zoneID.zoneName
            let end = purged[.purgedZone(name, in: database)]
            switch ZoneVerdict(operation, over: found[name], in: key, by: caller, end: end, hasRoom: room > 0) {
            case .refuse(let error):
                outcomes.append(.refused(operation.zoneID, error))
            case .keep(let zone):
                outcomes.append(.live(zone))
            case .keepDefault:
                outcomes.append(.defaultZone)
            case .create:
                var zone = zone(named: name, key: newKeys[index], after: row, in: advance.run)
                zone.indexesBelow = schema.schema.nextIndex
                plan.zones.append(zone)
                if end != nil { plan.entriesRemoved.append(.purgedZone(name, in: database)) }
                room -= 1
                plan.zonesChanged.append(zone.address)
                outcomes.append(.live(zone))
            case .delete(let zone):
                plan.add(deletionOf: zone, at: (row?.lastSeq ?? 0) + 1, now: now, reason: reason)
                let webhooks = schema.schema.webhooks(watching: key, zoneNamed: name)
                if !webhooks.isEmpty { _ = try transaction.lock(zoneNamed: name, in: database) }
                try plan.add(endOf: zone, as: reason, for: webhooks, at: now, transaction)
                if let mark = EntryRow(markOf: name, in: database, reason: reason) { plan.entries.append(mark) }
                if advance.entries.contains(where: { $0.marksSharing(of: zone) }) {
                    try plan.addEndOfSharing(of: zone, by: caller, at: now, transaction)
                    if plan.tasks.count(where: { $0.key.kind == .tellParticipants }) > Limits.participantsTold { throw ServerError.tellsTooMany }
                }
                outcomes.append(.deleted(zone.name))
                room += 1
            }
        }
        guard !plan.isEmpty else { return .rollback((outcomes, false)) }
        try notifySubscribers(outcomes, at: advance, in: &plan, transaction)
        if let log {
            plan.operations.append(log.row(result(outcomes), in: database, at: now))
            if newKeys.contains(where: { $0 % TrimOperations.commitsPerTask == 0 }) {
                plan.tasks.append(TrimOperations.task(in: database, of: log.caller, due: now))
            }
        }
        if row == nil { plan.databases.append(DatabaseRow(id: database, key: key, run: advance.run, lastSeq: 0)) }
        try transaction.apply(plan)
        return .commit((outcomes, true))
    }

    /// Notifies the database's subscriptions of all changes. Subscriptions to deleted zones are deleted with them.
    private func notifySubscribers(
        _ outcomes: [Outcome], at advance: Advance, in plan: inout WritePlan, _ transaction: any WriteTransaction
    ) throws {
        guard advance.entries.contains(where: { $0.key.kind == .subscribed }), let user = caller.userRecordName else { return }
        let gone = outcomes.compactMap { outcome -> String? in if case .deleted(let name) = outcome { name } else { nil } }
        let orphans = gone.isEmpty ? [] : try transaction.subscriptions(toZones: Set(gone), of: user, in: database)
        let changes = try transaction.plan(subscribing: [], without: orphans, in: database)
        plan.entries += changes.entries
        plan.entriesRemoved += changes.entriesRemoved
        let number = ChangeNumber(run: advance.run, seq: (advance.database?.lastSeq ?? 0) + 1)
        let task = FireSubscriptions.task(ofZonesIn: database, at: number, by: caller, due: now)
        try FireSubscriptions.requireRoom(
            for: FireSubscriptions.Author(caller), isOwn: key.owner == user, leaving: [task], within: handed, transaction)
        plan.tasks.append(task)
    }

    private func result(_ outcomes: [Outcome]) -> OperationResult {
        let failures = outcomes.enumerated().compactMap { index, outcome -> OperationResult.Failure? in
            guard case .refused(_, let error) = outcome else { return nil }
            return OperationResult.Failure(index: index, error: error)
        }
        return OperationResult(number: .zero, madeNames: [], failures: failures)
    }

    /// Returns the answer to a request that was done before: its failures as they were, and the zones as they are now.
    /// - Parameter purged: the reasons of the ends of zones that the user removed, by their marks.
    private func replay(_ operation: OperationRow, over found: [String: ZoneRow], purged: [EntryKey: ZoneRow.State]) throws -> [Outcome] {
        let failures = try OperationResult(operation, of: log).errors
        return operations.enumerated().map { index, operation in
            let zoneID = operation.zoneID
            if let error = failures[index] { return .refused(zoneID, error) }
            if zoneID.isDefault { return .defaultZone }
            if operation.type == .delete { return .deleted(zoneID.zoneName) }
            let end = purged[.purgedZone(zoneID.zoneName, in: database)]
            return found[zoneID.zoneName].map(Outcome.live) ?? .refused(zoneID, .zoneNotFound(zoneID, end: end))
        }
    }

    /// Returns the row of a new zone. It starts above every change number that its database has used: no change tag
    /// ever comes back.
    private func zone(named name: String, key: Int64, after row: DatabaseRow?, in run: Int64) -> ZoneRow {
        ZoneRow(
            address: ZoneAddress(database: database, zone: key), name: name, run: run, lastSeq: row?.lastSeq ?? 0)
    }
}

extension WritePlan {
    /// Deletes a zone. The bytes of its records are free at once, although a task removes the records later.
    /// - Parameters:
    ///   - zone: its row, read under the lock of its database, where no other write adds to its bytes.
    ///   - place: the position in the database's feed that the deletion takes.
    ///   - isToldOf: the zone is in its database's feed.
    ///   - reason: why the zone goes.
    package mutating func add(deletionOf zone: ZoneRow, at place: Int64, now: Timestamp, isToldOf: Bool = true, reason: ZoneRow.State = .deleted) {
        zoneChanges.append(ZoneChange(zone.address, state: reason, bytesAdded: 0 &- zone.bytes))
        databaseChanges.append(DatabaseChange(zone.address.database, bytesAdded: 0 &- zone.bytes))
        if isToldOf { zonesChanged.append(zone.address) }
        tasks.append(ReclaimZone.task(for: zone.address, due: now))
        tasks.append(ForgetZone.task(for: zone.address, goneAt: isToldOf ? place : 0, due: now + Limits.tombstoneSeconds))
    }
}
