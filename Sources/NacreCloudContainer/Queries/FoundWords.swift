package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// The texts of records in fields with an index of words.
struct SearchedTexts: Sendable {
    private struct Text: Sendable {
        let record: String
        let field: String
        let value: FieldValue
    }

    private var texts: [Text] = []
    /// The bytes of all texts, as UTF-8.
    package private(set) var bytes = 0
    /// On this server: the bytes of text that are split on the request's own thread, in a millisecond or two.
    static let shortBytes = 16 * 1024

    /// Takes the texts that operations set.
    package init(of items: [ModifyBatch.Item], by schema: Schema) {
        var fields: [String: [String]] = [:]
        for item in items {
            guard !item.operation.type.isDelete, let type = item.operation.change.recordType else { continue }
            let searched = fields[type] ?? schema.searchedFields(of: type)
            fields[type] = searched
            for field in searched { add(item.operation.change.set[field], of: item.name, field) }
        }
    }

    /// Takes the texts of records as they are.
    package init(of records: [StoredRecord], by schema: Schema) {
        for record in records where record.isLive {
            for field in schema.searchedFields(of: record.row.type) { add(record.content.fields[field], of: record.row.name, field) }
        }
    }

    private mutating func add(_ value: FieldValue?, of record: String, _ field: String) {
        switch value {
        case .string(let text): bytes += text.utf8.count
        case .stringList(let list): bytes += list.reduce(0) { $0 + $1.utf8.count }
        default: return
        }
        guard let value else { return }
        texts.append(Text(record: record, field: field, value: value))
    }

    /// Finds the words. Yields its thread every few milliseconds.
    @concurrent
    package func words() async -> FoundWords {
        var found = FoundWords()
        for text in texts where found.add(text.value, of: text.record, text.field) { await Task.yield() }
        return found
    }
}

/// The words of texts, found before a transaction, because other writes wait for the work in it.
package struct FoundWords: Sendable {
    private struct Text: Sendable {
        let value: FieldValue
        let keys: SortedKeys
    }

    /// texts[recordName][fieldName]
    private var texts: [String: [String: [Text]]] = [:]
    package private(set) var count = 0

    /// On this server: the number of words found without yielding, in some milliseconds.
    private static let atOnce = 5000

    /// - Returns: whether it is time to yield: `atOnce` more words were found.
    fileprivate mutating func add(_ value: FieldValue, of record: String, _ field: String) -> Bool {
        let keys = SearchWords.keys(of: value)
        texts[record, default: [:]][field, default: []].append(Text(value: value, keys: keys))
        let turns = count / Self.atOnce
        count += keys.count
        return count / Self.atOnce > turns
    }

    package mutating func add(_ others: FoundWords) {
        count += others.count
        texts.merge(others.texts) { own, others in own.merging(others) { $0 + $1 } }
    }

    /// Returns the keys of a value's words, found before or now.
    package func keys(of value: FieldValue, in field: String, of record: String) -> SortedKeys {
        texts[record]?[field]?.first { $0.value.hasSameTexts(as: value) }?.keys ?? SearchWords.keys(of: value)
    }
}

/// The bound on text whose words are found and wait to be written.
final class WordRoom: Sendable {
    private let taken = Locked(0)

    /// - Returns: whether there is room. The caller gives the bytes back.
    package func take(_ bytes: Int) -> Bool {
        taken.withLock { taken in
            guard taken + bytes <= Limits.foundTextBytes else { return false }
            taken += bytes
            return true
        }
    }

    package func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}

extension Schema {
    /// Returns the fields of a type that have an index of words.
    func searchedFields(of type: String) -> [String] {
        types[type]?.fields.compactMap { name, field in field.isEncrypted || field.tokens == nil ? nil : name } ?? []
    }
}

extension FieldValue {
    /// Whether both are the same text or texts, byte by byte. In Swift, a composed and a decomposed letter are equal.
    func hasSameTexts(as other: FieldValue) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)): ByteOrder.compare(left, right) == 0
        case (.stringList(let left), .stringList(let right)):
            left.count == right.count && zip(left, right).allSatisfy { ByteOrder.compare($0, $1) == 0 }
        default: false
        }
    }
}

extension [ModifyBatch.Item] {
    /// Returns the number of index rows that saves may write: one for each index of a record's type, but for words.
    package func indexRows(by schema: Schema) -> Int {
        var ofTypes: [String: Int] = [:]
        var count = 0
        for item in self where !item.operation.type.isDelete {
            guard let type = item.operation.change.recordType else { continue }
            let ofType = ofTypes[type] ?? schema.types[type].map { $0.fields.values.count { $0.values != nil } + $0.pairs.count } ?? 0
            ofTypes[type] = ofType
            count += ofType
        }
        return count
    }
}
