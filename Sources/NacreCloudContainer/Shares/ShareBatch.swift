import NacreCloudStorage
import NacreCloudWire

// The shares of records in a batch, and the views of its records afterwards. Decided after parents and references. See
// `docs/decisions/shares.md`.

/// The shares and parents around a batch, as the store has them.
struct SharedSurroundings: Sendable {
    /// Whether the whole zone is shared.
    var isZoneShared = false
    /// The shares of records of the zone, at most `Limits.recordSharesPerZone`.
    package var shares: [(share: String, root: String)] = []
    /// Records above a shared root.
    var aboveRoots: Set<String> = []
    /// Records of the batch that would be above themselves.
    var inRings: Set<String> = []
    /// Records of the batch, in a view, whose new parents have more than `Limits.parentLevels` levels above. They may
    /// be above themselves.
    package var tooDeep: Set<String> = []
    /// Records of the batch that a guest would take out of a view, and whose ancestors have left that view already.
    package var leaving: Set<String> = []
}

extension ModifyBatch {
    // MARK: Where records are

    /// Returns the view and share of a record after the batch.
    package func position(of name: String) -> ViewAssignment { position(of: name, depth: 0) }

    private func position(of name: String, depth: Int) -> ViewAssignment {
        // A ring of parents is in no view.
        guard depth <= items.count else { return .hidden }
        if let index = places[name], case .save(let save) = verdicts[index] {
            if let state = save.sharing { return ViewAssignment(view: state.view) }
            guard isSharing else { return .hidden }
            return share(rootedAt: name) ?? ViewAssignment(view: save.parent.flatMap { position(of: $0, depth: depth + 1).view })
        }
        guard let record = record(of: name), record.isLive, !going.contains(name) else { return .hidden }
        if let share = share(rootedAt: name) { return share }
        return record.content.shared.share == nil ? record.position : .hidden
    }

    /// Returns the share of which a record is the root after the batch; nil: none.
    private func share(rootedAt name: String) -> ViewAssignment? {
        if let made = newShares[name] { return made }
        guard let record = record(of: name), record.isLive, let share = record.content.shared.share, !isGoing(share: share) else { return nil }
        return record.position
    }

    private func isGoing(share: String) -> Bool { going.contains(share) || sharesGoing.contains(share) }

    /// Returns the view that a record inherits from its parent after the batch. Its own share does not count.
    private func inherited(by name: String) -> FeedView? {
        if let index = places[name], case .save(let save) = verdicts[index] { return save.parent.flatMap { position(of: $0).view } }
        return record(of: name).flatMap { $0.content.shared.share == nil ? $0.content.shared.view : nil }
    }

    /// Whether a record is a share after the batch.
    func isShare(_ name: String) -> Bool {
        if let index = places[name], case .save(let save) = verdicts[index] { return save.sharing != nil }
        return stored[name]?.content.sharing != nil
    }

    // MARK: What goes along

    /// Shares that go because their roots go with the batch.
    var sharesGoing: Set<String> {
        guard isSharing else { return [] }
        return Set(going.compactMap { record(of: $0)?.content.shared.share }).union(sharesByEntries.filter { isLosing($0.root) }.map(\.share))
    }

    /// Whether a damaged record goes with the batch. Only the entries name its share, or the root that it shared.
    private func isLosing(_ name: String) -> Bool { going.contains(name) && record(of: name)?.isDamaged == true }

    /// Returns the roots of the given shares, and of damaged shares that go with the batch.
    private func rootsEnding(with shares: [StoredRecord]) -> [String] {
        shares.compactMap { $0.content.sharing?.root } + sharesByEntries.filter { isLosing($0.share) }.map(\.root)
    }

    /// The shares that go with their roots, and the roots of shares that go, as far as they are not read yet.
    private var lackingCompanions: [String] {
        guard isSharing else { return [] }
        return sharesGoing.union(rootsEnding(with: going.compactMap(record))).filter { stored[$0] == nil && companions[$0] == nil }.sorted()
    }

    /// Records that only shares of the batch change: shares that go with their roots, and roots that get or lose one.
    var sharedAlong: (deleted: [StoredRecord], moved: [StoredRecord]) {
        guard isSharing else { return ([], []) }
        let deleted = sharesGoing.subtracting(going).sorted().compactMap(record).filter(\.isLive)
        let ended = rootsEnding(with: going.sorted().compactMap(record) + deleted)
        let roots = Set(newShares.keys).union(ended).filter { name in
            !going.contains(name) && !(places[name].map { verdicts[$0].changesItsRecord } ?? false)
        }
        return (deleted, roots.sorted().compactMap(record).filter(\.isLive))
    }

    /// Reads the shares that go with their roots, and the roots of shares that go. Costs a call of the store where
    /// there are some, and one where something damaged goes; more where they are large.
    /// - Throws: `ServerError.looksAtTooMuch` where several take more than `bytes`; `LongDecision`.
    mutating func loadCompanions(
        in zone: ZoneAddress, within bytes: Int, _ patience: inout Patience, _ transaction: any ReadTransaction
    ) throws {
        let areLost = !going.isEmpty && going.contains(where: isLosing)
        sharesByEntries = areLost ? try transaction.recordShares(in: zone, limit: Limits.recordSharesPerZone) : []
        if sharesByEntries.contains(where: { isLosing($0.share) || isLosing($0.root) }) { isSharing = true }
        let lacking = lackingCompanions
        guard !lacking.isEmpty else { return }
        var left = bytes
        try transaction.eachPortion(of: lacking, in: zone, &patience) { rows in
            for row in rows {
                left -= row.body.count
                companions[row.name] = StoredRecord(row, in: zone)
            }
            if left < 0, lacking.count > 1 { throw ServerError.looksAtTooMuch }
        }
    }

    // MARK: Rules

    /// Live records that were in no view and come into one with the batch.
    fileprivate var arriving: [String] {
        guard isSharing else { return [] }
        return items.indices.compactMap { index in
            guard case .save(let save) = verdicts[index], save.sharing == nil, let live = save.over, live.isLive, live.content.shared.view == nil,
                position(of: items[index].name).view != nil
            else { return nil }
            return items[index].name
        } + newShares.keys
    }

    /// Live records that get another parent, with that parent, and whether they are in a view before or after the
    /// batch.
    fileprivate var reparented: [(name: String, parent: String, isShared: Bool)] {
        linking.compactMap { index in
            guard case .save(let save) = verdicts[index], let live = save.over, live.isLive, let parent = save.parent, parent != live.row.parent
            else { return nil }
            let name = items[index].name
            return (name, parent, position(of: name).view != nil || live.content.shared.view != nil)
        }
    }

    /// Live records that a guest would move to another view or delete, with their view before the batch.
    fileprivate var takenByGuest: [(name: String, view: FeedView)] {
        guard isGuest else { return [] }
        return items.indices.compactMap { index in
            let name = items[index].name
            switch verdicts[index] {
            case .save(let save):
                guard let live = save.over, live.isLive, let view = live.content.shared.view, position(of: name).view != view else { return nil }
                return (name, view)
            case .delete:
                guard let live = stored[name], live.isLive, live.content.sharing == nil, let view = live.content.shared.view else { return nil }
                return (name, view)
            case .nothing, .refuse: return nil
            }
        }
    }

    fileprivate var makesShare: Bool {
        verdicts.contains { if case .save(let save) = $0 { save.sharing != nil && save.over?.isLive != true } else { false } }
    }

    /// Returns the parent of a record after the batch; nil for a record that the batch does not save.
    fileprivate func parent(of name: String) -> String?? {
        guard let index = places[name], case .save(let save) = verdicts[index] else { return nil }
        return .some(save.parent)
    }

    /// Finds the shares that the batch makes, among the operations that are not refused.
    mutating func findShares() {
        newShares = [:]
        for index in items.indices {
            guard case .save(let save) = verdicts[index], let state = save.sharing, let root = state.root, save.over?.isLive != true else { continue }
            if newShares[root] == nil { newShares[root] = ViewAssignment(view: state.view, share: items[index].name) }
        }
        isSharing =
            !newShares.isEmpty || stored.values.contains { !$0.content.shared.isEmpty }
            || going.contains {
                record(of: $0)?.content.shared.isEmpty == false
            }
    }

    /// Refuses operations that break the rules of shares of records, or would put a record above itself.
    /// - Returns: whether one was refused, so that everything must be asked again.
    mutating func settleShares(_ around: SharedSurroundings) -> Bool {
        var fell = false
        for index in items.indices {
            let fault: ServerError?
            switch verdicts[index] {
            case .save(let save):
                fault =
                    save.sharing == nil
                    ? faultOfPlace(of: items[index].name, save, around) ?? faultOfScope(at: index) : faultOfShare(at: index, save, around)
            case .delete:
                if isGuest, goingRecords.contains(where: { $0.content.shared.share != nil }) {
                    fault = .rootIsItsOwners
                } else {
                    fault = around.leaving.contains(items[index].name) ? .recordIsLeaving : nil
                }
            case .nothing, .refuse: fault = nil
            }
            guard let fault else { continue }
            verdicts[index] = .refuse(fault)
            fell = true
        }
        return fell
    }

    private var isGuest: Bool { !membership.seesAll }

    /// Returns why a share cannot be made; nil: it can. CloudKit: a record is in one share, counting inherited ones.
    private func faultOfShare(at index: Int, _ save: RecordVerdict.Save, _ around: SharedSurroundings) -> ServerError? {
        guard save.over?.isLive != true, let state = save.sharing else { return nil }
        guard let root = state.root else { return around.shares.isEmpty ? nil : .zoneHasShares }
        if around.isZoneShared { return .zoneIsShared }
        if around.shares.count >= Limits.recordSharesPerZone { return .tooManyRecordShares }
        let makesRoot = places[root].map { if case .save(let save) = verdicts[$0] { save.sharing == nil } else { false } } ?? false
        let isThere = stored[root].map { $0.isLive && $0.content.sharing == nil && !going.contains(root) } ?? false
        guard isThere || makesRoot else { return .rootNotFound }
        if newShares[root]?.share != items[index].name { return .alreadyShared }
        // A damaged share may be made anew under its own name.
        if let share = stored[root]?.content.shared.share, share != items[index].name, !isGoing(share: share) { return .alreadyShared }
        return inherited(by: root) != nil || around.aboveRoots.contains(root) ? .alreadyShared : nil
    }

    private func faultOfPlace(of name: String, _ save: RecordVerdict.Save, _ around: SharedSurroundings) -> ServerError? {
        if around.inRings.contains(name) { return .parentRing }
        if around.tooDeep.contains(name) { return .parentTooDeep }
        if around.leaving.contains(name) { return .recordIsLeaving }
        if !isSharing, !isGuest { return nil }
        let view = position(of: name).view
        if share(rootedAt: name) != nil {
            if inherited(by: name) != nil { return .alreadyShared }
        } else if view != nil, save.over?.content.shared.view == nil, around.aboveRoots.contains(name) {
            return .alreadyShared
        }
        guard isGuest, membership.access(to: view)?.mayWrite != true else { return nil }
        return save.over?.isLive == true ? .parentIsNotShared : .createNotPermitted
    }
}

/// The parents of stored records that a decision has read. Each is read once, however often the decision is made anew.
struct KnownParents {
    /// The bytes of records that the read of one parent counts as.
    static let bytesOfOne = 128
    /// stored[recordName]: the parent; nil within: the record has none, or is not there.
    var stored: [String: String?] = [:]
}

extension ReadTransaction {
    /// Reads what a batch is checked against. Costs nothing where it neither makes a share nor moves live records.
    /// Otherwise costs a call for the zone's shares, and one for each level above their roots and the new parents.
    func surroundings(
        of batch: ModifyBatch, in zone: ZoneAddress, isZoneShared: Bool, _ known: inout KnownParents, _ patience: inout Patience
    ) throws -> SharedSurroundings {
        var around = SharedSurroundings(isZoneShared: isZoneShared)
        let (arriving, reparented) = (batch.arriving, batch.reparented)
        if batch.makesShare || !arriving.isEmpty {
            around.shares = try recordShares(in: zone, limit: Limits.recordSharesPerZone).filter { !batch.going.contains($0.share) }
        }
        let roots = arriving.isEmpty ? [] : around.shares.map(\.root)
        let (above, unended) = try ancestors(of: roots + reparented.map(\.parent), after: batch, in: zone, &known, &patience)
        for root in roots { around.aboveRoots.formUnion(above[root] ?? []) }
        around.inRings = Set(reparented.filter { above[$0.parent]?.contains($0.name) == true }.map(\.name))
        around.tooDeep = Set(reparented.filter { $0.isShared && unended.contains($0.parent) }.map(\.name))
        let taken = batch.takenByGuest
        if !taken.isEmpty { try look(whether: taken, areLeavingIn: zone, &around, &known, &patience) }
        return around
    }

    /// Marks the records of `taken` that are leaving their view. A record of a large subtree stays in its view until
    /// the task reaches it, and no longer hangs on the view's root.
    private func look(
        whether taken: [(name: String, view: FeedView)], areLeavingIn zone: ZoneAddress, _ around: inout SharedSurroundings,
        _ known: inout KnownParents, _ patience: inout Patience
    ) throws {
        let (above, unended) = try ancestors(of: taken.map(\.name), in: zone, &known, &patience)
        let roots = Set(try recordShares(in: zone, limit: Limits.recordSharesPerZone).map(\.root))
        let found = above.values.reduce(into: Set<String>()) { $0.formUnion($1.intersection(roots)) }
        let rows = found.isEmpty ? [] : try records(in: zone, named: found.sorted()).map { StoredRecord($0, in: zone) }
        let views = Dictionary(rows.filter(\.isLive).map { ($0.row.name, $0.content.shared) }) { $1 }
        for (name, view) in taken where above[name]?.contains(where: { views[$0]?.share != nil && views[$0]?.view == view }) != true {
            if unended.contains(name) { around.tooDeep.insert(name) } else { around.leaving.insert(name) }
        }
    }

    /// - Parameter batch: the batch whose changes count; nil: the stored records alone.
    /// - Returns: the records above each of `names`, and the names above which there are more than were read.
    private func ancestors(
        of names: [String], after batch: ModifyBatch? = nil, in zone: ZoneAddress, _ known: inout KnownParents, _ patience: inout Patience
    ) throws -> (above: [String: Set<String>], unended: Set<String>) {
        var parents: [String: String?] = [:]
        var level = Set(names)
        for _ in 0..<Limits.parentLevels {
            level = level.filter { parents[$0] == nil }
            if level.isEmpty { break }
            let asked = level.filter { name in
                guard let parent = batch?.parent(of: name) else { return true }
                parents[name] = .some(parent)
                return false
            }
            let unread = asked.filter { known.stored[$0] == nil }
            if !unread.isEmpty {
                try patience.take(unread.count * KnownParents.bytesOfOne)
                for name in unread { known.stored[name] = .some(nil) }
                for head in try heads(in: zone, named: unread.sorted()) where !head.isTombstone {
                    known.stored[head.name] = .some(head.parent)
                }
            }
            for name in asked { parents[name] = known.stored[name] ?? .some(nil) }
            level = Set(level.compactMap { parents[$0] ?? nil })
        }
        var (found, unended) = ([String: Set<String>](), Set<String>())
        for name in Set(names) {
            var above: Set<String> = []
            var next = parents[name] ?? nil
            while let parent = next, above.insert(parent).inserted {
                if parents[parent] == nil { unended.insert(name) }
                next = parents[parent] ?? nil
            }
            found[name] = above
        }
        return (found, unended)
    }
}
