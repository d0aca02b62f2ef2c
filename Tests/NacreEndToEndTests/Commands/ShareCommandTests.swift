import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre share`: an administrator's view of users' shares.
@Suite(.timeLimit(.minutes(5))) struct ShareCommandTests {
    private static let place = ["--container", Administrator.container, "--environment", "development", "--user", Administrator.email]

    private typealias Run = @Sendable ([String]) async throws -> Nacre

    /// Makes an account, and returns how its user runs `nacre share`, and the account token.
    private static func user(_ email: String, _ administrator: Administrator, _ apiToken: String) async throws -> (run: Run, token: String) {
        let created = try await administrator.run(["user", "create", email, "--password-stdin"], input: Administrator.password)
        #expect(created.status == 0, "\(created.messages)")
        let signIn = Administrator.signIn(apiToken).map { $0 == Administrator.email ? email : $0 } + ["--account"]
        let token = try await administrator.run(signIn, input: Administrator.password).line
        let server = administrator.server
        let variables = [
            "CLOUDKIT_SERVER_URL": server.url, "CLOUDKIT_CONTAINER": Administrator.container, "CLOUDKIT_ACCOUNT_TOKEN": token,
        ]
        let run: Run = { try await Nacre.run(["share"] + $0, in: server.scratch, environment: variables) }
        return (run, token)
    }

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
            // Ben is an invited user, and Cleo is not.
            let made = try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare
            let url = try #require(made?.url).absoluteString
            let (ben, token) = try await Self.user("ben@example.com", administrator, apiToken)
            let cleo = try await Self.user("cleo@example.com", administrator, apiToken).run
            let zone = try await administrator.run(
                ["share", "create", "--zone", "Trip", "--record", "other", "--participant", "ben@example.com", "--write"] + Self.place)
            #expect(try await ben(["accept", zone.line]).output.contains("READ_WRITE"), "\(zone)")
            #expect(try await ben(["leave", zone.line, "--yes"]).status == 0)
            let link = try await administrator.run(["share", "manage", "--zone", "Trip", "--record", "other"] + Self.place)
            #expect(link.status == 0 && link.line.contains("/manage-share?grant="), "\(link)")
            let production = Self.place.map { $0 == "development" ? "production" : $0 }
            let there = try await administrator.run(["share", "create", "--zone", "Trip"] + production)
            #expect(there.status == 77, "\(there)")
            let bens = CKContainer(
                identifier: Administrator.container,
                server: CloudKitServer(
                    url: try WebServicesClient.url(administrator.server.url), environment: .development, apiToken: apiToken, accountToken: token))
            made?.addParticipant(try await ada.shareParticipant(forUserRecordID: try await bens.userRecordID()))
            try await ada.privateCloudDatabase.save(try #require(made))
            #expect(try await ben(["leave", url, "--yes"]).messages.contains("takes no part"))
            let shown = try await ben(["show", url + "#A-title", "--format", "table"])
            #expect(shown.status == 0 && shown.output.contains("Trip") && shown.output.contains("INVITED"), "\(shown)")
            let accepted = try await ben(["accept", url])
            #expect(accepted.status == 0 && accepted.output.contains("ACCEPTED"), "\(accepted)")
            let asked = try await ben(["leave", url])
            #expect(asked.status == 64 && asked.messages.contains("--yes"), "\(asked)")
            #expect(try await ben(["leave", url, "--yes"]).status == 0)
            #expect(try await ben(["show", url]).status == 77)
            let stranger = try await cleo(["accept", url])
            #expect(stranger.status == 77 && stranger.messages.contains("no such share for this user"), "\(stranger)")
            #expect(try await cleo(["request", url]).status == 77, "it takes no requests")
            #expect(try await cleo(["show", "https://example.com"]).status == 64)
            let audit = try await administrator.run(["audit", "list"])
            #expect(audit.output.contains("POST /admin/1/shares/who") && audit.output.contains("record=leaf"), "\(audit.output)")
        }
    }
}
