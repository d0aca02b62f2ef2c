import CloudKit
import Testing

// Code as apps write it. Most of it only has to type-check; tests run the rest against a server in the test's
// process. It imports CloudKit alone, as apps do: Foundation and CoreLocation come with it.

private enum Keys {
    static let title: CKRecord.FieldKey = "title"
}

private struct Note {
    var id: UUID
    var title: String
    var pinned: Bool
    var rating: Double?
    var tags: [String]
    var edited: Date
    var place: CLLocation?

    init?(_ record: CKRecord) {
        guard let id = UUID(uuidString: record.recordID.recordName), let title = record[Keys.title] as? String else { return nil }
        self.id = id
        self.title = title
        pinned = record["pinned"] as? Bool ?? false
        rating = record["rating"]
        tags = record["tags"] as? [String] ?? []
        edited = record["edited"] as? Date ?? record.modificationDate ?? .now
        place = record["place"] as? CLLocation
    }

    func record(in zoneID: CKRecordZone.ID, list: CKRecord) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: id.uuidString, zoneID: zoneID))
        record[Keys.title] = title
        record["pinned"] = pinned
        record["rating"] = rating
        record["tags"] = tags
        record["edited"] = edited
        record["place"] = place
        record["count"] = tags.count as NSNumber
        record["legacy"] = title as NSString
        record["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
        record.setValuesForApp(["a": 1, "b": "x" as NSString])
        record.setParent(list)
        return record
    }
}

extension CKRecord {
    fileprivate func setValuesForApp(_ values: [String: any CKRecordValue]) {
        for (key, value) in values { self[key] = value }
        setObject(nil, forKey: "gone")
        setObject("text" as any CKRecordValue, forKey: "text")
        self["cleared"] = nil
        let missing: Int? = nil
        self["optional"] = missing
    }
}

/// A container that an app's tests replace.
private protocol CloudContainer {
    static func make(_ identifier: String) -> Self
}

extension CKContainer: CloudContainer {
    fileprivate static func make(_ identifier: String) -> Self { Self(identifier: identifier) }
}

extension __CKRecordObjCValue {
    fileprivate var forTheLog: String {
        if let value = self as? Int64 { return "\(value)" }
        if let value = self as? String { return "'\(value)'" }
        if let value = self as? Date { return "\(value.timeIntervalSinceReferenceDate)" }
        return "?"
    }
}

private final class Sync {
    let container = CKContainer(identifier: "iCloud.com.example.notes")
    var database: CKDatabase { container.privateCloudDatabase }
    let zone = CKRecordZone(zoneName: "Notes")
    var token: CKServerChangeToken?

    func checkAccount() async throws -> Bool {
        switch try await container.accountStatus() {
        case .available: return true
        case .noAccount, .restricted, .couldNotDetermine, .temporarilyUnavailable: return false
        @unknown default: return false
        }
    }

    func save(_ record: CKRecord) async throws -> CKRecord {
        do {
            return try await database.save(record)
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord else { throw error }
            for key in record.changedKeys() { server[key] = record[key] }
            return try await save(server)
        } catch CKError.zoneNotFound, CKError.userDeletedZone {
            try await database.save(zone)
            return try await save(record)
        } catch let error as CKError {
            if let seconds = error.retryAfterSeconds { try await Task.sleep(for: .seconds(seconds)) }
            throw error
        }
    }

    func upload(_ records: [CKRecord], deleting ids: [CKRecord.ID]) async throws {
        let (saveResults, deleteResults) = try await database.modifyRecords(
            saving: records, deleting: ids, savePolicy: .changedKeys, atomically: true)
        for (id, result) in saveResults {
            switch result {
            case .success(let record): print(id.recordName, record.recordChangeTag ?? "")
            case .failure(let error as CKError) where error.code == .batchRequestFailed: continue
            case .failure(let error): print(id, error.localizedDescription)
            }
        }
        for (_, result) in deleteResults { try result.get() }
    }

    func pull() async throws {
        var more = true
        while more {
            let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
            for (_, result) in changes.modificationResultsByID {
                let note = Note(try result.get().record)
                print(note?.title ?? "")
            }
            for deletion in changes.deletions { print(deletion.recordType, deletion.recordID.recordName) }
            token = changes.changeToken
            more = changes.moreComing
        }
    }

    func pullWithOperations() {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = token
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zone.zoneID], configurationsByRecordZoneID: [zone.zoneID: configuration])
        operation.recordWasChangedBlock = { recordID, result in
            if case .success(let record) = result { print(recordID, record) }
        }
        operation.recordWithIDWasDeletedBlock = { recordID, recordType in print(recordID, recordType) }
        operation.recordZoneChangeTokensUpdatedBlock = { [weak self] _, token, _ in self?.token = token }
        operation.recordZoneFetchResultBlock = { [weak self] _, result in
            if case .success((let token, _, _)) = result { self?.token = token }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .failure(let error) = result { print(error) }
        }
        operation.qualityOfService = .utility
        database.add(operation)

        let changes = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        changes.fetchAllChanges = true
        changes.fetchDatabaseChangesResultBlock = { result in
            switch result {
            case .success((let token, let moreComing)): print(token, moreComing)
            case .failure(let error): print(error)
            }
        }
        container.add(changes)
    }

    func oldStyle(_ records: [CKRecord]) {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .allKeys
        operation.perRecordCompletionBlock = { record, error in print(record, error as Any) }
        operation.modifyRecordsCompletionBlock = { saved, deleted, error in
            if let error = error as? CKError, error.code == .partialFailure {
                for (id, item) in error.partialErrorsByItemID ?? [:] { print(id, item) }
            }
            print(saved?.count ?? 0, deleted?.count ?? 0)
        }
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 10
        configuration.qualityOfService = .userInitiated
        operation.configuration = configuration
        operation.group = CKOperationGroup()
        database.add(operation)
        database.fetch(withRecordID: CKRecord.ID(recordName: "a")) { record, error in
            guard let record, error == nil else { return }
            print(record["title"] ?? "untitled")
        }
        CKContainer.default().accountStatus { status, _ in print(status.rawValue) }
    }

    func search(_ text: String, near place: CLLocation, owner: CKRecord, kinds: [String], minimum: Double?) async throws -> [CKRecord] {
        var predicates = [
            NSPredicate(format: "self CONTAINS %@", text), NSPredicate(format: "%K IN %@", Keys.title, kinds),
            NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", place, 500.0),
            NSPredicate(format: "owner == %@ AND pinned = %d", owner, 1), NSPredicate(format: "edited > %@", Date.distantPast as NSDate),
        ]
        if let minimum { predicates.append(NSPredicate(format: "rating >= %f", argumentArray: [minimum])) }
        let query = CKQuery(recordType: "Note", predicate: NSCompoundPredicate(type: .and, subpredicates: predicates))
        query.sortDescriptors = [
            CKLocationSortDescriptor(key: "place", relativeLocation: place), NSSortDescriptor(key: "edited", ascending: false),
        ]
        var (results, cursor) = try await database.records(matching: query, inZoneWith: zone.zoneID, desiredKeys: [Keys.title], resultsLimit: 20)
        while let next = cursor {
            let (more, end) = try await database.records(continuingMatchFrom: next)
            results += more
            cursor = end
        }
        return results.compactMap { try? $1.get() }
    }

    func searchWithOperation() {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: false)]
        let operation = CKQueryOperation(query: query)
        operation.resultsLimit = CKQueryOperation.maximumResults
        operation.zoneID = zone.zoneID
        operation.desiredKeys = ["title"]
        operation.recordMatchedBlock = { recordID, result in
            if case .success(let record) = result { print(recordID, record) }
        }
        operation.queryResultBlock = { [weak self] result in
            if case .success(let cursor?) = result { self?.database.add(CKQueryOperation(cursor: cursor)) }
        }
        database.add(operation)
    }

    func friends(_ emails: [String]) async throws -> [String] {
        guard try await container.requestApplicationPermission(.userDiscoverability) == .granted else { return [] }
        let friend: CKUserIdentity? = try await container.userIdentity(forEmailAddress: "ada@example.com")
        print(friend?.nameComponents?.givenName ?? "nobody")
        let identities: [String: CKUserIdentity] = try await container.userIdentities(forEmailAddresses: emails)
        _ = try await container.userIdentities(forPhoneNumbers: emails)
        return identities.values.compactMap { $0.userRecordID?.recordName }
    }

    func friendsInTheOldStyle(_ emails: [String], _ id: CKRecord.ID) {
        container.status(forApplicationPermission: .userDiscoverability) { status, error in
            switch status {
            case .initialState, .couldNotComplete, .denied, .granted: print(status, error as Any)
            @unknown default: break
            }
        }
        let block: @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void = { status, _ in print(status) }
        let same: CKContainer.ApplicationPermissionBlock = block
        print(same as Any)
        container.requestApplicationPermission([.userDiscoverability], completionHandler: block)
        container.discoverUserIdentity(withEmailAddress: "ada@example.com") { identity, _ in print(identity?.lookupInfo?.emailAddress ?? "") }
        container.discoverUserIdentity(withPhoneNumber: "+44") { identity, error in print(identity as Any, error as Any) }
        container.discoverUserIdentity(withUserRecordID: id) { identity, _ in print(identity?.hasiCloudAccount ?? false) }
        container.discoverUserIdentities(forEmailAddresses: emails) { result in print((try? result.get().count) ?? 0) }
        container.discoverUserIdentities(forPhoneNumbers: emails) { result in print((try? result.get().count) ?? 0) }
        container.discoverUserIdentities(forUserRecordIDs: [id]) { result in print((try? result.get()[id]) as Any) }
        container.discoverAllIdentities { identities, _ in print(identities?.flatMap(\.contactIdentifiers) ?? []) }
        let operation = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails))
        operation.userIdentityDiscoveredBlock = { identity, info in print(identity, info) }
        operation.discoverUserIdentitiesCompletionBlock = { error in print(error as Any) }
        container.add(operation)
        let all = CKDiscoverAllUserIdentitiesOperation()
        all.userIdentityDiscoveredBlock = { print($0) }
        all.discoverAllUserIdentitiesResultBlock = { result in if case .failure(let error) = result { print(error) } }
        container.add(all)
    }

    func archive(_ record: CKRecord) throws -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        return coder.encodedData
    }

    func unarchive(_ data: Data) throws -> CKRecord? {
        let coder = try NSKeyedUnarchiver(forReadingFrom: data)
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return CKRecord(coder: coder)
    }
}

@Suite struct AppCodeTests {
    @Test func `a note survives the record that carries it`() throws {
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: CKRecordZone.ID(zoneName: "Notes")))
        let seed = CKRecord(recordType: "Note")
        seed["title"] = "Milk"
        var note = try #require(Note(seed))
        note.tags = ["a", "b"]
        note.rating = 4.5
        note.pinned = true
        let record = note.record(in: list.recordID.zoneID, list: list)
        let back = try #require(Note(record))
        #expect(back.id == note.id && back.title == "Milk" && back.pinned && back.rating == 4.5 && back.tags == ["a", "b"])
        #expect(record["count"] as? Int == 2 && record["legacy"] as? String == "Milk" && record["a"] as? Int == 1)
        #expect((record["list"] as? CKRecord.Reference)?.recordID == list.recordID)
        #expect(record.parent?.recordID == list.recordID)
    }

    @Test func `an app adds members to containers and to the values of records`() {
        func make<Container: CloudContainer>(_ type: Container.Type) -> Container { type.make("iCloud.com.example.notes") }
        #expect(make(CKContainer.self).containerIdentifier == "iCloud.com.example.notes")
        let record = CKRecord(recordType: "Note")
        (record["title"], record["stars"], record["due"]) = ("Milk", 5, Date(timeIntervalSinceReferenceDate: 1))
        #expect(record["title"]?.forTheLog == "'Milk'" && record["stars"]?.forTheLog == "5" && record["due"]?.forTheLog == "1.0")
    }

    @Test func `system fields come back from the archive an app makes`() throws {
        let sync = Sync()
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        record["title"] = "Milk"
        let back = try #require(try sync.unarchive(try sync.archive(record)))
        #expect(back.recordID == record.recordID && back.recordType == "Note" && back.allKeys().isEmpty)
    }

    @Test func `names and zones read as on Apple's platforms`() {
        #expect(CKRecordZone.default().zoneID == CKRecordZone.ID.default)
        #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone" && CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecord.ID(recordName: "a") == CKRecord.ID(recordName: "a", zoneID: .default))
        #expect(Set([CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "a")]).count == 1)
        #expect(CKRecordZone.ID(zoneName: "Z", ownerName: CKCurrentUserDefaultName) == CKRecordZone.ID(zoneName: "Z"))
        #expect(CKRecord.SystemType.userRecord == "Users" && CKRecord.SystemFieldKey.parent == "___parent")
    }
}
