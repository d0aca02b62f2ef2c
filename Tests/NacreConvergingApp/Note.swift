import CloudKit
import Foundation

/// A note of the app: two sets that only grow. Any two versions merge by their unions, so that no save ever takes back
/// what another one brought.
struct Note: Codable, Sendable {
    /// The content of a note, as a record has it.
    struct Content: Codable, Equatable, Sendable {
        var words: Set<String> = []
        /// Words that were crossed out.
        var struck: Set<String> = []

        init() {}

        init(_ record: CKRecord) {
            words = Set(record["words"] as? [String] ?? [])
            struck = Set(record["struck"] as? [String] ?? [])
        }

        mutating func merge(_ other: Content) {
            words.formUnion(other.words)
            struck.formUnion(other.struck)
        }

        func isPart(of other: Content) -> Bool { words.isSubset(of: other.words) && struck.isSubset(of: other.struck) }
    }

    var content = Content()
    /// The system fields of the server's version.
    var system: Data?
    var isUnsent = false
    /// Whether the note is to be deleted.
    var isGone = false

    func record(_ recordID: CKRecord.ID) -> CKRecord {
        let record = system.flatMap(Self.unarchived) ?? CKRecord(recordType: "Note", recordID: recordID)
        // The server makes no field of an empty list.
        for (field, list) in [("words", content.words), ("struck", content.struck)] where !list.isEmpty { record[field] = list.sorted() }
        return record
    }

    static func archived(_ record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    private static func unarchived(_ data: Data) -> CKRecord? {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        coder.requiresSecureCoding = true
        return CKRecord(coder: coder)
    }
}
