import NacreCloudWire

/// As whom somebody uses a zone.
enum ZoneSeat: Hashable, Sendable {
    case owner
    /// By a share, which the request has just read.
    case participant(user: String, ShareAccess)

    var mayWrite: Bool {
        switch self {
        case .owner: true
        case .participant(_, let access): access.mayWrite
        }
    }
}

extension StoredRecord {
    /// It is a share, live and as it was written.
    var isShare: Bool { isLive && content.sharing != nil }
}

extension ReadTransaction {
    /// The share of a whole zone; nil where it has none. Costs a call of the store.
    /// - Throws: `ServerError.recordDamaged` where it cannot be read: who takes part, nobody knows.
    func zoneShare(in zone: ZoneAddress) throws -> StoredRecord? {
        guard let row = try records(in: zone, named: [ShareNames.ofZone]).first else { return nil }
        let record = StoredRecord(row, in: zone)
        guard !record.isDamaged || record.row.type != ShareNames.recordType else { throw ServerError.recordDamaged }
        return record.isShare ? record : nil
    }

    /// As whom a user who is not its owner uses a zone; nil: they take no part. Costs a call of the store.
    func seat(of user: String, in zone: ZoneAddress) throws -> ZoneSeat? {
        try zoneShare(in: zone)?.content.sharing?.access(of: user).map { .participant(user: user, $0) }
    }
}

extension RecordVerdict {
    /// CloudKit: participants who may write change any record but the share, which its owner and administrators save; everybody may leave it.
    static func faultOfSeat(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        guard case .participant(_, let access) = setting.seat else { return nil }
        if live?.isShare == true {
            return operation.type.isDelete || access.isAdministrator ? nil : .shareIsItsOwners
        }
        if operation.change.recordType == ShareNames.recordType { return .shareIsItsOwners }
        if access.mayWrite { return nil }
        return live == nil && !operation.type.isDelete ? .createNotPermitted : .writeNotPermitted
    }

    /// CloudKit: a participant who deletes the share leaves it.
    static func leaving(_ share: StoredRecord, _ setting: RecordSetting) -> RecordVerdict? {
        guard case .participant(let user, _) = setting.seat, let state = share.content.sharing else { return nil }
        return .save(
            Save(type: share.row.type, parent: nil, fields: share.content.fields, sharing: state.without(user), over: share))
    }

    /// What a record permits as a share after a save; nil: it is none.
    static func sharing(
        after change: RecordChange, of type: String, _ live: StoredRecord?, _ setting: RecordSetting
    ) -> Result<ShareState?, ServerError> {
        guard type == ShareNames.recordType else {
            if change.sharing != nil { return .failure(.onlySharesHaveParticipants) }
            return live == nil && change.recordName == ShareNames.ofZone ? .failure(.nameIsForShare) : .success(nil)
        }
        if setting.scope == .public { return .failure(.cannotShareInPublic) }
        if !setting.hasFeed { return .failure(.zoneCannotBeShared) }
        if change.sharing?.value.forRecord != nil { return .failure(.notSupported("forRecord", "a share of single records")) }
        guard change.recordName == ShareNames.ofZone else { return .failure(.shareNeedsZoneName) }
        let judge: ShareJudge
        switch setting.seat {
        case .owner: judge = .owner(setting.owner)
        case .participant: judge = .administrator(owner: setting.owner)
        }
        let before = live?.content.sharing
        return ShareState.next(change.sharing?.value ?? ShareChange(), over: before, guid: setting.shareGUID, by: judge).map { $0 }
    }
}
