import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// An index that is made, and the query that needed it.
package struct MadeIndex: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case values
        case words
        /// An index of two fields.
        case pair
    }

    package var recordType: String
    /// The field's name in the schema; `first+second` for an index of two fields.
    package var field: String
    package var kind: Kind
    /// Whether each element or word has a row of its own for a save to write. Otherwise a record has one row.
    package var hasManyRows: Bool
    package var isUsable: Bool
    package var isPinned: Bool
    /// The time at which it was requested; nil: not known.
    package var made: Timestamp?
    /// The query that needed it, in words; nil: no query did, or its text was too long to be kept.
    package var query: String?
    /// The last day with a recorded query that could use it; nil: there is none.
    package var lastUsed: Timestamp?

    package init(_ definition: IndexDefinition, of field: String, in type: String, _ kind: Kind, hasManyRows: Bool) {
        recordType = type
        self.field = field
        self.kind = kind
        self.hasManyRows = hasManyRows
        isUsable = definition.state == .usable
        isPinned = definition.isPinned
        made = definition.made.map(Timestamp.init(secondsSince2001:))
        query = definition.query
    }

    /// The cost of a save, for people.
    package var cost: String {
        switch kind {
        case .words: "a row a word"
        case .values, .pair: hasManyRows ? "a row an element" : "a row a record"
        }
    }
}

extension RecordTypeDefinition {
    /// All indexes that are made, with their numbers, in the order of their fields.
    package var madeIndexes: [(id: IndexID, index: MadeIndex)] {
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

extension Schemas {
    /// Returns the indexes of a container's schema that are made, in the order of their types and fields.
    package func madeIndexes(of container: String, _ environment: DatabaseKey.Environment) async throws -> [MadeIndex] {
        try await registry.requireContainer(container)
        let now = registry.clock()
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
