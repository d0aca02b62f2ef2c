import NacreCloudWire

/// The ways in which queries may use a field. CloudKit: the field options of its schema language.
package struct IndexOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let queryable = IndexOptions(rawValue: 1)
    package static let searchable = IndexOptions(rawValue: 2)
    package static let sortable = IndexOptions(rawValue: 4)

    /// The names of the options in schemas, in the order in which CloudKit exports them.
    package var names: [String] {
        let all: [(IndexOptions, String)] = [(.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE")]
        return all.filter { contains($0.0) }.map(\.1)
    }

    /// Reads the names of options; nil if a name is none.
    package init?(names: [String]) {
        self = []
        for name in names {
            guard let option = [IndexOptions.queryable, .searchable, .sortable].first(where: { $0.names == [name] }) else { return nil }
            insert(option)
        }
    }

    /// Returns the options of a field that comes with a save. CloudKit: seen in schemas exported from containers of
    /// Core Data; see `docs/decisions/schemas.md`.
    static func defaults(for shape: FieldShape) -> IndexOptions {
        if shape.isEncrypted { return [] }
        switch shape.type {
        case .string: return [.queryable, .searchable, .sortable]
        case .int64, .double, .timestamp, .location, .bytes: return [.queryable, .sortable]
        case .reference, .int64List, .doubleList, .timestampList, .referenceList: return .queryable
        case .stringList: return [.queryable, .searchable]
        case .asset, .bytesList, .locationList, .assetList, .unknownList: return []
        }
    }

    /// Returns the options that a field can have at all. CloudKit: assets and encrypted fields cannot be indexed, and
    /// only text has words.
    package static func possible(for shape: FieldShape) -> IndexOptions {
        if shape.isEncrypted { return [] }
        switch shape.type {
        case .string: return [.queryable, .searchable, .sortable]
        case .int64, .double, .timestamp, .location, .bytes, .reference: return [.queryable, .sortable]
        case .stringList: return [.queryable, .searchable]
        case .int64List, .doubleList, .timestampList, .bytesList, .locationList, .referenceList: return .queryable
        case .asset, .assetList, .unknownList: return []
        }
    }
}

extension FieldDefinition {
    package var options: IndexOptions {
        var options: IndexOptions = []
        if isQueryable { options.insert(.queryable) }
        if isSearchable { options.insert(.searchable) }
        if isSortable { options.insert(.sortable) }
        return options
    }

    /// Whether an index of the field is still under construction.
    package var isBuilding: Bool { indexes.contains { $0.state == .building } }

    package var hasIndex: Bool { !indexes.isEmpty }

    /// The indexes of the field that are made.
    package var indexes: [IndexDefinition] { [values, tokens].compactMap(\.self) }

    /// The field without its indexes.
    var withoutIndexes: FieldDefinition {
        var field = self
        for kind in IndexKind.allCases { field[kind] = nil }
        return field
    }

    /// Lets queries use the field in these ways and no others. Indexes that are still allowed stay. The only one that
    /// it makes replaces an existing index.
    ///
    /// An index that needs other rows than it has is replaced by one with a new number. The old rows stay, and queries
    /// ignore them. Becoming sortable is one of these changes: a sortable field has rows for records without a value
    /// too.
    package mutating func setOptions(_ options: IndexOptions, nextIndex: inout Int64) {
        let becomesSortable = options.contains(.sortable) && !isSortable
        let hadValues = values != nil
        isQueryable = options.contains(.queryable)
        isSortable = options.contains(.sortable)
        isSearchable = options.contains(.searchable)
        if becomesSortable || !allows(.values) { values = nil }
        if hadValues { makeIndex(.values, nextIndex: &nextIndex) }
    }

    /// Whether the field's options allow this kind of index.
    package func allows(_ kind: IndexKind) -> Bool {
        switch kind {
        case .values: isQueryable || isSortable
        case .tokens: isSearchable
        }
    }

    package subscript(kind: IndexKind) -> IndexDefinition? {
        get { kind == .values ? values : tokens }
        set { if kind == .values { values = newValue } else { tokens = newValue } }
    }

    /// Makes an index that the field allows and lacks. The rows of existing records are still to be built.
    /// - Parameter query: the query that needs it, in words.
    package mutating func makeIndex(_ kind: IndexKind, for query: String? = nil, nextIndex: inout Int64) {
        guard allows(kind), self[kind] == nil else { return }
        self[kind] = IndexDefinition(id: nextIndex, for: query)
        nextIndex += 1
    }
}

/// The kinds of indexes of a field. Raw values are the order in which the indexes of a field are numbered.
package enum IndexKind: Int, Hashable, Sendable, CaseIterable {
    case values
    case tokens
}

/// An index of one field, made or not.
package struct FieldIndex: Hashable, Sendable {
    package var type: String
    /// The name of the field in the schema.
    package var field: String
    package var kind: IndexKind
}

extension Schema {
    /// Makes the indexes among these that are allowed and missing.
    package mutating func make(_ indexes: some Collection<FieldIndex>, for query: String? = nil) {
        let inOrder = indexes.sorted { ($0.type, $0.field, $0.kind.rawValue) < ($1.type, $1.field, $1.kind.rawValue) }
        for index in inOrder { types[index.type]?.fields[index.field]?.makeIndex(index.kind, for: query, nextIndex: &nextIndex) }
    }
}
