package import CloudWire

extension Cloud {
    /// `changes/zone`: a page of what changed in each zone since its token. Each zone is one snapshot and costs one or two calls of the store.
    ///
    /// Each record shows once, in its newest state, at its last change. A commit is never split between pages, unless it is larger
    /// than `Limits.changesPerUnsplitCommit`; the page then says that it ends in the middle.
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
        let token = try item.syncToken.map { try zoneToken($0) }
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
    private func zoneToken(_ text: String) throws(ServerError) -> ChangeToken.OfZone {
        guard let bytes = tokens.open(text), case .zone(let token) = ChangeToken(bytes) else { throw .unknownToken }
        return token
    }

    static func pageLimit(_ asked: Int?) throws(ServerError) -> Int {
        guard let asked, asked != 0 else { return Limits.resultsPerPage }
        guard asked > 0 else {
            throw .badValue("resultsLimit", "invalid results limit", remedy: "Ask for 1 to \(Limits.resultsPerPage) results, or leave it out.")
        }
        return min(asked, Limits.resultsPerPage)
    }
}

/// One page of a zone's feed, with the token after it.
struct FeedPage: Sendable {
    private(set) var records: [StoredRecord]
    private(set) var token: ChangeToken.OfZone
    private(set) var moreComing: Bool
    private(set) var isMidCommit = false
    private(set) var clientChangeToken: [UInt8]?

    init(after token: ChangeToken.OfZone, of zone: ZoneRow, limit: Int, _ transaction: any ReadTransaction) throws {
        var entries = try transaction.feed(
            of: zone.address, view: token.view, after: token.position, through: nil, baseline: token.baseline, limit: limit)
        self.token = ChangeToken.OfZone.caughtUp(with: zone, view: token.view)
        clientChangeToken = zone.clientChangeToken
        moreComing = false
        if entries.count == limit, let last = entries.last {
            let rest = try Self.rest(of: last, after: token, in: zone, room: Limits.changesPerUnsplitCommit - 1, transaction)
            entries.append(contentsOf: rest.entries)
            isMidCommit = rest.isCut
            let end = entries.last ?? last
            let position = FeedPosition(end.feed.place.number, name: rest.isCut ? end.record.name : nil)
            if rest.isCut || position.number < zone.number {
                moreComing = true
                self.token = token.moved(to: position)
            }
        }
        records = try entries.map { try StoredRecord($0.record, in: zone.address) }
    }

    /// What else belongs to the commit of a page's last row.
    private static func rest(
        of last: FeedEntry, after token: ChangeToken.OfZone, in zone: ZoneRow, room: Int, _ transaction: any ReadTransaction
    ) throws -> (entries: [FeedEntry], isCut: Bool) {
        let number = last.feed.place.number
        let entries = try transaction.feed(
            of: zone.address, view: token.view, after: FeedPosition(number, name: last.record.name), through: number,
            baseline: token.baseline, limit: room + 1)
        return entries.count > room ? (Array(entries.prefix(room)), true) : (entries, false)
    }

    /// The page as it is answered.
    /// - Parameters:
    ///   - types: only records of these types, or all when nil.
    func results(types: [String]?, keys: [String]?) -> [RecordResult] {
        records.compactMap { stored in
            if let types, !types.contains(stored.row.type) { return nil }
            guard stored.isLive else {
                return .deleted(Tombstone(recordName: stored.row.name, recordType: stored.row.type))
            }
            var record = stored.record
            record.fields = record.fields.only(keys)
            return .record(record)
        }
    }
}
