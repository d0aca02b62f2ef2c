import CloudWire

/// Where records stand in the indexes of their type: a pure function of the record and the definition.
enum IndexRows {
    /// The rows of a live record, each once; a tombstone has none.
    static func entries(of record: StoredRecord, in type: RecordTypeDefinition) -> [IndexEntry] {
        guard record.isLive else { return [] }
        var entries: [IndexEntry] = []
        for (name, field) in type.fields where !field.isEncrypted {
            let value = record.value(of: name)
            if let values = field.values {
                var keys = value.map { IndexKey.keys(of: $0, as: field.type) } ?? []
                if keys.isEmpty, field.isSortable { keys = [IndexKey.none] }
                entries += keys.map { IndexEntry(index: values.index, key: $0) }
            }
            if let tokens = field.tokens, let value {
                entries += Set(SearchWords.of(value)).map { IndexEntry(index: tokens.index, key: IndexKey.text($0.utf8).key) }
            }
        }
        return entries
    }
}

/// The words by which a value is found.
enum SearchWords {
    /// On this server: words of a text beyond `Limits.wordsPerField` are not found by.
    static func of(_ value: FieldValue) -> ArraySlice<String> {
        switch value {
        case .string(let text): Words.of(text).prefix(Limits.wordsPerField)
        case .stringList(let texts): texts.flatMap(Words.of).prefix(Limits.wordsPerField)
        default: []
        }
    }
}

extension StoredRecord {
    /// A field, or a system field by its schema name; nil where the record has no value.
    func value(of name: String) -> FieldValue? {
        name.hasPrefix("___") ? SystemField(rawValue: name).flatMap(value(of:)) : content.fields[name]
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
