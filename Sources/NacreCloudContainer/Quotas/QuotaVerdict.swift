import NacreCloudWire

/// What one save of a batch does to what its database holds.
struct QuotaClaim: Hashable, Sendable {
    /// By how much the bodies that are kept grow.
    var growth: Int64
    /// It makes a record, or one larger than it was. A record whose fields take no more than before may always be saved, though its stamps and its numbers
    /// may be longer: by `Limits.bodyGrowthBytes`, and no more.
    var isLarger: Bool

    var needsRoom: Bool { growth > 0 && isLarger }
}

/// Which saves a database has no room for.
///
/// What needs no room comes first, wherever it stands in the batch: deletions, and saves that make nothing larger. The others have what is left, each in its
/// turn, and one that is too large does not keep a smaller one behind it out.
enum QuotaVerdict {
    /// - Parameters:
    ///   - used: bytes that the database holds, without what the batch deletes.
    ///   - limit: bytes that it may hold. It may hold more already, where the limit came later.
    /// - Returns: the places of the saves that are refused, rising.
    static func refused(_ claims: [QuotaClaim], used: Int64, limit: Int64) -> [Int] {
        var sum = claims.reduce(used) { $1.needsRoom ? $0 : $0 + $1.growth }
        return claims.indices.filter { place in
            guard claims[place].needsRoom else { return false }
            guard sum + claims[place].growth <= limit else { return true }
            sum += claims[place].growth
            return false
        }
    }
}

extension QuotaClaim {
    /// - Parameter put: what the save becomes.
    init(_ save: RecordVerdict.Save, as put: RecordPut) {
        growth = Int64(put.growth)
        guard let over = save.over, over.isThere else {
            isLarger = true
            return
        }
        // Of a damaged record nobody knows what its fields took.
        isLarger = over.isDamaged || save.fields.byteCount > over.content.fields.byteCount || growth > Limits.bodyGrowthBytes
    }
}

extension ModifyBatch {
    /// So often saves that the database has no room for are looked for, before all are refused that need some. Each look but the first follows from a
    /// deletion that fell with a save. On this server.
    private static let quotaLooks = 4

    /// Holds the batch, which is settled, against the quota of its database, until nothing more falls. CloudKit: each record that has no room is told so, and
    /// one whose new parent has none hears the same.
    /// - Parameters:
    ///   - claims: of its saves, by their places.
    ///   - used: bytes that the database holds before the batch.
    /// - Returns: whether a save fell.
    mutating func settleQuota(_ claims: [Int: QuotaClaim], used: Int64, limit: Int64) -> Bool {
        var looks = 0
        while true {
            let saves = verdicts.indices.filter { verdicts[$0].isSave && claims[$0] != nil }
            let freed = goingRecords.reduce(0) { $0 + Int64($1.countedBytes) }
            let asked = saves.map { claims[$0] ?? QuotaClaim(growth: 0, isLarger: false) }
            let refused = QuotaVerdict.refused(asked, used: used - freed, limit: looks < Self.quotaLooks ? limit : .min)
            if refused.isEmpty { return looks > 0 }
            looks += 1
            for place in refused { verdicts[saves[place]] = .refuse(.quotaExceeded(isPublic: isPublic)) }
            refuseWhatHangs(on: Set(refused.map { items[saves[$0]].name }))
            settle(within: reach)
        }
    }

    /// Saves that refer to new records which have no room have none themselves.
    private mutating func refuseWhatHangs(on names: Set<String>) {
        var refused = names
        while true {
            let places = linking.filter { place in
                guard case .save(let save) = verdicts[place] else { return false }
                let needed = (save.parent.map { [$0] } ?? []) + save.references.map(\.link.target)
                return needed.contains { refused.contains($0) && !isLiveAfter($0) }
            }
            if places.isEmpty { return }
            for place in places {
                verdicts[place] = .refuse(.quotaExceeded(isPublic: isPublic))
                refused.insert(items[place].name)
            }
        }
    }
}

extension RecordVerdict {
    fileprivate var isSave: Bool {
        if case .save = self { true } else { false }
    }
}
