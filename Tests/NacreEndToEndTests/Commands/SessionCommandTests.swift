import CloudKit
import NacreCloudTestSupport
import Testing

/// Tests of `nacre session`: an account's sessions and devices, and how an app notices their end.
@Suite(.timeLimit(.minutes(5))) struct SessionCommandTests {
    private static let account = ["--email", Administrator.email]

    @Test func `a device is listed and ended, and its app is not signed in from then on`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let apiToken = try await administrator.preparedWithUser()
            let signIn = Administrator.signIn(apiToken)
            var devices: [CKDatabase] = []
            for name in ["Ada's laptop", "Ada's phone"] {
                let token = try await administrator.run(signIn + ["--account", "--device", name], input: Administrator.password).line
                let place = CloudKitServer(
                    url: try WebServicesClient.url(server.url), environment: .development, apiToken: apiToken, accountToken: token)
                devices.append(CKContainer(identifier: Administrator.container, server: place).privateCloudDatabase)
            }
            _ = try await administrator.run(signIn, input: Administrator.password)
            for device in devices { try await device.save(CKRecord(recordType: "Note")) }

            let listed = try await administrator.run(["session", "list"] + Self.account)
            let lines = listed.output.split(separator: "\n")
            #expect(listed.status == 0 && lines.count == 3, "\(listed.messages)")
            #expect(lines.first?.hasPrefix("web ") == true)
            let laptop = try #require(lines.first { $0.hasSuffix(" Ada's laptop") }).split(separator: " ").map(String.init)
            #expect(laptop[0] == "account" && laptop[2...3] == [Administrator.container, "development"])

            let revoked = try await administrator.run(["session", "revoke", laptop[1]] + Self.account)
            #expect(revoked.status == 0 && revoked.messages.contains("1"), "\(revoked.messages)")
            let refused = await #expect(throws: CKError.self) { try await devices[0].save(CKRecord(recordType: "Note")) }
            #expect(refused?.code == .notAuthenticated)
            try await devices[1].save(CKRecord(recordType: "Note"))

            let again = try await administrator.run(["session", "revoke", laptop[1]] + Self.account)
            #expect(again.status == 1 && again.messages.contains("no such session or device"))
            let all = try await administrator.run(["session", "revoke", "--all", "--json"] + Self.account)
            #expect(try all.object()["count"] as? Double == 2)
            #expect(try await administrator.run(["session", "list"] + Self.account).output.isEmpty)
            let gone = await #expect(throws: CKError.self) { try await devices[1].save(CKRecord(recordType: "Note")) }
            #expect(gone?.code == .notAuthenticated)
        }
    }

    @Test func `what is asked in vain is told with what to do`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let unknown = try await administrator.run(["session", "list", "--email", "eve+work@example.com"])
            #expect(unknown.status == 1 && unknown.messages.contains("no such account"))
            #expect(try await administrator.run(["session", "list"]).status == 64)
            #expect(try await administrator.run(["session", "revoke"] + Self.account).status == 64)
            #expect(try await administrator.run(["session", "revoke", "x", "--all"] + Self.account).status == 64)
        }
    }
}
