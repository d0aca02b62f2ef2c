package import NacreCloudStorage
package import NacreCloudWire

/// The role in which a user uses a zone.
package enum ZoneMembership: Hashable, Sendable {
    case owner
    /// A user who takes part by the share of the whole zone, which the request has just read.
    case participant(user: String, ShareAccess)
    /// A user who takes part by shares of records, just read by the request: what each permits, by its view.
    case guest(user: String, [FeedView: ShareAccess])

    /// Whether the user may write somewhere in the zone.
    package var mayWrite: Bool {
        switch self {
        case .owner: true
        case .participant(_, let access): access.mayWrite
        case .guest(_, let shares): shares.values.contains(where: \.mayWrite)
        }
    }

    /// Whether the user sees every record of the zone.
    var seesAll: Bool {
        if case .guest = self { false } else { true }
    }

    /// Whether the user takes part by the share of the whole zone.
    var isOfWholeZone: Bool {
        if case .participant = self { true } else { false }
    }

    /// The views whose feeds the user follows, in the order in which they are read.
    package var views: [FeedView] {
        switch self {
        case .owner, .participant: [.owner]
        case .guest(_, let shares): shares.keys.sorted { $0.rawValue < $1.rawValue }
        }
    }

    /// Returns what the user may do with a record in a view; nil: the record is not shown.
    package func access(to view: FeedView?) -> ShareAccess? {
        switch self {
        case .owner: .whole
        case .participant(_, let access): access
        case .guest(_, let shares): view.flatMap { shares[$0] }
        }
    }

    /// Returns the rule that shows a guest's views alone; for other members the given rule.
    func narrowing(_ rule: ReadRule) -> ReadRule {
        if case .guest(_, let shares) = self { ReadRule(views: Set(shares.keys)) } else { rule }
    }
}

extension StoredRecord {
    /// Whether the record is a live and undamaged share.
    var isShare: Bool { isLive && content.sharing != nil }
}

extension ReadTransaction {
    /// Returns the share of a whole zone; nil where it has none. Costs a call of the store.
    /// - Throws: `ServerError.recordDamaged` where the share cannot be read, so that its participants are unknown.
    package func zoneShare(in zone: ZoneAddress) throws -> StoredRecord? { try share(ShareNames.ofZone, in: zone) }

    /// Returns the share whose record has this name; nil where there is none. Costs a call of the store.
    /// - Throws: `ServerError.recordDamaged` where the share cannot be read, so that its participants are unknown.
    package func share(_ name: String, in zone: ZoneAddress) throws -> StoredRecord? {
        guard let row = try records(in: zone, named: [name]).first else { return nil }
        let record = StoredRecord(row, in: zone)
        guard !record.isDamaged || record.row.type != ShareNames.recordType else { throw ServerError.recordDamaged }
        return record.isShare ? record : nil
    }

    /// Returns the membership of a user who does not own the zone; nil: they take no part. Costs a call of the store,
    /// and two more where the zone is not shared as a whole.
    /// - Throws: `ServerError.recordDamaged` where a share that would admit the user cannot be read.
    func membership(of user: String, in zone: ZoneAddress) throws -> ZoneMembership? {
        if let share = try zoneShare(in: zone) {
            return share.content.sharing?.access(of: user).map { .participant(user: user, $0) }
        }
        var shares: [FeedView: ShareAccess] = [:]
        let memberships = try memberships(of: user, in: zone)
        for share in memberships {
            guard share.isShare, let state = share.content.sharing, let view = state.view, let access = state.access(of: user) else { continue }
            shares[view] = access
        }
        // Without this error a device would forget the zone.
        if shares.isEmpty, memberships.contains(where: { $0.isDamaged && $0.row.type == ShareNames.recordType }) { throw ServerError.recordDamaged }
        return shares.isEmpty ? nil : .guest(user: user, shares)
    }

    /// Returns the shares of records to which a user's entries lead. Only the shares say whether the user takes part.
    func recordShares(of user: String, in zone: ZoneAddress) throws -> [StoredRecord] {
        try memberships(of: user, in: zone).filter { $0.isShare && $0.content.sharing?.root != nil }
    }

    /// Returns the records to which a user's entries lead.
    private func memberships(of user: String, in zone: ZoneAddress) throws -> [StoredRecord] {
        let prefix = ShareEntries.prefix(ofMembershipsOf: user, in: zone)
        let memberships = try entries(in: zone.database, .shareMembership, after: prefix, limit: Limits.sharesOfZonePerUser).filter {
            $0.key.key.hasPrefix(prefix)
        }
        guard !memberships.isEmpty else { return [] }
        let names = memberships.map { String(decoding: $0.value, as: UTF8.self) }
        return try records(in: zone, named: names).map { StoredRecord($0, in: zone) }
    }
}

extension RecordVerdict {
    /// Returns why a user's membership does not permit an operation; nil: it does. CloudKit: participants who may write
    /// change any record but the share. The owner and administrators save the share, and every participant may leave
    /// it. A shared root is deleted and moved by the owner alone.
    static func faultOfMembership(_ operation: RecordOperation, _ live: StoredRecord?, _ setting: RecordSetting) -> ServerError? {
        if case .owner = setting.membership { return nil }
        let access = live.map { setting.membership.access(to: $0.content.shared.view) } ?? nil
        if live?.isShare == true {
            return operation.type.isDelete || access?.isAdministrator == true ? nil : .shareIsItsOwners
        }
        if operation.change.recordType == ShareNames.recordType { return .shareIsItsOwners }
        guard access?.mayWrite ?? (live == nil && setting.membership.mayWrite) else {
            return live == nil && !operation.type.isDelete ? .createNotPermitted : .writeNotPermitted
        }
        guard case .guest = setting.membership, live?.content.shared.share != nil else { return nil }
        if operation.type.isDelete { return .rootIsItsOwners }
        if case .set = operation.change.parent { return .rootIsItsOwners }
        return nil
    }

    /// Returns the error for a record that the caller does not see. It says that the name is taken, and nothing more.
    static func faultOfTakenName(_ operation: RecordOperation) -> ServerError? {
        switch operation.type {
        case .create, .forceUpdate, .forceReplace: .createNotPermitted
        case .update, .replace, .delete: .recordNotFound
        case .forceDelete: nil
        }
    }

    /// Returns the save by which a participant leaves who deletes the share (CloudKit); nil for the owner.
    package static func leaving(_ share: StoredRecord, _ setting: RecordSetting) -> RecordVerdict? {
        let user: String
        switch setting.membership {
        case .owner: return nil
        case .participant(let name, _), .guest(let name, _): user = name
        }
        guard let state = share.content.sharing else { return nil }
        return .save(
            Save(type: share.row.type, parent: nil, fields: share.content.fields, sharing: state.without(user, secret: setting.secret), over: share))
    }

    /// Returns the state of a share after a save; nil: the record is not a share.
    package static func sharing(
        after change: RecordChange, of type: String, _ live: StoredRecord?, _ setting: RecordSetting
    ) -> Result<ShareState?, ServerError> {
        guard type == ShareNames.recordType else {
            if change.sharing != nil { return .failure(.onlySharesHaveParticipants) }
            return live == nil && change.recordName == ShareNames.ofZone ? .failure(.nameIsForShare) : .success(nil)
        }
        if setting.scope == .public { return .failure(.cannotShareInPublic) }
        if !setting.hasFeed { return .failure(.zoneCannotBeShared) }
        let before = live?.content.sharing
        let asked = change.sharing?.value.forRecord
        if let before, let asked, asked != before.root { return .failure(.rootStays) }
        let root = before == nil ? asked : before?.root
        if change.recordName == ShareNames.ofZone ? root != nil : root == nil { return .failure(.shareNeedsZoneName) }
        if let root, let fault = Names.recordNameFault(root, field: "forRecord") { return .failure(fault) }
        let judge: ShareEditor
        switch setting.membership {
        case .owner: judge = .owner(setting.owner)
        case .participant, .guest: judge = .administrator(owner: setting.owner)
        }
        return ShareState.next(
            change.sharing?.value ?? ShareChange(), over: before, guid: setting.shareGUIDs[root] ?? "", by: judge, at: setting.now,
            secret: setting.secret
        ).map { state in
            var state = state
            state.root = root
            return state
        }
    }
}
