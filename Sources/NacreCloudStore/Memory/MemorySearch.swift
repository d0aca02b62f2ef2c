import NacreCloudContainer
import NacreCloudWire

/// Who refers to a record, and where records stand in indexes.
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

    /// Looks at every row of the index and keeps those that the scan asks for: slow, and plainly right.
    func search(_ scan: IndexScan) -> [IndexHit] {
        var rows: [IndexKey] = []
        let first = IndexKey(zone: scan.zone, index: scan.index.rawValue, key: KeyBytes([]), name: NameBytes(""))
        index.scan(
            from: { $0 >= first },
            { key, _ in
                guard key.zone == scan.zone, key.index == scan.index.rawValue else { return .stop }
                if scan.asksFor(key) { rows.append(key) }
                return .goOn
            })
        var hits: [IndexHit] = []
        var bytes = 0
        for row in scan.isDescending ? rows.reversed() : rows where hits.count < scan.limit && bytes < scan.bytesMax {
            let place = IndexPlace(key: row.key.bytes, name: row.name.string)
            guard scan.includesRecords else {
                hits.append(IndexHit(place: place, record: nil))
                continue
            }
            // A row whose record is gone leads nowhere.
            guard let record = records[RecordKey(zone: scan.zone, name: row.name)] else { continue }
            hits.append(IndexHit(place: place, record: record))
            bytes += record.body.count
        }
        return hits
    }
}

extension IndexScan {
    fileprivate func asksFor(_ row: IndexKey) -> Bool {
        guard row.key >= KeyBytes(lower), upper.map({ row.key < KeyBytes($0) }) ?? true else { return false }
        guard let after else { return true }
        let (place, last) = ((row.key, row.name), (KeyBytes(after.key), NameBytes(after.name)))
        return isDescending ? place < last : place > last
    }
}
