package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The task that updates a zone's rows in the shared databases of its participants. Each row comes, is marked as
/// changed, or goes, as the zone's share says when the task is done. Done twice it marks twice, which does no harm.
package struct TellParticipants: TaskHandler {
    /// The users whose rows the task updates.
    private enum Audience: Equatable, Sendable {
        /// The present participants in the share of the whole zone.
        case members
        /// A user who took part.
        case user(String)
        /// The former participants in shares of records. The zone is gone, and its links go too.
        case nobody
        /// The present participants in the share of a record that this view shows.
        case guests(FeedView)
        /// The former participants, by the zone's entries, in a share deleted or made anew without a look at it.
        case former(String)
        /// No user: the record was the root of a share, whose link goes.
        case root(String)
        /// The participants in all shares of the zone and its records, by the zone's entries.
        case everyone
    }

    private let zone: ZoneAddress
    private let zoneName: String
    private let audience: Audience
    private let author: FireSubscriptions.Author

    private static let version: UInt8 = 1

    /// Returns the task for changes in a zone. Commits before it is done leave one task together.
    package static func task(ofChangesIn zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow { task(zone, .members, by: caller, due: due) }

    package static func task(ofChangesIn zone: ZoneRow, view: FeedView, by caller: Caller, due: Timestamp) -> TaskRow {
        task(zone, .guests(view), by: caller, due: due)
    }

    package static func task(of user: String, in zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow {
        task(zone, .user(user), by: caller, due: due)
    }

    package static func task(ofEndOf share: String, in zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow {
        task(zone, .former(share), by: caller, due: due)
    }

    package static func task(ofEndOfShareOf root: String, in zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow {
        task(zone, .root(root), by: caller, due: due)
    }

    package static func task(ofEndOf zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow { task(zone, .nobody, by: caller, due: due) }

    package static func task(ofResyncOf zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow { task(zone, .everyone, by: caller, due: due) }

    private static func task(_ zone: ZoneRow, _ audience: Audience, by caller: Caller, due: Timestamp) -> TaskRow {
        let work = TellParticipants(
            zone: zone.address, zoneName: zone.name, audience: audience, author: FireSubscriptions.Author(caller))
        let name =
            switch audience {
            case .members: "\(zone.address.zone)"
            case .user(let user): "\(zone.address.zone) \(user)"
            case .nobody: "\(zone.address.zone):"
            case .guests(let view): "\(zone.address.zone)/\(view.rawValue)"
            // No user has a name with the prefix of the next two.
            case .former(let share): "\(zone.address.zone) /\(share)"
            case .root(let root): "\(zone.address.zone) :\(root)"
            case .everyone: "\(zone.address.zone)*"
            }
        return TaskRow(key: TaskKey(zone.address.database, .tellParticipants, name), payload: work.payload, due: due)
    }

    private init(zone: ZoneAddress, zoneName: String, audience: Audience, author: FireSubscriptions.Author) {
        (self.zone, self.zoneName, self.audience, self.author) = (zone, zoneName, audience, author)
    }

    package init(_ task: TaskRow) throws {
        do {
            var reader = ByteReader(task.payload)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            zone = ZoneAddress(database: task.key.database, zone: try reader.signed())
            zoneName = try reader.string()
            switch try reader.byte() {
            case 0: audience = .members
            case 1: audience = .user(try reader.string())
            case 2: audience = .nobody
            case 3: audience = .guests(FeedView(rawValue: try reader.signed()))
            case 4: audience = .former(try reader.string())
            case 5: audience = .root(try reader.string())
            case 6: audience = .everyone
            default: throw MalformedBytes()
            }
            author = try FireSubscriptions.Author(&reader)
        } catch {
            throw task.malformed
        }
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.signed(zone.zone)
        writer.string(zoneName)
        switch audience {
        case .members: writer.byte(0)
        case .user(let user):
            writer.byte(1)
            writer.string(user)
        case .nobody: writer.byte(2)
        case .guests(let view):
            writer.byte(3)
            writer.signed(view.rawValue)
        case .former(let share):
            writer.byte(4)
            writer.string(share)
        case .root(let root):
            writer.byte(5)
            writer.string(root)
        case .everyone: writer.byte(6)
        }
        author.write(to: &writer)
        return writer.bytes
    }

    package func chunk(_ leased: LeasedTask) async throws -> Bool {
        let cloud = leased.cloud
        guard let key = try await cloud.store.read({ try $0.databases([leased.key.database]).first?.key }) else { throw leased.task.malformed }
        switch audience {
        case .members, .guests: try await tell(try await members(cloud), tookPart: true, of: key, cloud)
        case .user(let user): try await tell([user], of: key, cloud)
        case .nobody:
            if try await endShares(of: key, cloud) { return true }
            try await cloud.removeShareLink(of: zone, root: nil, in: key)
        case .former(let share): try await endMemberships(at: share, of: key, cloud)
        case .root(let root): try await cloud.removeShareLink(ofFormer: root, in: zone, named: zoneName, of: key)
        case .everyone:
            let memberships = try await cloud.store.read { [zone] in try $0.everyEntry(.shareMembership, of: zone) { _ in true } }
            try await tell(Set(memberships.compactMap(ShareEntries.user(of:))).sorted(), of: key, cloud)
        }
        return try await cloud.store.write { transaction in
            _ = try transaction.lock(in: leased.key.database)
            // If a commit has put the task anew since, the lease is lost, and the task runs again.
            try leased.requireLease(transaction)
            try transaction.apply(WritePlan(finishing: leased.key))
            return .commit(false)
        }
    }

    private func members(_ cloud: Cloud) async throws -> [String] {
        try await cloud.store.read { [zone, zoneName, audience] transaction in
            guard let row = try transaction.zones(in: zone.database, named: [zoneName]).first, row.address == zone else { return [] }
            if case .guests(let view) = audience {
                let key = ShareEntries.share(of: zone, view)
                guard let entry = try transaction.entries(in: key.database, key.kind, keys: [key.key]).first,
                    let share = try transaction.records(in: zone, named: [try ShareEntries.read(entry).share]).first
                else { return [] }
                return StoredRecord(share, in: zone).content.sharing?.members ?? []
            }
            do {
                return try transaction.zoneShare(in: zone)?.content.sharing?.members ?? []
            } catch is ServerError {
                // The participants are unknown, and no user is let in.
                return []
            }
        }
    }

    /// Removes a portion of the entries and links of shares of records, and updates the shared zones of the users who
    /// had a membership.
    /// - Returns: whether there may be more.
    private func endShares(of key: DatabaseKey, _ cloud: Cloud) async throws -> Bool {
        let prefix = ShareEntries.prefix(of: zone)
        let (memberships, shares) = try await cloud.store.read { [zone] transaction in
            let rows = { try transaction.entries(in: zone.database, $0, after: prefix, limit: Limits.participantsPerShare) }
            return (
                try rows(.shareMembership).filter { $0.key.key.hasPrefix(prefix) }, try rows(.recordShare).filter { $0.key.key.hasPrefix(prefix) }
            )
        }
        if memberships.isEmpty, shares.isEmpty { return false }
        let users = Set(memberships.compactMap(ShareEntries.user(of:)))
        try await tell(users.sorted(), of: key, cloud)
        for share in shares { try await cloud.removeShareLink(of: zone, root: try ShareEntries.read(share).root, in: key) }
        return try await cloud.store.write { transaction in
            var plan = WritePlan()
            plan.entriesRemoved = (memberships + shares).map(\.key)
            try transaction.apply(plan)
            return .commit(true)
        }
    }

    /// Updates the shared zones of users with a membership by a share that may be gone. Removes the memberships that it
    /// no longer gives.
    private func endMemberships(at share: String, of key: DatabaseKey, _ cloud: Cloud) async throws {
        let (memberships, links) = try await cloud.store.read { [zone] transaction in
            let links = try transaction.everyEntry(.recordShare, of: zone) { try ShareEntries.read($0).share == share }
            return (try transaction.everyEntry(.shareMembership, of: zone) { $0.value == Array(share.utf8) }, links)
        }
        if memberships.isEmpty, links.isEmpty { return }
        try await tell(Set(memberships.compactMap(ShareEntries.user(of:))).sorted(), of: key, cloud)
        for link in links { try await cloud.removeShareLink(ofFormer: try ShareEntries.read(link).root, in: zone, named: zoneName, of: key) }
        try await cloud.store.write { [zone, zoneName] transaction in
            guard try transaction.advance(zoneNamed: zoneName, in: zone.database).zone?.address == zone else { return .rollback(()) }
            let state = try transaction.share(share, in: zone)?.content.sharing
            let members = Set(state?.members ?? [])
            var plan = WritePlan()
            plan.entriesRemoved = memberships.filter { ShareEntries.user(of: $0).map(members.contains) != true }.map(\.key)
            if state == nil { plan.entriesRemoved += links.map(\.key) }
            try transaction.apply(plan)
            return .commit(())
        }
    }

    private func tell(_ users: [String], tookPart: Bool = false, of key: DatabaseKey, _ cloud: Cloud) async throws {
        let name = SharedZoneName(owner: key.owner, zoneName: zoneName)
        try await LeasedTask.each(of: users) { [author] user in
            try await cloud.settleSharedZone(name, of: key, for: user, after: author, tookPart: tookPart)
        }
    }

    /// Returns nil: participants are notified of the change with the next one.
    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}
