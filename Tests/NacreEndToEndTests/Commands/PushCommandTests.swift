import Foundation
import NacreCrypto
import Testing

/// Tests of `nacre push apns` and `nacre subscription`, with their output.
@Suite(.timeLimit(.minutes(5))) struct PushCommandTests {
    private static let container = ["--container", Administrator.container]

    @Test func `a key of Apple's is set, shown without itself, and removed`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.prepared()
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString).p8")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data(P256.PrivateKey().pem().utf8).write(to: file)
            func run(_ verb: String, _ more: String...) async throws -> Nacre {
                try await administrator.run(["push", "apns", verb] + Self.container + more)
            }
            let names = ["--key-id", "ABC123DEFG", "--team", "DEF123GHIJ", "--topic", "com.example.notes"]
            let set = try await administrator.run(["push", "apns", "set"] + Self.container + ["--key", file.path] + names)
            #expect(set.output == "production ABC123DEFG DEF123GHIJ com.example.notes\n", "\(set.messages)")
            #expect(try await run("show").output == set.output)
            #expect(try await run("remove", "--environment", "development").status == 1)
            #expect(try await run("remove").output == set.output)
            #expect(try await run("show").output.isEmpty)
            try Data("nothing".utf8).write(to: file)
            let bad = try await administrator.run(["push", "apns", "set"] + Self.container + ["--key", file.path] + names)
            #expect(bad.status == 1 && bad.messages.contains("AuthKey_"), "\(bad.messages)")
        }
    }

    @Test func `why says which step stands in the way, and ends with 2`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let who = Self.container + ["--environment", "development", "--user", Administrator.email]
            // A look gives the account no name: it has one once its user has signed in.
            #expect(try await administrator.run(["subscription", "list"] + who).messages.contains("has no name"))
            #expect(try await administrator.run(Administrator.signIn(apiToken), input: Administrator.password).status == 0)
            let listed = try await administrator.run(["subscription", "list"] + who)
            #expect(listed.status == 0 && listed.output.isEmpty)
            let why = try await administrator.run(["subscription", "why", "note", "--subscription", "all"] + who)
            #expect(why.status == 2 && why.output == "NO  subscription: the user has none with this ID in the private database\n", "\(why)")
            let nobody = try await administrator.run(
                ["subscription", "list"] + Self.container + ["--environment", "development", "--user", "nobody@example.com"])
            #expect(nobody.status == 1 && nobody.messages.contains("account"))
        }
    }
}
