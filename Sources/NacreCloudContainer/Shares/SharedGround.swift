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

    fileprivate init(sharing zone: ZoneRow) {
        self.init(key: EntryKey(zone.address.database, .zoneShare, zone.name), value: Array(String(zone.address.zone).utf8))
    }
}

extension WritePlan {
    /// What a batch leaves for participants.
    /// - Parameters:
    ///   - isShared: the zone was, before it.
    ///   - puts: what the batch writes.
    ///   - stored: what it found, the share too where it changes it.
    mutating func addSharing(
        of zone: ZoneRow, isShared: Bool, puts: [RecordPut], over stored: [String: StoredRecord], by caller: Caller, at now: Timestamp
    ) {
        guard let put = puts.first(where: { $0.row.name == ShareNames.ofZone }) else {
            if isShared { tasks.append(TellParticipants.task(ofChangesIn: zone, by: caller, due: now)) }
            return
        }
        addSharing(
            of: zone, from: stored[ShareNames.ofZone]?.content.sharing, to: StoredRecord(put.row, in: zone.address).content.sharing, by: caller,
            at: now)
    }

    /// What a change of a share leaves for participants.
    mutating func addSharing(of zone: ZoneRow, from before: ShareState?, to after: ShareState?, by caller: Caller, at now: Timestamp) {
        if before == nil, after == nil { return }
        let entry = EntryRow(sharing: zone)
        if after == nil { entriesRemoved.append(entry.key) } else { entries.append(entry) }
        if after != nil { tasks.append(TellParticipants.task(ofChangesIn: zone, by: caller, due: now)) }
        let left = Set(before?.members ?? []).subtracting(after?.members ?? [])
        for user in left.sorted() { tasks.append(TellParticipants.task(of: user, in: zone, by: caller, due: now)) }
    }

    /// What the end of a zone leaves for participants. Costs a call of the store.
    mutating func addEndOfSharing(of zone: ZoneRow, by caller: Caller, at now: Timestamp, _ transaction: any ReadTransaction) throws {
        let share = try transaction.records(in: zone.address, named: [ShareNames.ofZone]).first.map { StoredRecord($0, in: zone.address) }
        // One that is damaged does not keep a zone from going: its participants' rows are left, and lead nowhere.
        guard let share, share.row.type == ShareNames.recordType else { return }
        entriesRemoved.append(EntryRow(sharing: zone).key)
        for user in share.content.sharing?.members ?? [] { tasks.append(TellParticipants.task(of: user, in: zone, by: caller, due: now)) }
        tasks.append(TellParticipants.task(ofEndOf: zone, by: caller, due: now))
    }
}

extension RecordOperation {
    /// With a name for each participant that has none.
    func namingParticipants(_ name: () -> String) -> RecordOperation {
        guard var sharing = change.sharing?.value, var participants = sharing.participants else { return self }
        for place in participants.indices where participants[place].participantID == nil { participants[place].participantID = name() }
        sharing.participants = participants
        var operation = self
        operation.change.sharing = Box(sharing)
        return operation
    }
}
