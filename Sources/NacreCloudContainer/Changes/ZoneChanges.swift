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
        let database = try await database(target, for: .changes, by: caller)
        if request.zones.isEmpty { throw ServerError.missing("zones") }
        if request.zones.count > Limits.zonesPerRequest {
            throw ServerError.tooManyItems(request.zones.count, limit: Limits.zonesPerRequest, field: "zones")
        }
        if let fault = RequestShape.fault(ofZones: request.zones.map(\.zoneID), field: "zones", in: database.key, by: caller) { throw fault }
        var results: [ChangesZoneResponse.Result] = []
        var room = Limits.pageBytes
        for item in request.zones {
            do {
                results.append(.page(try await page(of: item, in: database, room: &room)))
            } catch let error as ServerError {
                results.append(.failure(database.key.shown(item.zoneID), error))
            }
        }
        return ChangesZoneResponse(zones: results)
    }

    /// How much work pages of these zones are likely to be: much for a client that begins, or that has not come to where it began.
    package func lane(of zones: [ChangesZoneRequest.Item]) -> Turn.Lane {
        let isUpToDate = zones.allSatisfy { item in
            guard let token = try? zoneToken(item.syncToken) else { return false }
            return token.baseline == .zero
        }
        return isUpToDate ? .short : .bulk
    }

    private func page(
        of item: ChangesZoneRequest.Item, in database: CallerDatabase, room: inout Int
    ) async throws -> ChangesZoneResponse.Page {
        let requested = try database.zone(item.zoneID)
        if item.zoneID.isDefault { throw ServerError.noFeedInDefaultZone }
        if item.reverse { throw ServerError.notSupported("reverse", "reading changes in reverse") }
        let token = try zoneToken(item.syncToken)
        let limit = try Self.pageLimit(item.resultsLimit)
        let isFull = room <= 0
        let feed = try await stored(of: database.key, zone: item.zoneID) {
            try await self.store.read { transaction in
                guard let zone = try requested.find(transaction) else { throw ServerError.zoneNotFound(item.zoneID) }
                let from = token ?? .start(of: zone.row, view: zone.view)
                guard from.view == zone.view, try from.isValid(for: zone.row, transaction) else { throw ServerError.tokenExpired }
                if isFull { return FeedPage(unreadAfter: from, of: zone.row) }
                return try FeedPage(
                    after: from, of: zone.row, limit: limit, keepsCommitsWhole: database.caller.client.keepsCommitsWhole, transaction)
            }
        }
        room -= feed.bytes
        tell(feed.records.filter(\.isDamaged), of: database.key, item.zoneID)
        let showing = requested.showing
        return ChangesZoneResponse.Page(
            zoneID: showing.zoneID, records: feed.results(by: showing, types: item.desiredRecordTypes, keys: item.desiredKeys),
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
