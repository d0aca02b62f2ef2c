package import NacreCloudStorage
package import NacreCloudWire

/// The record types of a container in one environment. The registry holds them for all processes.
package struct Schema: Hashable, Sendable {
    /// The number of its changes; 0 before its first type.
    package var version: Int64
    package var types: [String: RecordTypeDefinition]
    /// The clients whose saves may add types and fields in development.
    package var justInTime = JustInTime.native
    /// The numbers of its roles, by name. A role keeps its number, and a number is never used twice.
    package var roles: [String: Int64] = [:]
    /// The number of the next role.
    var nextRole: Int64 = 1
    /// The number of changes by administrators in its history.
    package var changes: Int64 = 0
    /// The number of the next index.
    package var nextIndex: Int64 = 1
    /// There are records from before the first type: a new type may have some that lack rows in its indexes.
    var hasOlderRecords = false
    /// The webhooks of the container in the environment, by their IDs: each commit has the schema at hand, so that a
    /// database without webhooks pays nothing for them.
    package var webhooks: [String: Webhook] = [:]
    /// The bytes of its version's entry. Comparing them tells whether the schema changed, without decoding.
    package var entry: [UInt8] = []
    /// The users' roles looked up so far. They belong to this version: granting or revoking one makes a new version.
    var assignments = AssignmentMemory()

    package init(version: Int64 = 0, types: [String: RecordTypeDefinition] = [:]) {
        self.version = version
        self.types = types
    }

    /// The numbers of all indexes that are made.
    package var indexes: Set<IndexID> { Set(types.values.flatMap(\.indexes).map(\.index)) }

    /// Returns an existing type. Users' records have one from the beginning.
    package func definition(of type: String) -> RecordTypeDefinition? {
        guard type == UserRecord.type else { return types[type] }
        return types[type] ?? UserRecord.definition
    }
}

/// The clients whose saves may add types and fields that a development schema lacks.
///
/// CloudKit: the framework's saves do, those of its web API do not; see `docs/decisions/schemas.md`.
package enum JustInTime: String, Hashable, Sendable, Codable, CaseIterable {
    /// Clients of the framework, which knows the type of every value.
    case native
    /// All clients. A web client's value that does not say its type has the one that its JSON shows.
    case all
}

package struct RecordTypeDefinition: Hashable, Sendable, Codable {
    package var name: String
    /// The fields by name. System fields are here under their schema names once they are indexed.
    package var fields: [String: FieldDefinition]
    /// nil: CloudKit's default grants.
    private(set) var ownGrants: Grants?
    /// nil: there are none.
    private var madePairs: [PairIndex]?
    /// The names of the refused pairs; nil: there are none.
    private var unwantedPairs: [String]?
    /// nil: there are none.
    private var madeSubscriptions: [String]?

    package init(name: String, fields: [String: FieldDefinition] = [:]) {
        self.name = name
        self.fields = fields
    }

    /// Returns the beginning of a type that a schema lacks. CloudKit: the type of shares has fields of its own.
    static func new(_ name: String) -> RecordTypeDefinition {
        name == ShareType.name ? ShareType.definition : RecordTypeDefinition(name: name)
    }

    /// The permissions of the security roles for its records in the public database.
    package var grants: Grants {
        get { ownGrants ?? .defaults(of: name) }
        set { ownGrants = newValue == .defaults(of: name) ? nil : newValue }
    }

    /// The indexes of two fields that are made, in the order in which they came.
    package var pairs: [PairIndex] {
        get { madePairs ?? [] }
        set { madePairs = newValue.isEmpty ? nil : newValue }
    }

    /// The names of indexes of two fields that queries may not have made.
    package var refusedPairs: Set<String> {
        get { Set(unwantedPairs ?? []) }
        set { unwantedPairs = newValue.isEmpty ? nil : newValue.sorted() }
    }

    /// The kinds of query subscriptions that were made in development, named by the changes that they fire on, such as
    /// `create,delete`. CloudKit: production accepts the kinds that were deployed.
    package var subscribed: Set<String> {
        get { Set(madeSubscriptions ?? []) }
        set { madeSubscriptions = newValue.isEmpty ? nil : newValue.sorted() }
    }

    /// All indexes that are made.
    package var indexes: [IndexDefinition] { fields.values.flatMap(\.indexes) + pairs.map(\.definition) }

    /// Whether an index is made.
    package var hasIndex: Bool { !pairs.isEmpty || fields.values.contains(where: \.isIndexed) }

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
    /// Whether filters may name it.
    package var isQueryable: Bool
    /// Whether sorts may name it.
    package var isSortable: Bool
    /// Whether searches for words look into it. nil: true if it has an index of words.
    private var searchable: Bool?
    /// The index of its values; nil: no query has needed one. See
    /// `docs/decisions/queries-indexes.md`.
    package var values: IndexDefinition?
    /// The index of its words; nil: no query has needed one.
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

    /// Whether an index of the field is made.
    var isIndexed: Bool { values != nil || tokens != nil }

    package var isSearchable: Bool {
        get { searchable ?? (tokens != nil) }
        set {
            searchable = newValue ? true : nil
            if !newValue { tokens = nil }
        }
    }
}

/// An index that is made. Every save writes its rows. Queries use it once the rows of older records exist too.
package struct IndexDefinition: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable {
        case building
        case usable
    }

    package var id: Int64
    package var state: State
    /// Whether a walk wrote its rows for older records: a zone without that walk may lack some. nil means false.
    package var isBuilt: Bool?
    /// The time at which it was requested, in seconds since 2001; nil until its schema is written.
    package var made: Double?
    /// The query that needed it, in words. nil: no query did, or its text was too long to be kept.
    package var query: String?
    /// nil means false.
    private var pinned: Bool?

    /// Whether it stays even if no query uses it.
    package var isPinned: Bool {
        get { pinned ?? false }
        set { pinned = newValue ? true : nil }
    }

    package init(id: Int64, state: State) {
        self.id = id
        self.state = state
    }

    /// Makes an index that is still to be built.
    /// - Parameter query: the query that needs it, in words.
    package init(id: Int64, for query: String?) {
        self.init(id: id, state: .building)
        self.query = query.flatMap { $0.utf8.count <= Self.queryBytes ? $0 : nil }
    }

    /// The most bytes of a query's words to keep. On this server: a type can have some thousand indexes in one entry.
    private static let queryBytes = 200

    package var index: IndexID { IndexID(rawValue: id) }
}

extension FieldType: Codable {}
