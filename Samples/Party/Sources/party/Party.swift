import CloudKit

/// A party with its time and place. A record of the public database, which everybody reads.
struct Party {
    static let recordType: CKRecord.RecordType = "Party"

    /// The fields of its record.
    enum Key {
        static let title: CKRecord.FieldKey = "title"
        static let start: CKRecord.FieldKey = "start"
        static let place: CKRecord.FieldKey = "place"
        static let photo: CKRecord.FieldKey = "photo"
    }

    /// The record as it was last seen, with its change tag: a save fails if another user has saved it since.
    let record: CKRecord
    var title: String
    var start: Date
    var place: CLLocation
    var hasPhoto: Bool

    var id: CKRecord.ID { record.recordID }

    /// Makes a party of a record; nil for a record of another type.
    init?(_ record: CKRecord) {
        guard record.recordType == Self.recordType, let title = record[Key.title] as? String, let start = record[Key.start] as? Date,
            let place = record[Key.place] as? CLLocation
        else { return nil }
        self.record = record
        self.title = title
        self.start = start
        self.place = place
        hasPhoto = record[Key.photo] is CKAsset
    }
}

/// A clown hired for a party. The reference points from the clown to the party, so two users who hire at the same
/// time never conflict. With `.deleteSelf` clowns are deleted with their party.
struct Clown {
    static let recordType: CKRecord.RecordType = "Clown"

    enum Key {
        static let name: CKRecord.FieldKey = "name"
        static let fee: CKRecord.FieldKey = "fee"
        static let party: CKRecord.FieldKey = "party"
    }

    var name: String
    var fee: Int

    init?(_ record: CKRecord) {
        guard record.recordType == Self.recordType, let name = record[Key.name] as? String, let fee = record[Key.fee] as? Int else { return nil }
        self.name = name
        self.fee = fee
    }
}
