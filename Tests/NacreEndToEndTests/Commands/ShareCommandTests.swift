import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// `nacre share`: what an administrator is told of what users share.
@Suite(.timeLimit(.minutes(5))) struct ShareCommandTests {
    private static let place = ["--container", Administrator.container, "--environment", "development", "--user", Administrator.email]

    @Test func `an administrator sees what is shared, and who sees a record by it, and the look is noted`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let account = try await administrator.run(Administrator.signIn(apiToken) + ["--account"], input: Administrator.password).line
            let ada = CKContainer(
                identifier: Administrator.container,
                server: CloudKitServer(
                    url: try WebServicesClient.url(administrator.server.url), environment: .development, apiToken: apiToken, accountToken: account))
            let zoneID = CKRecordZone.ID(zoneName: "Trip")
            try await ada.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
            let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "root", zoneID: zoneID))
            let leaf = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "leaf", zoneID: zoneID))
            leaf.setParent(root)
            let share = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "share", zoneID: zoneID))
            let other = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "other", zoneID: zoneID))
            for result in try await ada.privateCloudDatabase.modifyRecords(saving: [root, leaf, share, other], deleting: []).saveResults.values {
                _ = try result.get()
            }
            let list = try await administrator.run(["share", "list"] + Self.place)
            #expect(list.status == 0 && list.output == "Trip\tshare\troot\tNONE\t1\n", "\(list)")
            let who = try await administrator.run(["share", "who", "leaf", "--zone", "Trip"] + Self.place)
            let name = try await ada.userRecordID().recordName
            #expect(
                who.output == "share share: of root and what hangs on it\npath leaf < root\nread\twrite\t\(name)\tOWNER: the zone is theirs\n",
                "\(who)")
            let alone = try await administrator.run(["share", "who", "other", "--zone", "Trip"] + Self.place)
            #expect(alone.output.hasPrefix("not shared\n"))
            #expect(try await administrator.run(["share", "who", "none", "--zone", "Trip"] + Self.place).status == 1)
            #expect(try await administrator.run(["share", "who", "leaf"] + Self.place).status == 64)
            let audit = try await administrator.run(["audit", "list"])
            #expect(audit.output.contains("POST /admin/1/shares/who") && audit.output.contains("record=leaf"), "\(audit.output)")
        }
    }
}
