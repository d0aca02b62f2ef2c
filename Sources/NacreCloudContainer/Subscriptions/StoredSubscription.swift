package import NacreCloudStorage
package import NacreCloudWire

/// A user's subscription as a database stores it, with the keys by which changes find it.
///
/// Three kinds of entries store it. The first is the subscription itself, under its user and ID. The second is its
/// position under the *term*, which says for what changes it may fire. The third counts the subscriptions of its term
/// and of its type or of the feeds (`countName`), and the fields that the latter look at. The cost of a change depends
/// on how many it may concern.
package struct StoredSubscription: Equatable, Sendable {
    package let user: String
    package let subscription: Subscription
    /// The name of the count that a commit reads once to learn whether it may concern a subscription.
    let countName: String
    package let term: SubscriptionTerm
    /// The type's fields that the subscription compares, shows or carries. A change keeps their values for it.
    package let fields: Set<String>

    /// - Parameters:
    ///   - shape: the checked query of a query subscription.
    ///   - zone: the zone of a zone subscription.
    package init(_ subscription: Subscription, of user: String, shape: QueryShape?, zone: ZoneAddress?) {
        self.user = user
        self.subscription = subscription
        if let shape {
            countName = SubscriptionCounts.type(shape.type.name)
            term = SubscriptionTerm(shape)
            let named = (subscription.notificationInfo?.fieldNames ?? []).union(shape.filters.flatMap(\.fields).map(\.name))
            fields = named.filter { SystemField(schemaName: $0) == nil && shape.type.fields[$0] != nil }
        } else {
            countName = SubscriptionCounts.feeds
            term = zone.map { .zone($0.zone) } ?? .database
            fields = []
        }
    }

    package var id: String { subscription.subscriptionID }

    /// Returns the entry's name: user, space, ID. User record names have no space.
    package static func key(_ user: String, _ id: String) -> String { "\(user) \(id)" }

    package var name: String { Self.key(user, id) }

    package func key(in database: DatabaseID) -> EntryKey { EntryKey(database, .subscription, name) }

    func termKey(in database: DatabaseID) -> EntryKey { EntryKey(database, .subscriptionTerm, "\(term.place) \(name)") }

    // MARK: As it is kept

    private static let version: UInt8 = 1

    package func row(in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.string(countName)
        term.write(to: &writer)
        writer.number(UInt64(fields.count))
        for field in fields.sorted() { writer.string(field) }
        writer.block(subscription.keptBytes)
        return EntryRow(key: key(in: database), value: writer.bytes)
    }

    package init(_ row: EntryRow) throws(StoreError) {
        do {
            var reader = ByteReader(row.value)
            guard let end = row.key.key.firstIndex(of: " "), try reader.byte() == Self.version else { throw MalformedBytes() }
            user = String(row.key.key[..<end])
            countName = try reader.string()
            term = try SubscriptionTerm(&reader)
            var fields: Set<String> = []
            for _ in 0..<(try reader.count()) { fields.insert(try reader.string()) }
            self.fields = fields
            subscription = try Subscription(kept: try reader.block())
        } catch {
            throw StoreError(.corrupt, "A subscription is malformed")
        }
    }
}

extension Subscription {
    /// The subscription as JSON of the wire, with exact times.
    package var keptBytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer, form: ValueForm(details: true, numbersAsStrings: false))
        return writer.finish()
    }

    fileprivate init(kept bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            return try Subscription(from: &reader)
        }
    }
}

/// The key under which a change finds subscriptions that it may fire. All that match one change are under few terms.
package enum SubscriptionTerm: Hashable, Sendable {
    /// The side of a bound on which a filter's values lie. Raw values are kept in rows: never change one.
    package enum Side: UInt8, Hashable, Sendable, CaseIterable {
        case below = 1
        case above = 2
    }

    /// Changes in any zone that has a feed.
    case database
    /// Changes in this zone.
    case zone(Int64)
    /// Changes of records of a type.
    case type(String)
    /// Changes of records of a type in which a field is equal to a value.
    case value(type: String, field: String, key: ValueKey)
    /// Changes of records of a type in which a field lies on one side of a value, or at it.
    case range(type: String, field: String, side: Side, bound: ValueKey)

    /// Takes the first filter for equality, or the first for one side of a value, or the type alone.
    package init(_ shape: QueryShape) {
        for isEquality in [true, false] {
            for filter in shape.filters {
                guard let field = filter.fields.first, let key = ValueKey(filter.filter.value), key.bytes != nil else { continue }
                switch filter.filter.comparator {
                case .equals where isEquality: self = .value(type: shape.type.name, field: field.name, key: key)
                case .lessThan where !isEquality, .lessThanOrEquals where !isEquality:
                    self = .range(type: shape.type.name, field: field.name, side: .below, bound: key)
                case .greaterThan where !isEquality, .greaterThanOrEquals where !isEquality:
                    self = .range(type: shape.type.name, field: field.name, side: .above, bound: key)
                default: continue
                }
                return
            }
        }
        self = .type(shape.type.name)
    }

    /// The field by whose value a change finds the subscription.
    package var field: String? {
        switch self {
        case .value(_, let field, _), .range(_, let field, _, _): field
        case .database, .zone, .type: nil
        }
    }

    /// Whether each change of the type finds the subscription, whatever the record holds.
    package var isOpen: Bool { if case .type = self { true } else { false } }

    /// The term's position among entries. For a range, the order of the names is that of the bounds.
    package var place: String {
        if case .range(_, _, _, let bound) = self { "\(key) \(bound.orderText ?? "")" } else { key }
    }

    /// The names of entries between which all subscriptions stand that a change may fire. This is the term of the
    /// change's own value.
    package var scan: (after: String, before: String) {
        guard case .range(_, _, let side, let bound) = self else { return ("\(key) ", "\(key)!") }
        let kind = "\(key) \(bound.orderText?.prefix(1) ?? "")"
        // A space, which ends a value, sorts before "!", and that before the continuation of a longer value.
        return side == .below ? (place, "\(kind)~") : (kind, "\(place)!")
    }

    /// A short hash of the term; for a range, of the range without its bound. Two terms with one key do no harm,
    /// because each subscription that is found is checked against the change.
    package var key: String {
        var writer = ByteWriter()
        if case .range(let type, let field, let side, _) = self {
            Self.write(type, field, side, to: &writer)
        } else {
            write(to: &writer)
        }
        var hashes: [UInt64] = [0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4]
        for index in hashes.indices {
            var hash = hashes[index]
            for byte in writer.bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
            hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
            hashes[index] = hash ^ (hash >> 31)
        }
        return hashes.map { HexText.encode($0) }.joined()
    }

    package func write(to writer: inout ByteWriter) {
        switch self {
        case .database: writer.byte(1)
        case .zone(let zone):
            writer.byte(2)
            writer.signed(zone)
        case .type(let type):
            writer.byte(3)
            writer.string(type)
        case .value(let type, let field, let key):
            writer.byte(4)
            writer.string(type)
            writer.string(field)
            writer.block(key.bytes ?? [])
        case .range(let type, let field, let side, let bound):
            Self.write(type, field, side, to: &writer)
            writer.block(bound.bytes ?? [])
        }
    }

    private static func write(_ type: String, _ field: String, _ side: Side, to writer: inout ByteWriter) {
        writer.byte(5)
        writer.string(type)
        writer.string(field)
        writer.byte(side.rawValue)
    }

    package init(_ reader: inout ByteReader) throws(MalformedBytes) {
        switch try reader.byte() {
        case 1: self = .database
        case 2: self = .zone(try reader.signed())
        case 3: self = .type(try reader.string())
        case 4: self = .value(type: try reader.string(), field: try reader.string(), key: try ValueKey(bytes: try reader.block()))
        case 5:
            let (type, field) = (try reader.string(), try reader.string())
            guard let side = Side(rawValue: try reader.byte()) else { throw MalformedBytes() }
            self = .range(type: type, field: field, side: side, bound: try ValueKey(bytes: try reader.block()))
        default: throw MalformedBytes()
        }
    }
}

extension ValueKey {
    /// Bytes of a value that its position in the order has. On this server: longer values that begin alike are all
    /// checked against a change.
    private static let orderedBytes = 32

    /// A text that sorts as values of one kind do; values near each other may share it. nil for a place: no order.
    fileprivate var orderText: String? {
        switch self {
        case .integer(let number): "n" + Self.orderText(Double(number))
        case .double(let number): "n" + Self.orderText(number)
        case .timestamp(let seconds): "s" + Self.orderText(seconds)
        case .text(let text): "t" + HexText.encode(Array(text.bytes.prefix(Self.orderedBytes)))
        case .reference(let name): "r" + HexText.encode(Array(name.bytes.prefix(Self.orderedBytes)))
        case .bytes(let bytes): "b" + HexText.encode(Array(bytes.prefix(Self.orderedBytes)))
        case .place: nil
        }
    }

    private static func orderText(_ number: Double) -> String {
        // Makes -0 equal to 0.
        let bits = (number + 0).bitPattern
        return HexText.encode(bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    }

    /// The key in binary form. Equal keys have equal bytes; nil for a place, by which no subscription is found.
    fileprivate var bytes: [UInt8]? {
        var writer = ByteWriter()
        switch self {
        case .integer(let number):
            writer.byte(1)
            writer.signed(number)
        case .double(let number):
            writer.byte(2)
            writer.double(number)
        case .timestamp(let seconds):
            writer.byte(3)
            // Makes -0 equal to 0.
            writer.double(seconds + 0)
        case .text(let text):
            writer.byte(4)
            writer.bytes += text.bytes
        case .reference(let name):
            writer.byte(5)
            writer.bytes += name.bytes
        case .bytes(let bytes):
            writer.byte(6)
            writer.bytes += bytes
        case .place: return nil
        }
        return writer.bytes
    }

    fileprivate init(bytes: [UInt8]) throws(MalformedBytes) {
        var reader = ByteReader(bytes)
        let kind = try reader.byte()
        let rest = Array(bytes.dropFirst())
        switch kind {
        case 1: self = .integer(try reader.signed())
        case 2: self = .double(try reader.double())
        case 3: self = .timestamp(try reader.double())
        case 4: self = .text(ExactText(String(decoding: rest, as: UTF8.self)))
        case 5: self = .reference(ExactText(String(decoding: rest, as: UTF8.self)))
        case 6: self = .bytes(rest)
        default: throw MalformedBytes()
        }
    }
}
