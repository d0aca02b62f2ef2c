import CloudKit

/// The app's requests to the cloud.
struct PartyPlanner {
    private let database: CKDatabase

    init(_ container: CKContainer) {
        database = container.publicCloudDatabase
    }

    // MARK: Parties

    /// Saves a new party with its photo.
    func add(_ title: String, at place: CLLocation, on start: Date, photo: URL? = nil) async throws -> Party {
        let record = CKRecord(recordType: Party.recordType)
        record[Party.Key.title] = title
        record[Party.Key.start] = start
        record[Party.Key.place] = place
        record[Party.Key.photo] = photo.map(CKAsset.init(fileURL:))
        return try party(try await database.save(record))
    }

    /// Returns the parties from this time on, the next one first. Photos stay on the server until `photo(of:)`.
    func parties(from moment: Date = .now) async throws -> [Party] {
        let query = CKQuery(recordType: Party.recordType, predicate: NSPredicate(format: "%K >= %@", Party.Key.start, moment as NSDate))
        query.sortDescriptors = [NSSortDescriptor(key: Party.Key.start, ascending: true)]
        return try await records(query).compactMap(Party.init)
    }

    /// Returns the parties around a place, the nearest first.
    func parties(within metres: CLLocationDistance, of place: CLLocation) async throws -> [Party] {
        let query = CKQuery(
            recordType: Party.recordType,
            predicate: NSPredicate(format: "distanceToLocation:fromLocation:(%K, %@) < %f", Party.Key.place, place, metres))
        query.sortDescriptors = [CKLocationSortDescriptor(key: Party.Key.place, relativeLocation: place)]
        return try await records(query).compactMap(Party.init)
    }

    /// Returns the party of this title; of several, the one that begins first.
    func party(titled title: String) async throws -> Party {
        let query = CKQuery(recordType: Party.recordType, predicate: NSPredicate(format: "%K == %@", Party.Key.title, title))
        query.sortDescriptors = [NSSortDescriptor(key: Party.Key.start, ascending: true)]
        guard let record = try await records(query).first else { throw PartyError.noParty(title) }
        return try party(record)
    }

    /// Moves a party. Another user's change is kept: the new time goes into the server's record.
    func move(_ party: Party, to start: Date) async throws -> Party {
        var record = party.record
        while true {
            record[Party.Key.start] = start
            do {
                return try self.party(try await database.save(record))
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let server = error.serverRecord else { throw error }
                record = server
            }
        }
    }

    /// Deletes a party; its clowns are deleted with it.
    func cancel(_ party: Party) async throws {
        try await database.deleteRecord(withID: party.id)
    }

    /// Returns the photo of a party as a file on this machine; nil: it has none. The file is in a cache: copy it to
    /// keep it.
    func photo(of party: Party) async throws -> URL? {
        let record = try await database.records(for: [party.id], desiredKeys: [Party.Key.photo])[party.id]?.get()
        return (record?[Party.Key.photo] as? CKAsset)?.fileURL
    }

    // MARK: Clowns

    func hire(_ name: String, fee: Int, for party: Party) async throws {
        let record = CKRecord(recordType: Clown.recordType)
        record[Clown.Key.name] = name
        record[Clown.Key.fee] = fee
        record[Clown.Key.party] = CKRecord.Reference(recordID: party.id, action: .deleteSelf)
        _ = try await database.save(record)
    }

    /// Returns the clowns of a party, by name.
    func clowns(of party: Party) async throws -> [Clown] {
        let query = CKQuery(
            recordType: Clown.recordType,
            predicate: NSPredicate(format: "%K == %@", Clown.Key.party, CKRecord.Reference(recordID: party.id, action: .none)))
        query.sortDescriptors = [NSSortDescriptor(key: Clown.Key.name, ascending: true)]
        return try await records(query).compactMap(Clown.init)
    }

    // MARK: Records

    /// Returns all records that a query finds, page by page; none for a type that was never saved.
    private func records(_ query: CKQuery) async throws -> [CKRecord] {
        let keys = [Party.Key.title, Party.Key.start, Party.Key.place, Clown.Key.name, Clown.Key.fee]
        do {
            var (page, cursor) = try await database.records(matching: query, desiredKeys: keys)
            var records = try page.map { try $1.get() }
            while let next = cursor {
                (page, cursor) = try await database.records(continuingMatchFrom: next, desiredKeys: keys)
                records += try page.map { try $1.get() }
            }
            return records
        } catch CKError.unknownItem {
            return []
        }
    }

    private func party(_ record: CKRecord) throws -> Party {
        guard let party = Party(record) else { throw PartyError.notAParty(record.recordID.recordName) }
        return party
    }
}

enum PartyError: Error, Equatable, CustomStringConvertible {
    case noParty(String)
    case notAParty(String)
    case usage(String)

    var description: String {
        switch self {
        case .noParty(let title): "there is no party \"\(title)\""
        case .notAParty(let name): "the record \(name) lacks what a party has"
        case .usage(let text): text
        }
    }
}
