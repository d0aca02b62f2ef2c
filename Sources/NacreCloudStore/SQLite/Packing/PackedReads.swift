import NacreCloudStorage

/// The packed part of an index: waiting changes, and whether there are blocks.
struct PackedIndex {
    let index: ZoneIndex
    /// Whether the index has blocks or waiting changes.
    let isPacked: Bool
    /// The waiting changes, in the order of their records' names, then of their rounds.
    var waiting: [WaitingRow] = []
    /// Waiting changes whose checksum or form is wrong.
    var damaged: [DamagedRow] = []

    struct DamagedRow {
        var name: String
        var round: Int64
        var bytes: Int
    }
}

/// A row of `index_blocks`.
struct KeptBlock {
    var key: [UInt8]
    var name: String
    /// The rows of the block; nil if they are damaged.
    var rows: [PackedRow]?

    func position(in index: ZoneIndex) -> IndexRowKey { IndexRowKey(index: index.index, key: key, name: name) }
}

extension Connection {
    func isPacked(_ index: ZoneIndex) throws -> Bool {
        try use(.packedHas) { statement in
            statement.bind(index)
            return try statement.step()
        }
    }

    /// - Parameter tolerates: Whether damage is returned in `damaged`, and not thrown.
    func packedIndex(_ index: ZoneIndex, tolerates: Bool = false) throws -> PackedIndex {
        guard try isPacked(index) else { return PackedIndex(index: index, isPacked: false) }
        var packed = PackedIndex(index: index, isPacked: true)
        try use(.waitingOfIndex) { statement in
            statement.bind(index)
            try statement.addWaiting(to: &packed)
        }
        guard tolerates || packed.damaged.isEmpty else { throw StoreError.damagedIndex(index) }
        return packed
    }

    /// Returns the waiting changes of a record in an index, the latest last.
    func waiting(of name: String, in index: ZoneIndex) throws -> PackedIndex {
        var packed = PackedIndex(index: index, isPacked: true)
        try use(.waitingOfRecord) { statement in
            statement.bind(index)
            statement.bind(name)
            try statement.addWaiting(to: &packed)
        }
        return packed
    }

    /// Returns the last block before a row's key.
    func block(before position: IndexRowKey, of index: ZoneIndex) throws -> KeptBlock? {
        try block(.blockBefore, position, of: index, end: index.index)
    }

    /// Returns the first block after a row's key.
    func block(after position: IndexRowKey, of index: ZoneIndex) throws -> KeptBlock? {
        try block(.blockAfter, position, of: index, end: index.index + 1)
    }

    private func block(_ statement: Statement, _ position: IndexRowKey, of index: ZoneIndex, end: Int64) throws -> KeptBlock? {
        try use(statement) { statement in
            statement.bind(index.zone)
            return try position.bound(to: statement) {
                statement.bind(end)
                guard try statement.step() else { return nil }
                let (key, name, checksum, bytes) = (statement.bytes(), statement.string(), statement.integer(), statement.bytes())
                let isSound = checksum == RowChecksum.of(index, [], key, name, bytes)
                return KeptBlock(key: key, name: name, rows: isSound ? try? RowBlock.decode(bytes) : nil)
            }
        }
    }

    /// Returns the block that a row must be in.
    func block(holding key: [UInt8], _ name: String, of index: ZoneIndex) throws -> KeptBlock? {
        try block(before: IndexRowKey(index: index.index, key: key, name: name + "\0"), of: index)
    }

    /// Searches a packed index, like the search of unpacked rows.
    func search(_ packed: PackedIndex, _ scan: IndexScan, _ index: Int, _ hits: inout [IndexHit], _ bytes: inout Int, _ bytesMax: Int) throws {
        let range = try scan.spans[index].range(after: index == 0 ? scan.after : nil, isIncluded: scan.includesAfter, isDescending: scan.isDescending)
        var rows = PackedRows(of: packed, from: range.lower, to: range.upper, isDescending: scan.isDescending, self)
        while hits.count < scan.limit, bytes < bytesMax, let row = try rows.next() {
            let found = IndexPosition(key: row.key, name: row.name)
            let record = scan.includesRecord(named: row.name) ? try record(of: row, in: scan.zone) : nil
            if scan.needsRecords, record == nil { continue }
            hits.append(IndexHit(position: found, span: index, record: record))
            bytes += record?.body.count ?? 0
        }
    }

    /// Returns the record of a row. The number is only a shortcut: if it does not lead to the record, the name does.
    private func record(of row: PackedRow, in zone: ZoneAddress) throws -> RecordRow? {
        let found: RecordRow? =
            row.id == 0
            ? nil
            : try use(.recordByID) { statement in
                statement.bind(zone)
                statement.bind(row.name)
                statement.bind(row.id)
                return try statement.step() ? statement.record(named: row.name) : nil
            }
        return try found ?? records(in: zone, named: [row.name]).first
    }
}

extension StoreError {
    static func damagedIndex(_ index: ZoneIndex) -> StoreError {
        StoreError(
            .corrupt, "Rows of an index are not what was written",
            ["databaseID": String(index.zone.database.rawValue), "index": String(index.index), "remedy": "nacre check --repair makes them again"])
    }
}

extension PreparedStatement {
    func bind(_ index: ZoneIndex) {
        bind(index.zone)
        bind(index.index)
    }

    fileprivate func addWaiting(to packed: inout PackedIndex) throws {
        while try step() {
            let (name, round, id, checksum, bytes) = (string(), integer(), integer(), integer(), bytes())
            if checksum == RowChecksum.of(packed.index, [round, id], [], name, bytes), let changes = try? WaitingChanges(bytes) {
                packed.waiting.append(WaitingRow(name: name, round: round, id: id, changes: changes))
            } else {
                packed.damaged.append(PackedIndex.DamagedRow(name: name, round: round, bytes: bytes.count))
            }
        }
    }
}

extension ZoneIndex {
    /// The keys before the first row, and after the last.
    var ends: (lower: IndexRowKey, upper: IndexRowKey) {
        (IndexRowKey(index: index, key: [], name: ""), IndexRowKey(index: index + 1, key: [], name: ""))
    }
}

extension IndexRowKey {
    /// Whether the key is after a row of an index. A key of a later index is after all its rows.
    func isBehind(_ key: [UInt8], _ name: String, of index: ZoneIndex) -> Bool {
        self.index > index.index || PackedRow.order(key, name, to: self.key, self.name) < 0
    }
}

/// The rows of a range of an index in order, merged from its blocks, its unpacked rows, and the waiting changes, which
/// win.
struct PackedRows {
    private struct Change {
        var row: PackedRow
        var round: Int64
        var isGone: Bool
    }

    /// Unpacked rows that are read at once.
    private static let rowsAtOnce = 64

    private let connection: Connection
    private let index: ZoneIndex
    private let isDescending: Bool
    private let tolerates: Bool
    private var waiting: ArraySlice<Change> = []
    private var packed: ArraySlice<PackedRow> = []
    private var lastBlock: KeptBlock?
    private var areBlocksOver = false
    private var apart: ArraySlice<PackedRow> = []
    private var isApartOver = false
    /// The range of unpacked rows that is left.
    private var left: (lower: IndexRowKey, upper: IndexRowKey)
    private let lower: IndexRowKey
    private let upper: IndexRowKey
    /// The keys of damaged blocks.
    private(set) var damaged: [PackedRow] = []

    /// - Parameter tolerates: Whether damaged blocks are skipped.
    init(
        of packed: PackedIndex, from lower: IndexRowKey, to upper: IndexRowKey, isDescending: Bool, tolerates: Bool = false, _ connection: Connection
    ) {
        self.connection = connection
        self.isDescending = isDescending
        self.tolerates = tolerates
        self.lower = lower
        self.upper = upper
        index = packed.index
        left = (lower, upper)
        waiting = changes(in: packed.waiting)[...]
    }

    private func changes(in rows: [WaitingRow]) -> [Change] {
        var found: [Change] = []
        for row in rows {
            var place = row.changes.place(of: lower.key)
            while place < row.changes.count {
                let change = PackedRow(key: Array(row.changes.key(at: place)), name: row.name, id: row.id)
                if !upper.isBehind(change.key, "", of: index) { break }
                if isInside(change) { found.append(Change(row: change, round: row.round, isGone: row.changes.isGone(at: place))) }
                place += 1
            }
        }
        found.sort { left, right in
            let order = left.row.order(to: right.row)
            return order != 0 ? isDescending ? order > 0 : order < 0 : left.round > right.round
        }
        var last: PackedRow?
        return found.filter { change in
            defer { last = change.row }
            return last.map { $0.order(to: change.row) != 0 } ?? true
        }
    }

    private func isInside(_ row: PackedRow) -> Bool { !lower.isBehind(row.key, row.name, of: index) && upper.isBehind(row.key, row.name, of: index) }

    mutating func next() throws -> PackedRow? {
        while true {
            try readBlock()
            try readApart()
            if waiting.isEmpty, apart.isEmpty { return packed.popFirst() }
            guard let first = [waiting.first?.row, packed.first, apart.first].compactMap(\.self).min(by: comesBefore) else { return nil }
            if let row = packed.first, row.order(to: first) == 0 { packed.removeFirst() }
            if let row = apart.first, row.order(to: first) == 0 { apart.removeFirst() }
            if let change = waiting.first, change.row.order(to: first) == 0 {
                waiting.removeFirst()
                if change.isGone { continue }
            }
            return first
        }
    }

    private func comesBefore(_ left: PackedRow, _ right: PackedRow) -> Bool {
        let order = left.order(to: right)
        return isDescending ? order > 0 : order < 0
    }

    private mutating func readBlock() throws {
        while packed.isEmpty, !areBlocksOver {
            guard let block = try nextBlock(), isDescending || upper.isBehind(block.key, block.name, of: index) else {
                areBlocksOver = true
                return
            }
            lastBlock = block
            guard let rows = block.rows else {
                guard tolerates else { throw StoreError.damagedIndex(index) }
                damaged.append(PackedRow(key: block.key, name: block.name))
                continue
            }
            let inside = rows.filter(isInside)
            packed = isDescending ? ArraySlice(inside.reversed()) : inside[...]
            // Blocks before one that begins before the range are outside of it.
            if isDescending, lower.isBehind(block.key, block.name, of: index) { areBlocksOver = true }
        }
    }

    private func nextBlock() throws -> KeptBlock? {
        switch (lastBlock, isDescending) {
        case (let last?, true): try connection.block(before: last.position(in: index), of: index)
        case (let last?, false): try connection.block(after: last.position(in: index), of: index)
        case (nil, true): try connection.block(before: upper, of: index)
        case (nil, false):
            try connection.block(holding: lower.key, lower.name, of: index) ?? connection.block(after: lower, of: index)
        }
    }

    private mutating func readApart() throws {
        guard apart.isEmpty, !isApartOver else { return }
        let (left, most) = (left, Self.rowsAtOnce)
        var rows: [PackedRow] = []
        try connection.use(isDescending ? .indexFalling : .indexRising) { statement in
            statement.bind(index.zone)
            try left.lower.bound(to: statement) {
                try left.upper.bound(to: statement) {
                    while try rows.count < most && statement.step() { rows.append(PackedRow(key: statement.bytes(), name: statement.string())) }
                }
            }
        }
        isApartOver = rows.count < most
        if let last = rows.last {
            if isDescending {
                self.left.upper = IndexRowKey(index: index.index, key: last.key, name: last.name)
            } else {
                self.left.lower = IndexRowKey(index: index.index, key: last.key, name: last.name + "\0")
            }
        }
        apart = rows[...]
    }
}
