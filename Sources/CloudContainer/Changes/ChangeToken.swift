import CloudWire

/// What a change token says once it is opened. Clients see it sealed; only the server that gave it can read it.
///
/// It binds the database and the zone's key, never its name: a zone deleted and made again does not answer an old token.
enum ChangeToken: Hashable, Sendable {
    struct OfZone: Hashable, Sendable {
        var zone: ZoneAddress
        /// Whose view of the zone.
        var view: FeedView
        var incarnation: Int64
        var position: FeedPosition
        /// Where the zone stood when this client began: it never saw what was gone by then, and is not told of it.
        var baseline: ChangeNumber
    }

    struct OfDatabase: Hashable, Sendable {
        var database: DatabaseID
        var incarnation: Int64
        var position: ZoneFeedPosition
        var baseline: Int64
    }

    case zone(OfZone)
    case database(OfDatabase)

    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        switch self {
        case .zone(let token):
            writer.byte(1)
            writer.fixed(UInt64(bitPattern: token.zone.database.rawValue))
            writer.fixed(UInt64(bitPattern: token.zone.zone))
            writer.signed(token.view.rawValue)
            writer.signed(token.incarnation)
            Self.write(token.position.number, to: &writer)
            Self.write(token.baseline, to: &writer)
            Self.write(token.position.name, to: &writer)
        case .database(let token):
            writer.byte(2)
            writer.fixed(UInt64(bitPattern: token.database.rawValue))
            writer.signed(token.incarnation)
            writer.signed(token.position.seq)
            writer.signed(token.baseline)
            Self.write(token.position.name, to: &writer)
        }
        return writer.bytes
    }

    /// nil for bytes that are no token of this version.
    init?(_ bytes: [UInt8]) {
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
            let incarnation = try reader.signed()
            let number = try changeNumber(&reader)
            let baseline = try changeNumber(&reader)
            let position = FeedPosition(number, name: try name(&reader))
            return .zone(OfZone(zone: zone, view: view, incarnation: incarnation, position: position, baseline: baseline))
        case 2:
            let database = DatabaseID(rawValue: Int64(bitPattern: try reader.fixed()))
            let incarnation = try reader.signed()
            let seq = try reader.signed()
            let baseline = try reader.signed()
            let position = ZoneFeedPosition(seq, name: try name(&reader))
            return .database(OfDatabase(database: database, incarnation: incarnation, position: position, baseline: baseline))
        default:
            throw MalformedBytes()
        }
    }

    private static func write(_ number: ChangeNumber, to writer: inout ByteWriter) {
        writer.signed(number.incarnation)
        writer.signed(number.seq)
    }

    private static func changeNumber(_ reader: inout ByteReader) throws(MalformedBytes) -> ChangeNumber {
        ChangeNumber(incarnation: try reader.signed(), seq: try reader.signed())
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
    /// What a client's token says; nil where it gives none. See `docs/decisions/an-empty-token-is-no-token.md`.
    func changeToken(_ text: String?) throws(ServerError) -> ChangeToken? {
        guard let text, !text.isEmpty else { return nil }
        guard let token = tokens.open(text).flatMap(ChangeToken.init) else { throw .unknownToken }
        return token
    }
}

extension ChangeToken.OfZone {
    /// Before everything, for a client that begins now.
    static func start(of zone: ZoneRow, view: FeedView) -> Self {
        Self(zone: zone.address, view: view, incarnation: zone.incarnation, position: .start, baseline: zone.number)
    }

    /// Whether the token still leads to every change since: of this zone as it is, not from a future that was lost, and from after every
    /// tombstone that is purged. A client that began after those never needs them.
    func isValid(for zone: ZoneRow) -> Bool {
        self.zone == zone.address && incarnation == zone.incarnation && position.number <= zone.number
            && (baseline >= zone.forgotten || position.number > zone.forgotten || (position.number == zone.forgotten && position.name == nil))
    }

    /// The token after everything that the zone has.
    static func caughtUp(with zone: ZoneRow, view: FeedView) -> Self {
        Self(zone: zone.address, view: view, incarnation: zone.incarnation, position: FeedPosition(zone.number), baseline: .zero)
    }

    /// The token after a place. Past the baseline it says nothing more, and one state of a zone gives one token.
    func moved(to position: FeedPosition) -> Self {
        var next = self
        next.position = position
        if position.number > baseline || (position.number == baseline && position.name == nil) { next.baseline = .zero }
        return next
    }
}
