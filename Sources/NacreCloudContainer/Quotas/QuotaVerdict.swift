import NacreCloudStorage
import NacreCloudWire

/// The effect of one save of a batch on the bytes in its database.
struct QuotaClaim: Hashable, Sendable {
    /// Bytes by which the stored bodies grow.
    package var growth: Int64
    /// Whether the save makes a record, or a larger one. A record whose fields do not grow may always be saved, though
    /// its stamps and numbers may: by at most `Limits.bodyGrowthBytes`.
    var isLarger: Bool

    var needsRoom: Bool { growth > 0 && isLarger }
}

/// Decides which saves exceed the quota of a database.
///
/// Changes that need no room count first, wherever they stand in the batch: deletions, and saves that make nothing
/// larger. The other saves share the rest in their order. One that is too large does not exclude a smaller one after
/// it.
enum QuotaVerdict {
    /// Returns the saves to refuse.
    /// - Parameters:
    ///   - used: Bytes in the database, without the records that the batch deletes.
    ///   - limit: The quota in bytes. `used` may exceed it, if it was lowered later.
    /// - Returns: The indices of the refused saves, ascending.
    package static func refused(_ claims: [QuotaClaim], used: Int64, limit: Int64) -> [Int] {
        var sum = claims.reduce(used) { $1.needsRoom ? $0 : $0 + $1.growth }
        return claims.indices.filter { index in
            guard claims[index].needsRoom else { return false }
            guard sum + claims[index].growth <= limit else { return true }
            sum += claims[index].growth
            return false
        }
    }
}

extension QuotaClaim {
    /// - Parameter put: The stored form of the save.
    package init(_ save: RecordVerdict.Save, as put: RecordPut) {
        growth = Int64(put.growth)
        guard let over = save.over, over.isThere else {
            isLarger = true
            return
        }
        // The size of a damaged record's fields is unknown.
        isLarger = over.isDamaged || save.fields.byteCount > over.content.fields.byteCount || growth > Limits.bodyGrowthBytes
    }
}

extension ModifyBatch {
    /// Rounds of checking the quota, after which all saves that need room are refused. Each round but the first follows
    /// from a deletion that failed with a save. On this server.
    private static let quotaLooks = 4

    /// Checks a settled batch against the quota of its database, until no further save is refused. CloudKit: each
    /// record without room gets the error, and so does a record whose new parent has none.
    /// - Parameters:
    ///   - claims: The claims of the batch's saves, by their indices.
    ///   - used: Bytes in the database before the batch.
    /// - Returns: Whether a save was refused.
    mutating func settleQuota(_ claims: [Int: QuotaClaim], used: Int64, limit: Int64) -> Bool {
        var looks = 0
        while true {
            let saves = verdicts.indices.filter { verdicts[$0].isSave && claims[$0] != nil }
            let freed = goingRecords.reduce(0) { $0 + Int64($1.countedBytes) }
            let asked = saves.map { claims[$0] ?? QuotaClaim(growth: 0, isLarger: false) }
            let refused = QuotaVerdict.refused(asked, used: used - freed, limit: looks < Self.quotaLooks ? limit : .min)
            if refused.isEmpty { return looks > 0 }
            looks += 1
            for index in refused { verdicts[saves[index]] = .refuse(.quotaExceeded(isPublic: isPublic)) }
            refuseWhatHangs(on: Set(refused.map { items[saves[$0]].name }))
            settle(within: reach)
        }
    }

    /// Refuses the saves that refer to new records which were refused for lack of room.
    private mutating func refuseWhatHangs(on names: Set<String>) {
        var refused = names
        while true {
            let places = linking.filter { index in
                guard case .save(let save) = verdicts[index] else { return false }
                let needed = (save.parent.map { [$0] } ?? []) + save.references.map(\.link.target)
                return needed.contains { refused.contains($0) && !isLiveAfter($0) }
            }
            if places.isEmpty { return }
            for index in places {
                verdicts[index] = .refuse(.quotaExceeded(isPublic: isPublic))
                refused.insert(items[index].name)
            }
        }
    }
}

extension RecordVerdict {
    fileprivate var isSave: Bool {
        if case .save = self { true } else { false }
    }
}
