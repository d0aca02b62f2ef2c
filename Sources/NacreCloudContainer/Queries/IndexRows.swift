import NacreCloudWire

/// Where records stand in the indexes of their type: pure functions of records and the definition.
struct IndexRows: Sendable {
    /// Those that have an index.
    private let fields: [(name: String, definition: FieldDefinition)]
    private let pairs: [(index: IndexID, first: (name: String, type: FieldType), second: (name: String, type: FieldType))]

    init(_ type: RecordTypeDefinition) {
        fields = type.fields.compactMap { name, field in
            field.isEncrypted || !field.isIndexed ? nil : (name, field)
        }
        pairs = type.pairs.compactMap { pair in
            guard let first = type.fields[pair.first]?.type, let second = type.fields[pair.second]?.type else { return nil }
            return (pair.definition.index, (pair.first, first), (pair.second, second))
        }
    }

    /// The rows of a live record, each once; a tombstone has none.
    func entries(of record: StoredRecord) -> [IndexEntry] {
        guard record.isLive else { return [] }
        let ofPairs = pairs.flatMap { index, first, second in
            Self.entries(of: record.value(of: first.name), first.type, record.value(of: second.name), second.type, in: index)
        }
        return fields.flatMap { name, definition in
            let value = record.value(of: name)
            let ofValue = Self.entries(ofValue: value, in: definition)
            guard let tokens = definition.tokens, let value else { return ofValue }
            return ofValue + WordKeys.of(value).map { IndexEntry(index: tokens.index, key: $0) }
        } + ofPairs
    }

    /// The rows that a change takes away, and those that it brings. Costs little for fields that stay as they are.
    ///
    /// - Parameters:
    ///   - before: the live record; nil: there was none. So is `after`.
    ///   - words: those of both, as far as they were found before.
    func changes(
        from before: StoredRecord?, to after: StoredRecord?, _ words: FoundWords = FoundWords()
    ) -> (gone: [IndexEntry], come: [IndexEntry]) {
        var gone: [IndexEntry] = []
        var come: [IndexEntry] = []
        for (name, definition) in fields {
            let old = before?.value(of: name)
            let new = after?.value(of: name)
            if before != nil, after != nil, Self.areSurelySame(old, new) { continue }
            let left = before == nil ? [] : Self.entries(ofValue: old, in: definition)
            let right = after == nil ? [] : Self.entries(ofValue: new, in: definition)
            gone += left.without(right)
            come += right.without(left)
            guard let tokens = definition.tokens else { continue }
            let record = (after ?? before)?.row.name ?? ""
            let oldWords = old.map { words.keys(of: $0, in: name, of: record) } ?? []
            let newWords = new.map { words.keys(of: $0, in: name, of: record) } ?? []
            gone += WordKeys.without(newWords, oldWords).map { IndexEntry(index: tokens.index, key: $0) }
            come += WordKeys.without(oldWords, newWords).map { IndexEntry(index: tokens.index, key: $0) }
        }
        for (index, first, second) in pairs {
            let (old, oldOrder) = (before?.value(of: first.name), before?.value(of: second.name))
            let (new, newOrder) = (after?.value(of: first.name), after?.value(of: second.name))
            if before != nil, after != nil, Self.areSurelySame(old, new), Self.areSurelySame(oldOrder, newOrder) { continue }
            let left = before == nil ? [] : Self.entries(of: old, first.type, oldOrder, second.type, in: index)
            let right = after == nil ? [] : Self.entries(of: new, first.type, newOrder, second.type, in: index)
            gone += left.without(right)
            come += right.without(left)
        }
        return (gone, come)
    }

    /// Of a live record in an index of two fields: one for each value of the first, none where it has none.
    private static func entries(
        of first: FieldValue?, _ firstType: FieldType, _ second: FieldValue?, _ secondType: FieldType, in index: IndexID
    ) -> [IndexEntry] {
        guard let first else { return [] }
        let order = second.flatMap { IndexKey.key(of: $0, as: secondType) } ?? IndexKey.none
        return IndexKey.keys(of: first, as: firstType).map { IndexEntry(index: index, key: IndexKey.prefix($0) + order) }
    }

    /// Whether two values have the same rows, as far as that shows at once. Texts compare by their bytes, as they do in an index: to Swift, a
    /// letter composed and decomposed is one.
    private static func areSurelySame(_ left: FieldValue?, _ right: FieldValue?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (.some(let left), .some(let right)) where left.hasSameTexts(as: right): true
        case (.int64(let left), .int64(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.timestamp(let left), .timestamp(let right)): left == right
        default: false
        }
    }

    /// In the index of values.
    /// - Parameter value: a live record's; nil: it has none.
    private static func entries(ofValue value: FieldValue?, in field: FieldDefinition) -> [IndexEntry] {
        guard let values = field.values else { return [] }
        var keys = value.map { IndexKey.keys(of: $0, as: field.type) } ?? []
        if keys.isEmpty, field.isSortable { keys = [IndexKey.none] }
        return keys.map { IndexEntry(index: values.index, key: $0) }
    }
}

extension [IndexEntry] {
    /// In their order.
    fileprivate func without(_ others: [IndexEntry]) -> [IndexEntry] {
        if isEmpty || others.isEmpty { return self }
        let others = Set(others)
        return filter { !others.contains($0) }
    }
}

/// The words by which a value is found: all that it has. See `docs/decisions/every-word-is-found.md`.
enum SearchWords {
    static func of(_ value: FieldValue) -> [String] {
        switch value {
        case .string(let text): Words.of(text)
        case .stringList(let texts): texts.flatMap(Words.of)
        default: []
        }
    }
}

extension SystemField {
    /// nil for an app's own field, which its first letter tells.
    init?(schemaName name: String) {
        guard name.utf8.first == UInt8(ascii: "_") else { return nil }
        self.init(rawValue: name)
    }
}

extension StoredRecord {
    /// A field, or a system field by its schema name; nil where the record has no value.
    func value(of name: String) -> FieldValue? {
        SystemField(schemaName: name).map(value(of:)) ?? content.fields[name]
    }

    func value(of field: SystemField) -> FieldValue? {
        switch field {
        case .recordName: .reference(Reference(recordName: row.name, action: .none))
        case .parent: row.parent.map { .reference(Reference(recordName: $0, action: .none)) }
        case .share: nil
        case .createdUserRecordName: .reference(Reference(recordName: content.created.userRecordName, action: .none))
        case .modifiedUserRecordName: .reference(Reference(recordName: content.modified.userRecordName, action: .none))
        case .createdTimestamp: .timestamp(content.created.timestamp)
        case .modifiedTimestamp: .timestamp(content.modified.timestamp)
        }
    }
}
