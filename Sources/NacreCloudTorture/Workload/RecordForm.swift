import NacreCloudWire
import NacreRandom

/// The records that batches save.
enum RecordForm {
    static let recordType = "Torture"
    static let batchField = "batch"
    /// The same in every version of a record, so that a query for it finds each record that is there.
    static let shelfField = "shelf"
    static let shelves: UInt64 = 6
    private static let padField = "pad"
    /// Characters of the pad, about as many as in a note; they vary from batch to batch.
    private static let padLengths = 16..<240

    static func fields(of batch: BatchID, _ record: RecordKey) -> RecordFields {
        [batchField: .int64(Int64(batch.rawValue)), shelfField: .int64(shelf(of: record)), padField: .string(pad(batch, record))]
    }

    static func shelf(of record: RecordKey) -> Int64 {
        Int64(record.slot % Int(shelves))
    }

    /// Parses a record.
    /// - Throws: `Violation` for a record that no batch can have left.
    static func sight(_ record: Record) throws(Violation) -> History.Sight {
        guard let key = RecordKey(name: record.recordName) else {
            throw Violation(.wrongContent, "the zone has a record \(record.recordName), which nobody saved")
        }
        guard case .int64(let number)? = record.fields[batchField], let raw = UInt32(exactly: number), raw != 0, raw != .max else {
            throw Violation(.wrongContent, "\(key) has no batch")
        }
        let batch = BatchID(rawValue: raw)
        guard record.fields[padField] == .string(pad(batch, key)), record.fields[shelfField] == .int64(shelf(of: key)), record.fields.count == 3,
            record.recordType == recordType
        else {
            throw Violation(.wrongContent, "\(key) is not as \(batch) left it")
        }
        return History.Sight(key, Version(batch), tag: digest(of: record.recordChangeTag))
    }

    static func sight(_ tombstone: Tombstone) throws(Violation) -> History.Sight {
        guard let key = RecordKey(name: tombstone.recordName) else {
            throw Violation(.wrongContent, "\(tombstone.recordName) was deleted, which nobody saved")
        }
        return History.Sight(key, .deleted)
    }

    /// Returns a text that depends on batch and record, so that a remnant of another version shows.
    private static func pad(_ batch: BatchID, _ record: RecordKey) -> String {
        var random = SeededRandom(seed: UInt64(batch.rawValue) << 32 | UInt64(record.rawValue))
        let length = Int.random(in: padLengths, using: &random)
        return String(decoding: (0..<length).map { _ in UInt8(ascii: "a") + UInt8(random.next() % 26) }, as: UTF8.self)
    }

    /// FNV-1a in 64 bits; never 0, which stands for none. Two of a million tags collide once in 30 million histories.
    private static func digest(of tag: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in tag.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return max(hash, 1)
    }
}
