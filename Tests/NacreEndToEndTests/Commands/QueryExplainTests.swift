import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre query explain` with the executable, against a running server.
struct QueryExplainTests {
    private static let explain = [
        "query", "explain", "--container", Administrator.container, "--environment", "development", "--database", "private",
    ]
    private static let ada = ["--user", Administrator.email]

    /// Runs a server with a user who has three notes in the default zone.
    private func withNotes(_ body: (Administrator) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let token = try await administrator.preparedWithUser()
            let account = try await administrator.run(Administrator.signIn(token) + ["--account"], input: Administrator.password)
            let cloud = CloudKitServer(
                url: try WebServicesClient.url(administrator.server.url), environment: .development, apiToken: token, accountToken: account.line)
            let database = CKContainer(identifier: Administrator.container, server: cloud).privateCloudDatabase
            for (name, stars) in [("bread", 1), ("olives", 2), ("wine", 3)] {
                let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
                note["text"] = name
                note["stars"] = stars
                _ = try await database.save(note)
            }
            try await body(administrator)
        }
    }

    @Test func `the plan of a query names the field that drives it, and is the same whether the query comes as options or as JSON`() async throws {
        try await withNotes { administrator in
            let options = try await administrator.run(
                Self.explain + Self.ada + ["--type", "Note", "--filter", "stars >= 2", "--sort", "stars DESC"])
            #expect(options.status == 0, "\(options.messages)")
            #expect(options.output.contains("stars"), "\(options.output)")
            let json =
                #"{"query":{"recordType":"Note","filterBy":{"fieldName":"stars","comparator":"GREATER_THAN_OR_EQUALS","fieldValue":{"value":2}},"#
                + #""sortBy":{"fieldName":"stars","ascending":false}}}"#
            let request = try await administrator.run(Self.explain + Self.ada + [json])
            #expect(request.status == 0 && request.output == options.output)
            let object = try await administrator.run(Self.explain + Self.ada + [json, "--json"])
            let parsed = try JSONSerialization.jsonObject(with: Data(object.output.utf8)) as? [String: [String]]
            #expect(parsed?["lines"] == options.line.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
        }
    }

    @Test func `an administrator reads and changes a user's records by nacre database ask, and an unknown operation is refused`() async throws {
        try await withNotes { administrator in
            let place = ["--container", Administrator.container, "--environment", "development", "--database", "private"] + Self.ada
            let record = #"{"recordName":"tea","recordType":"Note","fields":{"text":{"value":"green"}}}"#
            let change = #"{"operations":[{"operationType":"create","record":\#(record)}]}"#
            let made = try await administrator.run(["database", "ask", "records/modify", "-"] + place, input: change)
            #expect(made.status == 0 && made.output.contains(#""recordName":"tea""#), "\(made.messages)")
            let found = try await administrator.run(["database", "ask", "records/lookup", #"{"records":[{"recordName":"tea"}]}"#] + place)
            #expect(found.output.contains("green"))
            #expect(try await administrator.run(["database", "ask", "zones/list", "{}"] + place).output.contains("_defaultZone"))
            let unknown = try await administrator.run(["database", "ask", "zones/modify", "{}"] + place)
            #expect(unknown.status == 64 && unknown.messages.contains("records/lookup, records/modify, zones/list or changes/zone"))
        }
    }

    @Test func `filters are written in every way that the help names`() async throws {
        try await withNotes { administrator in
            for filter in [
                "stars = 1", "stars != 1", "stars IN [1,2]", "text begins_with br", "text = bread", #"text = "bread""#,
                "text CONTAINS_ANY_TOKENS wine or bread",
                "* CONTAINS_ALL_TOKENS wine", #"stars < {"value": 2.5, "type": "DOUBLE"}"#,
            ] {
                let run = try await administrator.run(Self.explain + Self.ada + ["--type", "Note", "--filter", filter])
                #expect(run.status == 0 && !run.output.isEmpty, "\(filter): \(run.messages)")
            }
        }
    }

    @Test func `what the server refuses of a query is told as an app would hear it`() async throws {
        try await withNotes { administrator in
            for (arguments, says) in [
                (Self.ada + ["--type", "Note"], "Field 'recordName' is not marked queryable"),
                (Self.ada + ["--type", "Planet"], "Did not find record type: Planet"),
                (Self.ada + ["--type", "Note", "--filter", "colour = red"], "Unknown field 'colour'"),
                (Self.ada + ["--type", "Note", "--filter", "stars = 1", "--zone", "Work"], "Zone does not exist"),
                (Self.ada + ["{}"], "badRequestException: unexpected input at [line: 1, column: 1]"),
                (["--type", "Note", "--filter", "stars = 1"], "--user"),
                (["--user", "eve@example.com", "--type", "Note"], "no such account"),
            ] {
                let run = try await administrator.run(Self.explain + arguments)
                #expect(run.status == 1 && run.output.isEmpty, "\(arguments)")
                #expect(run.messages.contains(says), "\(run.messages)")
            }
        }
    }
}
