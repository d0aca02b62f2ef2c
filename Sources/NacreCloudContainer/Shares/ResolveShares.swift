package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `records/resolve`: describes shares to the caller, by their URLs' short GUIDs. Unknown, malformed and ended ones
    /// get the answer of shares that are not for the caller. Each costs as many reads: three calls of the store.
    package func resolveShares(_ request: SharesRequest, in target: DatabaseTarget, by caller: Caller) async throws -> SharesResponse {
        let user = try shareUser(request, in: target, by: caller)
        let contact = try await contact(of: caller)
        return try await shares(request) { item in
            let found = try await foundShare(item.value, in: target, by: caller)
            return try await metadata(try requireShare(found), of: user, contact, as: item, in: target)
        }
    }

    /// `records/accept`: makes the caller a participant. Accepting again changes nothing. Costs a transaction for each
    /// share, and one that adds the zone to the caller's shared database.
    package func acceptShares(_ request: SharesRequest, in target: DatabaseTarget, by caller: Caller) async throws -> SharesResponse {
        let user = try shareUser(request, in: target, by: caller)
        let contact = try await contact(of: caller)
        return try await shares(request) { item in
            let found = try requireShare(try await foundShare(item.value, in: target, by: caller))
            let id = uuid()
            let share = try await accept(found, by: user, contact, as: caller, naming: id, ShareKey(item.value).secret)
            return try await metadata(share, of: user, contact, as: item, in: target)
        }
    }

    /// - Throws: `ServerError` for the request as a whole.
    func shareUser(_ request: SharesRequest, in target: DatabaseTarget, by caller: Caller) throws(ServerError) -> String {
        if let fault = usersVerdict(target, by: caller) { throw fault }
        guard let user = caller.userRecordName else { throw caller.noUser }
        let count = request.shortGUIDs.count
        if count > Limits.sharesPerRequest { throw .tooManyItems(count, limit: Limits.sharesPerRequest, field: "shortGUIDs") }
        if let fault = RequestShape.fault(ofNames: request.shortGUIDs.map(\.value), field: "shortGUIDs") { throw fault }
        // Guessing costs, as it does for addresses.
        WorkMeter.current?.add(rows: count * Limits.addressLookupCost)
        return user
    }

    private func shares(
        _ request: SharesRequest, _ body: (SharesRequest.Item) async throws -> ShareMetadata
    ) async throws -> SharesResponse {
        var results: [SharesResponse.Result] = []
        var room = Limits.answerBytes
        for item in request.shortGUIDs {
            do {
                let metadata = try await body(item)
                room -= metadata.rootRecord?.pageBytes ?? 0
                if room < 0 { throw ServerError.answerTooLarge }
                results.append(.share(metadata))
            } catch let error as ServerError {
                results.append(.failure(shortGUID: item.value, error.namingVerification(sendsMail: senders.mail != nil)))
            }
        }
        return SharesResponse(results: results)
    }

    /// Returns the contact of the caller's account; nil without an account that is living.
    package func contact(of caller: Caller) async throws -> ShareContact? {
        guard let id = caller.account, let account = try await registry.lookUp(AccountEntry.self, id, in: .account(id)), account.isLiving else {
            return nil
        }
        let names = NameComponents(givenName: account.givenName, familyName: account.familyName)
        return ShareContact(
            email: account.email, isEmailVerified: account.isEmailVerified, phone: account.phone, names: names == NameComponents() ? nil : names)
    }

    // MARK: Finding

    /// The share to which a short GUID leads.
    struct FoundShare: Sendable {
        package var share: ReadShare
        /// The record that is shared; nil: the whole zone is shared.
        package var root: StoredRecord?
        package var database: CallerDatabase
    }

    /// Returns the share under a short GUID; nil: there is none.
    func foundShare(_ guid: String, in target: DatabaseTarget, by caller: Caller) async throws -> FoundShare? {
        let place = try await zoneOfShare(guid, in: target)
        // A short GUID that leads nowhere costs as many reads.
        let name = place?.name ?? ZoneID(zoneName: ShareNames.ofZone, ownerRecordName: ShareNames.ofZone)
        let key = DatabaseKey(
            container: target.container, environment: target.environment, scope: .private, owner: name.ownerRecordName ?? ShareNames.ofZone)
        let database = CallerDatabase(
            id: try await databaseID(key), key: key, caller: caller, readRule: bounds.readRule, links: assetLinks, isOthers: true)
        return try await stored(of: key, zone: name) {
            try await self.store.read { transaction in
                let row = try transaction.zones(in: database.id, named: [name.zoneName]).first
                let zone = ZoneAddress(database: database.id, zone: place?.zone ?? 0)
                // A root leads on to its share, and the share of a whole zone to itself: both cost as many reads.
                let first = try transaction.records(in: zone, named: [place?.root ?? ShareNames.ofZone]).first.map { StoredRecord($0, in: zone) }
                let root = place?.root == nil ? nil : first.flatMap { $0.isLive ? $0 : nil }
                let name = place?.root == nil ? ShareNames.ofZone : root?.content.shared.share ?? ShareNames.ofZone
                guard let share = try transaction.share(name, in: zone), let state = share.content.sharing, let row, row.address == zone,
                    state.root == place?.root
                else { return nil }
                return FoundShare(share: ReadShare(zone: row, record: share, state: state), root: root, database: database)
            }
        }
    }

    func requireShare(_ share: FoundShare?) throws(ServerError) -> FoundShare {
        guard let share else { throw .notInvited }
        return share
    }

    private func metadata(
        _ found: FoundShare, of user: String, _ contact: ShareContact?, as asked: SharesRequest.Item, in target: DatabaseTarget
    ) async throws -> ShareMetadata {
        let (share, key) = (found.share, found.database.key)
        let owner = key.owner
        let place = ShareRelation(of: user, contact: contact, secret: ShareKey(asked.value).secret, in: share.state, owner: owner)
        let standing: (permission: SharePermission, status: ParticipantAcceptance, role: ParticipantRole)
        switch place {
        case .owner: standing = (.readWrite, .accepted, .owner)
        case .member(let participant, _):
            standing = (
                participant.role == .publicUser ? share.state.publicPermission : participant.permission, .accepted, participant.role
            )
        case .invited(let participant, let beside):
            let joined = participant.joined(with: beside)
            standing = (joined.permission, .invited, joined.role)
        case .visitor: standing = (share.state.publicPermission, .invited, .publicUser)
        case .unverified: throw ServerError.participantMayNeedVerification
        case .stranger: throw ServerError.notInvited
        }
        // An invited user who has not accepted sees the share and its root, and nothing more.
        let membership =
            user == owner ? nil : share.state.view.flatMap { view in ShareAccess(.readOnly).map { ZoneMembership.guest(user: user, [view: $0]) } }
        let showing = found.database.showing(zoneNamed: share.zone.name, as: membership ?? .owner)
        guard let record = showing.record(share.record, keys: nil) else { throw ServerError.notInvited }
        let root = asked.shouldFetchRootRecord ? found.root.flatMap { showing.record($0, keys: asked.rootRecordDesiredKeys) } : nil
        return ShareMetadata(
            shortGUID: asked.value, containerIdentifier: key.container, databaseScope: user == owner ? "PRIVATE" : "SHARED",
            environment: key.environment.rawValue, zoneID: key.zoneID(share.zone.name), share: record,
            ownerIdentity: try await identity(of: owner, in: target), participantPermission: standing.permission,
            participantStatus: standing.status, participantType: standing.role, rootRecordName: share.state.root, rootRecord: root,
            webpageURL: try await registry.container(key.container)?.shares.fallback,
            potentialMatches: share.state.potentialMatches(of: contact, as: place))
    }

    // MARK: Accepting

    private func accept(
        _ found: FoundShare, by user: String, _ contact: ShareContact?, as caller: Caller, naming id: String, _ secret: String?
    ) async throws -> FoundShare {
        let (key, now) = (found.database.key, clock())
        @Sendable func standing(_ state: ShareState) -> ShareRelation {
            ShareRelation(of: user, contact: contact, secret: secret, in: state, owner: key.owner)
        }
        let first = standing(found.share.state)
        // A stranger is refused before any step that only an existing share causes.
        if first == .stranger { throw ServerError.notInvited }
        let name = SharedZoneName(owner: key.owner, zoneName: found.share.zone.name)
        if first.isNew {
            try await requireRoomForSharedZone(name, of: user, in: key)
            if found.share.state.root != nil { try await requireRoomForShare(in: found.share.zone.address, of: user, key) }
        }
        let address = found.share.zone.address
        let changed = try await changeShare(found.share.record.row.name, ofZoneNamed: found.share.zone.name, in: key, by: caller) { zone, state in
            guard zone.address == address else { throw ServerError.notInvited }
            return try state.accepted(by: user, as: standing(state), id: id, at: now).get()
        }
        guard let changed else { throw ServerError.notInvited }
        if user != key.owner { try await settleSharedZone(name, of: key, for: user, after: nil) }
        return FoundShare(share: changed, root: found.root, database: found.database)
    }

    /// Throws where the user takes part in as many shares of the zone's records as may be. On this server: each request
    /// to a zone reads these shares.
    private func requireRoomForShare(in zone: ZoneAddress, of user: String, _ key: DatabaseKey) async throws {
        let prefix = ShareEntries.prefix(ofMembershipsOf: user, in: zone)
        let count = try await stored(of: key) {
            try await self.store.read { transaction in
                try transaction.entries(in: zone.database, .shareMembership, after: prefix, limit: Limits.sharesOfZonePerUser)
                    .count { $0.key.key.hasPrefix(prefix) }
            }
        }
        if count >= Limits.sharesOfZonePerUser { throw ServerError.tooManySharesOfZone }
    }

    /// Throws where the user's shared database is full. On this server: it has as many zones as a private one.
    private func requireRoomForSharedZone(_ name: SharedZoneName, of user: String, in ownerKey: DatabaseKey) async throws {
        let key = DatabaseKey(container: ownerKey.container, environment: ownerKey.environment, scope: .shared, owner: user)
        let database = try await databaseID(key)
        let hasRoom = try await stored(of: key) {
            try await self.store.read { transaction in
                try !transaction.zones(in: database, named: [name.text]).isEmpty
                    || transaction.zoneCount(in: database, upTo: Limits.sharedZonesPerUser) < Limits.sharedZonesPerUser
            }
        }
        if !hasRoom { throw ServerError.tooManySharedZones }
    }
}

extension ShareRelation {
    /// Whether the user takes no part yet.
    fileprivate var isNew: Bool {
        switch self {
        case .owner, .member: false
        case .invited, .visitor, .unverified, .stranger: true
        }
    }
}

extension ServerError {
    static let tooManySharesOfZone = ServerError(
        .badRequest, "the user takes part in more shares of one zone than may be", native: .limitExceeded, internalCode: 2023,
        field: "shortGUIDs", remedy: "Leave some of the \(Limits.sharesOfZonePerUser) shares first, or have their records shared as one.")

    static let tooManySharedZones = ServerError(
        .badRequest, "the user takes part in more zones than a shared database may have", native: .limitExceeded, internalCode: 2023,
        field: "shortGUIDs", remedy: "Leave some of the \(Limits.sharedZonesPerUser) zones first.")
}
