package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `changes/zone`: returns a page of the changes in each zone since its token. All zones are one snapshot, which
    /// costs a few calls of the store.
    ///
    /// Each record shows once, in its newest state, at its last change. For the framework a commit is never split
    /// between pages, unless it is larger than `Limits.changesPerUnsplitCommit` or the page than `Limits.pageBytes`.
    /// Web clients never get more than they asked for. A page that ends in the middle of a commit says so.
    ///
    /// Once the pages of some zones have `Limits.pageBytes`, those of the others are empty, and say that there is more.
    /// All are empty for a request that wants tokens only.
    package func zoneChanges(
        _ request: ChangesZoneRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> ChangesZoneResponse {
        let database = try await database(target, for: .changes, by: caller)
        if request.zones.count > Limits.zonesPerRequest {
            throw ServerError.tooManyItems(request.zones.count, limit: Limits.zonesPerRequest, field: "zones")
        }
        if let fault = RequestShape.fault(ofZones: request.zones.map(\.zoneID), field: "zones", in: database.key, by: caller) { throw fault }
        let named = try await requested(request.zones.map(\.zoneID), target, for: .changes, by: caller)
        let items = zip(request.zones, named).map { item, zone in Result { () throws(ServerError) in try asked(item, of: zone.get()) } }
        let valid = items.successes()
        let room = request.extension.wantsTokenOnly ? 0 : Limits.pageBytes
        let pages = zip(valid, try await pages(of: valid, room: room)).map { asked, page in page.map { (asked: asked, feed: $0) } }
        var results: [ChangesZoneResponse.Result] = []
        for (zone, page) in zip(request.zones, items.replacingSuccesses(by: pages)) {
            do {
                let page = try page.get()
                results.append(.page(try shown(page.feed, of: page.asked)))
            } catch let error as ServerError {
                results.append(.failure(database.key.shown(zone.zoneID), error))
            }
        }
        return ChangesZoneResponse(zones: results)
    }

    /// Returns the kind of read for pages of these zones: bulk for a client that begins, or has not come to where it
    /// began.
    package func turnKind(of zones: [ChangesZoneRequest.Item]) -> Turn.Kind {
        let isUpToDate = zones.allSatisfy { item in
            guard let tokens = try? zoneTokens(item.syncToken) else { return false }
            return tokens.allSatisfy { $0.baseline == .zero }
        }
        return isUpToDate ? .short : .bulk
    }

    /// A zone of the request, checked as far as that needs no store.
    private struct AskedZone: Sendable {
        var zone: RequestedZone
        var item: ChangesZoneRequest.Item
        /// The client's position in each view that it followed; nil: it begins.
        var tokens: [ChangeToken.OfZone]?
        var limit: Int
    }

    private func asked(_ item: ChangesZoneRequest.Item, of zone: RequestedZone) throws(ServerError) -> AskedZone {
        if item.zoneID.isDefault { throw .noFeedInDefaultZone }
        if item.reverse { throw .notSupported("reverse", "reading changes in reverse") }
        return AskedZone(zone: zone, item: item, tokens: try zoneTokens(item.syncToken), limit: try Self.pageLimit(item.resultsLimit))
    }

    /// - Parameter room: the room for records on all pages; 0: the pages are empty, and their tokens stand where the
    ///   pages begin.
    /// - Returns: a page for each zone, in their order.
    private func pages(of asked: [AskedZone], room: Int) async throws -> [Result<FoundPage, ServerError>] {
        guard let database = asked.first?.zone.database else { return [] }
        do {
            return try await store.read { try Self.pages(of: asked, room: room, $0) }
        } catch let error as StoreError {
            // Damage in one zone must not keep the other zones from the client.
            guard error.code == .corrupt, asked.count > 1 else {
                failed(error.met(in: database.key, asked.count == 1 ? asked.first?.zone.name : nil))
                return asked.map { _ in .failure(ServerError(error)) }
            }
            var pages: [Result<FoundPage, ServerError>] = []
            for zone in asked { pages += try await self.pages(of: [zone], room: room) }
            return pages
        }
    }

    private static func pages(
        of asked: [AskedZone], room: Int, _ transaction: any ReadTransaction
    ) throws -> [Result<FoundPage, ServerError>] {
        var room = room
        var pages: [Int: Result<FoundPage, ServerError>] = [:]
        // Shared zones may be in several databases.
        for places in Dictionary(grouping: asked.indices, by: { asked[$0].zone.database.id }).values.sorted(by: { $0[0] < $1[0] }) {
            let found = try Self.pages(ofOneDatabase: places.map { asked[$0] }, room: &room, transaction)
            for (index, page) in zip(places, found) { pages[index] = page }
        }
        return asked.indices.compactMap { pages[$0] }
    }

    /// - Parameter room: the room for records on all pages of the answer.
    private static func pages(
        ofOneDatabase asked: [AskedZone], room: inout Int, _ transaction: any ReadTransaction
    ) throws -> [Result<FoundPage, ServerError>] {
        guard let database = asked.first?.zone.database else { return [] }
        let rows = try transaction.zones(in: database.id, named: asked.map(\.zone.name))
        // The names are distinct: the request was checked before.
        let named = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let feeds = try asked.map { asked -> Result<FollowedFeeds, ServerError> in
            let zone: ResolvedZone
            do {
                guard let found = try asked.zone.resolve(named[asked.zone.name], transaction) else {
                    return .failure(.zoneNotFound(asked.item.zoneID))
                }
                zone = found
            } catch let error as ServerError {
                return .failure(error)
            }
            let tokens = try ChangeToken.OfZone.going(on: asked.tokens, in: zone.row, views: zone.membership.views, transaction)
            guard let tokens else { return .failure(ChangeToken.OfZone.refusal(of: asked.tokens, in: zone.row)) }
            return .success(FollowedFeeds(zone: zone, tokens: tokens, limit: asked.limit))
        }
        let isWhole = database.caller.client.keepsCommitsWhole
        // The feeds of owners and participants of whole zones are read together, those of each guest apart.
        let (found, single) = (feeds.successes(), feeds.successes().compactMap(\.single))
        var pages = try FeedPage.read(single, room: &room, keepsCommitsWhole: isWhole, transaction)[...]
        let all = try found.map { feeds in
            if feeds.single != nil, let page = pages.popFirst() { return page }
            return try FeedPage.read(
                feeds.tokens, of: feeds.zone.row, limit: feeds.limit, room: &room, keepsCommitsWhole: isWhole, transaction)
        }
        let shown = zip(found, all).map { FoundPage(feed: $1, showing: $0.zone.showing) }
        return feeds.replacingSuccesses(by: shown.map(Result.success))
    }

    /// The feeds of a zone that the client follows, and its positions in them.
    private struct FollowedFeeds {
        var zone: ResolvedZone
        var tokens: [ChangeToken.OfZone]
        var limit: Int

        /// The owner's feed; nil where the client follows other views.
        var single: AskedFeed? {
            tokens.count == 1 && tokens[0].view == .owner ? AskedFeed(token: tokens[0], zone: zone.row, limit: limit) : nil
        }
    }

    /// A page, and the view that its caller has of the zone.
    private struct FoundPage: Sendable {
        var feed: FeedPage
        var showing: ShownRecords
    }

    private func shown(_ found: FoundPage, of asked: AskedZone) throws -> ChangesZoneResponse.Page {
        let (feed, showing) = (found.feed, found.showing)
        report(feed.records.filter(\.isDamaged), of: asked.zone.database.key, asked.item.zoneID)
        return ChangesZoneResponse.Page(
            zoneID: showing.zoneID, records: feed.results(by: showing, types: asked.item.desiredRecordTypes, keys: asked.item.desiredKeys),
            syncToken: try tokens.seal(ChangeToken(of: feed.tokens).bytes), moreComing: feed.moreComing, isMidCommit: feed.isMidCommit,
            clientChangeToken: feed.clientChangeToken)
    }

    /// Opens the token of a zone. CloudKit: tokens of databases and of zones are two kinds, and one is not taken for
    /// the other.
    private func zoneTokens(_ text: String?) throws(ServerError) -> [ChangeToken.OfZone]? {
        guard let token = try changeToken(text) else { return nil }
        guard let places = token.places else { throw .unknownToken }
        return places
    }

    static func pageLimit(_ asked: Int?) throws(ServerError) -> Int {
        guard let asked, asked != 0 else { return Limits.resultsPerPage }
        guard asked > 0 else {
            throw .badValue("resultsLimit", "invalid results limit", remedy: "Ask for 1 to \(Limits.resultsPerPage) results, or leave it out.")
        }
        return min(asked, Limits.resultsPerPage)
    }
}

extension Array {
    /// The values of the successes, in their order.
    fileprivate func successes<Success>() -> [Success] where Element == Result<Success, ServerError> {
        compactMap { try? $0.get() }
    }

    /// - Parameter results: the results of the successes, in their order.
    /// - Returns: these results and the failures, in the order of the array.
    fileprivate func replacingSuccesses<Success, Value>(by results: [Result<Value, ServerError>]) -> [Result<Value, ServerError>]
    where Element == Result<Success, ServerError> {
        var results = results[...]
        return map { $0.flatMap { _ in results.popFirst() ?? .failure(.internalError) } }
    }
}
