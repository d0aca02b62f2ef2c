package import NacreCloudStorage
import NacreCloudWire

/// The records that depend on the deletions of a batch, as the store returns them, before any rule is asked.
package struct CascadeReach: Sendable {
    /// Records outside the batch that may go with its deletions, as stored, by name.
    package var followers: [String: StoredRecord] = [:]
    /// holders[target]: names of the records that refer to a target with `.deleteSelf`, for each target that was asked
    /// for. Records of the batch count as they were before it.
    package var holders: [String: Set<String>] = [:]
    /// The part of `holders` outside the batch whose creator is not the target's. Only a public database makes the
    /// difference.
    var othersHolders: [String: Set<String>] = [:]
    /// Names of records that may go and that a record beyond the reach has as its parent or refers to with `.validate`.
    var heldOutside: Set<String> = []
    /// Names of records that may go too, and are too many for one transaction. The deletion leaves them to a task.
    package var pending: Set<String> = []
    /// Names of records that may go and that only pending ones hold. They are held where one of those stays.
    var heldByPending: Set<String> = []
    /// Bytes of the records that were read.
    package var bytes = 0
}

/// Finds the reach of a batch, level by level.
///
/// Costs one call for the deletions and the new targets of the batch, two for each level of a cascade, and two at the
/// end of one that does not fit. A wide level is asked again for records with many holders, some hundreds at a time.
struct CascadeWalk {
    package let zone: ZoneAddress
    /// The most followers.
    package let room: Int
    /// The most bytes of further followers.
    private var bytesLeft: Int
    /// The most holders that one call asks for on a wide level.
    let perCall: Int
    /// The live records of the batch as they were before it, by name.
    private let inside: [String: StoredRecord]
    /// All names of the batch.
    private let insideNames: [String]
    /// insideHolders[target]: names of the batch's records that refer to a target with `.deleteSelf`.
    private let insideHolders: [String: [String]]
    /// Names of records whose holders were asked for.
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

    package static func reach(
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
        // A batch is small: all holders of its records are asked for at once.
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

    /// Returns these names, and those of all records of the batch that go with them.
    private func withInsideHolders(_ names: [String]) -> [String] {
        guard !insideHolders.isEmpty else { return names }
        var level = names
        var seen = Set(names)
        var index = 0
        while index < level.count {
            for holder in insideHolders[level[index]] ?? [] where !walked.contains(holder) && seen.insert(holder).inserted {
                level.append(holder)
            }
            index += 1
        }
        return level
    }

    /// The limit of holders that never cuts an answer short: one more than a target may have.
    private static let whole = Limits.owningReferences + 1

    /// Asks for the dependents of a level's records, and again for those of earlier records that were held.
    /// - Returns: the names outside the batch that go with the level, and were not met before.
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

    /// Asks again for answers that were cut short, while the cascade may still fit. The others are left to a task.
    ///
    /// The call asks for the records of this level only: the holders of earlier ones are known.
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

    /// Sets `heldByPending` to the held records that only pending records hold, and `heldOutside` to the others.
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

    /// Loads the records that link to a level. A link alone takes no record along: it may be left over from a damaged
    /// body that was replaced. A damaged record goes by its links.
    /// - Returns: the names that were read. The others have no room and are left to a task.
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
            // Later calls leave this record out: note its targets here.
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
    /// Whether the target's deletion would leave a link to nothing. In a public database children count through their
    /// `.validate` links, which depend on the creator.
    package func isHeld(inPublic isPublic: Bool) -> Bool { isValidated || isParent && !isPublic }

    /// Names of all records that go with the target.
    package var holders: [String] { othersOwned.isEmpty ? owned : owned + othersOwned }
}
