package import NacreCloudWire

/// The record types of a container in one environment, as everybody agrees on them.
package struct Schema: Hashable, Sendable {
    /// How often it changed; 0 before its first type.
    package var version: Int64
    package var types: [String: RecordTypeDefinition]
    /// Whose saves bring types and fields in development.
    package var justInTime = JustInTime.native
    /// The roles that it declares, by name, with their numbers: a role keeps its own, and a number is given once.
    package var roles: [String: Int64] = [:]
    /// The number of the next role.
    var nextRole: Int64 = 1
    /// How many changes by administrators its history has had.
    var changes: Int64 = 0
    /// The number of the next index.
    var nextIndex: Int64 = 1
    /// Records from before the first type are there: a type that comes may have some, without rows in its indexes.
    var hasOlderRecords = false
    /// Its version's entry as it is kept: whether it changed shows without reading it.
    var entry: [UInt8] = []
    /// Who has which of its roles, as far as somebody asked. It is of this version: roles that are given or taken make another.
    var assignments = AssignmentMemory()

    package init(version: Int64 = 0, types: [String: RecordTypeDefinition] = [:]) {
        self.version = version
        self.types = types
    }

    /// The numbers of all indexes that are made.
    var indexes: Set<IndexID> { Set(types.values.flatMap(\.indexes).map(\.index)) }

    /// A type that there is; users' records have one from the beginning.
    func definition(of type: String) -> RecordTypeDefinition? {
        guard type == UserRecord.type else { return types[type] }
        return types[type] ?? UserRecord.definition
    }

    /// A type as saves find it: what is CloudKit's own of shares is there whatever a text says.
    func savedDefinition(of type: String) -> RecordTypeDefinition? {
        definition(of: type) ?? (type == ShareType.name ? ShareType.definition : nil)
    }
}

/// Whose saves may bring types and fields that a development schema lacks.
///
/// CloudKit: the framework's do, those of its web API do not; see `docs/decisions/web-clients-make-no-types.md`.
package enum JustInTime: String, Hashable, Sendable, Codable, CaseIterable {
    /// Those of the framework, which knows the type of every value.
    case native
    /// Everybody's, where a value says its type.
    case all
}

package struct RecordTypeDefinition: Hashable, Sendable, Codable {
    package var name: String
    /// By name. System fields stand here under their schema names once they are indexed.
    package var fields: [String: FieldDefinition]
    /// nil: CloudKit's default ones. So have types from before there were others.
    private(set) var ownGrants: Grants?
    /// nil: none.
    private var madePairs: [PairIndex]?
    /// By their names. nil: none.
    private var unwantedPairs: [String]?
    /// nil: none.
    private var madeSubscriptions: [String]?

    package init(name: String, fields: [String: FieldDefinition] = [:]) {
        self.name = name
        self.fields = fields
    }

    /// What the security roles may do with its records in the public database.
    package var grants: Grants {
        get { ownGrants ?? .defaults(of: name) }
        set { ownGrants = newValue == .defaults(of: name) ? nil : newValue }
    }

    /// Its indexes of two fields that are made, in the order in which they came.
    package var pairs: [PairIndex] {
        get { madePairs ?? [] }
        set { madePairs = newValue.isEmpty ? nil : newValue }
    }

    /// The names of indexes of two fields that no query gets made.
    package var refusedPairs: Set<String> {
        get { Set(unwantedPairs ?? []) }
        set { unwantedPairs = newValue.isEmpty ? nil : newValue.sorted() }
    }

    /// The kinds of query subscriptions that were made to its records in development: what they fire on, such as `create,delete`. CloudKit: production
    /// takes those that were deployed.
    var subscribed: Set<String> {
        get { Set(madeSubscriptions ?? []) }
        set { madeSubscriptions = newValue.isEmpty ? nil : newValue.sorted() }
    }

    /// All indexes that are made.
    var indexes: [IndexDefinition] { fields.values.flatMap(\.indexes) + pairs.map(\.definition) }

    /// Some index is made.
    var hasIndex: Bool { !pairs.isEmpty || fields.values.contains(where: \.isIndexed) }

    private enum CodingKeys: String, CodingKey {
        case name
        case fields
        case ownGrants = "grants"
        case madePairs = "pairs"
        case unwantedPairs = "refusedPairs"
        case madeSubscriptions = "subscriptions"
    }
}

package struct FieldDefinition: Hashable, Sendable, Codable {
    package var type: FieldType
    package var isEncrypted: Bool
    /// Filters may name it.
    package var isQueryable: Bool
    /// Sorts may name it.
    package var isSortable: Bool
    /// Searches for words look into it. nil: where it has an index of words, as in schemas from before indexes were made on demand.
    private var searchable: Bool?
    /// The index of its values; nil: no query has needed one. See `docs/decisions/indexes-are-made-when-a-query-needs-them.md`.
    package var values: IndexDefinition?
    /// The index of its words, likewise.
    package var tokens: IndexDefinition?

    package init(
        type: FieldType, isEncrypted: Bool = false, isQueryable: Bool = false, isSortable: Bool = false, values: IndexDefinition? = nil,
        tokens: IndexDefinition? = nil
    ) {
        self.type = type
        self.isEncrypted = isEncrypted
        self.isQueryable = isQueryable
        self.isSortable = isSortable
        self.values = values
        self.tokens = tokens
    }

    /// Some index of it is made.
    var isIndexed: Bool { values != nil || tokens != nil }

    package var isSearchable: Bool {
        get { searchable ?? (tokens != nil) }
        set {
            searchable = newValue ? true : nil
            if !newValue { tokens = nil }
        }
    }
}

/// One index that is made: every save keeps its rows from then on; queries use it once the rows of older records are there too.
package struct IndexDefinition: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable {
        case building
        case usable
    }

    package var id: Int64
    package var state: State
    /// Its rows of older records came by a walk: a zone that no walk has been through may lack some. nil as false.
    package var isBuilt: Bool?
    /// When it was asked for, in seconds since 2001. nil: a build of the server that did not note it made it, and its schema has not changed since.
    package var made: Double?
    /// The query that asked for it, in words. nil: no query did, or it said too much to be kept.
    package var query: String?
    /// nil as false.
    private var pinned: Bool?

    /// It stays, whether queries go by it or not.
    package var isPinned: Bool {
        get { pinned ?? false }
        set { pinned = newValue ? true : nil }
    }

    package init(id: Int64, state: State) {
        self.id = id
        self.state = state
    }

    /// One that is still to be built.
    /// - Parameter query: the one that asked for it, in words.
    init(id: Int64, for query: String?) {
        self.init(id: id, state: .building)
        self.query = query.flatMap { $0.utf8.count <= Self.queryBytes ? $0 : nil }
    }

    /// Bytes of a query in words that are kept. On this server: a type can have some thousand indexes, and is read whole.
    private static let queryBytes = 200

    package var index: IndexID { IndexID(rawValue: id) }
}

extension FieldType: Codable {}
