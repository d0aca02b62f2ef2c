import CloudKit
import Foundation
import Testing

/// One device: a container of the framework with its own account token, or without an account.
struct Device: Sendable {
    let container: CKContainer
    var database: CKDatabase { container.privateCloudDatabase }

    init(_ cloud: NewCloud, token: String?, through url: String? = nil) throws {
        let server = CloudKitServer(
            url: try WebServicesClient.url(url ?? cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token)
        container = CKContainer(identifier: cloud.container, server: server)
    }

    /// Signs a user in on a new device.
    init(of email: String, _ cloud: NewCloud) async throws {
        try self.init(cloud, token: try await cloud.device(of: email))
    }

    static let ada = "ada@example.com"
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    static func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    static func note(_ name: String, _ text: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: recordID(name))
        record["text"] = text
        return record
    }

    /// Runs a server on which Ada has two devices and a zone.
    static func pair(_ body: (_ a: Device, _ b: Device, _ cloud: NewCloud) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(ada)
            let a = try await Device(of: ada, cloud)
            let b = try await Device(of: ada, cloud)
            try await a.database.save(CKRecordZone(zoneID: zoneID))
            try await body(a, b, cloud)
        }
    }

    /// Fetches all changes of the zone after a token, page by page.
    func changes(
        in zoneID: CKRecordZone.ID = zoneID, since token: CKServerChangeToken? = nil, pageSize: Int? = nil
    ) async throws -> (records: [CKRecord.ID: CKRecord], deleted: [CKRecord.ID], token: CKServerChangeToken, pages: Int) {
        var records: [CKRecord.ID: CKRecord] = [:]
        var deleted: [CKRecord.ID] = []
        var token = token
        var pages = 0
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token, resultsLimit: pageSize)
            pages += 1
            for (recordID, result) in page.modificationResultsByID {
                #expect(records[recordID] == nil, "each record once")
                records[recordID] = try result.get().record
            }
            deleted += page.deletions.map(\.recordID)
            token = page.changeToken
            if !page.moreComing { return (records, deleted, page.changeToken, pages) }
        }
    }
}
