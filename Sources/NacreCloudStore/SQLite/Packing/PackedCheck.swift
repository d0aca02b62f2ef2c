import NacreCloudStorage

/// Reads of index rows for the check, packed or not.
extension Connection {
    /// Whether any index of the file has blocks or waiting changes.
    var hasPackedIndexes: Bool {
        get throws {
            try nextIndex(after: .first, .waitingNext) != nil || nextIndex(after: .first, .blocksNext) != nil
        }
    }

    /// Returns the next rows after a key, one index after the other. A damaged block or waiting change is reported at
    /// its key.
    func indexRows(after place: RowKey, limit: Int) throws -> [KeptRow] {
        guard limit > 0, case .number(let database) = place.parts[0], case .number(let zone) = place.parts[1],
            case .number(let number) = place.parts[2],
            case .bytes(let key) = place.parts[3], case .text(let name) = place.parts[4]
        else { return [] }
        var index = ZoneIndex(zone: ZoneAddress(database: DatabaseID(rawValue: database), zone: zone), index: number)
        var found = number == .max ? [] : try indexRows(of: index, from: IndexRowKey(index: number, key: key, name: name + "\0"), limit: limit)
        while found.count < limit, let next = try nextIndex(after: index) {
            index = next
            found += try indexRows(of: index, from: index.ends.lower, limit: limit - found.count)
        }
        return found
    }

    private func indexRows(of index: ZoneIndex, from lower: IndexRowKey, limit: Int) throws -> [KeptRow] {
        let packed = try packedIndex(index, tolerates: true)
        var rows = PackedRows(of: packed, from: lower, to: index.ends.upper, isDescending: false, tolerates: true, self)
        var found: [(row: PackedRow, isDamaged: Bool)] = []
        while found.count < limit, let row = try rows.next() { found.append((row, false)) }
        // A record's damaged waiting changes sort before all rows that have a key.
        let waiting = packed.damaged.map { PackedRow(key: [], name: $0.name) }
        let damaged = (waiting + rows.damaged).filter { PackedRow.order($0.key, $0.name, to: lower.key, lower.name) >= 0 }
        if !damaged.isEmpty {
            found += damaged.map { ($0, true) }
            found.sort { $0.row.order(to: $1.row) < 0 }
        }
        return found.prefix(limit).map { row, isDamaged in
            let derived = DerivedRow.index(index.zone, IndexEntry(index: IndexID(rawValue: index.index), key: row.key), name: row.name)
            let value = KeptRow.Value.derived(derived)
            return KeptRow(
                .zone(index.zone, .number(index.index), .bytes(row.key), .text(row.name)),
                isDamaged ? .unreadable(.damagedIndex(index), mended: value) : value)
        }
    }
}

/// Searches for index rows in blocks and waiting changes. If it is asked in the order of the rows, it reads each block
/// once.
struct PackedLookup {
    private let connection: Connection
    /// The index of the last search, and whether it is packed.
    private var index: (index: ZoneIndex, isPacked: Bool)?
    /// The waiting changes of that index, by the record's name, the latest last.
    private var waiting: [NameBytes: [WaitingRow]] = [:]
    /// The rows of the block that was read last.
    private var block: [PackedRow] = []

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Whether a row exists, by the blocks and the waiting changes; nil: it may be an unpacked row. Damaged rows do not
    /// count.
    mutating func has(_ entry: IndexEntry, of name: String, in zone: ZoneAddress) throws -> Bool? {
        let wanted = ZoneIndex(zone: zone, index: entry.index.rawValue)
        if index?.index != wanted { try begin(wanted) }
        guard index?.isPacked == true else { return nil }
        for row in (waiting[NameBytes(name)] ?? []).reversed() {
            let place = row.changes.place(of: entry.key)
            if row.changes.isKey(entry.key, at: place) { return !row.changes.isGone(at: place) }
        }
        let row = PackedRow(key: entry.key, name: name)
        if Self.contains(block, row) { return true }
        block = try connection.block(holding: entry.key, name, of: wanted)?.rows ?? []
        return Self.contains(block, row) ? true : nil
    }

    private mutating func begin(_ wanted: ZoneIndex) throws {
        let packed = try connection.packedIndex(wanted, tolerates: true)
        index = (wanted, packed.isPacked)
        waiting = Dictionary(grouping: packed.waiting) { NameBytes($0.name) }
        block = []
    }

    /// - Parameter rows: The rows in order.
    private static func contains(_ rows: [PackedRow], _ row: PackedRow) -> Bool {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            let order = rows[middle].order(to: row)
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
