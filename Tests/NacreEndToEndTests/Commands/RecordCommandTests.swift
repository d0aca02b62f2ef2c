import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI

/// Tests of `nacre record` and `nacre zone`: a user's data without code.
@Suite(.timeLimit(.minutes(5))) struct RecordCommandTests {
    /// Runs commands in the folder of `nacre up`, beside the private database of its user.
    func with(
        _ body: (_ run: ([String]) async throws -> Nacre, CKDatabase) async throws -> Void
    ) async throws {
        try await RunningServer.with { server in
            let up = try await Administrator(server: server).run(["up", Administrator.container])
            try #require(up.status == 0, "\(up.messages)")
            let lines = try String(contentsOfFile: server.scratch + "/.env", encoding: .utf8).split(separator: "\n")
            let pairs = lines.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }.filter { $0.count == 2 }
            let values = Dictionary(pairs.map { ($0[0], $0[1].trimmingCharacters(in: CharacterSet(charactersIn: "'"))) }, uniquingKeysWith: { $1 })
            let database = CKContainer(
                identifier: Administrator.container,
                server: CloudKitServer(
                    url: try WebServicesClient.url(server.url), environment: .development, apiToken: values["CLOUDKIT_API_TOKEN"],
                    accountToken: values["CLOUDKIT_ACCOUNT_TOKEN"])
            ).privateCloudDatabase
            try await body({ try await Nacre.run($0, in: server.scratch, environment: values) }, database)
        }
    }

    @Test func `records are made, changed, shown, found and deleted`() async throws {
        try await with { run, _ in
            let made = try await run(["record", "put", "one", "--type", "Note", "--set", "title=Olives = good", "--set", "stars=3", "--set", "old=1"])
            #expect(made.status == 0, "\(made.messages)")
            #expect(try made.object()["recordName"] as? String == "one")
            let changed = try await run(["record", "put", "one", "--type", "Note", "--set", "stars=4", "--set", "old="])
            #expect(changed.status == 0, "\(changed.messages)")
            let at = #"at={"value": 1700000000000, "type": "TIMESTAMP"}"#
            #expect(try await run(["record", "put", "two", "--type", "Note", "--set", "title=Bread", "--set", "stars=9", "--set", at]).status == 0)
            let one = try await run(["record", "get", "one", "--format", "table"])
            let shown = one.output.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true).map(String.init) }
            #expect(shown == [["recordName", "recordType", "stars", "title"], ["one", "Note", "4", "Olives", "=", "good"]])
            let found = try await run(["record", "query", "Note", "--filter", "stars > 3", "--sort", "title DESC", "--fields", "title"])
            let names = try found.output.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])["recordName"] as? String
            }
            #expect(found.status == 0 && names == ["one", "two"] && !found.output.contains("stars"))
            for filter in ["title = 'Olives = good'", #"title == "Olives = good""#, "title = Olives = good"] {
                let one = try await run(["record", "query", "Note", "--filter", filter, "--fields", "title"])
                #expect(try one.object()["recordName"] as? String == "one", "\(filter)")
            }
            let narrow = try await run(["record", "query", "Note", "--filter", "stars > 3", "--limit", "1", "--format", "table"])
            #expect(narrow.messages.contains("more"), "\(narrow.messages)")
            let asked = try await run(["record", "delete", "one"])
            #expect(asked.status == 64 && asked.messages.contains("--yes"))
            #expect(try await run(["record", "delete", "one", "--yes"]).status == 0)
            let gone = try await run(["record", "get", "one"])
            #expect(gone.status == 1 && gone.output.isEmpty && gone.messages.contains("one"), "\(gone.messages)")
        }
    }

    @Test func `a query that wants an index is told by which command it is made`() async throws {
        try await with { run, _ in
            #expect(try await run(["record", "put", "one", "--type", "Note", "--set", "title=Olives"]).status == 0)
            let refused = try await run(["record", "query", "Note"])
            #expect(refused.status == 1 && refused.messages.contains("is not marked queryable"), "\(refused)")
            #expect(refused.messages.contains("nacre schema index --container") && refused.messages.contains("Note ___recordID --queryable"))
        }
    }

    @Test func `zones are listed, and what changed in one is told from where an earlier call ended`() async throws {
        try await with { run, database in
            try await database.save(CKRecordZone(zoneName: "Notes"))
            let zones = try await run(["zone", "list", "--format", "table"])
            #expect(zones.output.contains("_defaultZone") && zones.output.contains("Notes"), "\(zones.messages)")
            #expect(try await run(["record", "put", "one", "--type", "Note", "--zone", "Notes", "--set", "stars=3"]).status == 0)
            let first = try await run(["zone", "changes", "--zone", "Notes"])
            #expect(first.status == 0 && first.output.contains(#""recordName":"one""#), "\(first.messages)")
            #expect(try await run(["record", "put", "two", "--type", "Note", "--zone", "Notes"]).status == 0)
            #expect(try await run(["record", "delete", "one", "--zone", "Notes", "--yes"]).status == 0)
            let token = first.messages.trimmingCharacters(in: .newlines)
            let second = try await run(["zone", "changes", "--zone", "Notes", "--format", "table", "--since", token])
            let lines = second.output.split(separator: "\n")
            #expect(lines.count == 3 && lines.contains { $0.hasPrefix("one") && $0.hasSuffix("(deleted)") }, "\(second.output) \(second.messages)")
            #expect(try await run(["zone", "changes"]).status == 64)
            let none = try await run(["zone", "changes", "--zone", "Nowhere"])
            #expect(none.status == 1 && none.messages.contains("Nowhere"), "\(none.messages)")
        }
    }

    @Test func `an administrator purges a zone on a running server, and the app of its user hears why the zone is gone`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let account = try await administrator.run(Administrator.signIn(apiToken) + ["--account"], input: Administrator.password).line
            let database = CKContainer(
                identifier: Administrator.container,
                server: CloudKitServer(
                    url: try WebServicesClient.url(server.url), environment: .development, apiToken: apiToken, accountToken: account)
            ).privateCloudDatabase
            let zone = CKRecordZone(zoneName: "Trip")
            try await database.save(zone)
            let purge = [
                "zone", "purge", "Trip", "--container", Administrator.container, "--environment", "development", "--user", Administrator.email,
            ]
            let asked = try await administrator.run(purge)
            #expect(asked.status == 64 && asked.messages.contains("--yes"), "\(asked)")
            let purged = try await administrator.run(purge + ["--yes"])
            #expect(purged.status == 0 && purged.messages.contains("Trip"), "\(purged)")
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "one", zoneID: zone.zoneID))
            let refusal = await #expect(throws: CKError.self) { try await database.save(record) }
            #expect(refusal?.code == .userDeletedZone)
            #expect(try await administrator.run(purge + ["--yes"]).status == 1)
            try await database.save(zone)
            try await database.save(record)
        }
    }

    @Test func `without variables it says which`() async throws {
        try await RunningServer.with { server in
            let run = try await Nacre.run(["record", "get", "one"], in: server.scratch)
            #expect(run.status == 64 && run.messages.contains("CLOUDKIT_SERVER_URL") && run.messages.contains("nacre up"), "\(run.messages)")
        }
    }

    @Test func `variables that cannot be right are told by their names, and a name does nothing to the terminal`() async throws {
        let folder = try TemporaryFolder()
        func run(_ changes: [String: String]) async throws -> Nacre {
            let variables = [
                "CLOUDKIT_SERVER_URL": "http://127.0.0.1:9", "CLOUDKIT_CONTAINER": "iCloud.a.b", "CLOUDKIT_ACCOUNT_TOKEN": "token",
            ]
            return try await Nacre.run(["record", "get", "one"], in: folder.path, environment: variables.merging(changes) { $1 })
        }
        let nobody = try await run([:])
        #expect(nobody.status == 69 && nobody.messages.contains("CLOUDKIT_SERVER_URL") && !nobody.messages.contains("--server"), "\(nobody.messages)")
        let staging = try await run(["CLOUDKIT_ENVIRONMENT": "staging"])
        #expect(staging.status == 64 && staging.messages.contains("development or production"), "\(staging.messages)")
        let broken = try await run(["CLOUDKIT_ACCOUNT_TOKEN": "to\nken"])
        #expect(broken.status == 64 && broken.messages.contains("line feed"), "\(broken.messages)")
        try await with { run, _ in
            let gone = try await run(["record", "get", "a\u{1B}[2Jb"])
            #expect(gone.status == 1 && gone.messages.contains("a [2Jb") && !gone.messages.contains("\u{1B}"), "\(gone.messages)")
        }
    }

    @Test func `a table keeps its lines, whatever is in a value`() {
        let lines = RowOutput.table([
            [(column: "a", text: "x\ny\u{1B}[2J"), (column: "b", text: String(repeating: "long ", count: 20))], [(column: "b", text: "1")],
        ])
        #expect(lines == ["a        b", "x y [2J  " + String(String(repeating: "long ", count: 20).prefix(39)) + "…", "         1"])
    }
}
