import CloudKit

/// A model as apps write it: not `Sendable`, and kept by every completion handler. It must compile in the Swift 5
/// language mode without a warning, which CI makes an error. In the Swift 6 mode it may have warnings, as beside
/// Apple's own declarations: `Tests/NeighbourApp/run` does that with this file.
final class Model {
    var names: [String] = []
    var error: Error?
    let container: CKContainer
    var database: CKDatabase { container.privateCloudDatabase }

    init(_ container: CKContainer) {
        self.container = container
    }

    func records(_ record: CKRecord, _ query: CKQuery, _ cursor: CKQueryOperation.Cursor) {
        database.fetch(withRecordID: record.recordID) { record, error in self.take(record?.recordID.recordName, error) }
        database.save(record) { record, error in self.take(record?.recordID.recordName, error) }
        database.delete(withRecordID: record.recordID) { recordID, error in self.take(recordID?.recordName, error) }
        database.fetch(withRecordIDs: [record.recordID]) { result in self.take("\(result)", nil) }
        database.modifyRecords(saving: [record], deleting: []) { result in self.take("\(result)", nil) }
        database.perform(query, inZoneWith: nil) { records, error in self.take(records?.first?.recordID.recordName, error) }
        database.fetch(withQuery: query) { result in self.take("\(result)", nil) }
        database.fetch(withCursor: cursor) { result in self.take("\(result)", nil) }
    }

    func zones(_ zone: CKRecordZone, _ token: CKServerChangeToken?) {
        database.fetchAllRecordZones { zones, error in self.take(zones?.first?.zoneID.zoneName, error) }
        database.fetch(withRecordZoneID: zone.zoneID) { zone, error in self.take(zone?.zoneID.zoneName, error) }
        database.save(zone) { zone, error in self.take(zone?.zoneID.zoneName, error) }
        database.delete(withRecordZoneID: zone.zoneID) { zoneID, error in self.take(zoneID?.zoneName, error) }
        database.fetch(withRecordZoneIDs: [zone.zoneID]) { result in self.take("\(result)", nil) }
        database.modifyRecordZones(saving: [zone], deleting: []) { result in self.take("\(result)", nil) }
        database.fetchDatabaseChanges(since: token) { result in self.take("\(result)", nil) }
        database.fetchRecordZoneChanges(inZoneWith: zone.zoneID, since: token) { result in self.take("\(result)", nil) }
    }

    /// One call after the other: handlers of concurrent calls would run on different queues at once.
    func account(_ done: @escaping () -> Void) {
        container.accountStatus { status, error in
            self.take("\(status.rawValue)", error)
            self.container.fetchUserRecordID { recordID, error in
                self.take(recordID?.recordName, error)
                done()
            }
        }
    }

    func zonesIgnored() async throws {
        try await database.allRecordZones()
    }

    private func take(_ name: String?, _ error: Error?) {
        if let name { names.append(name) }
        self.error = error ?? self.error
    }
}
