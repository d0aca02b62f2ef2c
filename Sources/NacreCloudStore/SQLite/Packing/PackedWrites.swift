import NacreCloudStorage

/// Writes of index rows, either unpacked or to the list of changes that wait to be packed.
extension Connection {
    /// - Throws: `StoreError.unavailable` if too much waits for a write of as many rows.
    func admitIndexRows(of plan: WritePlan) throws {
        func rows(_ count: Int) -> Int { count > packing.bound.rowsApart ? count : 0 }
        var count = 0
        for index in plan.records.indices { count += rows(plan.records[index].unindexed.rowCount + plan.records[index].indexed.rowCount) }
        for put in plan.indexed { count += rows(put.indexed.rowCount) }
        for row in [plan.derivedRemoved, plan.derived].joined() {
            if case .index = row { count += 1 }
        }
        try packing.admit(rows: count)
    }

    /// Removes and adds a record's index rows, removals first. The rows wait to be packed if the index is packed
    /// already, or if the record changes many of its rows.
    /// - Parameters:
    ///   - gone: The removed rows, each index once.
    ///   - come: The added rows, each index once.
    func changeIndexRows(of name: String, in zone: ZoneAddress, gone: [IndexKeys], come: [IndexKeys]) throws {
        guard !gone.isEmpty || !come.isEmpty else { return }
        // Read the number by name, new or not: the page was just written. An upsert that returns it costs many times as
        // much.
        let id = come.isEmpty ? 0 : try recordID(in: zone, named: name) ?? 0
        assert(Set(gone.map(\.index)).count == gone.count && Set(come.map(\.index)).count == come.count)
        for left in gone {
            let entered = come.first { $0.index == left.index }?.keys ?? SortedKeys()
            try changeIndexRows(of: name, id, in: ZoneIndex(zone: zone, index: left.index.rawValue), gone: left.keys, come: entered)
        }
        for entered in come where !gone.contains(where: { $0.index == entered.index }) {
            try changeIndexRows(of: name, id, in: ZoneIndex(zone: zone, index: entered.index.rawValue), gone: SortedKeys(), come: entered.keys)
        }
    }

    private func changeIndexRows(of name: String, _ id: Int64, in index: ZoneIndex, gone: SortedKeys, come: SortedKeys) throws {
        guard !gone.isEmpty || !come.isEmpty else { return }
        if try gone.count + come.count > packing.bound.rowsApart || packing.isPacked(index, on: self) {
            try packing.add(WaitingChanges(gone: gone, come: come), of: name, id, in: index, on: self)
        } else {
            try gone.each { try change(.indexRemove, index, $0, name) }
            try come.each { try change(.indexPut, index, $0, name, id: id) }
        }
    }

    private func recordID(in zone: ZoneAddress, named name: String) throws -> Int64? {
        try use(.recordID) { statement in
            statement.bind(zone)
            statement.bind(name)
            return try statement.step() ? statement.integer() : nil
        }
    }

    /// Changes index rows outside of a save of their records, for example in a repair. Damaged blocks and changes at
    /// their keys are removed; their rows are found in the records.
    func changeIndexRows(removing gone: [DerivedRow], putting come: [DerivedRow]) throws {
        var changes: [ZoneAddress: [NameBytes: (gone: [IndexEntry], come: [IndexEntry])]] = [:]
        for case .index(let zone, let entry, let name) in gone { changes[zone, default: [:]][NameBytes(name), default: ([], [])].gone.append(entry) }
        for case .index(let zone, let entry, let name) in come { changes[zone, default: [:]][NameBytes(name), default: ([], [])].come.append(entry) }
        for (zone, names) in changes {
            for (name, change) in names {
                try clearDamage(at: change.gone + change.come, of: name.string, in: zone)
                try changeIndexRows(of: name.string, in: zone, gone: IndexKeys.of(change.gone), come: IndexKeys.of(change.come))
            }
        }
    }

    private func clearDamage(at entries: [IndexEntry], of name: String, in zone: ZoneAddress) throws {
        for (id, entries) in Dictionary(grouping: entries, by: \.index) {
            let index = ZoneIndex(zone: zone, index: id.rawValue)
            guard try packing.isPacked(index, on: self) else { continue }
            try packing.removeDamaged(try waiting(of: name, in: index), on: self)
            for entry in entries {
                if let block = try block(holding: entry.key, name, of: index), block.rows == nil { try removeBlock(block.key, block.name, of: index) }
            }
        }
    }

    /// Removes up to `limit` index rows of a zone, in the order of their indexes. Returns their number.
    func reclaimIndexRows(of zone: ZoneAddress, limit: Int) throws -> Int {
        var count = 0
        var index = ZoneIndex(zone: zone, index: .min)
        while count < limit, let next = try nextIndex(after: index, in: zone) {
            index = next
            let packed = try packedIndex(index, tolerates: true)
            var rows = PackedRows(of: packed, from: index.ends.lower, to: index.ends.upper, isDescending: false, tolerates: true, self)
            var found: [PackedRow] = []
            while found.count < limit - count, let row = try rows.next() { found.append(row) }
            if packed.isPacked, found.count == limit - count {
                // The index may have more rows: put the removals on the list.
                try packing.admit(rows: found.count)
                let id = IndexID(rawValue: index.index)
                for row in found { try changeIndexRows(of: row.name, in: zone, gone: [IndexKeys(index: id, keys: SortedKeys(row.key))], come: []) }
            } else {
                for row in found { try removeApart(row, of: index) }
                if packed.isPacked { try packing.removeAll(of: index, on: self) }
            }
            count += found.count
        }
        return count
    }

    private func nextIndex(after index: ZoneIndex, in zone: ZoneAddress) throws -> ZoneIndex? {
        let next = try nextIndex(after: index)
        return next?.zone == zone ? next : nil
    }

    /// Returns the next index that has rows of any kind.
    func nextIndex(after index: ZoneIndex) throws -> ZoneIndex? {
        try [Statement.indexNext, .waitingNext, .blocksNext].compactMap { try nextIndex(after: index, $0) }.min { $0.isBefore($1) }
    }
}
