import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre quota` and `nacre usage`: from an operator's setting to the error in an app of the framework.
@Suite(.timeLimit(.minutes(5))) struct QuotaCommandTests {
    private static let place = ["--container", Administrator.container, "--environment", "development"]

    private func database(_ administrator: Administrator) async throws -> CKDatabase {
        let apiToken = try await administrator.preparedWithUser()
        let account = try await administrator.run(Administrator.signIn(apiToken) + ["--account"], input: Administrator.password).line
        let server = CloudKitServer(
            url: try WebServicesClient.url(administrator.server.url), environment: .development, apiToken: apiToken, accountToken: account)
        return CKContainer(identifier: Administrator.container, server: server).privateCloudDatabase
    }

    private func note(_ name: String, bytes: Int) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record["text"] = String(repeating: "x", count: bytes)
        return record
    }

    @Test func `a quota is set, an app hears that it is exceeded, and the operator sees what is stored`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let database = try await database(administrator)
            func run(_ arguments: String...) async throws -> Nacre { try await administrator.run(arguments + Self.place) }
            #expect(try await run("quota", "show").output == "user none server\npublic none server\n")
            #expect(try await run("quota", "set", "--user", "4K", "--public", "none").output == "user 4096 own\npublic none own\n")

            let first = note("first", bytes: 3000)
            try await database.save(first)
            let alone = await #expect(throws: CKError.self) { try await database.save(note("second", bytes: 3000)) }
            #expect(alone?.code == .quotaExceeded && (alone as NSError?)?.code == 25)
            #expect(alone.map { "\($0)".contains("nacre quota set") } == true)
            // In the default zone each record of a batch gets its own error.
            let many = try await database.modifyRecords(
                saving: [note("large", bytes: 3000), note("small", bytes: 10)], deleting: [], savePolicy: .allKeys, atomically: false)
            let codes = try ["large", "small"].map { name -> CKError.Code? in
                let result = try #require(many.saveResults[CKRecord.ID(recordName: name)])
                if case .failure(let error) = result { return (error as? CKError)?.code }
                return nil
            }
            #expect(codes == [.quotaExceeded, nil])
            first["text"] = "less"
            try await database.save(first)
            try await database.save(note("second", bytes: 3000))

            let usage = try await run("usage")
            let lines = usage.output.split(separator: "\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("public ") && lines[0].hasSuffix(" of none"), "\(usage)")
            #expect(lines.last?.hasPrefix("user _") == true && lines.last?.hasSuffix(" of 4096") == true, "\(usage)")
            let one = try await run("usage", "--user", Administrator.email)
            #expect(one.output == "\(lines.last ?? "")\n")
            let bytes = try #require(Int(lines[1].split(separator: " ")[2]))
            #expect((3000...4096).contains(bytes))
            let json = try await run("usage", "--json")
            #expect(json.output.contains(#""bytes":\#(bytes),"limit":4096,"user":"_"#), "\(json.output)")
            let everywhere = try await administrator.run(["user", "usage", "--email", Administrator.email])
            #expect(everywhere.output == "\(Administrator.container) development \(bytes) of 4096\nsum \(bytes)\n", "\(everywhere)")

            for name in ["first", "second", "small"] { try await database.deleteRecord(withID: CKRecord.ID(recordName: name)) }
            #expect(try await run("quota", "set", "--user", "server").output == "user none server\npublic none own\n")
            try await database.save(note("large", bytes: 100_000))
            #expect(try await administrator.run(["check"]).status == 0)
        }
    }

    @Test func `what is asked in vain is told with what to do`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.prepared()
            func run(_ arguments: String...) async throws -> Nacre { try await administrator.run(arguments + Self.place) }
            #expect(try await run("quota", "set").status == 64)
            for size in ["", "-1", "0", "x", "5000000G"] { #expect(try await run("quota", "set", "--user", size).status == 64, "\(size)") }
            #expect(try await run("usage", "--user", "eve@example.com").messages.contains("nacre user list"))
            let other = ["--container", "iCloud.none", "--environment", "development"]
            for command in [["usage"], ["quota", "show"], ["quota", "set", "--user", "1K"]] {
                let answer = try await administrator.run(command + other)
                #expect(answer.status == 1 && answer.messages.contains("nacre container create"), "\(answer)")
            }
        }
    }
}
