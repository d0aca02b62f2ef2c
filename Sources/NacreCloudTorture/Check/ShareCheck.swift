package import NacreCloudWire

/// Computes what each user may see of a shared zone, from all records that its owner has: from each record up to a
/// shared root. Checks a participant's copy against it, once nothing changes any more.
package struct ShareCheck: Sendable {
    /// A record in a user's copy.
    package struct Held: Equatable, Sendable {
        package var tag: String
        package var parent: String?

        package init(_ record: Record) {
            (tag, parent) = (record.recordChangeTag, record.parent?.recordName)
        }
    }

    /// The way by which a participant got its copy.
    package enum Way: String, Sendable {
        /// All changes since the participant began.
        case changes = "by its changes"
        /// A lookup of each name.
        case lookup = "by name"
    }

    private let records: [String: Record]

    /// Makes the check.
    /// - Parameter records: All records of the zone, as its owner has them.
    package init(_ records: [String: Record]) {
        self.records = records
    }

    /// Returns the shares that a user has accepted and may read.
    private func shares(of user: String) -> Set<String> {
        Set(
            records.values.filter { record in
                guard let share = record.sharing?.value else { return false }
                return share.participants.contains {
                    $0.identity.userRecordName == user && $0.acceptance == .accepted
                        && ($0.role == .publicUser ? share.publicPermission : $0.permission) != .none
                }
            }.map(\.recordName))
    }

    package func takesPart(_ user: String) -> Bool { !shares(of: user).isEmpty }

    /// Returns the records that a user may see.
    package func seen(by user: String) -> Set<String> {
        let shares = shares(of: user)
        if shares.contains(ShareNames.ofZone) { return Set(records.keys) }
        return shares.union(records.keys.filter { share(over: $0).map(shares.contains) ?? false })
    }

    /// Returns the share that a record is in; nil: in none.
    private func share(over name: String) -> String? {
        var passed: Set<String> = []
        var next = records[name]
        while let record = next, passed.insert(record.recordName).inserted {
            if let share = record.share?.recordName { return share }
            next = record.parent.flatMap { records[$0.recordName] }
        }
        return nil
    }

    /// Checks a copy.
    /// - Parameter held: A user's copy after all changes.
    package func violation(of held: [String: Held], by user: String, _ way: Way) -> Violation? {
        let seen = seen(by: user)
        if let extra = Set(held.keys).subtracting(seen).min() {
            return Violation(way == .changes ? .skippedChange : .leaked, "\(user) holds \(extra) \(way.rawValue), which is not shared with them")
        }
        if let missing = seen.subtracting(held.keys).min() {
            return Violation(
                way == .changes ? .skippedChange : .wrongFinalState, "\(user) lacks \(missing) \(way.rawValue), which is shared with them")
        }
        for (name, record) in held.sorted(by: { $0.key < $1.key }) {
            if record.tag != records[name]?.recordChangeTag {
                return Violation(
                    way == .changes ? .skippedChange : .staleRead, "\(user) holds \(name) \(way.rawValue) as it was before its last change")
            }
            if let parent = record.parent, !seen.contains(parent) {
                return Violation(.leaked, "\(user) is told \(way.rawValue) that \(name) hangs on \(parent), which is not shared with them")
            }
        }
        return nil
    }
}
