import NacreCloudWire

/// What goes with a record: the rules of `.deleteSelf`, and of those who hold on to what would go.
///
/// See `docs/decisions/a-deletion-takes-its-holders-or-nothing.md`.
extension ModifyBatch {
    /// Refuses the deletions that would take away what a record that stays names as its parent, or refers to with `.validate`.
    ///
    /// CloudKit: a record that others name as their parent is not deleted unless they go with it. A cascade that would take such a record is
    /// refused at its roots, whole.
    mutating func settleDeletions() {
        var kept: Set<String> = []
        going = cascade(without: kept)
        while !going.isEmpty {
            let reasons = spared()
            guard !reasons.isEmpty else { return }
            for place in verdicts.indices where verdicts[place].isDelete {
                guard let held = reasons[items[place].name] else { continue }
                // Of what its caller does not see, not even the name is told.
                let shown = seat.seesAll || places[held] != nil ? held : items[place].name
                verdicts[place] = .refuse(.deleteViolatesReference(shown))
            }
            // In other databases these stay because the record that they refer to stays. In the public one that record may be another user's, who may delete it.
            kept.formUnion(reasons.keys)
            going = cascade(without: kept)
        }
    }

    /// All records that go, in the order of their names.
    var goingRecords: [StoredRecord] {
        going.isEmpty ? [] : going.sorted().compactMap(record)
    }

    /// Records that go and leave others behind for whom this transaction has no room.
    var unfinished: [String] {
        reach.pending.isEmpty ? [] : going.filter { !(reach.holders[$0] ?? []).isDisjoint(with: reach.pending) }.sorted()
    }

    /// What the batch deletes, and all that hangs on it: any of a record's targets is enough, and a circle ends where it began.
    ///
    /// What the batch says of a holder counts first: one that it saves is asked as a save, one whose operation is refused is as it was.
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

    /// Records that would go and must not, each with the record that somebody holds and that makes it stay.
    ///
    /// From what is held outwards: a record that stays keeps what it holds and whatever it would have gone with. In a public database, of what its
    /// own creator made: see `docs/decisions/a-stranger-holds-nothing-in-public.md`.
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

    /// What records that were looked at and stay name as parents, or refer to with `.validate`.
    private var heldByStaying: Set<String> {
        let later = pendingBehindGoing
        var held = reach.pending == later ? [] : reach.heldByPending
        for place in items.indices {
            let name = items[place].name
            switch verdicts[place] {
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

    /// Records that this transaction has no room for, and that a task will take with those that go.
    private var pendingBehindGoing: Set<String> {
        reach.pending.isEmpty ? [] : going.reduce(into: []) { $0.formUnion(reach.pending.intersection(reach.holders[$1] ?? [])) }
    }

    /// CloudKit: users' records are not deleted; their references stay, and dangle. See `docs/decisions/user-records-are-made-when-a-user-is-admitted.md`.
    private func isUserRecord(_ name: String) -> Bool {
        name.hasPrefix("_") && record(of: name)?.row.type == UserRecord.type
    }

    func record(of name: String) -> StoredRecord? {
        (reach.followers[name] ?? stored[name] ?? companions[name]).flatMap { $0.isThere || $0.isDamaged ? $0 : nil }
    }
}
