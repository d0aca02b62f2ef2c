import NacreCloudStorage
import NacreCloudWire

extension MemoryState {
    func databases(of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int) -> [DatabaseRow] {
        let container = NameBytes(container)
        let found = databases.values.filter { row in
            NameBytes(row.key.container) == container && row.key.environment == environment
                && id.map { row.id.rawValue > $0.rawValue } ?? true
        }
        return Array(found.sorted { $0.id.rawValue < $1.id.rawValue }.prefix(max(limit, 0)))
    }

    func zones(in database: DatabaseID, named names: [String]) -> [ZoneRow] {
        names.distinctNames.compactMap { name in
            liveZones[ZoneNameKey(database: database, name: NameBytes(name))].flatMap(zone)
        }
    }

    func zones(in database: DatabaseID, after name: String?, limit: Int) -> [ZoneRow] {
        var found: [ZoneRow] = []
        let start = name.map { ZoneNameKey(database: database, name: NameBytes($0)) }
        let first = ZoneNameKey(database: database, name: NameBytes(""))
        liveZones.scan(
            from: { key in start.map { key > $0 } ?? (key >= first) },
            { key, address in
                guard key.database == database, found.count < limit else { return .stop }
                found += zone(address).map { [$0] } ?? []
                return .goOn
            })
        return found
    }

    func zoneCount(in database: DatabaseID, upTo most: Int) -> Int { zones(in: database, after: nil, limit: most).count }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) -> [ZoneRow] {
        var found: [ZoneRow] = []
        let name = position.name.map(NameBytes.init)
        zoneFeed.scan(
            from: { key in
                guard key.database == database else { return key.database.rawValue > database.rawValue }
                guard key.seq == position.seq else { return key.seq > position.seq }
                return name.map { key.name > $0 } ?? false
            },
            { key, address in
                guard key.database == database, found.count < limit else { return .stop }
                found += zone(address).map { [$0] } ?? []
                return .goOn
            })
        return found
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) -> [RecordRow] {
        var rows: [RecordRow] = []
        var bytes = 0
        for name in names.distinctNames where bytes < bytesMax {
            guard let row = records[RecordKey(zone: zone, name: NameBytes(name))] else { continue }
            rows.append(row)
            bytes += row.body.count
        }
        return rows
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) -> [RecordRow] {
        var found: [RecordRow] = []
        var bytes = 0
        let start = name.map { RecordKey(zone: zone, name: NameBytes($0)) }
        let first = RecordKey(zone: zone, name: NameBytes(""))
        records.scan(
            from: { key in start.map { key > $0 } ?? (key >= first) },
            { key, row in
                guard key.zone == zone, found.count < limit, bytes < bytesMax else { return .stop }
                if row.isTombstone { return .goOn }
                bytes += row.body.count
                found.append(row)
                return .goOn
            })
        return found
    }

    func tombstones(in zone: ZoneAddress, limit: Int) -> [RecordRow] {
        var found: [RecordRow] = []
        let first = TombstoneKey(zone: zone, number: ChangeNumber(run: .min, seq: .min), name: NameBytes(""))
        tombstones.scan(
            from: { $0 >= first },
            { key, _ in
                guard key.zone == zone, found.count < limit else { return .stop }
                found += records[RecordKey(zone: zone, name: key.name)].map { [$0] } ?? []
                return .goOn
            })
        return found
    }

    /// - Parameter bytes: The bytes of the bodies read up to now.
    func feed(_ scan: FeedScan, _ bytes: inout Int, _ bytesMax: Int) -> FeedPortion {
        var found: [FeedEntry] = []
        let (zone, view, position) = (scan.zone, scan.view, scan.after)
        let name = position.name.map(NameBytes.init)
        let start = FeedKey(zone: zone, view: view, number: position.number, name: name ?? NameBytes(""))
        feed.scan(
            from: { key in
                let isAtNumber = key.zone == zone && key.view == view && key.number == position.number
                return isAtNumber ? name.map { key.name > $0 } ?? false : key > start
            },
            { key, row in
                guard key.zone == zone, key.view == view, found.count < scan.limit, bytes < bytesMax else { return .stop }
                if let last = scan.through, key.number > last { return .stop }
                guard let record = records[RecordKey(zone: zone, name: key.name)] else { return .goOn }
                if (row.isDeparture || record.isTombstone) && key.number <= scan.baseline { return .goOn }
                found.append(FeedEntry(feed: row, record: record))
                bytes += record.body.count
                return .goOn
            })
        return FeedPortion(entries: found, isWhole: found.count < scan.limit && bytes < bytesMax)
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) -> [EntryRow] {
        keys.distinctNames.compactMap { entries[NamedKey(database, kind: kind.rawValue, name: $0)] }
    }

    func operation(in database: DatabaseID, _ id: String) -> OperationRow? {
        operations[OperationKey(database: database, id: NameBytes(id))]
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) -> [EntryRow] {
        var found: [EntryRow] = []
        let start = key.map { NamedKey(database, kind: kind.rawValue, name: $0) }
        let first = NamedKey(database, kind: kind.rawValue, name: "")
        entries.scan(
            from: { key in start.map { key > $0 } ?? (key >= first) },
            { key, row in
                guard key.database == database, key.kind == kind.rawValue, found.count < limit else { return .stop }
                found.append(row)
                return .goOn
            })
        return found
    }
}
