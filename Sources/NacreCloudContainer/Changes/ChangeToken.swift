package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The content of a change token. Clients see it sealed; only the server that gave it can read it.
///
/// A token holds the database and the zone's key, never the zone's name: a zone deleted and made again does not accept
/// an old token.
package enum ChangeToken: Hashable, Sendable {
    package struct OfZone: Hashable, Sendable {
        package var zone: ZoneAddress
        /// The view of the zone that the client follows.
        package var view: FeedView
        package var position: FeedPosition
        /// The zone's change number when this client began. The client never saw what was gone by then, and is not told
        /// of it.
        package var baseline: ChangeNumber
        /// The zone's change number when the token was given. A client in the middle of a zone has also seen changes up
        /// to here. If these were lost, its position means nothing.
        package var seen: ChangeNumber
        /// The zone's change number when the client began with a view of a share. Departures up to it are not told by
        /// this view. 0 in the owner's view.
        package var began = ChangeNumber.zero
    }

    package struct OfDatabase: Hashable, Sendable {
        package var database: DatabaseID
        package var position: ZoneFeedPosition
        package var baseline: Int64
        /// The database's change number when the token was given.
        package var seen: ChangeNumber
    }

    case zone(OfZone)
    case database(OfDatabase)
    /// A guest's positions in the views of shares of records, in their order, at least one. All are of one zone, seen
    /// at one time.
    case views([OfZone])

    private static let version: UInt8 = 2

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        switch self {
        case .zone(let token):
            writer.byte(1)
            writer.fixed(UInt64(bitPattern: token.zone.database.rawValue))
            writer.fixed(UInt64(bitPattern: token.zone.zone))
            writer.signed(token.view.rawValue)
            writer.write(token.position.number)
            writer.write(token.baseline)
            Self.write(token.position.name, to: &writer)
            writer.write(token.seen)
        case .database(let token):
            writer.byte(2)
            writer.fixed(UInt64(bitPattern: token.database.rawValue))
            writer.signed(token.position.seq)
            writer.signed(token.baseline)
            Self.write(token.position.name, to: &writer)
            writer.write(token.seen)
        case .views(let tokens):
            writer.byte(3)
            guard let first = tokens.first else { break }
            writer.fixed(UInt64(bitPattern: first.zone.database.rawValue))
            writer.fixed(UInt64(bitPattern: first.zone.zone))
            writer.write(first.seen)
            writer.number(UInt64(tokens.count))
            for token in tokens {
                writer.signed(token.view.rawValue)
                writer.write(token.position.number)
                writer.write(token.baseline)
                writer.write(token.began)
                Self.write(token.position.name, to: &writer)
            }
        }
        return writer.bytes
    }

    /// Returns nil for bytes that are no token.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let token = try? Self.read(&reader), reader.isAtEnd else { return nil }
        self = token
    }

    private static func read(_ reader: inout ByteReader) throws(MalformedBytes) -> ChangeToken {
        guard try reader.byte() == version else { throw MalformedBytes() }
        switch try reader.byte() {
        case 1:
            let database = DatabaseID(rawValue: Int64(bitPattern: try reader.fixed()))
            let zone = ZoneAddress(database: database, zone: Int64(bitPattern: try reader.fixed()))
            let view = FeedView(rawValue: try reader.signed())
            let number = try reader.changeNumber()
            let baseline = try reader.changeNumber()
            let position = FeedPosition(number, name: try name(&reader))
            return .zone(OfZone(zone: zone, view: view, position: position, baseline: baseline, seen: try reader.changeNumber()))
        case 2:
            let database = DatabaseID(rawValue: Int64(bitPattern: try reader.fixed()))
            let seq = try reader.signed()
            let baseline = try reader.signed()
            let position = ZoneFeedPosition(seq, name: try name(&reader))
            return .database(OfDatabase(database: database, position: position, baseline: baseline, seen: try reader.changeNumber()))
        case 3:
            let database = DatabaseID(rawValue: Int64(bitPattern: try reader.fixed()))
            let zone = ZoneAddress(database: database, zone: Int64(bitPattern: try reader.fixed()))
            let seen = try reader.changeNumber()
            var tokens: [OfZone] = []
            for _ in 0..<(try reader.count()) {
                let view = FeedView(rawValue: try reader.signed())
                let (number, baseline, began) = (try reader.changeNumber(), try reader.changeNumber(), try reader.changeNumber())
                tokens.append(
                    OfZone(
                        zone: zone, view: view, position: FeedPosition(number, name: try name(&reader)), baseline: baseline, seen: seen, began: began)
                )
            }
            if tokens.isEmpty { throw MalformedBytes() }
            return .views(tokens)
        default:
            throw MalformedBytes()
        }
    }

    private static func write(_ name: String?, to writer: inout ByteWriter) {
        writer.byte(name == nil ? 0 : 1)
        if let name { writer.string(name) }
    }

    private static func name(_ reader: inout ByteReader) throws(MalformedBytes) -> String? {
        try reader.byte() == 0 ? nil : try reader.string()
    }
}

extension Cloud {
    /// Opens a client's token; nil if it gives none. An empty text is none: observers of CloudKit disagree about it,
    /// and a client that wrongly counts as up to date never hears of its records.
    package func changeToken(_ text: String?) throws(ServerError) -> ChangeToken? {
        guard let text, !text.isEmpty else { return nil }
        guard let bytes = tokens.open(text), let token = ChangeToken(bytes) else { throw .unknownToken }
        return token
    }

    /// Returns the token behind everything that a zone has, for `getCurrentSyncToken`; nil for a zone without a feed,
    /// or one that does not exist.
    ///
    /// Ask for it before reading records: changes in between are then told twice, and never missed.
    package func currentSyncToken(of zoneID: ZoneID, in target: DatabaseTarget, by caller: Caller) async throws -> String? {
        guard !zoneID.isDefault, case .success = databaseVerdict(target, for: .changes, by: caller) else { return nil }
        guard let database = try? await database(holding: zoneID, target, for: .changes, by: caller), let requested = try? database.zone(zoneID)
        else { return nil }
        return try await stored(of: database.key) {
            try await self.store.read { transaction in
                do {
                    return try requested.find(transaction)
                } catch is ServerError {
                    return nil
                }
            }
        }.map { try shown($0).syncToken } ?? nil
    }
}

extension ChangeToken {
    /// Returns the token behind everything that these views of a zone have.
    package static func caughtUp(with zone: ZoneRow, views: [FeedView]) -> ChangeToken {
        ChangeToken(
            of: views.map { view in
                var token = OfZone.caughtUp(with: zone, view: view)
                if view != .owner { token.began = zone.number }
                return token
            })
    }

    /// - Parameter tokens: the tokens of the views of one zone.
    package init(of tokens: [OfZone]) {
        if tokens.count == 1, tokens[0].view == .owner { self = .zone(tokens[0]) } else { self = .views(tokens) }
    }

    /// The positions of a zone's token; nil for a database's.
    package var places: [OfZone]? {
        switch self {
        case .zone(let token): [token]
        case .views(let tokens): tokens
        case .database: nil
        }
    }
}

extension ChangeToken.OfZone {
    /// Returns the positions from which a reader of these views goes on. Views that are new to the reader are read from
    /// their start.
    /// - Parameter tokens: the reader's last positions; nil: the reader begins.
    /// - Returns: nil where a token no longer leads to every change since, or its view is no longer among `views`: what
    ///   was in that view cannot be told any more.
    package static func going(on tokens: [Self]?, in zone: ZoneRow, views: [FeedView], _ transaction: any ReadTransaction) throws -> [Self]? {
        for token in tokens ?? [] {
            guard views.contains(token.view), try token.isValid(for: zone, transaction) else { return nil }
        }
        return views.map { view in
            if let token = tokens?.first(where: { $0.view == view }) { return token }
            var token = start(of: zone, view: view)
            if view != .owner { token.began = zone.number }
            return token
        }
    }

    /// Returns the error of tokens that are not valid for a zone.
    static func refusal(of tokens: [Self]?, in zone: ZoneRow) -> ServerError {
        tokens?.first.map { $0.zone == zone.address } ?? true ? .tokenExpired : .tokenOfAnotherZone
    }

    /// Returns the token before everything, for a client that begins now.
    package static func start(of zone: ZoneRow, view: FeedView) -> Self {
        Self(zone: zone.address, view: view, position: .start, baseline: zone.number, seen: zone.number)
    }

    /// Whether the token still leads to every change since. It must be of this zone as it is, and not from a future
    /// that was lost. Its position must be behind every purged tombstone, unless the client began after those.
    package func isValid(for zone: ZoneRow, _ transaction: any ReadTransaction) throws -> Bool {
        guard self.zone == zone.address, position.number <= seen, try transaction.knows(seen, of: zone) else { return false }
        return baseline >= zone.forgotten || position.number > zone.forgotten || (position.number == zone.forgotten && position.name == nil)
    }

    /// Returns the token behind everything that the zone has.
    package static func caughtUp(with zone: ZoneRow, view: FeedView) -> Self {
        Self(zone: zone.address, view: view, position: FeedPosition(zone.number), baseline: .zero, seen: zone.number)
    }

    /// Returns the token behind a position, given at the zone's present change number. Past the baseline it holds
    /// nothing more, and one state of a zone gives one token.
    package func moved(to position: FeedPosition, in zone: ZoneRow) -> Self {
        var next = self
        next.position = position
        next.seen = zone.number
        if position.number > baseline || (position.number == baseline && position.name == nil) { next.baseline = .zero }
        return next
    }
}
