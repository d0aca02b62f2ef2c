import NacreCloudStorage
import NacreCloudWire

/// Reads of whole tables, and of rows that can be derived from records.
extension MemoryState {
    /// Sorts the whole table by its keys: slow, and plainly right.
    func rows(of table: KeptTable, after place: RowKey?, limit: Int) -> [KeptRow] {
        let sorted = all(table).sorted { $0.key < $1.key }
        return Array(sorted.filter { row in place.map { $0 < row.key } ?? true }.prefix(max(limit, 0)))
    }

    private func all(_ table: KeptTable) -> [KeptRow] {
        switch table {
        case .databases: databases.values.map { KeptRow(.database($0.id), .database($0)) }
        case .zones: zones.rows.map { KeptRow(.zone($0.value.address), .zone($0.value)) }
        case .records: records.rows.map { KeptRow(.zone($0.key.zone, .text($0.value.name)), .record($0.key.zone, $0.value)) }
        case .feed: feed.rows.map { KeptRow($0.key, $0.value) }
        case .links: links.rows.map { KeptRow($0.key) }
        case .index: index.rows.map { KeptRow($0.key) }
        case .entries:
            entries.rows.map { KeptRow(.database($0.key.database, .number($0.key.kind), .text($0.value.key.key)), .entry($0.value)) }
        case .operations: operations.rows.map { KeptRow(.database($0.key.database, .text($0.value.id)), .operation($0.value)) }
        case .tasks:
            tasks.rows.map { KeptRow(.database($0.key.database, .number($0.key.kind), .text($0.value.key.name)), .task($0.value)) }
        }
    }

    func bytes(of zone: ZoneAddress) -> Int64 {
        records.rows.lazy.filter { $0.key.zone == zone && !$0.value.isTombstone }.reduce(0) { $0 + Int64($1.value.body.count) }
    }

    func missing(_ rows: [DerivedRow]) -> [DerivedRow] {
        rows.filter { row in
            let name = NameBytes(row.name)
            switch row {
            case .feed(let zone, let feed, _):
                return self.feed[FeedKey(zone: zone, view: feed.position.view, number: feed.position.number, name: name)] != feed
            case .link(let zone, let link, _): return links[LinkKey(zone, link, name)] == nil
            case .unknownLink(let zone, let target, let kind, _):
                return links[LinkKey(zone: zone, target: NameBytes(target), kind: kind, name: name)] == nil
            case .index(let zone, let entry, _): return index[IndexKey(zone, entry, name)] == nil
            }
        }
    }
}

extension KeptRow {
    fileprivate init(_ key: FeedKey, _ row: FeedRow) {
        let place = RowKey.zone(
            key.zone, .number(key.view.rawValue), .number(key.number.run), .number(key.number.seq), .text(key.name.string))
        self.init(place, .derived(.feed(key.zone, row, name: key.name.string)))
    }

    fileprivate init(_ key: LinkKey) {
        let (target, name) = (key.target.string, key.name.string)
        let known = ReferenceLink.Kind(rawValue: key.kind).map { DerivedRow.link(key.zone, ReferenceLink(target: target, kind: $0), name: name) }
        let row = known ?? .unknownLink(key.zone, target: target, kind: key.kind, name: name)
        self.init(.zone(key.zone, .text(target), .number(key.kind), .text(name)), .derived(row))
    }

    fileprivate init(_ key: IndexKey) {
        let entry = IndexEntry(index: IndexID(rawValue: key.index), key: key.key.bytes)
        self.init(
            .zone(key.zone, .number(key.index), .bytes(entry.key), .text(key.name.string)),
            .derived(.index(key.zone, entry, name: key.name.string)))
    }
}

extension RowKey {
    /// Orders keys of one table.
    fileprivate static func < (left: RowKey, right: RowKey) -> Bool {
        for (left, right) in zip(left.parts, right.parts) where left != right || !left.isNumber {
            let order = left.order(to: right)
            if order != 0 { return order < 0 }
        }
        return false
    }
}

extension RowKey.Part {
    fileprivate var isNumber: Bool { if case .number = self { true } else { false } }

    fileprivate func order(to other: RowKey.Part) -> Int {
        switch (self, other) {
        case (.number(let left), .number(let right)): left == right ? 0 : left < right ? -1 : 1
        case (.text(let left), .text(let right)): ByteOrder.compare(left, right)
        case (.bytes(let left), .bytes(let right)): ByteOrder.compare(left, right)
        default: 0
        }
    }
}
