package import NacreCloudStorage
package import NacreCloudWire

/// The rows of records in the indexes of their type, as pure functions of the records and the definition.
package struct IndexRows: Sendable {
    /// The fields that have an index.
    private let fields: [(name: String, definition: FieldDefinition)]
    private let pairs: [(index: IndexID, first: (name: String, type: FieldType), second: (name: String, type: FieldType))]

    package init(_ type: RecordTypeDefinition) {
        fields = type.fields.compactMap { name, field in
            field.isEncrypted || !field.isIndexed ? nil : (name, field)
        }
        pairs = type.pairs.compactMap { pair in
            guard let first = type.fields[pair.first]?.type, let second = type.fields[pair.second]?.type else { return nil }
            return (pair.definition.index, (pair.first, first), (pair.second, second))
        }
    }

    /// Returns the rows of a live record, each index once. A tombstone has none.
    package func keys(of record: StoredRecord) -> [IndexKeys] { changes(from: nil, to: record.isLive ? record : nil).come }

    /// Whether a live record has this row. Does not list all words of the record to find one.
    package func has(_ entry: IndexEntry, of record: StoredRecord) -> Bool {
        for (name, definition) in fields {
            if definition.values?.index == entry.index {
                return Self.keys(ofValue: record.value(of: name), in: definition).contains(entry.key)
            }
            if definition.tokens?.index == entry.index { return record.value(of: name).map { SearchWords.has(entry.key, in: $0) } ?? false }
        }
        for (index, first, second) in pairs where index == entry.index {
            return Self.keys(of: record.value(of: first.name), first.type, record.value(of: second.name), second.type).contains(entry.key)
        }
        return false
    }

    /// Returns the rows that a change removes and those that it adds, each index once. Unchanged fields cost little.
    ///
    /// - Parameters:
    ///   - before: the live record; nil: there was none. The same holds for `after`.
    ///   - words: the words of both, as far as they were found before.
    package func changes(
        from before: StoredRecord?, to after: StoredRecord?, _ words: FoundWords = FoundWords()
    ) -> (gone: [IndexKeys], come: [IndexKeys]) {
        var gone: [IndexKeys] = []
        var come: [IndexKeys] = []
        func add(_ index: IndexID, _ left: SortedKeys, _ right: SortedKeys) {
            let (less, more) = (left.subtracting(right), right.subtracting(left))
            if !less.isEmpty { gone.append(IndexKeys(index: index, keys: less)) }
            if !more.isEmpty { come.append(IndexKeys(index: index, keys: more)) }
        }
        for (name, definition) in fields {
            let old = before?.value(of: name)
            let new = after?.value(of: name)
            if before != nil, after != nil, Self.areSurelySame(old, new) { continue }
            if let values = definition.values {
                let left = before == nil ? SortedKeys() : Self.keys(ofValue: old, in: definition)
                add(values.index, left, after == nil ? SortedKeys() : Self.keys(ofValue: new, in: definition))
            }
            if let tokens = definition.tokens {
                let record = (after ?? before)?.row.name ?? ""
                func keys(_ value: FieldValue?) -> SortedKeys { value.map { words.keys(of: $0, in: name, of: record) } ?? SortedKeys() }
                add(tokens.index, keys(old), keys(new))
            }
        }
        for (index, first, second) in pairs {
            let (old, oldOrder) = (before?.value(of: first.name), before?.value(of: second.name))
            let (new, newOrder) = (after?.value(of: first.name), after?.value(of: second.name))
            if before != nil, after != nil, Self.areSurelySame(old, new), Self.areSurelySame(oldOrder, newOrder) { continue }
            let left = before == nil ? SortedKeys() : Self.keys(of: old, first.type, oldOrder, second.type)
            add(index, left, after == nil ? SortedKeys() : Self.keys(of: new, first.type, newOrder, second.type))
        }
        return (gone, come)
    }

    /// Returns the keys of a live record in an index of two fields: one for each value of the first field.
    private static func keys(of first: FieldValue?, _ firstType: FieldType, _ second: FieldValue?, _ secondType: FieldType) -> SortedKeys {
        guard let first else { return SortedKeys() }
        let order = second.flatMap { IndexKey.key(of: $0, as: secondType) } ?? IndexKey.none
        return SortedKeys(sorting: IndexKey.keys(of: first, as: firstType).map { IndexKey.prefix($0) + order })
    }

    /// Whether two values surely have the same rows. False if that does not show at once. Texts compare by their bytes,
    /// as in an index: in Swift, a composed and a decomposed letter are equal.
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

    /// Returns the keys in the index of values.
    /// - Parameter value: the value of a live record; nil: it has none.
    private static func keys(ofValue value: FieldValue?, in field: FieldDefinition) -> SortedKeys {
        let keys = SortedKeys(sorting: value.map { IndexKey.keys(of: $0, as: field.type) } ?? [])
        return keys.isEmpty && field.isSortable ? SortedKeys(IndexKey.none) : keys
    }
}

/// The words by which a search finds a value: all that it has. See `docs/decisions/queries-matching.md`.
package enum SearchWords {
    package static func of(_ value: FieldValue) -> [String] {
        switch value {
        case .string(let text): Words.of(text)
        case .stringList(let texts): texts.flatMap(Words.of)
        default: []
        }
    }

    /// Whether a value has a word under this key in an index of words.
    package static func has(_ key: [UInt8], in value: FieldValue) -> Bool {
        guard let word = IndexKey.textBytes(of: key) else { return false }
        let isPrefix = word.count >= Limits.indexKeyBytes
        return switch value {
        case .string(let text): Words.has(word, in: text, isPrefix: isPrefix)
        case .stringList(let texts): texts.contains { Words.has(word, in: $0, isPrefix: isPrefix) }
        default: false
        }
    }

    /// Returns the keys of a value's words in an index of words.
    package static func keys(of value: FieldValue) -> SortedKeys {
        SortedKeys(
            sorting: of(value).map { word in
                var word = word
                return word.withUTF8 { IndexKey.text($0).key }
            })
    }
}

extension SystemField {
    /// Makes the system field of a schema name; nil for an app's own field, which begins with a letter.
    package init?(schemaName name: String) {
        guard name.utf8.first == UInt8(ascii: "_") else { return nil }
        self.init(rawValue: name)
    }
}

extension StoredRecord {
    /// Returns a field, or a system field by its schema name; nil if the record has no value.
    package func value(of name: String) -> FieldValue? {
        SystemField(schemaName: name).map(value(of:)) ?? content.fields[name]
    }

    package func value(of field: SystemField) -> FieldValue? {
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
