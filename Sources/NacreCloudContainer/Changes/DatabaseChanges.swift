package import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `changes/database`: returns the zones that changed since the token. One snapshot; two calls of the store, three
    /// when zones are gone.
    ///
    /// A zone that was deleted and made again shows as changed. Its old token is refused as expired, and its client
    /// begins anew.
    ///
    /// - Parameter database: the caller's database, opened for its changes.
    package func databaseChanges(_ request: ChangesDatabaseRequest, in database: CallerDatabase) async throws -> ChangesDatabaseResponse {
        let (key, id) = (database.key, database.id)
        let token = try databaseToken(request.syncToken)
        let limit = try Self.pageLimit(request.resultsLimit)
        let page = try await stored(of: key) {
            try await self.store.read { transaction in
                let row = try transaction.databases([id]).first ?? DatabaseRow(id: id, key: key, run: Run.none, lastSeq: 0)
                let from = token ?? .start(of: row)
                guard try from.isValid(for: row, transaction) else { throw ServerError.tokenExpired }
                return try ZoneFeedPage(after: from, of: row, limit: limit, transaction)
            }
        }
        return ChangesDatabaseResponse(
            zones: page.zones.compactMap { zone in
                key.zoneID(ofRow: zone).map { .init(zoneID: $0, deletion: zone.state.deletion) }
            },
            syncToken: try tokens.seal(ChangeToken.database(page.token).bytes), moreComing: page.moreComing)
    }

    private func databaseToken(_ text: String?) throws(ServerError) -> ChangeToken.OfDatabase? {
        switch try changeToken(text) {
        case .database(let token): token
        case .zone, .views: throw .unknownToken
        case nil: nil
        }
    }
}

/// One page of a database's feed of zones, with the token behind it.
struct ZoneFeedPage: Sendable {
    package private(set) var zones: [ZoneRow]
    package private(set) var token: ChangeToken.OfDatabase
    package private(set) var moreComing: Bool

    package init(after token: ChangeToken.OfDatabase, of database: DatabaseRow, limit: Int, _ transaction: any ReadTransaction) throws {
        let found = try transaction.zoneFeed(in: database.id, after: token.position, limit: limit + 1)
        let rows = found.prefix(limit)
        self.token = .caughtUp(with: database)
        moreComing = found.count > limit
        if moreComing, let last = rows.last {
            self.token = token.moved(to: ZoneFeedPosition(last.feedSeq, name: last.name), in: database)
        }
        let gone = Dictionary(rows.filter { $0.state != .live }.map { ($0.name, $0.feedSeq) }, uniquingKeysWith: max)
        let again = gone.isEmpty ? [] : Set(try transaction.zones(in: database.id, named: Array(gone.keys)).map(\.name))
        zones = rows.filter { zone in
            zone.state == .live || !again.contains(zone.name) && gone[zone.name] == zone.feedSeq && zone.feedSeq > token.baseline
        }
    }
}

extension ChangeToken.OfDatabase {
    package static func start(of database: DatabaseRow) -> Self {
        Self(database: database.id, position: .start, baseline: database.lastSeq, seen: database.number)
    }

    static func caughtUp(with database: DatabaseRow) -> Self {
        Self(database: database.id, position: ZoneFeedPosition(database.lastSeq), baseline: 0, seen: database.number)
    }

    /// Whether the token still leads to every change since. It must not be from a future that was lost. No zone that
    /// went after it may be forgotten, unless the zone went before the client began.
    package func isValid(for row: DatabaseRow, _ transaction: any ReadTransaction) throws -> Bool {
        guard database == row.id, position.seq <= seen.seq, try transaction.knows(seen, of: row) else { return false }
        return baseline >= row.forgottenSeq || position.seq > row.forgottenSeq || (position.seq == row.forgottenSeq && position.name == nil)
    }

    package func moved(to position: ZoneFeedPosition, in database: DatabaseRow) -> Self {
        var next = self
        next.position = position
        next.seen = database.number
        if position.seq > baseline { next.baseline = 0 }
        return next
    }
}

extension ZoneRow.State {
    package var deletion: ZoneDeletionReason? {
        switch self {
        case .live: nil
        case .deleted: .deleted
        case .purged: .purged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}
