import NacreCloudWire
import NacreRandom

/// Notes as records, and queries for them: a few values each, so that many notes match and many are equal.
enum NoteForm {
    static let recordType = "Asked"
    static let shelfField = "shelf"
    static let rankField = "rank"
    static let textField = "text"
    private static let versionField = "version"
    private static let shelves: UInt64 = 4
    private static let ranks: UInt64 = 60
    private static let words = "abcdefghijklmnopqrstuvwxyz".map { "word\($0)" }
    private static let wordsOfNote = 3

    static func note(_ version: Int64, using random: inout SeededRandom) -> NoteLog.Note {
        NoteLog.Note(
            version: version, shelf: Int64(random.next() % shelves), rank: Int64(random.next() % ranks),
            words: (0..<wordsOfNote).map { _ in word(using: &random) })
    }

    private static func word(using random: inout SeededRandom) -> String { words[Int(random.next() % UInt64(words.count))] }

    static func fields(of note: NoteLog.Note) -> RecordFields {
        [
            versionField: .int64(note.version), shelfField: .int64(note.shelf), rankField: .int64(note.rank),
            textField: .string(note.words.joined(separator: " ")),
        ]
    }

    /// Parses a record.
    /// - Throws: `Violation` for a record that no client can have saved.
    static func told(_ record: Record) throws(Violation) -> NoteLog.Told {
        guard case .int64(let version)? = record.fields[versionField], case .int64(let shelf)? = record.fields[shelfField],
            case .int64(let rank)? = record.fields[rankField], case .string(let text)? = record.fields[textField],
            record.recordType == recordType, record.fields.count == 4
        else {
            throw Violation(.wrongContent, "\(record.recordName) is not as anybody saved it")
        }
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        return NoteLog.Told(record.recordName, NoteLog.Note(version: version, shelf: shelf, rank: rank, words: words))
    }

    /// Returns a random query. The queries need different indexes: one field, another, a pair, words, all records.
    static func question(using random: inout SeededRandom) -> NoteQuestion {
        let sort = random.happens(onceIn: 2) ? NoteQuestion.Sort.rising : .falling
        let shelf = Int64(random.next() % shelves)
        let rank = Int64(random.next() % ranks)
        return switch random.next() % 6 {
        case 0: NoteQuestion(shelf: shelf)
        case 1: NoteQuestion(shelf: shelf, rankAtLeast: rank, sort: sort)
        case 2: NoteQuestion(rankAtLeast: rank, sort: sort)
        case 3: NoteQuestion(word: word(using: &random), sort: sort)
        default: NoteQuestion(shelf: shelf, sort: sort)
        }
    }

    /// Queries that together return every note.
    static var everything: [NoteQuestion] {
        (0..<Int64(shelves)).flatMap { shelf in [nil, .rising, .falling].map { NoteQuestion(shelf: shelf, sort: $0) } }
    }

    static func query(_ question: NoteQuestion) -> Query {
        var filters: [QueryFilter] = []
        if let shelf = question.shelf { filters.append(QueryFilter(.equals, fieldName: shelfField, value: .int64(shelf))) }
        if let rank = question.rankAtLeast { filters.append(QueryFilter(.greaterThanOrEquals, fieldName: rankField, value: .int64(rank))) }
        if let word = question.word { filters.append(QueryFilter(.containsAllTokens, fieldName: textField, value: .string(word))) }
        let sorts = question.sort.map { [QuerySort(rankField, isAscending: $0 == .rising)] } ?? []
        return Query(recordType: recordType, filters: filters, sorts: sorts)
    }
}
