import NacreCloudContainer

/// Rows of indexes for the check, wherever they are.
extension Connection {
    /// Whether any index of the file has anything packed.
    var hasPackedIndexes: Bool {
        get throws {
            try nextIndex(after: .first, .waitingNext) != nil || nextIndex(after: .first, .blocksNext) != nil
        }
    }

    /// The next rows behind a place, one index after the other. Where a block or what waits is not what was written, it is told at its place.
    func indexRows(after place: KeptPlace, limit: Int) throws -> [KeptRow] {
        guard limit > 0, case .number(let database) = place.parts[0], case .number(let zone) = place.parts[1],
            case .number(let number) = place.parts[2],
            case .bytes(let key) = place.parts[3], case .text(let name) = place.parts[4]
        else { return [] }
        var index = ZoneIndex(zone: ZoneAddress(database: DatabaseID(rawValue: database), zone: zone), index: number)
        var found = number == .max ? [] : try indexRows(of: index, from: RowPlace(index: number, key: key, name: name + "\0"), limit: limit)
        while found.count < limit, let next = try nextIndex(after: index) {
            index = next
            found += try indexRows(of: index, from: index.ends.lower, limit: limit - found.count)
        }
        return found
    }

    private func indexRows(of index: ZoneIndex, from lower: RowPlace, limit: Int) throws -> [KeptRow] {
        let packed = try packedIndex(index, tolerates: true)
        var rows = PackedRows(of: packed, from: lower, to: index.ends.upper, isDescending: false, tolerates: true, self)
        var found: [(row: PackedRow, isDamaged: Bool)] = []
        while found.count < limit, let row = try rows.next() { found.append((row, false)) }
        // What waits of a record stands before all rows that have a key.
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
