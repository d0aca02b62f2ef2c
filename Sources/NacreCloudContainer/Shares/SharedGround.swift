import NacreCloudWire

// What a commit in a zone leaves for those with whom the zone is shared.

extension RequestedZone {
    /// That tells whether somebody else may see the zone.
    var shareEntries: [EntryKey] {
        hasFeed && database.key.scope == .private ? [EntryKey(database.id, .zoneShare, name)] : []
    }
}

extension EntryRow {
    /// It says that this zone is shared, and not one that had its name before.
    func isShare(of zone: ZoneRow) -> Bool {
        key.kind == .zoneShare && key.key == zone.name && value == Array(String(zone.address.zone).utf8)
    }

    /// This zone is shared, or records of it are or were.
    func marksSharing(of zone: ZoneRow) -> Bool { isShare(of: zone) || self == EntryRow(sharingRecordsOf: zone) }

    fileprivate init(sharing zone: ZoneRow) {
        self.init(key: EntryKey(zone.address.database, .zoneShare, zone.name), value: Array(String(zone.address.zone).utf8))
    }

    /// Stays when the last share has gone: who asks for it looks.
    fileprivate init(sharingRecordsOf zone: ZoneRow) {
        self.init(key: EntryKey(zone.address.database, .zoneShare, zone.name), value: Array("\(zone.address.zone)/".utf8))
    }
}

/// The entries that lead to the shares of a zone and of its records, and to who takes part. They permit nothing: the shares do.
enum ShareEntries {
    /// For its share's record and its root, by the view.
    static func share(of zone: ZoneAddress, _ view: FeedView) -> EntryKey {
        EntryKey(zone.database, .recordShare, prefix(of: zone) + String(view.rawValue))
    }

    /// For the name of a share's record, by who takes part.
    static func seat(of user: String, in zone: ZoneAddress, _ view: FeedView) -> EntryKey {
        EntryKey(zone.database, .shareSeat, prefix(ofSeatsOf: user, in: zone) + String(view.rawValue))
    }

    /// User record names have no space.
    static func prefix(ofSeatsOf user: String, in zone: ZoneAddress) -> String { prefix(of: zone) + user + " " }

    static func prefix(of zone: ZoneAddress) -> String { "\(zone.zone) " }

    /// Whose seat an entry is.
    static func user(of seat: EntryRow) -> String? {
        let parts = seat.key.key.split(separator: " ")
        return parts.count == 3 ? String(parts[1]) : nil
    }

    static func value(share: String, root: String) -> [UInt8] {
        var writer = ByteWriter()
        writer.string(share)
        writer.string(root)
        return writer.bytes
    }

    static func read(_ row: EntryRow) throws -> (share: String, root: String) {
        var reader = ByteReader(row.value)
        do {
            return (try reader.string(), try reader.string())
        } catch {
            throw StoreError(.corrupt, "An entry of a share is malformed", ["key": row.key.key])
        }
    }
}

extension ReadTransaction {
    /// The shares of records of a zone, with their roots.
    func recordShares(in zone: ZoneAddress, limit: Int) throws -> [(share: String, root: String)] {
        let prefix = ShareEntries.prefix(of: zone)
        return try entries(in: zone.database, .recordShare, after: prefix, limit: limit).filter { $0.key.key.hasPrefix(prefix) }.map(
            ShareEntries.read)
    }

    /// All entries of a kind of a zone's that are asked for. Costs a call of the store for each page of them.
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
    /// What a batch leaves for participants.
    /// - Parameters:
    ///   - isShared: the whole zone was, before it.
    ///   - puts: what the batch writes.
    ///   - before: what a share permitted before it, by its record's name.
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
            // Over a tombstone, or over one that is damaged: who took part in that, the entries say.
            if before(put.row.name) == nil, !put.isNew { tasks.append(TellParticipants.task(ofEndOf: put.row.name, in: zone, by: caller, due: now)) }
            if after == nil, put.row.name == ShareNames.ofZone { entriesRemoved.append(EntryRow(sharing: zone).key) }
            addSharing(of: zone, share: put.row.name, from: before(put.row.name), to: after, by: caller, at: now)
        }
    }

    /// What changed in the views of shares of records.
    mutating func addSharedViews(of puts: [RecordPut], in zone: ZoneRow, by caller: Caller, at now: Timestamp) {
        var views: Set<FeedView> = []
        for put in puts {
            for row in put.enters where row.place.view != .owner && row.place.number == zone.number { views.insert(row.place.view) }
        }
        for view in views.sorted(by: { $0.rawValue < $1.rawValue }) {
            tasks.append(TellParticipants.task(ofChangesIn: zone, view: view, by: caller, due: now))
        }
    }

    /// What a change of a share leaves for participants.
    /// - Parameter share: the name of its record.
    mutating func addSharing(
        of zone: ZoneRow, share: String, from before: ShareState?, to after: ShareState?, by caller: Caller, at now: Timestamp
    ) {
        let (members, others) = (Set(after?.members ?? []), Set(before?.members ?? []))
        let left = others.subtracting(members)
        guard let state = after ?? before else { return }
        let view = state.view ?? .owner
        entries += members.sorted().map { EntryRow(key: ShareEntries.seat(of: $0, in: zone.address, view), value: Array(share.utf8)) }
        entriesRemoved += left.sorted().map { ShareEntries.seat(of: $0, in: zone.address, view) }
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

    /// What the end of a zone leaves for participants. Costs two calls of the store.
    mutating func addEndOfSharing(of zone: ZoneRow, by caller: Caller, at now: Timestamp, _ transaction: any ReadTransaction) throws {
        if try !transaction.recordShares(in: zone.address, limit: 1).isEmpty {
            entriesRemoved.append(EntryRow(sharing: zone).key)
            tasks.append(TellParticipants.task(ofEndOf: zone, by: caller, due: now))
            return
        }
        let share = try transaction.records(in: zone.address, named: [ShareNames.ofZone]).first.map { StoredRecord($0, in: zone.address) }
        // Of one that is damaged the entries say who took part.
        guard let share, share.row.type == ShareNames.recordType else { return }
        entriesRemoved.append(EntryRow(sharing: zone).key)
        for user in share.content.sharing?.members ?? [] { tasks.append(TellParticipants.task(of: user, in: zone, by: caller, due: now)) }
        tasks.append(TellParticipants.task(ofEndOf: zone, by: caller, due: now))
    }
}

extension RecordOperation {
    /// With a name for each participant that has none, and a secret for each who is claimed by a one-time URL.
    func namingParticipants(_ name: () -> String) -> RecordOperation {
        guard var sharing = change.sharing?.value, var participants = sharing.participants else { return self }
        for place in participants.indices {
            if participants[place].participantID == nil { participants[place].participantID = name() }
            // 122 bits that only the server draws.
            participants[place].oneTimeSecret = participants[place].isOneTime ? name() : nil
        }
        sharing.participants = participants
        var operation = self
        operation.change.sharing = Box(sharing)
        return operation
    }
}
