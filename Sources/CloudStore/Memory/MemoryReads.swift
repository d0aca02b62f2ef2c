import CloudContainer
import CloudWire

/// The questions that a snapshot answers, asked of a value.
extension MemoryState {
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

    func records(in zone: ZoneAddress, named names: [String]) -> [RecordRow] {
        names.distinctNames.compactMap { records[RecordKey(zone: zone, name: NameBytes($0))] }
    }

    func feed(
        of zone: ZoneAddress, view: FeedView, after position: FeedPosition, through last: ChangeNumber?, baseline: ChangeNumber, limit: Int
    ) -> [FeedEntry] {
        var found: [FeedEntry] = []
        let name = position.name.map(NameBytes.init)
        let start = FeedKey(zone: zone, view: view, number: position.number, name: name ?? NameBytes(""))
        feed.scan(
            from: { key in
                let isAtNumber = key.zone == zone && key.view == view && key.number == position.number
                return isAtNumber ? name.map { key.name > $0 } ?? false : key > start
            },
            { key, row in
                guard key.zone == zone, key.view == view, found.count < limit else { return .stop }
                if let last, key.number > last { return .stop }
                guard let record = records[RecordKey(zone: zone, name: key.name)] else { return .goOn }
                if (row.isDeparture || record.isTombstone) && key.number <= baseline { return .goOn }
                found.append(FeedEntry(feed: row, record: record))
                return .goOn
            })
        return found
    }

    func parents(in zone: ZoneAddress, among names: [String], ofRecordsOutside others: [String]) -> [String] {
        let ignored = Set(others.map(NameBytes.init))
        return names.distinctNames.filter { name in
            let parent = NameBytes(name)
            let first = ChildKey(zone: zone, parent: parent, child: NameBytes(""))
            var isParent = false
            children.scan(
                from: { $0 >= first },
                { key, _ in
                    guard key.zone == zone, key.parent == parent else { return .stop }
                    isParent = !ignored.contains(key.child)
                    return isParent ? .stop : .goOn
                })
            return isParent
        }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) -> [EntryRow] {
        keys.distinctNames.compactMap { entries[NamedKey(database, kind: kind.rawValue, name: $0)] }
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
