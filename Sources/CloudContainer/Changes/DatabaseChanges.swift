package import CloudWire

extension Cloud {
    /// `changes/database`: which zones changed since the token. One snapshot; two calls of the store, three when zones are gone.
    ///
    /// A zone that was deleted and made again shows as changed: its old token is refused as expired, and so its client begins anew.
    package func databaseChanges(
        _ request: ChangesDatabaseRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> ChangesDatabaseResponse {
        let key = try databaseVerdict(target, for: .changes, by: caller).get()
        let database = try await databaseID(key)
        let token = try databaseToken(request.syncToken)
        let limit = try Self.pageLimit(request.resultsLimit)
        let page = try await stored {
            try await self.store.read { transaction in
                let row = try transaction.databases([database]).first ?? DatabaseRow(id: database, key: key, incarnation: 1, lastSeq: 0)
                let from = token ?? .start(of: row)
                guard from.isValid(for: row) else { throw ServerError.tokenExpired }
                return try ZoneFeedPage(after: from, of: row, limit: limit, transaction)
            }
        }
        return ChangesDatabaseResponse(
            zones: page.zones.map { zone in
                .init(zoneID: ZoneID(zoneName: zone.name, ownerRecordName: key.owner), deletion: zone.state.deletion)
            },
            syncToken: try tokens.seal(ChangeToken.database(page.token).bytes), moreComing: page.moreComing)
    }

    private func databaseToken(_ text: String?) throws(ServerError) -> ChangeToken.OfDatabase? {
        switch try changeToken(text) {
        case .database(let token): token
        case .zone: throw .unknownToken
        case nil: nil
        }
    }
}

/// One page of a database's feed of zones, with the token after it.
struct ZoneFeedPage: Sendable {
    private(set) var zones: [ZoneRow]
    private(set) var token: ChangeToken.OfDatabase
    private(set) var moreComing: Bool

    init(after token: ChangeToken.OfDatabase, of database: DatabaseRow, limit: Int, _ transaction: any ReadTransaction) throws {
        let found = try transaction.zoneFeed(in: database.id, after: token.position, limit: limit + 1)
        let rows = found.prefix(limit)
        self.token = .caughtUp(with: database)
        moreComing = found.count > limit
        if moreComing, let last = rows.last {
            self.token = token.moved(to: ZoneFeedPosition(last.feedSeq, name: last.name))
        }
        let gone = Dictionary(rows.filter { $0.state != .live }.map { ($0.name, $0.feedSeq) }, uniquingKeysWith: max)
        let again = gone.isEmpty ? [] : Set(try transaction.zones(in: database.id, named: Array(gone.keys)).map(\.name))
        zones = rows.filter { zone in
            zone.state == .live || !again.contains(zone.name) && gone[zone.name] == zone.feedSeq && zone.feedSeq > token.baseline
        }
    }
}

extension ChangeToken.OfDatabase {
    static func start(of database: DatabaseRow) -> Self {
        Self(database: database.id, incarnation: database.incarnation, position: .start, baseline: database.lastSeq)
    }

    static func caughtUp(with database: DatabaseRow) -> Self {
        Self(database: database.id, incarnation: database.incarnation, position: ZoneFeedPosition(database.lastSeq), baseline: 0)
    }

    /// Whether the token still leads to every change since: zones that went after it are not forgotten, or went before its client began.
    func isValid(for row: DatabaseRow) -> Bool {
        database == row.id && incarnation == row.incarnation && position.seq <= row.lastSeq
            && (baseline >= row.forgottenSeq || position.seq > row.forgottenSeq || (position.seq == row.forgottenSeq && position.name == nil))
    }

    func moved(to position: ZoneFeedPosition) -> Self {
        var next = self
        next.position = position
        if position.seq > baseline { next.baseline = 0 }
        return next
    }
}

extension ZoneRow.State {
    var deletion: ZoneDeletionReason? {
        switch self {
        case .live: nil
        case .deleted: .deleted
        case .purged: .purged
        case .encryptedDataReset: .encryptedDataReset
        }
    }
}
