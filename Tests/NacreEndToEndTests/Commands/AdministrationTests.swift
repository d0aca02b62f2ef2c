import CloudKit
import Foundation
import FoundationNetworking
import NacreCloudTestSupport
import Testing

/// Tests of the README's commands with the executable, against a running server.
struct AdministrationTests {
    private func with(_ body: (Administrator) async throws -> Void) async throws {
        try await RunningServer.with { server in try await body(Administrator(server: server)) }
    }

    @Test func `the README's lines, one after the other, end in an app that saves`() async throws {
        try await with { administrator in
            let made = try await administrator.run(["container", "create", Administrator.container])
            #expect(made.status == 0 && made.line == Administrator.container)
            let token = try await administrator.run(Administrator.tokenCreate)
            #expect(token.status == 0 && !token.line.isEmpty && !token.line.contains("\n"))
            let user = try await administrator.run(Administrator.userCreate, input: Administrator.password + "\n")
            #expect(user.status == 0 && !user.line.isEmpty)
            let account = try await administrator.run(Administrator.signIn(token.line) + ["--account"], input: Administrator.password)
            #expect(account.status == 0 && !account.line.isEmpty)

            let server = CloudKitServer(
                url: try WebServicesClient.url(administrator.server.url), environment: .development, apiToken: token.line, accountToken: account.line)
            let database = CKContainer(identifier: Administrator.container, server: server).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries", zoneID: zone.zoneID))
            note["text"] = "bread, olives"
            _ = try await database.save(note)
            let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            let texts = try changes.modificationResultsByID.values.map { try $0.get().record["text"] as? String }
            #expect(texts == ["bread, olives"])
        }
    }

    @Test func `a proxy of the environment is not asked for this machine, and is for others`() async throws {
        try await with { administrator in
            // Requests to this proxy fail, as no server listens there.
            let proxy = ["http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1", "no_proxy": ""]
            let scratch = administrator.server.scratch
            let create = ["container", "create", Administrator.container]
            let made = try await Nacre.run(create + ["--data", administrator.server.data], in: scratch, environment: proxy)
            #expect(made.status == 0 && made.line == Administrator.container)
            let token = scratch + "/token"
            let isWritten = FileManager.default.createFile(atPath: token, contents: Data("0123".utf8), attributes: [.posixPermissions: 0o600])
            try #require(isWritten)
            let elsewhere = create + ["--server", "http://nobody.invalid", "--token-file", token]
            let asked = try await Nacre.run(elsewhere, in: scratch, environment: proxy)
            #expect(asked.status == 69 && asked.messages.contains("nobody listens there"))
            let unasked = try await Nacre.run(elsewhere, in: scratch, environment: ["no_proxy": "*"])
            #expect(unasked.status == 69 && unasked.messages.contains("its name is not known"))
        }
    }

    @Test func `with --json each prints one object, and a token under its key`() async throws {
        try await with { administrator in
            let first = try await administrator.run(["container", "create", Administrator.container, "--json"])
            #expect(try first.object()["name"] as? String == Administrator.container)
            #expect(try first.object()["isNew"] as? Double == 1)
            let again = try await administrator.run(["container", "create", Administrator.container, "--json"])
            #expect(again.status == 0)
            #expect(try again.object()["isNew"] as? Double == 0)
            let token = try await administrator.run(Administrator.tokenCreate + ["--name", "tests", "--json"])
            let apiToken = try #require(try token.object()["token"] as? String)
            let user = try await administrator.run(Administrator.userCreate + ["--json"], input: Administrator.password)
            #expect(try user.object()["email"] as? String == Administrator.email)
            for extra in [[], ["--keep-signed-in"], ["--account", "--device", "phone"]] {
                let signedIn = try await administrator.run(
                    Administrator.signIn(apiToken) + extra + ["--json"], input: Administrator.password)
                #expect(signedIn.status == 0)
                #expect(try (signedIn.object()["token"] as? String)?.isEmpty == false)
                #expect(try (signedIn.object()["userRecordName"] as? String)?.hasPrefix("_") == true)
            }
        }
    }

    @Test func `a web auth token that was printed opens the private database over the web`() async throws {
        try await with { administrator in
            let apiToken = try await administrator.preparedWithUser()
            let signedIn = try await administrator.run(Administrator.signIn(apiToken), input: Administrator.password)
            var components = URLComponents(
                string: "\(administrator.server.url)/database/1/\(Administrator.container)/development/private/users/caller")
            components?.queryItems = [URLQueryItem(name: "ckAPIToken", value: apiToken), URLQueryItem(name: "ckWebAuthToken", value: signedIn.line)]
            // The server reads a plus sign in a query as a space.
            let address = components?.string?.replacingOccurrences(of: "+", with: "%2B")
            let request = URLRequest(url: try WebServicesClient.url(try #require(address)))
            let answer = try await WebServicesClient.send(request, nil, over: .shared)
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("userRecordName"))
        }
    }

    @Test func `what the server refuses is told with its remedy, and nothing goes to standard output`() async throws {
        try await with { administrator in
            let apiToken = try await administrator.preparedWithUser()
            for (arguments, input) in [
                (["container", "create", "Notes"], nil),
                (["token", "create", "--container", "iCloud.not.there", "--environment", "development", "--kind", "api"], nil),
                (Administrator.userCreate, Administrator.password),
                (["user", "create", "eve@example.com", "--password-stdin"], "short"),
            ] as [([String], String?)] {
                let run = try await administrator.run(arguments, input: input)
                #expect(run.status == 1, "\(arguments)")
                #expect(run.output.isEmpty && run.messages.hasPrefix("Error: "), "\(arguments)")
            }
            let wrong = try await administrator.run(Administrator.signIn(apiToken), input: "not the password")
            #expect(wrong.status == 77 && wrong.output.isEmpty)
            let foreign = try await administrator.run(Administrator.signIn("0123"), input: Administrator.password)
            #expect(foreign.status == 77 && foreign.output.isEmpty)
        }
    }

    @Test func `a copy of the admin file serves from elsewhere, and a wrong token is never sent and ends with 77`() async throws {
        try await with { administrator in
            let scratch = administrator.server.scratch
            let copy = scratch + "/copy.json"
            try FileManager.default.copyItem(atPath: administrator.server.data + "/admin.json", toPath: copy)
            let elsewhere = try await Nacre.run(["container", "create", Administrator.container, "--token-file", copy], in: scratch)
            #expect(elsewhere.status == 0)

            let wrong = scratch + "/wrong.token"
            try Data(String(repeating: "ab", count: 32).utf8).write(to: URL(filePath: wrong))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: wrong)
            let url = try administrator.server.adminURL
            for arguments in [["container", "create", Administrator.container], Administrator.tokenCreate, ["demo"]] {
                let run = try await Nacre.run(arguments + ["--server", url, "--token-file", wrong], in: scratch)
                #expect(run.status == 77, "\(arguments)")
                #expect(run.output.isEmpty)
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: wrong)
            let open = try await Nacre.run(["container", "create", Administrator.container, "--server", url, "--token-file", wrong], in: scratch)
            #expect(open.status != 0 && open.messages.contains("open to nobody else"))
        }
    }

    @Test func `where no server runs each ends with 69 and says what to start`() async throws {
        let folder = try TemporaryFolder()
        for arguments in [
            ["container", "create", Administrator.container], Administrator.tokenCreate, Administrator.userCreate, Administrator.signIn("t"),
            ["demo"], ["schema", "export", "--container", Administrator.container, "--environment", "production"],
            ["schema", "deploy", "--container", Administrator.container],
        ] {
            let run = try await Nacre.run(arguments, in: folder.path, input: Administrator.password)
            #expect(run.status == 69, "\(arguments)")
            #expect(run.output.isEmpty && run.messages.contains("nacre serve"), "\(arguments)")
        }
        let silent = "http://127.0.0.1:\(try QuietPort.any())"
        let run = try await Nacre.run(Administrator.signIn("t") + ["--server", silent], in: folder.path, input: Administrator.password)
        #expect(run.status == 69)
    }

    @Test func `the admin file of a server that was killed leads to 69`() async throws {
        try await with { administrator in
            await administrator.server.kill()
            let run = try await administrator.run(["container", "create", Administrator.container])
            #expect(run.status == 69 && run.output.isEmpty)
        }
    }
}
