import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire

// Entries and tasks that a commit in a zone leaves for the users with whom the zone is shared.

extension RequestedZone {
    /// The entry that says whether the zone may be shared.
    var shareEntries: [EntryKey] {
        hasFeed && database.key.scope == .private ? [EntryKey(database.id, .zoneShare, name)] : []
    }
}

extension EntryRow {
    /// Whether the entry says that this zone is shared, and not an earlier zone of the same name.
    func isShare(of zone: ZoneRow) -> Bool {
        key.kind == .zoneShare && key.key == zone.name && value == Array(String(zone.address.zone).utf8)
    }

    /// Whether the entry says that this zone is shared, or that records of it are or were.
    func marksSharing(of zone: ZoneRow) -> Bool { isShare(of: zone) || self == EntryRow(sharingRecordsOf: zone) }

    fileprivate init(sharing zone: ZoneRow) {
        self.init(key: EntryKey(zone.address.database, .zoneShare, zone.name), value: Array(String(zone.address.zone).utf8))
    }

    /// Marks that records of a zone are or were shared. It stays after the last share: readers look for shares.
    fileprivate init(sharingRecordsOf zone: ZoneRow) {
        self.init(key: EntryKey(zone.address.database, .zoneShare, zone.name), value: Array("\(zone.address.zone)/".utf8))
    }
}

/// The keys and values of the entries that lead to shares and their participants. They permit nothing: the shares do.
enum ShareEntries {
    /// Returns the key of the entry that holds the names of a share's record and root, by the share's view.
    package static func share(of zone: ZoneAddress, _ view: FeedView) -> EntryKey {
        EntryKey(zone.database, .recordShare, prefix(of: zone) + String(view.rawValue))
    }

    /// Returns the key of the entry that holds the name of a share's record, by participant.
    static func membership(of user: String, in zone: ZoneAddress, _ view: FeedView) -> EntryKey {
        EntryKey(zone.database, .shareMembership, prefix(ofMembershipsOf: user, in: zone) + String(view.rawValue))
    }

    /// The prefix of a user's memberships in a zone. User record names have no space.
    package static func prefix(ofMembershipsOf user: String, in zone: ZoneAddress) -> String { prefix(of: zone) + user + " " }

    package static func prefix(of zone: ZoneAddress) -> String { "\(zone.zone) " }

    /// Returns the user whose membership an entry is; nil: the key is malformed.
    package static func user(of membership: EntryRow) -> String? {
        let parts = membership.key.key.split(separator: " ")
        return parts.count == 3 ? String(parts[1]) : nil
    }

    package static func value(share: String, root: String) -> [UInt8] {
        var writer = ByteWriter()
        writer.string(share)
        writer.string(root)
        return writer.bytes
    }

    package static func read(_ row: EntryRow) throws -> (share: String, root: String) {
        var reader = ByteReader(row.value)
        do {
            return (try reader.string(), try reader.string())
        } catch {
            throw StoreError(.corrupt, "An entry of a share is malformed", ["key": row.key.key])
        }
    }
}

extension ReadTransaction {
    /// Returns the shares of records of a zone, with their roots.
    func recordShares(in zone: ZoneAddress, limit: Int) throws -> [(share: String, root: String)] {
        let prefix = ShareEntries.prefix(of: zone)
        return try entries(in: zone.database, .recordShare, after: prefix, limit: limit).filter { $0.key.key.hasPrefix(prefix) }.map(
            ShareEntries.read)
    }

    /// Returns a zone's entries of a kind for which `isWanted` holds. Costs a call of the store for each page.
    func everyEntry(_ kind: EntryKind, of zone: ZoneAddress, where isWanted: (EntryRow) throws -> Bool) throws -> [EntryRow] {
        let prefix = ShareEntries.prefix(of: zone)
        var (found, after): ([EntryRow], String) = ([], prefix)
        while true {
            let page = try entries(in: zone.database, kind, after: after, limit: Limits.resultsPerPage)
            let own = page.filter { $0.key.key.hasPrefix(prefix) }
            found += try own.filter(isWanted)
            guard own.count == Limits.resultsPerPage, let last = own.last else { return found }
            after = last.key.key
        }
    }
}

extension WritePlan {
    /// Adds the entries and tasks that a batch leaves for participants.
    /// - Parameters:
    ///   - isShared: whether the whole zone was shared before the batch.
    ///   - puts: the records that the batch writes.
    ///   - before: returns what a share permitted before the batch, by its record's name.
    mutating func addSharing(
        of zone: ZoneRow, isShared: Bool, puts: [RecordPut], before: (String) -> ShareState?, by caller: Caller, at now: Timestamp
    ) {
        addSharedViews(of: puts, in: zone, by: caller, at: now)
        let shares = puts.filter { $0.row.type == ShareNames.recordType }
        if isShared, !shares.contains(where: { $0.row.name == ShareNames.ofZone }) {
            tasks.append(TellParticipants.task(ofChangesIn: zone, by: caller, due: now))
        }
        for put in shares {
            let after = put.row.isTombstone ? nil : StoredRecord(put.row, in: zone.address).content.sharing
            // The share replaces a tombstone or a damaged one. Only the entries say who took part in that.
            if before(put.row.name) == nil, !put.isNew { tasks.append(TellParticipants.task(ofEndOf: put.row.name, in: zone, by: caller, due: now)) }
            if after == nil, put.row.name == ShareNames.ofZone { entriesRemoved.append(EntryRow(sharing: zone).key) }
            addSharing(of: zone, share: put.row.name, from: before(put.row.name), to: after, by: caller, at: now)
        }
    }

    /// Adds tasks for the views of shares of records in which the batch changed something.
    mutating func addSharedViews(of puts: [RecordPut], in zone: ZoneRow, by caller: Caller, at now: Timestamp) {
        var views: Set<FeedView> = []
        for put in puts {
            for row in put.enters where row.position.view != .owner && row.position.number == zone.number { views.insert(row.position.view) }
        }
        for view in views.sorted(by: { $0.rawValue < $1.rawValue }) {
            tasks.append(TellParticipants.task(ofChangesIn: zone, view: view, by: caller, due: now))
        }
    }

    /// Adds the entries and tasks that a change of a share leaves for participants.
    /// - Parameter share: the name of the share's record.
    mutating func addSharing(
        of zone: ZoneRow, share: String, from before: ShareState?, to after: ShareState?, by caller: Caller, at now: Timestamp
    ) {
        let (members, others) = (Set(after?.members ?? []), Set(before?.members ?? []))
        let left = others.subtracting(members)
        guard let state = after ?? before else { return }
        let view = state.view ?? .owner
        entries += members.sorted().map { EntryRow(key: ShareEntries.membership(of: $0, in: zone.address, view), value: Array(share.utf8)) }
        entriesRemoved += left.sorted().map { ShareEntries.membership(of: $0, in: zone.address, view) }
        if let root = state.root {
            let key = ShareEntries.share(of: zone.address, view)
            if after == nil {
                entriesRemoved.append(key)
                tasks.append(TellParticipants.task(ofEndOfShareOf: root, in: zone, by: caller, due: now))
            } else {
                entries += [EntryRow(key: key, value: ShareEntries.value(share: share, root: root)), EntryRow(sharingRecordsOf: zone)]
                tasks.append(TellParticipants.task(ofChangesIn: zone, view: view, by: caller, due: now))
            }
        } else if after != nil {
            entries.append(EntryRow(sharing: zone))
            tasks.append(TellParticipants.task(ofChangesIn: zone, by: caller, due: now))
        }
        for user in left.sorted() { tasks.append(TellParticipants.task(of: user, in: zone, by: caller, due: now)) }
    }

    /// Adds what the end of a zone leaves for participants. Costs at most two calls of the store.
    mutating func addEndOfSharing(of zone: ZoneRow, by caller: Caller, at now: Timestamp, _ transaction: any ReadTransaction) throws {
        if try !transaction.recordShares(in: zone.address, limit: 1).isEmpty {
            entriesRemoved.append(EntryRow(sharing: zone).key)
            tasks.append(TellParticipants.task(ofEndOf: zone, by: caller, due: now))
            return
        }
        let share = try transaction.records(in: zone.address, named: [ShareNames.ofZone]).first.map { StoredRecord($0, in: zone.address) }
        // The entries say who took part in a damaged share.
        guard let share, share.row.type == ShareNames.recordType else { return }
        entriesRemoved.append(EntryRow(sharing: zone).key)
        for user in share.content.sharing?.members ?? [] { tasks.append(TellParticipants.task(of: user, in: zone, by: caller, due: now)) }
        tasks.append(TellParticipants.task(ofEndOf: zone, by: caller, due: now))
    }
}

extension RecordOperation {
    /// Returns the operation with a name for each participant that has none, and a secret for each with a one-time URL.
    func namingParticipants(_ name: () -> String) -> RecordOperation {
        guard var sharing = change.sharing?.value, var participants = sharing.participants else { return self }
        for index in participants.indices {
            if participants[index].participantID == nil { participants[index].participantID = name() }
            // 122 bits that only the server draws.
            participants[index].oneTimeSecret = participants[index].isOneTime ? name() : nil
        }
        sharing.participants = participants
        var operation = self
        operation.change.sharing = Box(sharing)
        return operation
    }
}
