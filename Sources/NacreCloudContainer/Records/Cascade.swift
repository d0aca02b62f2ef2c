import NacreCloudStorage
import NacreCloudWire

/// Cascades of deletions: records that go with others by `.deleteSelf`, and records whose links keep others from going.
///
/// See `docs/decisions/records-references.md`.
extension ModifyBatch {
    /// Refuses each deletion that would take away the parent of a record that stays, or the target of its `.validate`
    /// reference.
    ///
    /// CloudKit: a record that others name as their parent is not deleted unless they go with it. A cascade that would
    /// take away a held record is refused whole, at its roots.
    package mutating func settleDeletions() {
        var kept: Set<String> = []
        going = cascade(without: kept)
        while !going.isEmpty {
            let reasons = spared()
            guard !reasons.isEmpty else { return }
            for index in verdicts.indices where verdicts[index].isDelete {
                guard let held = reasons[items[index].name] else { continue }
                // The error must not name a record that the caller does not see.
                let shown = membership.seesAll || places[held] != nil ? held : items[index].name
                verdicts[index] = .refuse(.deleteViolatesReference(shown))
            }
            // In other databases these stay because their target stays. In the public one the target may be another
            // user's, who may delete it.
            kept.formUnion(reasons.keys)
            going = cascade(without: kept)
        }
    }

    /// All records that go, in the order of their names.
    var goingRecords: [StoredRecord] {
        going.isEmpty ? [] : going.sorted().compactMap(record)
    }

    /// Names of records that go and leave pending records behind, for which this transaction has no room.
    package var unfinished: [String] {
        reach.pending.isEmpty ? [] : going.filter { !(reach.holders[$0] ?? []).isDisjoint(with: reach.pending) }.sorted()
    }

    /// Returns the names of the records that the batch deletes, and of all that go with them. One deleted target is
    /// enough, and a circle ends where it began.
    ///
    /// The batch decides on its own records: one that it saves is judged as a save, one with a refused operation as
    /// stored.
    private func cascade(without kept: Set<String>) -> Set<String> {
        var level = deletedNames
        var going = Set(level)
        while !level.isEmpty {
            level = level.flatMap { reach.holders[$0] ?? [] }.filter { holder in
                guard !kept.contains(holder), !reach.pending.contains(holder), !isUserRecord(holder),
                    places[holder].map({ verdicts[$0].isRefused }) ?? true
                else {
                    return false
                }
                return going.insert(holder).inserted
            }
        }
        return going
    }

    /// Returns the records that would go and must not, each with the held record that makes it stay.
    ///
    /// The search works from held records outwards: a record that stays keeps the records that it holds and those that
    /// it goes with. In a public database only those of its own creator: see `docs/decisions/records-references.md`.
    private func spared() -> [String: String] {
        var reasons: [String: String] = [:]
        var queue = reach.heldOutside.union(heldByStaying).intersection(going).sorted()
        for name in queue { reasons[name] = name }
        while let name = queue.popLast() {
            guard let record = record(of: name) else { continue }
            for needed in record.held + record.content.fields.owners
            where going.contains(needed) && reasons[needed] == nil && binds(record.creator, to: needed) {
                reasons[needed] = reasons[name]
                queue.append(needed)
            }
        }
        return reasons
    }

    /// Names of the parents and `.validate` targets of the records that were looked at and stay.
    private var heldByStaying: Set<String> {
        let later = pendingBehindGoing
        var held = reach.pending == later ? [] : reach.heldByPending
        for index in items.indices {
            let name = items[index].name
            switch verdicts[index] {
            case .save(let save):
                let targets = (save.parent.map { [$0] } ?? []) + save.references.lazy.filter { $0.link.kind == .validate }.map(\.link.target)
                let creator = creator(of: save)
                held.formUnion(targets.filter { binds(creator, to: $0) })
            case .refuse where !going.contains(name) && !later.contains(name):
                if let record = stored[name], record.isThere { held.formUnion(bindingHeld(by: record)) }
            case .delete, .nothing, .refuse: break
            }
        }
        for (name, record) in reach.followers where !going.contains(name) { held.formUnion(bindingHeld(by: record)) }
        return held
    }

    private func bindingHeld(by record: StoredRecord) -> [String] {
        isPublic ? record.held.filter { binds(record.creator, to: $0) } : record.held
    }

    /// Names of pending records that go later, in a task, with the records that go now.
    private var pendingBehindGoing: Set<String> {
        reach.pending.isEmpty ? [] : going.reduce(into: []) { $0.formUnion(reach.pending.intersection(reach.holders[$1] ?? [])) }
    }

    /// Whether a record is a user's. CloudKit: users' records are not deleted; their references stay, and dangle. See
    /// `docs/decisions/users-records.md`.
    private func isUserRecord(_ name: String) -> Bool {
        name.hasPrefix("_") && record(of: name)?.row.type == UserRecord.type
    }

    package func record(of name: String) -> StoredRecord? {
        (reach.followers[name] ?? stored[name] ?? companions[name]).flatMap { $0.isThere || $0.isDamaged ? $0 : nil }
    }
}
