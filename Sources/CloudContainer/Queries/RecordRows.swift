import CloudWire

/// The rows by which a record stands in the indexes of its type.
enum IndexRows {
    /// A tombstone has none.
    static func entries(of record: StoredRecord, in type: RecordTypeDefinition) -> [IndexEntry] {
        guard record.isLive else { return [] }
        return type.fields.flatMap { name, field -> [IndexEntry] in
            guard let index = field.values?.index, let value = record.content.fields[name] else { return [] }
            return [IndexEntry(index: index, key: Array("\(value)".utf8))]
        }
    }
}
