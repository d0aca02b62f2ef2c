import NacreCloudStorage

/// All data of the oracle, as one value. A write works on a copy, which replaces the original or is dropped.
struct MemoryState: Sendable {
    /// The number of the current run.
    var run: Int64
    var databases: [DatabaseID: DatabaseRow] = [:]
    var zones = SortedTable<ZoneKey, ZoneRow>()
    var liveZones = SortedTable<ZoneNameKey, ZoneAddress>()
    var zoneFeed = SortedTable<ZoneFeedKey, ZoneAddress>()
    var records = SortedTable<RecordKey, RecordRow>()
    var children = SortedTable<ChildKey, Void>()
    var tombstones = SortedTable<TombstoneKey, Void>()
    var links = SortedTable<LinkKey, Void>()
    var index = SortedTable<IndexKey, Void>()
    var feed = SortedTable<FeedKey, FeedRow>()
    var operations = SortedTable<OperationKey, OperationRow>()
    var entries = SortedTable<NamedKey, EntryRow>()
    var tasks = SortedTable<NamedKey, TaskRow>()
    /// The last change numbers of runs before the newest one, by run, rising.
    var runEnds: [FeedAddress: [ChangeNumber]] = [:]

    init(run: Int64) {
        self.run = run
    }
}

extension MemoryState {
    func zone(_ address: ZoneAddress) -> ZoneRow? {
        zones[ZoneKey(address: address)]
    }

    /// Puts or removes a zone's row, and updates the tables that find zones by name and by position in the feed.
    mutating func setZone(_ address: ZoneAddress, to row: ZoneRow?) throws {
        if let old = zone(address) {
            if old.state == .live {
                liveZones[ZoneNameKey(old)] = nil
            }
            if old.feedSeq > 0 {
                zoneFeed[ZoneFeedKey(old)] = nil
            }
        }
        zones[ZoneKey(address: address)] = row
        guard let row else { return }
        if row.state == .live {
            guard liveZones[ZoneNameKey(row)] == nil else { throw StoreError.collision("two live zones of one name") }
            liveZones[ZoneNameKey(row)] = address
        }
        if row.feedSeq > 0 {
            zoneFeed[ZoneFeedKey(row)] = address
        }
    }

    /// Puts or removes a record's row, and updates the tables of children and of tombstones.
    mutating func setRecord(_ key: RecordKey, to row: RecordRow?) {
        if let link = records[key].flatMap({ ChildKey(key.zone, $0) }) {
            children[link] = nil
        }
        if let place = records[key].flatMap({ TombstoneKey(key.zone, $0) }) {
            tombstones[place] = nil
        }
        records[key] = row
        if let link = row.flatMap({ ChildKey(key.zone, $0) }) {
            children[link] = ()
        }
        if let place = row.flatMap({ TombstoneKey(key.zone, $0) }) {
            tombstones[place] = ()
        }
    }
}

extension ZoneNameKey {
    fileprivate init(_ row: ZoneRow) {
        self.init(database: row.address.database, name: NameBytes(row.name))
    }
}

extension ZoneFeedKey {
    fileprivate init(_ row: ZoneRow) {
        self.init(database: row.address.database, seq: row.feedSeq, name: NameBytes(row.name), zone: row.address.zone)
    }
}

extension TombstoneKey {
    /// Returns nil if the record lives.
    fileprivate init?(_ zone: ZoneAddress, _ row: RecordRow) {
        guard row.isTombstone else { return nil }
        self.init(zone: zone, number: row.number, name: NameBytes(row.name))
    }
}

extension ChildKey {
    /// Returns nil if the row is a tombstone or has no parent.
    fileprivate init?(_ zone: ZoneAddress, _ row: RecordRow) {
        guard !row.isTombstone, let parent = row.parent else { return nil }
        self.init(zone: zone, parent: NameBytes(parent), child: NameBytes(row.name))
    }
}
