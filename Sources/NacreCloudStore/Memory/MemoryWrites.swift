import NacreCloudStorage
import NacreCloudWire

/// The writes of a transaction. A function that throws may leave half of its changes, because the copy is dropped then.
extension MemoryState {
    func locked(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries keys: [EntryKey]) -> Advance {
        Advance(
            run: run, database: databases[database], zone: name.flatMap { zones(in: database, named: [$0]).first },
            operation: id.flatMap { operation(in: database, $0) },
            entries: keys.distinct.compactMap { entries[NamedKey($0)] })
    }

    mutating func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries keys: [EntryKey]) throws -> Advance {
        var found = locked(zoneNamed: name, in: database, operation: id, entries: keys)
        if let row = found.zone {
            if row.run != run { end(row.number, in: .zone(row.address)) }
            found.zone?.run = run
            found.zone?.lastSeq += 1
            try setZone(row.address, to: found.zone)
        }
        return found
    }

    mutating func apply(_ plan: WritePlan) throws {
        for row in plan.databases {
            databases[row.id] = row
        }
        for change in plan.databaseChanges {
            guard let row = databases[change.database] else { throw StoreError.contradiction("a change of no database") }
            databases[change.database] = change.applied(to: row)
        }
        for change in plan.zoneChanges {
            guard let row = zone(change.zone) else { throw StoreError.contradiction("a change of no zone") }
            try setZone(change.zone, to: change.applied(to: row))
        }
        try apply(zones: plan.zones, forgotten: plan.zonesForgotten)
        for put in plan.records {
            try apply(put)
        }
        let growth = plan.growth
        for (address, bytes) in growth {
            guard var row = zone(address) else { continue }
            row.bytes &+= bytes
            try setZone(address, to: row)
        }
        applyReferences(of: plan)
        applyDerived(of: plan)
        for removal in plan.recordsRemoved {
            remove(removal)
        }
        for row in plan.operations {
            operations[OperationKey(database: row.database, id: NameBytes(row.id))] = row
        }
        for key in plan.entriesRemoved {
            entries[NamedKey(key)] = nil
        }
        for row in plan.entries {
            entries[NamedKey(row.key)] = row
        }
        for key in plan.tasksFinished {
            tasks[NamedKey(key)] = nil
        }
        for row in plan.tasks {
            tasks[NamedKey(row.key)] = row.kept
        }
        for (address, bytes) in growth {
            databases[address.database]?.bytes &+= bytes
        }
        try place(plan.zonesChanged)
    }

    /// Puts the zones that are not live first, so that a plan may bury a zone and make another of its name.
    private mutating func apply(zones rows: [ZoneRow], forgotten: [ZoneAddress]) throws {
        for row in rows.filter({ $0.state != .live }) + rows.filter({ $0.state == .live }) {
            var kept = row
            kept.feedSeq = zone(row.address)?.feedSeq ?? 0
            try setZone(row.address, to: kept)
        }
        for address in forgotten {
            try setZone(address, to: nil)
            runEnds[.zone(address)] = nil
        }
    }

    /// Keeps the last number of a feed's run, for the newest `Run.endsKept` runs.
    private mutating func end(_ number: ChangeNumber, in feed: FeedAddress) {
        let others = (runEnds[feed] ?? []).filter { $0.run != number.run }
        runEnds[feed] = (others + [number]).sorted().suffix(Run.endsKept)
    }

    private mutating func apply(_ put: RecordPut) throws {
        let key = RecordKey(zone: put.zone, name: NameBytes(put.row.name))
        guard !put.isNew || records[key] == nil else { throw StoreError.collision("a record said to be new is there") }
        setRecord(key, to: put.row)
        for position in put.leaves {
            feed[FeedKey(zone: put.zone, view: position.view, number: position.number, name: key.name)] = nil
        }
        for row in put.enters {
            feed[FeedKey(zone: put.zone, view: row.position.view, number: row.position.number, name: key.name)] = row
        }
    }

    /// Applies links and index rows: all removals before all additions.
    private mutating func applyReferences(of plan: WritePlan) {
        for put in plan.records {
            let name = NameBytes(put.row.name)
            for link in put.unlinked {
                links[LinkKey(put.zone, link, name)] = nil
            }
            for entry in put.unindexed.lazy.flatMap(\.entries) {
                index[IndexKey(put.zone, entry, name)] = nil
            }
        }
        for put in plan.records {
            let name = NameBytes(put.row.name)
            for link in put.linked {
                links[LinkKey(put.zone, link, name)] = ()
            }
            for entry in put.indexed.lazy.flatMap(\.entries) {
                index[IndexKey(put.zone, entry, name)] = ()
            }
        }
        for put in plan.indexed {
            for entry in put.indexed.lazy.flatMap(\.entries) {
                index[IndexKey(put.zone, entry, NameBytes(put.name))] = ()
            }
        }
    }

    private mutating func applyDerived(of plan: WritePlan) {
        for row in plan.derivedRemoved { set(row, isKept: false) }
        for row in plan.derived { set(row, isKept: true) }
    }

    private mutating func set(_ row: DerivedRow, isKept: Bool) {
        let name = NameBytes(row.name)
        switch row {
        case .feed(let zone, let feed, _):
            self.feed[FeedKey(zone: zone, view: feed.position.view, number: feed.position.number, name: name)] = isKept ? feed : nil
        case .link(let zone, let link, _): links[LinkKey(zone, link, name)] = isKept ? () : nil
        case .unknownLink(let zone, let target, let kind, _):
            links[LinkKey(zone: zone, target: NameBytes(target), kind: kind, name: name)] = isKept ? () : nil
        case .index(let zone, let entry, _): index[IndexKey(zone, entry, name)] = isKept ? () : nil
        }
    }

    private mutating func remove(_ removal: RecordRemoval) {
        let name = NameBytes(removal.name)
        setRecord(RecordKey(zone: removal.zone, name: name), to: nil)
        for position in removal.leaves {
            feed[FeedKey(zone: removal.zone, view: position.view, number: position.number, name: name)] = nil
        }
    }

    private mutating func place(_ changed: [ZoneAddress]) throws {
        for database in Set(changed.map(\.database)) {
            guard let number = databases[database]?.number else { throw StoreError.contradiction("a changed zone of no database") }
            if number.run != run { end(number, in: .database(database)) }
            let seq = number.seq
            databases[database]?.run = run
            databases[database]?.lastSeq = seq + 1
            for address in changed where address.database == database {
                guard var row = zone(address) else { throw StoreError.contradiction("a place in the feed for no zone") }
                row.feedSeq = seq + 1
                try setZone(address, to: row)
            }
        }
    }

    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) -> [TaskDue] {
        let due = tasks.rows.filter { $0.value.due > first && $0.value.due <= last && kinds.contains($0.value.key.kind) }
        let oldest = due.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        return oldest.prefix(max(limit, 0)).map { TaskDue($0.value.key, due: $0.value.due) }
    }

    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) -> (count: Int, bytes: Int) {
        let named = tasks.rows.lazy.map(\.value).filter {
            $0.key.database == database && $0.key.kind == kind && $0.key.name.utf8.starts(with: prefix.utf8)
        }.prefix(max(limit, 0))
        return named.reduce((0, 0)) { ($0.0 + 1, $0.1 + $1.payload.count) }
    }

    mutating func reclaim(_ zone: ZoneAddress, limit: Int) -> Int {
        var names: [NameBytes] = []
        let first = RecordKey(zone: zone, name: NameBytes(""))
        records.scan(
            from: { $0 >= first },
            { key, _ in
                guard key.zone == zone, names.count < limit else { return .stop }
                names.append(key.name)
                return .goOn
            })
        for name in names {
            setRecord(RecordKey(zone: zone, name: name), to: nil)
        }
        var left = limit - names.count
        let places = feed.rows.map(\.key).filter { $0.zone == zone }.prefix(max(left, 0))
        for key in places {
            feed[key] = nil
        }
        left -= places.count
        let linksGone = links.rows.map(\.key).filter { $0.zone == zone }.prefix(max(left, 0))
        for key in linksGone {
            links[key] = nil
        }
        left -= linksGone.count
        let rowsGone = index.rows.map(\.key).filter { $0.zone == zone }.prefix(max(left, 0))
        for key in rowsGone {
            index[key] = nil
        }
        return names.count + places.count + linksGone.count + rowsGone.count
    }

    mutating func removeExpired(before now: Timestamp, limit: Int) -> Int {
        let expiredEntries = entries.rows.compactMap { row in row.value.expires.map { (expires: $0, key: row.key) } }
            .filter { $0.expires < now }.sorted { $0 < $1 }.prefix(max(limit, 0))
        for (_, key) in expiredEntries {
            entries[key] = nil
        }
        let expiredOperations = operations.rows.map { (expires: $0.value.expires, key: $0.key) }
            .filter { $0.expires < now }.sorted { $0 < $1 }.prefix(max(limit - expiredEntries.count, 0))
        for (_, key) in expiredOperations {
            operations[key] = nil
        }
        return expiredEntries.count + expiredOperations.count
    }

    mutating func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) -> TrimmedOperations {
        let all = operations.rows.filter { $0.key.database == database && NameBytes($0.value.caller) == NameBytes(caller) }
            .map { (expires: $0.value.expires, key: $0.key) }.sorted { $0 < $1 }
        var left = bytes
        let kept = all.reversed().prefix(max(count, 0)).prefix { row in
            left -= operations[row.key]?.result.count ?? 0
            return left >= 0
        }
        let oldest = all.dropLast(kept.count).filter { $0.expires <= last }.prefix(max(limit, 0))
        for (_, key) in oldest {
            operations[key] = nil
        }
        return TrimmedOperations(count: oldest.count, latest: oldest.last?.expires)
    }
}

extension LinkKey {
    init(_ zone: ZoneAddress, _ link: ReferenceLink, _ name: NameBytes) {
        self.init(zone: zone, target: NameBytes(link.target), kind: link.kind.rawValue, name: name)
    }
}

extension IndexKey {
    init(_ zone: ZoneAddress, _ entry: IndexEntry, _ name: NameBytes) {
        self.init(zone: zone, index: entry.index.rawValue, key: KeyBytes(entry.key), name: name)
    }
}
