package import NacreCloudStorage

/// Reads of references to a record, and of indexes.
extension Connection {
    /// Returns nil if no record refers to `target`.
    func dependents(of target: String, in zone: ZoneAddress, outside ignored: Set<NameBytes>, limit: Int) throws -> Dependents? {
        let children = try use(.recordsOfParent) { statement in
            statement.bind(zone)
            statement.bind(target)
            return try statement.names(outside: ignored, limit: 1)
        }
        let validating = try referrers(to: target, .validate, in: zone, outside: ignored, limit: 1)
        let owned = try referrers(to: target, .deleteSelf, in: zone, outside: ignored, limit: limit)
        let othersOwned = try referrers(to: target, .othersDeleteSelf, in: zone, outside: ignored, limit: limit)
        guard !children.isEmpty || !validating.isEmpty || !owned.isEmpty || !othersOwned.isEmpty else { return nil }
        return Dependents(
            target: target, isParent: !children.isEmpty, isValidated: !validating.isEmpty, owned: owned, othersOwned: othersOwned)
    }

    private func referrers(
        to target: String, _ kind: ReferenceLink.Kind, in zone: ZoneAddress, outside ignored: Set<NameBytes>, limit: Int
    ) throws -> [String] {
        try use(.linksToTarget) { statement in
            statement.bind(zone)
            statement.bind(target)
            statement.bind(kind.rawValue)
            return try statement.names(outside: ignored, limit: limit)
        }
    }

    /// - Parameter bytes: The bytes of the bodies read up to now.
    func search(_ scan: IndexScan, _ bytes: inout Int, _ bytesMax: Int) throws -> IndexPortion {
        var hits: [IndexHit] = []
        // Reserve room for a page, even if the limit is larger.
        hits.reserveCapacity(min(max(scan.limit, 0), scan.spans.count > 1 ? 16 : 256))
        // Consecutive spans are mostly of one index.
        var known: PackedIndex?
        for place in scan.spans.indices where hits.count < scan.limit && bytes < bytesMax {
            let index = ZoneIndex(zone: scan.zone, index: scan.spans[place].index.rawValue)
            let packed = try known.flatMap { $0.index == index ? $0 : nil } ?? packedIndex(index)
            known = packed
            if packed.isPacked {
                try search(packed, scan, place, &hits, &bytes, bytesMax)
            } else {
                try search(scan, place, &hits, &bytes, bytesMax)
            }
        }
        return IndexPortion(hits: hits, isWhole: hits.count < scan.limit && bytes < bytesMax)
    }

    private func search(_ scan: IndexScan, _ index: Int, _ hits: inout [IndexHit], _ bytes: inout Int, _ bytesMax: Int) throws {
        let range = try scan.spans[index].range(after: index == 0 ? scan.after : nil, isIncluded: scan.includesAfter, isDescending: scan.isDescending)
        func take(_ statement: PreparedStatement) throws {
            while try hits.count < scan.limit && bytes < bytesMax && statement.step() {
                if let hit = try hit(in: statement, of: scan, index, &bytes) { hits.append(hit) }
            }
        }
        guard scan.needsRecords else {
            return try use(scan.isDescending ? .indexFalling : .indexRising) { statement in
                statement.bind(scan.zone)
                try range.lower.bound(to: statement) {
                    try range.upper.bound(to: statement) { try take(statement) }
                }
            }
        }
        // The start of the walk has a name. Its end has none: it is the beginning of a key, or the index's end.
        let isToEnd = range.upper.index > range.lower.index
        let (start, end) = scan.isDescending ? (range.upper, range.lower) : (range.lower, range.upper)
        let statement: Statement =
            switch (scan.isDescending, isToEnd) {
            case (false, false): .indexRisingWithRecords
            case (false, true): .indexRisingToEndWithRecords
            case (true, false): .indexFallingWithRecords
            case (true, true): .indexFallingFromEndWithRecords
            }
        try use(statement) { statement in
            statement.bind(scan.zone)
            statement.bind(range.lower.index)
            try start.key.withUnsafeBufferPointer { startKey in
                if !(scan.isDescending && isToEnd) {
                    statement.bind(borrowed: startKey)
                    statement.bind(start.name)
                }
                try end.key.withUnsafeBufferPointer { endKey in
                    if scan.isDescending || !isToEnd { statement.bind(borrowed: endKey) }
                    try take(statement)
                }
            }
        }
    }

    /// - Parameter bytes: The bytes of the bodies read up to now.
    func feed(_ scan: FeedScan, _ bytes: inout Int, _ bytesMax: Int) throws -> FeedPortion {
        var entries: [FeedEntry] = []
        guard bytes < bytesMax else { return FeedPortion(entries: entries, isWhole: false) }
        try use(scan.after.name == nil ? .feedAfterNumber : .feedAfterName) { statement in
            statement.bind(scan.zone)
            statement.bind(scan.view.rawValue)
            statement.bind(scan.after.number)
            statement.bind(scan.through ?? ChangeNumber(run: .max, seq: .max))
            statement.bind(scan.baseline)
            statement.bind(max(scan.limit, 0))
            if let name = scan.after.name { statement.bind(name) }
            while try bytes < bytesMax && statement.step() {
                entries.append(statement.feedEntry(in: scan.view))
                bytes += entries.last?.record.body.count ?? 0
            }
        }
        return FeedPortion(entries: entries, isWhole: entries.count < scan.limit && bytes < bytesMax)
    }

    /// Returns nil if records are needed and the row's record is gone.
    private func hit(in row: PreparedStatement, of scan: IndexScan, _ span: Int, _ bytes: inout Int) throws -> IndexHit? {
        let key = row.bytes()
        let name = row.string()
        if scan.needsRecords, !row.isNull {
            let record = row.record(named: name)
            bytes += record.body.count
            return IndexHit(position: IndexPosition(key: key, name: name), span: span, record: record)
        }
        guard scan.includesRecord(named: name) else { return IndexHit(position: IndexPosition(key: key, name: name), span: span, record: nil) }
        // The number is only a shortcut. If it does not lead to the record, or was not joined, search by name.
        let found = try records(in: scan.zone, named: [name])
        bytes += found.first?.body.count ?? 0
        if scan.needsRecords, found.isEmpty { return nil }
        return IndexHit(position: IndexPosition(key: key, name: name), span: span, record: found.first)
    }
}

/// A position in any index of a zone.
package struct IndexRowKey {
    package var index: Int64
    package var key: [UInt8]
    package var name: String

    func bound<Result>(to statement: PreparedStatement, _ body: () throws -> Result) rethrows -> Result {
        statement.bind(index)
        return try key.withUnsafeBufferPointer { key in
            statement.bind(borrowed: key)
            statement.bind(name)
            return try body()
        }
    }
}

extension IndexSpan {
    /// Returns the positions of the wanted rows: from the first key on, and before the second, in either direction.
    /// Each direction therefore needs one SQL text.
    package func range(after: IndexPosition?, isIncluded: Bool, isDescending: Bool) throws -> (lower: IndexRowKey, upper: IndexRowKey) {
        // The end of an index is the beginning of the next one.
        guard index.rawValue < .max else { throw StoreError.contradiction("an index beyond all numbers") }
        var first = IndexRowKey(index: index.rawValue, key: lower, name: "")
        var end = IndexRowKey(index: index.rawValue + (upper == nil ? 1 : 0), key: upper ?? [], name: "")
        switch after {
        case .some(let after) where isDescending:
            if upper.map({ KeyBytes(after.key) < KeyBytes($0) }) ?? true {
                end = IndexRowKey(index: index.rawValue, key: after.key, name: isIncluded ? after.name + "\0" : after.name)
            }
        case .some(let after):
            // No name lies between a name and the same name with a zero byte.
            if KeyBytes(after.key) >= KeyBytes(lower) {
                first = IndexRowKey(index: index.rawValue, key: after.key, name: isIncluded ? after.name : after.name + "\0")
            }
        case nil: break
        }
        return (first, end)
    }
}

extension PreparedStatement {
    /// Returns the first `limit` names of the rows that are not among `ignored`.
    fileprivate func names(outside ignored: Set<NameBytes>, limit: Int) throws -> [String] {
        var names: [String] = []
        while try names.count < limit && step() {
            let name = string()
            if !ignored.contains(NameBytes(name)) { names.append(name) }
        }
        return names
    }
}
