import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre logs`: earlier lines of a running server, and new ones with `-f`.
struct LogsTests {
    private static let save = ["record", "put", "one", "--type", "Note", "--set", "text=hello", "--format", "json"]

    /// Runs a server with a user, whose variables the body gets.
    private func withUser(_ body: (Administrator, [String: String]) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            #expect(try await administrator.run(["up", Administrator.container]).status == 0)
            let printed = try await Nacre.run(["env"], in: server.scratch).output
            let pairs = printed.split(separator: "\n").map { $0.dropFirst("export ".count).split(separator: "=", maxSplits: 1).map(String.init) }
            let variables = Dictionary(pairs.map { ($0[0], $0[1].trimmingCharacters(in: CharacterSet(charactersIn: "'"))) }, uniquingKeysWith: { $1 })
            try await body(administrator, variables)
        }
    }

    @Test func `a refusal tells code, reason, remedy, operation, database, zone and user, and filters find it`() async throws {
        try await withUser { administrator, variables in
            let scratch = administrator.server.scratch
            let refused = try await Nacre.run(["record", "query", "Nothing", "--format", "json"], in: scratch, environment: variables)
            #expect(refused.status == 1)
            let lines = try await administrator.run(["logs", "--format", "json", "--code", "not_found", "--container", Administrator.container])
            #expect(lines.status == 0, "\(lines.messages)")
            let line = try #require(lines.output.split(separator: "\n").last)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["msg"] as? String == "A request was refused" && object["code"] as? String == "NOT_FOUND")
            #expect(object["operation"] as? String == "records/query" && object["database"] as? String == "private")
            #expect(object["zone"] as? String == "_defaultZone" && (object["user"] as? String)?.hasPrefix("_") == true)
            #expect(object["reason"] as? String != "" && object["remedy"] as? String != "")
            // No line tells the user's address.
            #expect(!lines.output.contains("@"))
            for filter in [
                ["--code", "CONFLICT"], ["--container", "iCloud.a.b"], ["--zone", "Notes"], ["--operation", "records/modify"], ["--level", "error"],
            ] {
                #expect(try await administrator.run(["logs", "--format", "json"] + filter).output.isEmpty, "\(filter)")
            }
            let text = try await administrator.run(["logs", "--format", "table", "--code", "NOT_FOUND"]).output
            #expect(text.contains("A request was refused") && text.contains("code=NOT_FOUND") && !text.contains("{"))
        }
    }

    @Test func `who follows sees each request, though the server writes none of them`() async throws {
        try await withUser { administrator, variables in
            let server = administrator.server
            let follower = try Launched(
                ["logs", "-f", "--operation", "records/modify", "--status", "2xx", "--format", "json", "--data", server.data], named: "logs",
                in: server.scratch)
            // Before it follows it gets no lines.
            while follower.outputText.isEmpty, follower.isRunning { _ = try await Nacre.run(Self.save, in: server.scratch, environment: variables) }
            follower.signal(SIGINT)
            _ = await follower.ended()
            let line = try #require(follower.outputText.split(separator: "\n").first)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["status"] as? Int == 200 && object["msg"] as? String == "request" && object["zone"] as? String == "_defaultZone")
            #expect((object["bytes"] as? Int ?? 0) > 0 && (object["answer_bytes"] as? Int ?? 0) > 0)
            #expect(try !server.process.errorText.contains("\"msg\":\"request\""))
        }
    }

    @Test func `a status that is none is a wrong usage`() async throws {
        let folder = try TemporaryFolder()
        for status in ["4x", "x04", "999", "40x"] {
            let run = try await Nacre.run(["logs", "--status", status], in: folder.path)
            #expect(run.status == 64 && run.messages.contains("--status"))
        }
    }
}
