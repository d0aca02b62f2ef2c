import CloudKit
import CloudTestSupport
import Foundation
import Testing

/// `nacre schema`: from an app's first save in development to its first save in production.
@Suite(.timeLimit(.minutes(5))) struct SchemaTests {
    private static let container = ["--container", Administrator.container]

    private func with(_ body: (Administrator) async throws -> Void) async throws {
        try await RunningServer.with { server in try await body(Administrator(server: server)) }
    }

    /// A device of the user in one of the environments.
    private func database(_ administrator: Administrator, _ environment: CloudKitServer.Environment) async throws -> CKDatabase {
        func replaced(_ arguments: [String]) -> [String] { arguments.map { $0 == "development" ? environment.rawValue : $0 } }
        let token = try await administrator.run(replaced(Administrator.tokenCreate))
        let account = try await administrator.run(replaced(Administrator.signIn(token.line)) + ["--account"], input: Administrator.password)
        try #require(token.status == 0 && account.status == 0)
        let server = CloudKitServer(
            url: try RawClient.url(administrator.server.url), environment: environment, apiToken: token.line, accountToken: account.line)
        return CKContainer(identifier: Administrator.container, server: server).privateCloudDatabase
    }

    private func note() -> CKRecord {
        let note = CKRecord(recordType: "Note")
        note["text"] = "bread, olives"
        note["count"] = 2
        return note
    }

    @Test func `what was saved in development is shown, deployed, and then saved in production`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let development = try await database(administrator, .development)
            let production = try await database(administrator, .production)
            let refused = await #expect(throws: CKError.self) { try await production.save(note()) }
            #expect(refused?.code == .invalidArguments)
            #expect(refused.map { "\($0)" }?.contains("Cannot create new type Note in production schema") == true)
            _ = try await development.save(note())

            let shown = try await administrator.run(["schema", "show", "--environment", "development"] + Self.container)
            #expect(shown.status == 0 && shown.messages.isEmpty)
            #expect(shown.output.hasPrefix("DEFINE SCHEMA\n\n    RECORD TYPE Note (\n"))
            #expect(shown.output.contains("        text            STRING QUERYABLE SEARCHABLE SORTABLE,\n"))
            #expect(shown.output.contains("        count           INT64 QUERYABLE SORTABLE,\n"))

            let gains = "+ Note\n+ Note.count INT64 QUERYABLE SORTABLE\n+ Note.text STRING QUERYABLE SEARCHABLE SORTABLE\n"
            let dry = try await administrator.run(["schema", "deploy", "--dry-run"] + Self.container)
            #expect(dry.status == 0 && dry.output == gains && dry.messages.contains("dry run"))
            let untouched = try await administrator.run(["schema", "show", "--environment", "production"] + Self.container)
            #expect(!untouched.output.contains("Note"))
            let deployed = try await administrator.run(["schema", "deploy"] + Self.container)
            #expect(deployed.status == 0 && deployed.output == gains)
            let live = try await administrator.run(["schema", "show", "--environment", "production"] + Self.container)
            #expect(live.output == shown.output)
            let again = try await administrator.run(["schema", "deploy"] + Self.container)
            #expect(again.status == 0 && again.output.isEmpty)
            #expect(try await production.save(note())["text"] as? String == "bread, olives")
        }
    }

    @Test func `a field's indexes are those that were named last, and are built for the records that are there`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            _ = try await database(administrator, .development).save(note())
            let index = ["schema", "index"] + Self.container
            let set = try await administrator.run(index + ["Note", "recordName", "--queryable"])
            #expect(set.status == 0 && set.output == "Note.___recordID QUERYABLE\n")
            let cut = try await administrator.run(index + ["Note", "text", "--json"])
            #expect(cut.status == 0)
            #expect(try cut.object()["field"] as? String == "text")
            let deployed = try await administrator.run(["schema", "deploy", "--json"] + Self.container)
            #expect(deployed.output.contains(#""declaration":"STRING""#) && deployed.output.contains(#""kind":"index""#))

            let show = ["schema", "show", "--environment", "development", "--json"] + Self.container
            var building = "Note.___recordID"
            while building.contains("___recordID") {
                let shown = try await administrator.run(show)
                try #require(shown.status == 0)
                let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
                building = try #require(object?["building"] as? [String]).joined()
                #expect((object?["text"] as? String)?.contains(#""___recordID"   REFERENCE QUERYABLE"#) == true)
            }
        }
    }

    @Test func `what cannot be is refused with its remedy`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            _ = try await database(administrator, .development).save(note())
            for (arguments, says) in [
                (["index", "Note", "count", "--searchable"] + Self.container, "cannot be searchable"),
                (["index", "Note", "nothing", "--queryable"] + Self.container, "Unknown field 'nothing'"),
                (["index", "None", "text", "--queryable"] + Self.container, "Did not find record type: None"),
                (["deploy", "--container", "iCloud.com.example.Nowhere"], "container does not exist"),
                (["show", "--environment", "production", "--container", "iCloud.com.example.Nowhere"], "container does not exist"),
            ] {
                let run = try await administrator.run(["schema"] + arguments)
                #expect(run.status == 1 && run.output.isEmpty, "\(arguments)")
                #expect(run.messages.hasPrefix("Error: ") && run.messages.contains(says), "\(run.messages)")
            }
        }
    }
}
