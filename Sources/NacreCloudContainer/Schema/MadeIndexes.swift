package import NacreCloudWire

/// An index that is made, and why.
package struct MadeIndex: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case values
        case words
        /// Of two fields.
        case pair
    }

    package var recordType: String
    /// As the schema names it; of two fields `first+second`.
    package var field: String
    package var kind: Kind
    /// Each element or word of a value has a row of its own: so many rows has a save to write. Otherwise it is one row a record.
    package var hasManyRows: Bool
    package var isUsable: Bool
    package var isPinned: Bool
    /// When it was asked for. nil: nobody noted it.
    package var made: Timestamp?
    /// The query that asked for it, in words. nil: none did, or it said too much to be kept.
    package var query: String?
    /// The last day on which a query could go by it that is still recorded. nil: none is.
    package var lastUsed: Timestamp?

    init(_ definition: IndexDefinition, of field: String, in type: String, _ kind: Kind, hasManyRows: Bool) {
        recordType = type
        self.field = field
        self.kind = kind
        self.hasManyRows = hasManyRows
        isUsable = definition.state == .usable
        isPinned = definition.isPinned
        made = definition.made.map(Timestamp.init(secondsSince2001:))
        query = definition.query
    }

    /// For people: what it costs a save.
    package var cost: String {
        switch kind {
        case .words: "a row a word"
        case .values, .pair: hasManyRows ? "a row an element" : "a row a record"
        }
    }
}

extension RecordTypeDefinition {
    /// All indexes that are made, with their numbers, in the order of their fields.
    var madeIndexes: [(id: IndexID, index: MadeIndex)] {
        var made: [(IndexID, MadeIndex)] = []
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            for kind in IndexKind.allCases {
                guard let definition = field[kind] else { continue }
                let isOfWords = kind == .tokens
                made.append(
                    (
                        definition.index,
                        MadeIndex(definition, of: name, in: self.name, isOfWords ? .words : .values, hasManyRows: isOfWords || field.type.isList)
                    ))
            }
        }
        for pair in pairs {
            let hasManyRows = fields[pair.first]?.type.isList == true
            made.append((pair.definition.index, MadeIndex(pair.definition, of: pair.name, in: name, .pair, hasManyRows: hasManyRows)))
        }
        return made
    }
}

extension Registry {
    /// The indexes of a container's schema that are made, in the order of their types and fields.
    package func madeIndexes(of container: String, _ environment: DatabaseKey.Environment) async throws -> [MadeIndex] {
        try await requireContainer(container)
        let now = clock()
        return try await read(of: container, environment) { known, transaction in
            var used: [IndexID: Timestamp] = [:]
            let rows = try transaction.entries(in: known.database, .recordedQuery, after: nil, limit: Limits.recordedQueriesKept).living(at: now)
            for row in rows {
                guard let expires = row.expires else { continue }
                let noted = Timestamp(secondsSince2001: expires.secondsSince2001 - Limits.recordedQuerySeconds)
                for index in known.schema.indexes(for: try RecordedQueryEntry(row).query, of: container) {
                    used[index] = max(used[index] ?? noted, noted)
                }
            }
            return known.schema.types.values.sorted { $0.name < $1.name }.flatMap(\.madeIndexes).map { id, index in
                var index = index
                index.lastUsed = used[id]
                return index
            }
        }
    }
}
