import NacreCloudStorage

/// Packs index rows: changes that wait become rows of blocks, one index of a zone at a time, in the order of its keys.
/// A block is then read and written once for all changes that wait for it.
///
/// Only the writer uses it. Packed changes that are still on the list say the same as the blocks. A rollback or a crash
/// in the middle therefore loses nothing and repeats nothing: the changes are packed once more.
final class IndexPacking {
    private(set) var bound = PackingBound.standard
    /// Bytes of all changes that wait.
    private(set) var waitingBytes = 0
    /// The round of new changes. Changes of a later round are not being packed, and win over earlier ones.
    private(set) var round: Int64 = 1
    /// Whether a write was refused because too much waits. It is retried later, and does not fail.
    private(set) var isAwaited = false
    /// Whether an index is known to have packed rows or not. A wrong true does no harm.
    private var known: [ZoneIndex: Bool] = [:]
    /// On this server: the most elements of `known`.
    private static let knownMost = 4096
    private var pass: PackingPass?
    /// The index that was packed last.
    private var last: ZoneIndex?

    /// Whether to pack more now.
    /// - Parameter isIdle: Whether no write waits.
    func packs(isIdle: Bool) -> Bool { bound.packs(waiting: waitingBytes, isUnderWay: pass != nil, isIdle: isIdle) }

    /// Whether large writes are accepted.
    var hasRoom: Bool { waitingBytes < bound.fullBytes }

    /// Counts the changes that wait since the last opening. If they cannot be read, a later call reports the error.
    func begin(_ bound: PackingBound, on connection: Connection) {
        self.bound = bound
        let weights = try? connection.execute(
            "SELECT COALESCE(SUM(LENGTH(changes) + LENGTH(CAST(name AS BLOB)) + \(Self.rowBytes)), 0) FROM index_waiting")
        waitingBytes = weights.flatMap { Int($0) } ?? 0
        let last = try? connection.execute("SELECT COALESCE(MAX(round), 0) FROM index_waiting")
        // A skipped round does no harm.
        round = (last.flatMap { Int64($0) } ?? .max / 2) + 1
    }

    /// On this server: the bytes that a row takes besides its changes and its name.
    private static let rowBytes = 40

    private static func weight(_ name: String, _ changes: [UInt8]) -> Int { changes.count + name.utf8.count + rowBytes }

    /// Restores the count after a rollback of a write or of its transaction.
    /// - Parameter bytes: The bytes that waited before it.
    func undo(to bytes: Int) {
        waitingBytes = bytes
        known = [:]
    }

    /// Forgets the current pass, because its transaction was rolled back.
    func packAnew() {
        pass = nil
    }

    /// - Throws: `StoreError.unavailable` if too much waits. The write should be retried when less does.
    func admit(rows: Int) throws {
        guard !bound.admits(rows: rows, waiting: waitingBytes) else { return }
        isAwaited = true
        throw StoreError(.unavailable, "The store is busy", ["waitingIndexBytes": String(waitingBytes)])
    }

    func takeAwaited() -> Bool {
        defer { isAwaited = false }
        return isAwaited
    }

    // MARK: Waiting changes

    func isPacked(_ index: ZoneIndex, on connection: Connection) throws -> Bool {
        if let known = known[index] { return known }
        let isPacked = try connection.isPacked(index)
        learn(index, isPacked)
        return isPacked
    }

    func learn(_ index: ZoneIndex, _ isPacked: Bool) {
        if known.count >= Self.knownMost { known = [:] }
        known[index] = isPacked
    }

    /// Adds changes of a record to the list of waiting ones.
    func add(_ changes: WaitingChanges, of name: String, _ id: Int64, in index: ZoneIndex, on connection: Connection) throws {
        let waiting = try connection.waiting(of: name, in: index)
        guard waiting.damaged.isEmpty else { throw StoreError.damagedIndex(index) }
        let earlier = waiting.waiting.last { $0.round == round }
        let bytes = (earlier?.changes.followed(by: changes) ?? changes).bytes
        let number = id == 0 ? earlier?.id ?? 0 : id
        let checksum = RowChecksum.of(index, [round, number], [], name, bytes)
        try connection.use(.waitingPut) { statement in
            statement.bind(index)
            statement.bind(name)
            statement.bind(round)
            statement.bind(number)
            statement.bind(checksum)
            try bytes.withUnsafeBufferPointer { bytes in
                statement.bind(borrowed: bytes)
                _ = try statement.step()
            }
        }
        waitingBytes += Self.weight(name, bytes) - (earlier.map { Self.weight(name, $0.changes.bytes) } ?? 0)
        learn(index, true)
    }

    func remove(_ row: WaitingRow, from index: ZoneIndex, on connection: Connection) throws {
        let before = connection.changedRows
        try connection.removeWaiting(row.name, row.round, of: index)
        if connection.changedRows > before { waitingBytes -= Self.weight(row.name, row.changes.bytes) }
    }

    /// Removes the damaged changes of an index from the list.
    func removeDamaged(_ packed: PackedIndex, on connection: Connection) throws {
        for row in packed.damaged {
            try connection.removeWaiting(row.name, row.round, of: packed.index)
            waitingBytes -= row.bytes + row.name.utf8.count + Self.rowBytes
        }
    }

    /// Removes all blocks and all waiting changes of an index.
    func removeAll(of index: ZoneIndex, on connection: Connection) throws {
        let packed = try connection.packedIndex(index, tolerates: true)
        for row in packed.waiting { try remove(row, from: index, on: connection) }
        try removeDamaged(packed, on: connection)
        try connection.use(.blocksRemoveAll) { statement in
            statement.bind(index)
            _ = try statement.step()
        }
        if pass?.index == index { pass = nil }
    }

    // MARK: Packing

    /// Packs in the open transaction until a moment.
    /// - Returns: false if there is nothing to pack.
    func step(until end: ContinuousClock.Instant, on connection: Connection) throws -> Bool {
        let begun = pass
        pass = nil
        guard var pass = try begun ?? next(on: connection) else { return false }
        repeat {
            if try !pass.step(on: connection, blockBytes: bound.blockBytes) {
                guard let row = pass.takePacked() else { break }
                try remove(row, from: pass.index, on: connection)
            }
        } while ContinuousClock.now < end
        self.pass = pass.isOver ? nil : pass
        return true
    }

    /// Begins the next index with waiting changes. Later changes belong to another round.
    private func next(on connection: Connection) throws -> PackingPass? {
        // Skip an index with damaged changes only: it waits for a repair, and the others do not wait for it.
        for first in [last ?? .first, .first] {
            var index = first
            while let next = try connection.nextIndex(after: index, .waitingNext) {
                index = next
                let packed = try connection.packedIndex(index, tolerates: true)
                guard !packed.waiting.isEmpty else { continue }
                last = index
                round += 1
                return PackingPass(packed, hasRowsApart: try connection.hasRowsApart(index))
            }
        }
        return nil
    }
}

/// The packing of one index into its blocks.
struct PackingPass {
    /// The next change of one waiting row.
    private struct Cursor {
        /// The first eight bytes of the key as a number, which differs for most keys. To compare it retains nothing.
        let head: UInt64
        let key: [UInt8]
        let row: Int
        let place: Int

        init(_ row: Int, of rows: [WaitingRow], at index: Int) {
            self.row = row
            self.place = index
            key = Array(rows[row].changes.key(at: index))
            var head: UInt64 = 0
            for index in 0..<8 { head = head << 8 | (index < key.count ? UInt64(key[index]) : 0) }
            self.head = head
        }
    }

    private struct Change {
        var row: PackedRow
        var isGone: Bool
    }

    /// The most changes that are packed at once: some tenths of a millisecond.
    private static let changesAtOnce = 512

    let index: ZoneIndex
    private let rows: [WaitingRow]
    private let hasRowsApart: Bool
    /// A heap of cursors, in which no child comes before its parent.
    private var cursors: [Cursor]
    private var taken = 0

    init(_ packed: PackedIndex, hasRowsApart: Bool) {
        index = packed.index
        let rows = packed.waiting
        self.rows = rows
        self.hasRowsApart = hasRowsApart
        let first = rows.indices.lazy.filter { rows[$0].changes.count > 0 }.map { Cursor($0, of: rows, at: 0) }
        cursors = first.sorted { Self.precedes($0, $1, rows) }
    }

    var isOver: Bool { cursors.isEmpty && taken == rows.count }

    /// Returns a waiting row whose changes are all in blocks, to be removed from the list.
    mutating func takePacked() -> WaitingRow? {
        guard cursors.isEmpty, taken < rows.count else { return nil }
        defer { taken += 1 }
        return rows[taken]
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        if cursors[left].head != cursors[right].head { return cursors[left].head < cursors[right].head }
        return Self.precedes(cursors[left], cursors[right], rows)
    }

    private static func precedes(_ left: Cursor, _ right: Cursor, _ rows: [WaitingRow]) -> Bool {
        let order = PackedRow.order(left.key, rows[left.row].name, to: right.key, rows[right.row].name)
        return order != 0 ? order < 0 : rows[left.row].round < rows[right.row].round
    }

    private mutating func pop() -> Change? {
        guard let first = cursors.first else { return nil }
        let row = rows[first.row]
        let change = Change(row: PackedRow(key: first.key, name: row.name, id: row.id), isGone: row.changes.isGone(at: first.place))
        if first.place + 1 < row.changes.count {
            cursors[0] = Cursor(first.row, of: rows, at: first.place + 1)
        } else {
            let last = cursors.removeLast()
            if cursors.isEmpty { return change }
            cursors[0] = last
        }
        var index = 0
        while true {
            var best = index
            for child in (2 * index + 1)...(2 * index + 2) where child < cursors.count && precedes(child, best) { best = child }
            if best == index { return change }
            cursors.swapAt(index, best)
            index = best
        }
    }

    /// Packs the next changes that belong to one block.
    /// - Returns: false if all changes are packed.
    mutating func step(on connection: Connection, blockBytes: Int) throws -> Bool {
        guard let first = cursors.first else { return false }
        let name = rows[first.row].name
        let block = try connection.block(holding: first.key, name, of: index)
        let next = try connection.block(after: IndexRowKey(index: index.index, key: first.key, name: name), of: index)
        var changes: [Change] = []
        while let cursor = cursors.first, changes.count < Self.changesAtOnce {
            if let next, PackedRow.order(cursor.key, rows[cursor.row].name, to: next.key, next.name) >= 0 { break }
            guard let change = pop() else { break }
            // If two changes name the same row, the later one wins.
            if let last = changes.last, last.row.order(to: change.row) == 0 { changes.removeLast() }
            changes.append(change)
        }
        // A repair mends the damaged block, and finds its rows in their records. Keep these changes as unpacked rows.
        if let block, block.rows == nil {
            try connection.keepApart(changes.map { ($0.row, $0.isGone) }, of: index)
            return true
        }
        if hasRowsApart {
            for change in changes { try connection.removeApart(change.row, of: index) }
        }
        let rows = block?.rows ?? []
        let merged = Self.merged(rows, changes)
        if merged != rows { try connection.put(merged, in: index, over: block, blockBytes: blockBytes) }
        return true
    }

    private static func merged(_ rows: [PackedRow], _ changes: [Change]) -> [PackedRow] {
        var merged: [PackedRow] = []
        merged.reserveCapacity(rows.count + changes.count)
        var index = 0
        for change in changes {
            while index < rows.count {
                let order = rows[index].order(to: change.row)
                if order > 0 { break }
                if order < 0 { merged.append(rows[index]) }
                index += 1
            }
            if !change.isGone { merged.append(change.row) }
        }
        merged += rows[index...]
        return merged
    }
}

extension Connection {
    /// Returns the first index after `index` that has rows in the statement's table.
    func nextIndex(after index: ZoneIndex, _ statement: Statement) throws -> ZoneIndex? {
        try use(statement) { statement in
            statement.bind(index)
            guard try statement.step() else { return nil }
            let zone = ZoneAddress(database: DatabaseID(rawValue: statement.integer()), zone: statement.integer())
            return ZoneIndex(zone: zone, index: statement.integer())
        }
    }

    /// Whether an index has unpacked rows.
    fileprivate func hasRowsApart(_ index: ZoneIndex) throws -> Bool {
        try use(.indexRising) { statement in
            statement.bind(index.zone)
            return try index.ends.lower.bound(to: statement) { try index.ends.upper.bound(to: statement) { try statement.step() } }
        }
    }

    func removeApart(_ row: PackedRow, of index: ZoneIndex) throws {
        try row.key.withUnsafeBufferPointer { try change(.indexRemove, index, $0, row.name) }
    }

    fileprivate func keepApart(_ changes: [(row: PackedRow, isGone: Bool)], of index: ZoneIndex) throws {
        for (row, isGone) in changes {
            try removeApart(row, of: index)
            guard !isGone else { continue }
            try row.key.withUnsafeBufferPointer { try change(.indexPut, index, $0, row.name, id: row.id) }
        }
    }

    func removeWaiting(_ name: String, _ round: Int64, of index: ZoneIndex) throws {
        try use(.waitingRemove) { statement in
            statement.bind(index)
            statement.bind(name)
            statement.bind(round)
            _ = try statement.step()
        }
    }

    func removeBlock(_ key: [UInt8], _ name: String, of index: ZoneIndex) throws {
        try key.withUnsafeBufferPointer { try change(.blockRemove, index, $0, name) }
    }

    /// Replaces the rows of a block by others, in one block or as many as they need. The first block of an index begins
    /// where the index does.
    fileprivate func put(_ rows: [PackedRow], in index: ZoneIndex, over block: KeptBlock?, blockBytes: Int) throws {
        if rows.isEmpty {
            if let block { try removeBlock(block.key, block.name, of: index) }
            return
        }
        for (number, part) in RowBlock.parts(of: rows, most: blockBytes).enumerated() {
            let first = number == 0 ? PackedRow(key: block?.key ?? [], name: block?.name ?? "") : part[part.startIndex]
            let bytes = RowBlock.encode(part)
            let checksum = RowChecksum.of(index, [], first.key, first.name, bytes)
            try use(.blockPut) { statement in
                statement.bind(index)
                try first.key.withUnsafeBufferPointer { key in
                    statement.bind(borrowed: key)
                    statement.bind(first.name)
                    statement.bind(checksum)
                    try bytes.withUnsafeBufferPointer { bytes in
                        statement.bind(borrowed: bytes)
                        _ = try statement.step()
                    }
                }
            }
        }
    }
}
