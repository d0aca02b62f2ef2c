package import NacreCloudWire

extension Cloud {
    /// `changes/zone`: a page of what changed in each zone since its token. Each zone is one snapshot and costs a few calls of the store.
    ///
    /// Each record shows once, in its newest state, at its last change. For the framework a commit is never split between pages, unless it is
    /// larger than `Limits.changesPerUnsplitCommit` or the page than `Limits.pageBytes`; web clients are never given more than they asked for.
    /// A page that ends in the middle of a commit says so. Once the pages of some zones have `Limits.pageBytes`, those of the others are empty, and say
    /// that there is more.
    package func zoneChanges(
        _ request: ChangesZoneRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> ChangesZoneResponse {
        let key = try databaseVerdict(target, for: .changes, by: caller).get()
        if request.zones.isEmpty { throw ServerError.missing("zones") }
        if request.zones.count > Limits.zonesPerRequest {
            throw ServerError.tooManyItems(request.zones.count, limit: Limits.zonesPerRequest, field: "zones")
        }
        if let fault = RequestShape.fault(ofZones: request.zones.map(\.zoneID), field: "zones", in: key, by: caller) { throw fault }
        let database = try await databaseID(key)
        var results: [ChangesZoneResponse.Result] = []
        var room = Limits.pageBytes
        for item in request.zones {
            do {
                results.append(.page(try await page(of: item, in: database, key, by: caller, room: &room)))
            } catch let error as ServerError {
                results.append(.failure(key.shown(item.zoneID), error))
            }
        }
        return ChangesZoneResponse(zones: results)
    }

    private func page(
        of item: ChangesZoneRequest.Item, in database: DatabaseID, _ key: DatabaseKey, by caller: Caller, room: inout Int
    ) async throws -> ChangesZoneResponse.Page {
        if let fault = ownerVerdict(item.zoneID, in: key, by: caller) { throw fault }
        if item.zoneID.isDefault { throw ServerError.noFeedInDefaultZone }
        if item.reverse { throw ServerError.notSupported("reverse", "reading changes in reverse") }
        let token = try zoneToken(item.syncToken)
        let limit = try Self.pageLimit(item.resultsLimit)
        let isFull = room <= 0
        let feed = try await stored(of: key, zone: item.zoneID) {
            try await self.store.read { transaction in
                guard let zone = try transaction.zones(in: database, named: [item.zoneID.zoneName]).first else {
                    throw ServerError.zoneNotFound(item.zoneID)
                }
                let from = token ?? .start(of: zone, view: .owner)
                guard try from.isValid(for: zone, transaction) else { throw ServerError.tokenExpired }
                if isFull { return FeedPage(unreadAfter: from, of: zone) }
                return try FeedPage(
                    after: from, of: zone, limit: limit, keepsCommitsWhole: caller.client.keepsCommitsWhole, transaction)
            }
        }
        room -= feed.bytes
        tell(feed.records.filter(\.isDamaged), of: key, item.zoneID)
        let zoneID = key.zoneID(item.zoneID.zoneName)
        return ChangesZoneResponse.Page(
            zoneID: zoneID, records: feed.results(in: zoneID, types: item.desiredRecordTypes, keys: item.desiredKeys),
            syncToken: try tokens.seal(ChangeToken.zone(feed.token).bytes), moreComing: feed.moreComing, isMidCommit: feed.isMidCommit,
            clientChangeToken: feed.clientChangeToken)
    }

    /// CloudKit: tokens of databases and of zones are two kinds, and one is not taken for the other.
    private func zoneToken(_ text: String?) throws(ServerError) -> ChangeToken.OfZone? {
        switch try changeToken(text) {
        case .zone(let token): token
        case .database: throw .unknownToken
        case nil: nil
        }
    }

    static func pageLimit(_ asked: Int?) throws(ServerError) -> Int {
        guard let asked, asked != 0 else { return Limits.resultsPerPage }
        guard asked > 0 else {
            throw .badValue("resultsLimit", "invalid results limit", remedy: "Ask for 1 to \(Limits.resultsPerPage) results, or leave it out.")
        }
        return min(asked, Limits.resultsPerPage)
    }
}
