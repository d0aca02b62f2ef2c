import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// Builds and applies the plan that repairs faults, in the transaction that found them.
struct CheckMending {
    let database: DatabaseRow?
    let schema: Schema
    let now: Timestamp
    let transaction: any WriteTransaction
    private(set) var plan = WritePlan()
    private var plans: [ZoneAddress: RecordPlan] = [:]
    private var zones: [ZoneAddress: ZoneRow] = [:]

    init(_ database: DatabaseRow?, schema: Schema, now: Timestamp, _ transaction: any WriteTransaction) {
        self.database = database
        self.schema = schema
        self.now = now
        self.transaction = transaction
    }

    /// - Returns: the outcome for the finding.
    mutating func mend(_ problem: CheckProblem) throws -> CheckFinding.Outcome {
        switch problem.mending {
        case .none: return problem.outcome ?? .beyondRepair
        case .put(let row): plan.derived.append(row)
        case .remove(let row): plan.derivedRemoved.append(row)
        case .restore(let zone, let row):
            // The rows derived from it are repaired when their tables are checked.
            var put = RecordPut(zone: zone, row: row, leaves: [], enters: [], isNew: false)
            put.replacedBytes = row.isTombstone ? row.body.count : 0
            plan.records.append(put)
            plan.tasks.append(SweepZone.task(for: zone, changedAt: row.number, due: now))
        case .lose(let record, let zone):
            guard let rows = try plan(for: zone) else { return .beyondRepair }
            plan.records.append(rows.put(losing: record))
        case .bury(let record, let zone):
            guard var rows = try plan(for: zone) else { return .beyondRepair }
            plan.records.append(rows.put(deleting: record))
            plan.tasks.append(PurgeTombstones.task(for: zones[zone.address] ?? zone, deletedAt: now))
            plan.addAssets(used: [], released: rows.released, of: zone, at: now)
        case .discard(let zone, let row):
            let position = ViewNumber(view: .owner, number: row.number)
            plan.recordsRemoved.append(RecordRemoval(zone: zone, name: row.name, leaves: [position]))
        case .raise(let zone, let number):
            var row = zones[zone.address] ?? zone
            row.lastSeq = max(row.lastSeq, number.seq)
            row.run = max(row.run, number.run)
            zones[zone.address] = row
        case .raiseDatabase(let row, let seq):
            var raised = plan.databases.first ?? row
            raised.lastSeq = max(raised.lastSeq, seq)
            plan.databases = [raised]
        case .recount(let zone): try recount(zone)
        case .recountDatabase(let row): try recountDatabase(row)
        case .rewrite(let value): rewrite(value)
        case .replace(let key, let task):
            if let task { plan.tasks.append(task) } else { plan.tasksFinished.append(key) }
        }
        return problem.outcome ?? .mended
    }

    /// Counts under the zone's lock, so that concurrent saves are included.
    private mutating func recount(_ zone: ZoneRow) throws {
        guard let row = try transaction.lock(zoneNamed: zone.name, in: zone.address.database).zone, row.address == zone.address else { return }
        let missed = try transaction.countedBytes(of: row.address) &- row.bytes
        plan.databaseChanges.append(DatabaseChange(row.address.database, bytesAdded: missed))
        // A row that the plan already replaces would overwrite the change.
        if let index = plan.zones.firstIndex(where: { $0.address == row.address }) {
            plan.zones[index].bytes &+= missed
        } else {
            plan.zoneChanges.append(ZoneChange(row.address, bytesAdded: missed))
        }
    }

    private mutating func recountDatabase(_ row: DatabaseRow) throws {
        guard let row = try transaction.lock(in: row.id).database, let bytes = try transaction.bytesOfZones(in: row.id) else { return }
        plan.databaseChanges.append(DatabaseChange(row.id, bytesAdded: bytes &- row.bytes))
    }

    mutating func rewrite(_ value: KeptRow.Value) {
        switch value {
        case .database(let row): plan.databases.append(row)
        case .zone(let row):
            plan.zones.append(row)
            // The zone gets a new position in the feed: clients that follow the database ask for its changes, if any.
            if database != nil, row.feedSeq > 0 { plan.zonesChanged.append(row.address) }
        case .entry(let row): plan.entries.append(row)
        case .operation(let row): plan.operations.append(row)
        // A packed block of rows that is unreadable is removed: the rows can be made from their records.
        case .derived(let row): plan.derivedRemoved.append(row)
        case .record, .task, .unreadable: break
        }
    }

    /// - Returns: the databases whose feeds moved.
    mutating func apply() throws -> Set<DatabaseID> {
        for (address, row) in zones {
            plan.zones.append(row)
            if database?.key.hasFeed(inZoneNamed: row.name) == true { plan.zonesChanged.append(address) }
        }
        if !plan.isEmpty { try transaction.apply(plan) }
        return Set(plan.zonesChanged.map(\.database))
    }

    /// Returns the plan for a zone's records, under its next change number; nil if the zone was removed meanwhile.
    private mutating func plan(for zone: ZoneRow) throws -> RecordPlan? {
        if let known = plans[zone.address] { return known }
        let advance = try transaction.advance(zoneNamed: zone.name, in: zone.address.database)
        guard var row = advance.zone, row.address == zone.address, let key = advance.database?.key else { return nil }
        if let raised = zones[zone.address] {
            row.lastSeq = max(row.lastSeq, raised.lastSeq + 1)
            row.run = max(row.run, raised.run)
        }
        zones[zone.address] = row
        let made = RecordPlan(
            zone: zone.address, number: row.number, now: now, stamp: Record.Stamp(timestamp: now, userRecordName: ""),
            hasFeed: key.hasFeed(inZoneNamed: zone.name), isPublic: key.scope == .public, schema: schema)
        plans[zone.address] = made
        return made
    }
}
