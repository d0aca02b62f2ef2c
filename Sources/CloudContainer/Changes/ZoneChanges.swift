package import CloudWire

extension Cloud {
    /// `changes/zone`: a page of what changed in each zone since its token. Each zone is one snapshot and costs a few calls of the store.
    ///
    /// Each record shows once, in its newest state, at its last change. A commit is never split between pages, unless it is larger
    /// than `Limits.changesPerUnsplitCommit` or the page than `Limits.pageBytes`; the page then says that it ends in the middle.
    package func zoneChanges(
        _ request: ChangesZoneRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> ChangesZoneResponse {
        let key = try databaseVerdict(target, for: .changes, by: caller).get()
        if request.zones.isEmpty { throw ServerError.missing("zones") }
        if request.zones.count > Limits.zonesPerRequest {
            throw ServerError.tooManyItems(request.zones.count, limit: Limits.zonesPerRequest, field: "zones")
        }
        let database = try await databaseID(key)
        var results: [ChangesZoneResponse.Result] = []
        for item in request.zones {
            do {
                results.append(.page(try await page(of: item, in: database, key)))
            } catch let error as ServerError {
                results.append(.failure(item.zoneID, error))
            }
        }
        return ChangesZoneResponse(zones: results)
    }

    private func page(
        of item: ChangesZoneRequest.Item, in database: DatabaseID, _ key: DatabaseKey
    ) async throws -> ChangesZoneResponse.Page {
        if let fault = ownerVerdict(item.zoneID, in: key) { throw fault }
        if item.zoneID.isDefault { throw ServerError.noFeedInDefaultZone }
        if item.reverse { throw ServerError.notSupported("reverse", "reading changes in reverse") }
        let token = try zoneToken(item.syncToken)
        let limit = try Self.pageLimit(item.resultsLimit)
        let feed = try await stored {
            try await self.store.read { transaction in
                guard let zone = try transaction.zones(in: database, named: [item.zoneID.zoneName]).first else {
                    throw ServerError.zoneNotFound(item.zoneID)
                }
                let from = token ?? .start(of: zone, view: .owner)
                guard from.isValid(for: zone) else { throw ServerError.tokenExpired }
                return try FeedPage(after: from, of: zone, limit: limit, transaction)
            }
        }
        return ChangesZoneResponse.Page(
            zoneID: ZoneID(zoneName: item.zoneID.zoneName, ownerRecordName: key.owner),
            records: feed.results(types: item.desiredRecordTypes, keys: item.desiredKeys),
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
