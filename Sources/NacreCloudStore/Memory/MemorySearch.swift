import NacreCloudStorage
import NacreCloudWire

/// The reads of references to a record, and of indexes.
extension MemoryState {
    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) -> [Dependents] {
        let ignored = Set(others.map(NameBytes.init))
        return names.distinctNames.compactMap { name in
            let target = NameBytes(name)
            let answer = Dependents(
                target: name, isParent: hasChild(target, in: zone, outside: ignored),
                isValidated: !referrers(to: target, .validate, in: zone, outside: ignored, limit: 1).isEmpty,
                owned: referrers(to: target, .deleteSelf, in: zone, outside: ignored, limit: limit),
                othersOwned: referrers(to: target, .othersDeleteSelf, in: zone, outside: ignored, limit: limit))
            return answer.isParent || answer.isValidated || !answer.owned.isEmpty || !answer.othersOwned.isEmpty ? answer : nil
        }
    }

    private func hasChild(_ parent: NameBytes, in zone: ZoneAddress, outside ignored: Set<NameBytes>) -> Bool {
        let first = ChildKey(zone: zone, parent: parent, child: NameBytes(""))
        var isFound = false
        children.scan(
            from: { $0 >= first },
            { key, _ in
                guard key.zone == zone, key.parent == parent else { return .stop }
                isFound = !ignored.contains(key.child)
                return isFound ? .stop : .goOn
            })
        return isFound
    }

    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) -> [RecordRow] {
        let first = ChildKey(zone: zone, parent: NameBytes(parent), child: NameBytes(name ?? ""))
        var found: [RecordRow] = []
        var bytes = 0
        children.scan(
            from: { $0 > first },
            { key, _ in
                guard key.zone == zone, key.parent == first.parent, found.count < limit, bytes < bytesMax else { return .stop }
                guard let row = records[RecordKey(zone: zone, name: key.child)] else { return .goOn }
                bytes += row.body.count
                found.append(row)
                return .goOn
            })
        return found
    }

    private func referrers(
        to target: NameBytes, _ kind: ReferenceLink.Kind, in zone: ZoneAddress, outside ignored: Set<NameBytes>, limit: Int
    ) -> [String] {
        let first = LinkKey(zone: zone, target: target, kind: kind.rawValue, name: NameBytes(""))
        var found: [String] = []
        links.scan(
            from: { $0 >= first },
            { key, _ in
                guard key.zone == zone, key.target == target, key.kind == kind.rawValue, found.count < limit else { return .stop }
                found += ignored.contains(key.name) ? [] : [key.name.string]
                return .goOn
            })
        return found
    }

    /// Searches every row of the spans and keeps those that the scan asks for: slow, and plainly right.
    /// - Parameter bytes: The bytes of the bodies read up to now.
    func search(_ scan: IndexScan, _ bytes: inout Int, _ bytesMax: Int) -> IndexPortion {
        var hits: [IndexHit] = []
        for (index, span) in scan.spans.enumerated() {
            let rows = rows(of: span, in: scan.zone, after: index == 0 ? scan.after : nil, scan)
            for row in rows where hits.count < scan.limit && bytes < bytesMax {
                let name = row.name.string
                let record = scan.includesRecord(named: name) ? records[RecordKey(zone: scan.zone, name: row.name)] : nil
                if scan.needsRecords, record == nil { continue }
                hits.append(IndexHit(position: IndexPosition(key: row.key.bytes, name: name), span: index, record: record))
                bytes += record?.body.count ?? 0
            }
        }
        return IndexPortion(hits: hits, isWhole: hits.count < scan.limit && bytes < bytesMax)
    }

    private func rows(of span: IndexSpan, in zone: ZoneAddress, after: IndexPosition?, _ scan: IndexScan) -> [IndexKey] {
        var rows: [IndexKey] = []
        let first = IndexKey(zone: zone, index: span.index.rawValue, key: KeyBytes(span.lower), name: NameBytes(""))
        let upper = span.upper.map { KeyBytes($0) }
        let last = after.map { (KeyBytes($0.key), NameBytes($0.name)) }
        index.scan(
            from: { $0 >= first },
            { row, _ in
                guard row.zone == zone, row.index == span.index.rawValue, upper.map({ row.key < $0 }) ?? true else { return .stop }
                let isAsked = last.map { (row.key, row.name) == $0 ? scan.includesAfter : ((row.key, row.name) > $0) != scan.isDescending } ?? true
                if isAsked { rows.append(row) }
                return .goOn
            })
        return scan.isDescending ? rows.reversed() : rows
    }
}
