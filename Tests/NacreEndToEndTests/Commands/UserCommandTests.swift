import CloudKit
import Foundation
import FoundationNetworking
import NacreCloudTestSupport
import Testing

/// Tests of `nacre user`: lost passwords, and deleted accounts.
@Suite(.timeLimit(.minutes(5))) struct UserCommandTests {
    private static let account = ["--email", Administrator.email]

    private func post(_ path: String, _ message: [String: String], _ server: RunningServer) async throws -> Int? {
        let request = URLRequest(url: try WebServicesClient.url(server.url).appending(path: "account/1/\(path)"))
        return try await WebServicesClient.send(request, try JSONEncoder().encode(message), over: .shared).status
    }

    @Test func `a lost password is replaced by a code, once`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let made = try await administrator.run(["user", "reset-password"] + Self.account)
            #expect(made.status == 0 && made.line.count == 32 && made.messages.contains("once"), "\(made.messages)")
            let next = ["email": Administrator.email, "code": made.line, "newPassword": "a better horse"]
            #expect(try await post("reset-password", next, server) == 200)
            #expect(try await post("reset-password", next, server) == 401)
            #expect(try await administrator.run(Administrator.signIn(apiToken), input: Administrator.password).status == 77)
            #expect(try await administrator.run(Administrator.signIn(apiToken), input: "a better horse").status == 0)
            let link = try await administrator.run(["user", "reset-password", "--link"] + Self.account)
            #expect(link.status == 0 && link.line.hasPrefix(server.url + "/new-password?link="), "\(link)")
            let page = try await WebServicesClient.send(URLRequest(url: try WebServicesClient.url(link.line)), nil, over: .shared)
            #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains("Set the password"))
            let unknown = try await administrator.run(["user", "reset-password", "--email", "eve@example.com"])
            #expect(unknown.status == 1 && unknown.messages.contains("no such account"))
        }
    }

    @Test(.enabled(if: Launched.hasTerminals)) func `at a terminal a deletion asks, and another word than yes changes nothing`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.preparedWithUser()
            let delete = ["user", "delete", "--data", server.data] + Self.account
            for (answer, status) in [("no\n", 1), ("yes\n", 0)] as [(String, Launched.Ending)] {
                let asked = try Launched(delete, in: server.scratch, input: answer, isOnTerminal: true)
                #expect(await asked.ended() == status)
                #expect(asked.outputText.contains("Delete the account of \(Administrator.email) and all its data? Type yes:"))
                #expect(asked.outputText.contains("nothing was deleted") == (status == 1))
            }
        }
    }

    @Test func `the state of an account is set and shown, and one that there is not is refused by name`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.preparedWithUser()
            #expect(try await administrator.run(["user", "show"] + Self.account).output.contains("\nstate available\n"))
            let set = try await administrator.run(["user", "state"] + Self.account + ["--state", "restricted"])
            #expect(set.status == 0 && set.messages.contains("is restricted now"), "\(set.messages)")
            #expect(try await administrator.run(["user", "show"] + Self.account).output.contains("\nstate restricted\n"))
            let refused = try await administrator.run(["user", "state"] + Self.account + ["--state", "asleep"])
            #expect(refused.status != 0 && refused.messages.contains("unknown account state") && refused.messages.contains("temporarilyUnavailable"))
            let audit = try await administrator.run(["audit", "list"])
            #expect(audit.output.contains("POST /admin/1/users/state") && audit.output.contains("state=restricted"), "\(audit.output)")
        }
    }

    @Test func `a user's zones are fetched anew by command, each or all, and the audit log has it`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.preparedWithUser()
            let of = ["--container", Administrator.container, "--environment", "development", "--user", Administrator.email]
            #expect(try await administrator.run(["zone", "create", "Trip"] + of).status == 0)
            let none = try await administrator.run(["zone", "resync", "Nowhere"] + of)
            #expect(none.status == 1 && none.messages.contains("no such zone"), "\(none.messages)")
            let zone = try await administrator.run(["zone", "resync", "Trip"] + of)
            #expect(zone.status == 0 && zone.messages.contains("the zone Trip from the beginning"), "\(zone.messages)")
            let user = try await administrator.run(["user", "resync", "--json"] + of)
            #expect(try user.status == 0 && user.object()["zones"] as? Double == 1, "\(user.output) \(user.messages)")
            let audit = try await administrator.run(["audit", "list"])
            for action in ["zones/resync", "users/resync"] { #expect(audit.output.contains("POST /admin/1/\(action)"), "\(audit.output)") }
        }
    }

    @Test func `an address is changed for a user, who signs in with the new one alone, and one that is taken is refused`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let bob = try await administrator.run(["user", "create", "bob@example.com", "--password-stdin"], input: Administrator.password)
            #expect(bob.status == 0)
            func change(_ old: String, _ new: String) async throws -> Nacre {
                try await administrator.run(["user", "change-email", "--email", old, "--new-email", new])
            }
            let taken = try await change(Administrator.email, "bob@example.com")
            #expect(taken.status == 1 && taken.messages.contains("newEmail"), "\(taken.messages)")
            #expect(try await change("eve@example.com", "mallory@example.com").messages.contains("no such account"))
            let changed = try await change("bob@example.com", "robert@example.com")
            #expect(changed.status == 0 && changed.line == bob.line && changed.messages.contains("is robert@example.com now"), "\(changed.messages)")
            func signIn(_ email: String) async throws -> Int32 {
                let words = Administrator.signIn(apiToken).map { $0 == Administrator.email ? email : $0 }
                return try await administrator.run(words, input: Administrator.password).status
            }
            #expect(try await signIn("robert@example.com") == 0)
            #expect(try await signIn("bob@example.com") == 77)
            #expect(try await administrator.run(["audit", "list"]).output.contains("change-email email=bob@example.com newEmail=robert@example.com"))
        }
    }

    @Test func `an administrator vouches for the address of a user who signed up`() async throws {
        try await RunningServer.with(["--open-sign-up"]) { server in
            let administrator = Administrator(server: server)
            #expect(try await post("sign-up", ["email": Administrator.email, "password": Administrator.password], server) == 200)
            #expect(try await administrator.run(["user", "show"] + Self.account).output.contains("\naddress unverified\n"))
            for _ in 0..<2 {
                let verified = try await administrator.run(["user", "verify", Administrator.email])
                #expect(verified.status == 0 && verified.messages.contains("is verified now"), "\(verified.messages)")
            }
            #expect(try await administrator.run(["user", "show"] + Self.account).output.contains("\naddress verified\n"))
            #expect(try await administrator.run(["user", "verify", "eve@example.com"]).messages.contains("no such account"))
        }
    }

    @Test func `names are given with the account, changed and shown`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let made = try await administrator.run(
                ["user", "create", Administrator.email, "--password-stdin", "--given-name", "Ada"], input: Administrator.password)
            #expect(made.status == 0, "\(made.messages)")
            #expect(try await administrator.run(["user", "show"] + Self.account).output.contains("\nname Ada\n"))
            let changed = try await administrator.run(["user", "change-name"] + Self.account + ["--given-name", "Augusta", "--family-name", "King"])
            #expect(changed.status == 0 && changed.line == made.line && changed.messages.contains("is Augusta King now"), "\(changed.messages)")
            #expect(try await administrator.run(["user", "show"] + Self.account).output.contains("\nname Augusta King\n"))
            #expect(try await administrator.run(["user", "change-name"] + Self.account).messages.contains("without a name"))
            #expect(!(try await administrator.run(["user", "show"] + Self.account).output.contains("\nname ")))
            let long = ["--given-name", String(repeating: "x", count: 257)]
            let refused = try await administrator.run(["user", "change-name"] + Self.account + long)
            #expect(refused.status != 0 && refused.messages.contains("name is too long"))
        }
    }

    @Test func `an account is listed, shown and deleted, and its app is not signed in from then on`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let token = try await administrator.run(Administrator.signIn(apiToken) + ["--account"], input: Administrator.password).line
            let place = CloudKitServer(
                url: try WebServicesClient.url(server.url), environment: .development, apiToken: apiToken, accountToken: token)
            let database = CKContainer(identifier: Administrator.container, server: place).privateCloudDatabase
            try await database.save(CKRecord(recordType: "Note"))

            let containers = try await administrator.run(["container", "list"])
            #expect(containers.status == 0 && containers.output.hasPrefix("\(Administrator.container) 20"), "\(containers.messages)")
            let audit = try await administrator.run(["audit", "list"])
            let made = "127.0.0.1 POST /admin/1/containers justInTime=native name=\(Administrator.container)\n"
            #expect(audit.status == 0 && audit.output.contains(" 201 \(made)"), "\(audit.output)")
            let listed = try await administrator.run(["user", "list"])
            #expect(listed.status == 0 && listed.output.contains(" \(Administrator.email) "))
            let shown = try await administrator.run(["user", "show"] + Self.account)
            #expect(
                shown.output.contains("\(Administrator.container) development _") && shown.output.hasSuffix("sessions 0\ndevices 1\n"),
                "\(shown.output)")
            #expect(shown.output.split(separator: "\n").count == 6 && shown.output.contains("\naddress verified\n"))
            #expect(try await administrator.run(["user", "delete"] + Self.account).status == 0)
            let refused = await #expect(throws: CKError.self) { try await database.save(CKRecord(recordType: "Note")) }
            #expect(refused?.code == .notAuthenticated)
            #expect(try await administrator.run(["user", "list"]).output.contains("being deleted"))
            #expect(try await administrator.run(["task", "list"]).output.contains("settleAccount"))
            let again = try await administrator.run(["user", "delete"] + Self.account)
            #expect(again.status == 1 && again.messages.contains("no such account"))
        }
    }
}
