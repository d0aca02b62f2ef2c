import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre logs` and `nacre why`: earlier requests of a running server, and new ones with `-f`.
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

    private static func objects(_ output: String) throws -> [[String: Any]] {
        try output.split(separator: "\n").map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    @Test func `a refused request is a line that filters find, and nacre why explains it`() async throws {
        try await withUser { administrator, variables in
            let refused = try await Nacre.run(
                ["record", "query", "Nothing", "--format", "json"], in: administrator.server.scratch, environment: variables)
            #expect(refused.status == 1)
            let lines = try await administrator.run(["logs", "--format", "json", "--code", "not_found", "--container", Administrator.container])
            #expect(lines.status == 0, "\(lines.messages)")
            let object = try #require(try Self.objects(lines.output).last)
            #expect(object["code"] as? String == "NOT_FOUND" && object["status"] as? Int == 404)
            #expect(object["operation"] as? String == "records/query" && object["database"] as? String == "private")
            #expect(object["zone"] as? String == "_defaultZone" && (object["user"] as? String)?.hasPrefix("u-") == true)
            #expect(object["reason"] as? String == "Did not find record type: Nothing" && object["remedy"] as? String != "")
            #expect((object["client"] as? String)?.hasPrefix("command ") == true)
            // No line tells the user's address.
            #expect(!lines.output.contains("@"))
            for filter in [
                ["--code", "CONFLICT"], ["--refused", "--status", "2xx"], ["--container", "iCloud.a.b"], ["--zone", "Notes"],
                ["--slower-than", "1m"], ["--until", "1h"], ["--client", "web", "--code", "NOT_FOUND"],
            ] {
                #expect(try await administrator.run(["logs", "--format", "json"] + filter).output.isEmpty, "\(filter)")
            }
            let text = try await administrator.run(["logs", "--format", "table", "--refused", "--since", "1h"]).output
            #expect(
                text.contains("!404  records/query") && text.contains("NOT_FOUND: Did not find") && !text.contains("{") && !text.contains("\u{1B}"))
            let why = try await administrator.run(["why", object["request"] as? String ?? ""])
            #expect(why.status == 0 && why.output.contains("a nacre command") && why.output.contains("What to do: "), "\(why.output)\(why.messages)")
            #expect(try await administrator.run(["why", "nothing"]).status == 1)
            // The server's own line about the same request.
            let own = try await administrator.run(["logs", "--server-lines", "--format", "json", "--code", "not_found"])
            let line = try #require(try Self.objects(own.output).last)
            #expect(line["msg"] as? String == "A request was refused" && line["request_id"] as? String == object["request"] as? String)
        }
    }

    @Test(arguments: [[String](), ["--server-lines"]])
    func `who follows sees each request`(form: [String]) async throws {
        try await withUser { administrator, variables in
            let server = administrator.server
            let follower = try Launched(
                ["logs", "-f", "--operation", "records/modify", "--status", "2xx", "--format", "json", "--data", server.data] + form, named: "logs",
                in: server.scratch)
            // Before it follows it gets no lines.
            while follower.outputText.isEmpty, follower.isRunning { _ = try await Nacre.run(Self.save, in: server.scratch, environment: variables) }
            follower.signal(SIGINT)
            _ = await follower.ended()
            let object = try #require(try Self.objects(follower.outputText).first)
            #expect(
                object["status"] as? Int == 200 && object["zone"] as? String == "_defaultZone" && object["operation"] as? String == "records/modify")
            #expect(try !server.process.errorText.contains("\"msg\":\"request\""))
        }
    }

    @Test func `a status that is none is a wrong usage`() async throws {
        let folder = try TemporaryFolder()
        for status in ["4x", "x04", "999", "40x"] {
            let run = try await Nacre.run(["logs", "--status", status], in: folder.path)
            #expect(run.status == 64 && run.messages.contains("--status"))
        }
        for (option, value) in [("--since", "yesterday"), ("--slower-than", "fast"), ("--limit", "0"), ("--level", "error")] {
            let run = try await Nacre.run(["logs", option, value], in: folder.path)
            #expect(run.status == 64 && run.messages.contains(option))
        }
        for option in [["--since", "1h"], ["--refused"]] {
            #expect(try await Nacre.run(["logs", "--server-lines"] + option, in: folder.path).status == 64)
        }
    }
}
