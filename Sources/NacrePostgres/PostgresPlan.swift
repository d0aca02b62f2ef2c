import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

/// Sends a plan, in the order of `WritePlan`: removals before additions. Rows of one kind, and of one database or zone,
/// are one statement.
extension PostgresConnection {
    /// - Parameter new: Whether the body saw that a database does not exist. A row of it is then inserted: another
    ///   transaction may have made it meanwhile.
    func sendRows(of plan: WritePlan, new: (DatabaseID) -> Bool) throws {
        for row in plan.databases { try send(new(row.id) ? .databaseInsert : .databasePut, row.values) }
        for change in plan.databaseChanges {
            try send(
                .databaseChange,
                [.id(change.database), .number(change.lastSeq), .number(change.forgottenSeq), .number(change.bytesAdded)])
        }
        for change in plan.zoneChanges { try send(.zoneChange, change.values) }
        // Put the zones that are not live first, so that a plan may bury a zone and make another of its name.
        for row in plan.zones where row.state != .live { try send(.zonePut, row.values) }
        for row in plan.zones where row.state == .live { try send(.zonePut, row.values) }
        for group in plan.zonesForgotten.grouped(by: { $0.database }) {
            let zones = Value.numbers(group.elements.map(\.zone))
            try send(.zonesForget, [.id(group.key), zones])
            try send(.runEndsForget, [.id(group.key), zones])
        }
        try sendRecords(plan)
        try sendReferences(plan)
        try sendDerived(plan)
        for group in plan.recordsRemoved.grouped(by: { $0.zone }) {
            try send(.recordsRemove, group.key.values + [.names(group.elements.map(\.name))])
            var gone = PositionArrays()
            for removal in group.elements {
                for position in removal.leaves { gone.add(position, removal.name) }
            }
            if !gone.isEmpty { try send(.feedRemove, group.key.values + gone.values) }
        }
        for row in plan.operations {
            try send(
                .operationPut, [.id(row.database), .name(row.id), .name(row.caller), .time(row.expires), .bytes(row.digest), .bytes(row.result)])
        }
        try sendEntries(plan)
        try sendTasks(plan)
    }

    private func sendRecords(_ plan: WritePlan) throws {
        for group in plan.records.grouped(by: { $0.zone }) {
            // A name that comes twice is put twice.
            for puts in group.elements.waves(by: { NameBytes($0.row.name) }) {
                for (isNew, statement) in [(true, Statement.recordsInsert), (false, .recordsPut)] {
                    let rows = puts.filter { $0.isNew == isNew }.map(\.row)
                    if !rows.isEmpty { try send(statement, group.key.values + rows.values) }
                }
                var (gone, come) = (PositionArrays(), FeedArrays())
                for put in puts {
                    for position in put.leaves { gone.add(position, put.row.name) }
                    for row in put.enters { come.add(row, put.row.name) }
                }
                if !gone.isEmpty { try send(.feedRemove, group.key.values + gone.values) }
                if !come.isEmpty { try send(.feedPut, group.key.values + come.values) }
            }
        }
    }

    private func sendReferences(_ plan: WritePlan) throws {
        let byZone = plan.records.grouped { $0.zone }
        for group in byZone {
            var (links, rows) = (LinkArrays(), IndexArrays())
            for put in group.elements {
                for link in put.unlinked { links.add(link.target, link.kind.rawValue, put.row.name) }
                rows.add(put.unindexed, put.row.name)
            }
            if !links.isEmpty { try send(.linksRemove, group.key.values + links.values) }
            if !rows.isEmpty { try send(.indexRemove, group.key.values + rows.values) }
        }
        for group in byZone {
            var (links, rows) = (LinkArrays(), IndexArrays())
            for put in group.elements {
                for link in put.linked { links.add(link.target, link.kind.rawValue, put.row.name) }
                rows.add(put.indexed, put.row.name)
            }
            if !links.isEmpty { try send(.linksPut, group.key.values + links.values) }
            if !rows.isEmpty { try send(.indexPut, group.key.values + rows.values) }
        }
        for group in plan.indexed.grouped(by: { $0.zone }) {
            var rows = IndexArrays()
            for put in group.elements { rows.add(put.indexed, put.name) }
            if !rows.isEmpty { try send(.indexPut, group.key.values + rows.values) }
        }
    }

    private func sendDerived(_ plan: WritePlan) throws {
        for group in plan.derivedRemoved.grouped(by: { $0.zone }) {
            var (places, links, index) = (PositionArrays(), LinkArrays(), IndexArrays())
            for row in group.elements {
                switch row {
                case .feed(_, let row, let name): places.add(row.position, name)
                case .link(_, let link, let name): links.add(link.target, link.kind.rawValue, name)
                case .unknownLink(_, let target, let kind, let name): links.add(target, kind, name)
                case .index(_, let entry, let name): index.add(entry.index, entry.key, name)
                }
            }
            if !places.isEmpty { try send(.feedRemove, group.key.values + places.values) }
            if !links.isEmpty { try send(.linksRemove, group.key.values + links.values) }
            if !index.isEmpty { try send(.indexRemove, group.key.values + index.values) }
        }
        for group in plan.derived.grouped(by: { $0.zone }) {
            var (links, index) = (LinkArrays(), IndexArrays())
            var places: [(row: FeedRow, name: String)] = []
            for row in group.elements {
                switch row {
                case .feed(_, let row, let name): places.append((row, name))
                case .link(_, let link, let name): links.add(link.target, link.kind.rawValue, name)
                case .unknownLink(_, let target, let kind, let name): links.add(target, kind, name)
                case .index(_, let entry, let name): index.add(entry.index, entry.key, name)
                }
            }
            for wave in places.waves(by: { FeedPlace(position: $0.row.position, name: NameBytes($0.name)) }) {
                var rows = FeedArrays()
                for place in wave { rows.add(place.row, place.name) }
                try send(.feedPut, group.key.values + rows.values)
            }
            if !links.isEmpty { try send(.linksPut, group.key.values + links.values) }
            if !index.isEmpty { try send(.indexPut, group.key.values + index.values) }
        }
    }

    private struct FeedPlace: Hashable {
        var position: ViewNumber
        var name: NameBytes
    }

    private func sendEntries(_ plan: WritePlan) throws {
        for group in plan.entriesRemoved.grouped(by: { $0.database }) {
            let keys = group.elements
            try send(.entriesRemove, [.id(group.key), .numbers(keys.map(\.kind.rawValue)), .names(keys.map(\.key))])
        }
        for group in plan.entries.grouped(by: { $0.key.database }) {
            for rows in group.elements.waves(by: { KindAndName($0.key.kind.rawValue, $0.key.key) }) {
                try send(
                    .entriesPut,
                    [
                        .id(group.key), .numbers(rows.map(\.key.kind.rawValue)), .names(rows.map(\.key.key)), .blocks(rows.map(\.value)),
                        .times(rows.map(\.expires)),
                    ])
            }
        }
    }

    private func sendTasks(_ plan: WritePlan) throws {
        for group in plan.tasksFinished.grouped(by: { $0.database }) {
            let keys = group.elements
            try send(.tasksRemove, [.id(group.key), .numbers(keys.map(\.kind.rawValue)), .names(keys.map(\.name))])
        }
        for group in plan.tasks.grouped(by: { $0.key.database }) {
            for rows in group.elements.waves(by: { KindAndName($0.key.kind.rawValue, $0.key.name) }) {
                try send(
                    .tasksPut,
                    [
                        .id(group.key), .numbers(rows.map(\.key.kind.rawValue)), .names(rows.map(\.key.name)), .times(rows.map(\.due)),
                        .numbers(rows.map(\.attempts)), .blocks(rows.map(\.payload)),
                    ])
            }
        }
    }

    private struct KindAndName: Hashable {
        var kind: Int64
        var name: NameBytes

        init(_ kind: Int64, _ name: String) {
            (self.kind, self.name) = (kind, NameBytes(name))
        }
    }

    /// Gives the changed zones their position in the database's feed, and adds the growth of their records.
    /// - Parameter mayEnterRun: Whether the database's newest position may be of an earlier run.
    func sendPlaces(of plan: WritePlan, run: Int64, mayEnterRun: (DatabaseID) -> Bool) throws {
        var ofZones = plan.growth
        var ofDatabases: [DatabaseID: Int64] = [:]
        for (address, bytes) in ofZones { ofDatabases[address.database, default: 0] += bytes }
        for (database, zones) in Set(plan.zonesChanged).grouped(by: { $0.database }).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try send(.databaseAdvance, [.id(database), .number(ofDatabases.removeValue(forKey: database) ?? 0)])
            if mayEnterRun(database) {
                try send(.databaseRunEnd, [.id(database), .number(run)])
                try send(.runEndsTrim, FeedAddress.database(database).values + [.number(Int64(Run.endsKept))])
                try send(.databaseEntersRun, [.id(database), .number(run)])
            }
            let growth = zones.map { ofZones.removeValue(forKey: $0) ?? 0 }
            try send(.zonesPlace, [.id(database), .numbers(zones.map(\.zone)), .numbers(growth)])
        }
        for (database, zones) in ofZones.grouped(by: { $0.key.database }) {
            try send(.zonesGrow, [.id(database), .numbers(zones.map(\.key.zone)), .numbers(zones.map(\.value))])
        }
        for (database, bytes) in ofDatabases.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try send(.databaseGrow, [.id(database), .number(bytes)])
        }
    }
}

extension Sequence {
    /// Splits the elements so that no key comes twice in a wave: one statement changes a row once.
    fileprivate func waves<Key: Hashable>(by key: (Element) -> Key) -> [[Element]] {
        var counts: [Key: Int] = [:]
        var waves: [[Element]] = []
        for element in self {
            let wave = counts[key(element), default: 0]
            counts[key(element)] = wave + 1
            if wave == waves.count { waves.append([]) }
            waves[wave].append(element)
        }
        return waves
    }
}

extension DatabaseRow {
    fileprivate var values: [Value] {
        [
            .id(id), .name(key.container), .name(key.environment.rawValue), .name(key.scope.rawValue), .name(key.owner), .number(run),
            .number(lastSeq), .number(forgottenSeq), .number(bytes),
        ]
    }
}

extension ZoneRow {
    fileprivate var values: [Value] {
        address.values + [
            .name(name), .number(state.rawValue), .number(run), .number(lastSeq), .bytes(clientChangeToken), .number(forgotten.run),
            .number(forgotten.seq), .number(indexesBelow), .number(bytes),
        ]
    }
}

extension ZoneChange {
    fileprivate var values: [Value] {
        zone.values + [
            state.map { .number($0.rawValue) } ?? .bytes(nil), .bytes(clientChangeToken), .number(forgotten.run), .number(forgotten.seq),
            .number(indexesBelow), .number(bytesAdded),
        ]
    }
}

extension [RecordRow] {
    fileprivate var values: [Value] {
        [
            .names(map(\.name)), .names(map(\.type)), .numbers(map(\.number.run)), .numbers(map(\.number.seq)), .flags(map(\.isTombstone)),
            .optionalNames(map(\.parent)), .blocks(map(\.body)),
        ]
    }
}
