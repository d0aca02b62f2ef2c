import NacreCloudWire

/// How far the deletions of a batch may reach, as the store tells it: who hangs on what, before any rule is asked.
struct CascadeReach: Sendable {
    /// Records outside the batch that may go with what it deletes, as they are kept.
    var followers: [String: StoredRecord] = [:]
    /// Who refers with `.deleteSelf` to each record that was asked for: records outside the batch as they are kept, and those of the batch
    /// as they were before it.
    var holders: [String: Set<String>] = [:]
    /// Of `holders`, outside the batch: those of somebody else than the record that they refer to, where that makes a difference.
    var othersHolders: [String: Set<String>] = [:]
    /// Of the records that may go, those that a record beyond the reach names as its parent or refers to with `.validate`.
    var heldOutside: Set<String> = []
    /// Records that may go too, but are too many for one transaction: the deletion that they follow leaves them to a task.
    var pending: Set<String> = []
    /// Of the records that may go, those that only pending ones hold: they count where one of those stays.
    var heldByPending: Set<String> = []
    /// Of the records that were read for it.
    var bytes = 0
}

/// Finds the reach of a batch, level by level.
///
/// Costs one call for what the batch deletes and for the targets that it refers to anew, two more for each level of a cascade, and two at the end
/// of one that does not fit. A wide level is asked again for records with many holders, some hundreds at a time.
struct CascadeWalk {
    let zone: ZoneAddress
    /// Most followers.
    let room: Int
    /// Most bytes of them.
    private var bytesLeft: Int
    /// Most names of holders that a wide level is asked for at once.
    let perCall: Int
    /// Records that the batch names, as they were before it: those that live.
    private let inside: [String: StoredRecord]
    /// All names of the batch.
    private let insideNames: [String]
    /// Who of the batch refers to a record with `.deleteSelf`.
    private let insideHolders: [String: [String]]
    /// Records whose holders were asked for.
    private var walked: Set<String> = []
    private let isPublic: Bool
    private var reach = CascadeReach()

    private init(_ batch: ModifyBatch, in zone: ZoneAddress, room: Int, bytes: Int, perCall: Int) {
        bytesLeft = bytes
        self.zone = zone
        self.room = room
        self.perCall = perCall
        insideNames = batch.items.map(\.name)
        isPublic = batch.isPublic
        inside = batch.livingItems
        var holders: [String: [String]] = [:]
        for name in inside.keys.sorted() {
            for target in inside[name]?.content.fields.owners ?? [] { holders[target, default: []].append(name) }
        }
        insideHolders = holders
    }

    static func reach(
        of batch: ModifyBatch, in zone: ZoneAddress, room: Int, bytes: Int = Limits.cascadeBytes, perCall: Int = Limits.dependentsPerCall,
        _ transaction: any ReadTransaction
    ) throws -> CascadeReach {
        let deleted = batch.deletedNames
        let counted = batch.newOwners
        guard !deleted.isEmpty || !counted.isEmpty else { return CascadeReach() }
        var walk = CascadeWalk(batch, in: zone, room: room, bytes: bytes, perCall: perCall)
        try walk.run(from: deleted, counting: counted, transaction)
        return walk.reach
    }

    private mutating func run(from deleted: [String], counting counted: [String], _ transaction: any ReadTransaction) throws {
        var level = withInsideHolders(deleted)
        // A batch is small: what it names is asked for whole.
        var found = try ask(level, counting: counted, limit: Self.whole, transaction)
        var levels = 0
        while !found.isEmpty {
            guard reach.followers.count + found.count <= room, levels < Limits.cascadeLevels, bytesLeft > 0 else {
                reach.pending.formUnion(found)
                break
            }
            levels += 1
            let loaded = try load(found, of: level, transaction)
            level = withInsideHolders(loaded)
            found = try ask(level, counting: [], limit: max(min(Self.whole, perCall / level.count), 1), transaction)
        }
        if !reach.pending.isEmpty { try askHeld(transaction) }
    }

    /// The same records, and all of the batch that hang on them.
    private func withInsideHolders(_ names: [String]) -> [String] {
        guard !insideHolders.isEmpty else { return names }
        var level = names
        var seen = Set(names)
        var place = 0
        while place < level.count {
            for holder in insideHolders[level[place]] ?? [] where !walked.contains(holder) && seen.insert(holder).inserted {
                level.append(holder)
            }
            place += 1
        }
        return level
    }

    /// One more than a target may have.
    private static let whole = Limits.owningReferences + 1

    /// Asks who depends on the records of a level, and again on those of earlier levels that somebody held.
    /// - Returns: the names outside the batch that hang on the level, and were not met before.
    private mutating func ask(
        _ level: [String], counting counted: [String], limit: Int, _ transaction: any ReadTransaction
    ) throws -> [String] {
        let known = insideNames + reach.followers.keys
        let names = Set(level).union(reach.heldOutside).union(counted)
        var answers = Dictionary(
            try transaction.dependents(in: zone, of: Array(names), outside: known, limit: limit).map { ($0.target, $0) },
            uniquingKeysWith: { first, _ in first })
        if limit < Self.whole { try askWhole(level, &answers, cutAt: limit, outside: known, transaction) }
        reach.heldOutside = Set(names.filter { answers[$0]?.isHeld(inPublic: isPublic) == true }).intersection(reach.heldOutside.union(level))
        for name in names {
            guard let answer = answers[name] else { continue }
            reach.holders[name, default: []].formUnion(answer.holders)
            if !answer.othersOwned.isEmpty { reach.othersHolders[name, default: []].formUnion(answer.othersOwned) }
        }
        for name in level { reach.holders[name, default: []].formUnion(insideHolders[name] ?? []) }
        walked.formUnion(level)
        var seen = reach.pending
        return level.flatMap { answers[$0]?.holders ?? [] }.filter { reach.followers[$0] == nil && seen.insert($0).inserted }
    }

    /// Asks again for answers that were cut short, as long as the cascade may still fit. What stays cut short is left to a task.
    ///
    /// Of a level alone: who hangs on a record of an earlier one is known, and is not asked for again.
    private mutating func askWhole(
        _ level: [String], _ answers: inout [String: Dependents], cutAt limit: Int, outside known: [String], _ transaction: any ReadTransaction
    ) throws {
        let cut = level.filter { answers[$0].map { $0.owned.count == limit || $0.othersOwned.count == limit } ?? false }.sorted()
        let portion = Limits.itemsPerNativeRequest
        for start in stride(from: 0, to: cut.count, by: portion) {
            let names = Array(cut[start..<min(start + portion, cut.count)])
            guard answers.values.reduce(0, { $0 + $1.holders.count }) <= room else {
                for name in names {
                    answers[name] = nil
                    reach.followers[name] = nil
                    reach.pending.insert(name)
                }
                continue
            }
            for whole in try transaction.dependents(in: zone, of: names, outside: known, limit: Self.whole) {
                answers[whole.target] = whole
            }
        }
    }

    /// Who of the records that may go is held by more than what waits for a task, and who by that alone.
    private mutating func askHeld(_ transaction: any ReadTransaction) throws {
        func held(_ names: Set<String>, outside known: [String]) throws -> Set<String> {
            Set(
                try transaction.dependents(in: zone, of: names.sorted(), outside: known, limit: 0).filter { $0.isHeld(inPublic: isPublic) }.map(
                    \.target))
        }
        let known = insideNames + reach.followers.keys
        let all = try held(walked.subtracting(reach.pending), outside: known)
        reach.heldOutside = all.isEmpty ? [] : try held(all, outside: known + reach.pending)
        reach.heldByPending = all.subtracting(reach.heldOutside)
    }

    /// A link alone takes no record along: it may be left from a body that was damaged and written over. What is damaged now goes by its links.
    /// - Returns: the names that were read. Those for whose records there is no room are left to a task.
    private mutating func load(_ names: [String], of level: [String], _ transaction: any ReadTransaction) throws -> [String] {
        var spared: Set<String> = []
        var left = names[...]
        let rows = try transaction.records(in: zone, next: &left, bytesMax: bytesLeft)
        reach.pending.formUnion(left)
        for row in rows {
            bytesLeft -= row.body.count
            reach.bytes += row.body.count
            if row.isTombstone { continue }
            let follower = StoredRecord(row, in: zone)
            reach.followers[row.name] = follower
            // From here on the store is asked for others only.
            let owners = follower.content.fields.owners
            for owner in owners { reach.holders[owner, default: []].insert(row.name) }
            if !follower.isDamaged, owners.isDisjoint(with: level) { spared.insert(row.name) }
        }
        if !spared.isEmpty {
            for target in level { reach.holders[target]?.subtract(spared) }
        }
        return names.dropLast(left.count)
    }
}

extension Dependents {
    /// Somebody would be left with a link to nothing. In a public database children hold by links, as those who validate do: whose they are
    /// makes a difference there.
    func isHeld(inPublic isPublic: Bool) -> Bool { isValidated || isParent && !isPublic }

    /// All who go with it.
    var holders: [String] { othersOwned.isEmpty ? owned : owned + othersOwned }
}
