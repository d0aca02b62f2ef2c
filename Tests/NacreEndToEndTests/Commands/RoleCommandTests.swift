import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre role`: from a schema with roles to the permissions of an app of the framework.
@Suite(.timeLimit(.minutes(5))) struct RoleCommandTests {
    private static let bob = "bob@example.com"
    private static let place = ["--container", Administrator.container, "--environment", "development"]

    private func device(_ email: String?, _ apiToken: String, _ administrator: Administrator) async throws -> CKDatabase {
        var account: String?
        if let email {
            let signIn = Administrator.signIn(apiToken).map { $0 == Administrator.email ? email : $0 } + ["--account"]
            account = try await administrator.run(signIn, input: Administrator.password).line
        }
        let server = CloudKitServer(
            url: try WebServicesClient.url(administrator.server.url), environment: .development, apiToken: apiToken, accountToken: account)
        return CKContainer(identifier: Administrator.container, server: server).publicCloudDatabase
    }

    private func code(_ body: () async throws -> Void) async -> CKError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    private func importSchema(_ grants: String, _ administrator: Administrator) async throws -> Nacre {
        let text = """
            DEFINE SCHEMA
            CREATE ROLE Editor;
            RECORD TYPE Users (roles LIST<INT64>);
            RECORD TYPE Article ("___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE, \(grants));
            """
        let file = administrator.server.scratch + "/roles.ckdb"
        try Data(text.utf8).write(to: URL(filePath: file))
        return try await administrator.run(["schema", "import", file, "--container", Administrator.container])
    }

    @Test func `a role is declared, granted, assigned, explained and revoked, and an app feels each`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            try #require(try await administrator.run(["user", "create", Self.bob, "--password-stdin"], input: Administrator.password).status == 0)
            let imported = try await importSchema(
                #"GRANT READ, WRITE TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#, administrator)
            #expect(imported.status == 0 && imported.output.contains("+ ROLE Editor\n"), "\(imported.messages)")
            #expect(imported.output.contains(#"+ Article GRANT READ, WRITE TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#))

            let (ada, bob) = (try await device(Administrator.email, apiToken, administrator), try await device(Self.bob, apiToken, administrator))
            let nobody = try await device(nil, apiToken, administrator)
            let article = CKRecord(recordType: "Article", recordID: CKRecord.ID(recordName: "a"))
            article["text"] = "hush"
            try await ada.save(article)
            let query = CKQuery(recordType: "Article", predicate: NSPredicate(value: true))
            for stranger in [bob, nobody] {
                #expect(await code { _ = try await stranger.record(for: article.recordID) } == .permissionFailure)
                let found = try await stranger.records(matching: query)
                #expect(found.matchResults.isEmpty && found.queryCursor == nil)
            }
            #expect(await code { _ = try await bob.deleteRecord(withID: article.recordID) } == .permissionFailure)
            let over = CKRecord(recordType: "Article", recordID: article.recordID)
            let refused = await #expect(throws: CKError.self) { try await bob.save(over) }
            #expect(refused?.serverRecord == nil && refused.map { "\($0)".contains("hush") } == false)

            func why(_ operation: String, _ more: [String]) async throws -> Nacre {
                try await administrator.run(["role", "why", "--operation", operation, "--record", "a"] + Self.place + more)
            }
            let no = try await why("WRITE", ["--user", Self.bob])
            #expect(no.status == 2 && no.output.hasPrefix("no: ") && no.output.contains("type Article grants WRITE to Editor, _creator\n"), "\(no)")
            let own = try await why("WRITE", ["--user", Administrator.email])
            #expect(own.status == 0 && own.output.hasPrefix("yes: the role _creator may\n"), "\(own)")
            #expect(try await why("READ", []).status == 2)

            let assigned = try await administrator.run(["role", "assign", "Editor", "--user", Self.bob] + Self.place)
            #expect(assigned.status == 0 && assigned.output.hasSuffix(" Editor\n"), "\(assigned.messages)")
            let listed = try await administrator.run(["role", "list"] + Self.place)
            #expect(listed.output == "role Editor\nuser \(assigned.output)")
            #expect(try await why("WRITE", ["--user", Self.bob]).output.hasPrefix("yes: the role Editor may\n"))
            let seen = try await bob.record(for: article.recordID)
            seen["text"] = "loud"
            try await bob.save(seen)
            #expect(try await ada.record(for: article.recordID)["text"] as? String == "loud")

            let revoked = try await administrator.run(["role", "revoke", "Editor", "--user", Self.bob, "--json"] + Self.place)
            #expect(revoked.status == 0 && !revoked.output.contains("Editor"))
            #expect(await code { _ = try await bob.record(for: article.recordID) } == .permissionFailure)
            seen["text"] = "again"
            #expect(await code { _ = try await bob.save(seen) } == .permissionFailure)

            // A schema in which only the role may make records.
            let closed = try await importSchema(#"GRANT READ TO "_world", GRANT CREATE TO Editor"#, administrator)
            #expect(closed.status == 0 && closed.output.hasPrefix("~ Article GRANT READ, WRITE TO Editor"), "\(closed.output)")
            let made = await #expect(throws: CKError.self) { try await bob.save(CKRecord(recordType: "Article")) }
            #expect(made?.code == .permissionFailure && made.map { "\($0)".contains("CREATE operation not permitted") } == true)
            #expect(try await nobody.record(for: article.recordID)["text"] as? String == "loud")
        }
    }

    @Test func `what is asked in vain is told with what to do`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.preparedWithUser()
            func run(_ arguments: String...) async throws -> Nacre { try await administrator.run(["role"] + arguments + Self.place) }
            let unknown = try await run("assign", "Editor", "--user", Administrator.email)
            #expect(unknown.status == 1 && unknown.messages.contains("Did not find role: Editor") && unknown.messages.contains("CREATE ROLE Editor"))
            let stranger = try await run("assign", "Editor", "--user", "_nobody")
            #expect(stranger.status == 1 && stranger.messages.contains("no such user"))
            let builtIn = try await run("assign", "_icloud", "--user", Administrator.email)
            #expect(builtIn.status == 1 && builtIn.messages.contains("is not given to anybody"))
            #expect(try await run("assign", "Editor").status == 64)
            #expect(try await run("assign", "Editor", "--user", "a", "--key", "b").status == 64)
            #expect(try await run("assign", "Editor", "--key", "b").messages.contains("nacre token list"))
            #expect(try await run("why", "--operation", "WRITE").status == 64)
            #expect(try await run("why", "--operation", "WRITE", "--record", "none").messages.contains("Record not found"))
            let creation = try await run("why", "--operation", "CREATE", "--type", "New", "--user", Administrator.email)
            #expect(creation.status == 0 && creation.output.hasPrefix("yes: the role _icloud may\n"))
            let world = try await run("why", "--operation", "CREATE", "--type", "New")
            #expect(world.status == 2 && world.output.contains("somebody without an account"))
        }
    }
}
