import Foundation
import FoundationNetworking
import Glibc
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI

/// Tests of `nacre up` and `nacre env`: from nothing to variables for an app or `curl`.
struct UpTests {
    private static let up = ["up", Administrator.container]

    @Test func `one command prepares everything, and a second one changes nothing`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let file = server.scratch + "/.env"
            try "OTHER=\"stays as it is\"\n# a note\n".write(toFile: file, atomically: true, encoding: .utf8)
            let first = try await administrator.run(Self.up + ["--json"])
            #expect(first.status == 0, "\(first.messages)")
            let written = try String(contentsOfFile: file, encoding: .utf8)
            #expect(written.hasPrefix("OTHER=\"stays as it is\"\n# a note\n"))
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
            let again = try await administrator.run(Self.up + ["--json"])
            #expect(again.status == 0 && again.output == first.output)
            #expect(try String(contentsOfFile: file, encoding: .utf8) == written)
            #expect(try await administrator.run(["token", "list"]).output.split(separator: "\n").count == 1)
        }
    }

    @Test func `with the variables a record is saved and found by the two lines that it prints`() async throws {
        try await RunningServer.with { server in
            let up = try await Administrator(server: server).run(Self.up)
            #expect(up.status == 0 && up.output.isEmpty)
            let lines = up.messages.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            let curls = lines.filter { $0.hasPrefix("curl ") }
            #expect(curls.count == 2 && lines.contains(#"eval "$(nacre env)""#))
            let variables = try await Nacre.run(["env"], in: server.scratch)
            #expect(variables.status == 0 && variables.output.split(separator: "\n").count == 5)
            let script = ([variables.output] + curls).joined(separator: "\n")
            let text = String(decoding: try await Program("/bin/sh", ["-c", script]).run().output, as: UTF8.self)
            #expect(text.components(separatedBy: #""value":"hello""#).count == 3, "\(text)")
        }
    }

    /// Saves a record as a page does, by an API token and a web auth token, without the types of its values.
    /// - Returns: The answer's text.
    private func savedByPage(_ setup: [String: any Sendable], _ administrator: Administrator) async throws -> String {
        let file = try EnvironmentFile.read(administrator.server.scratch + "/.env")
        let (apiToken, user) = (try #require(setup["apiToken"] as? String), try #require(setup["user"] as? String))
        let signedIn = try await administrator.run(
            [
                "user", "sign-in", user, "--password-stdin", "--container", Administrator.container, "--environment", "development", "--api-token",
                apiToken,
            ], input: file["NACRE_PASSWORD"])
        var components = URLComponents(
            string: "\(administrator.server.url)/database/1/\(Administrator.container)/development/private/records/modify")
        components?.queryItems = [URLQueryItem(name: "ckAPIToken", value: apiToken), URLQueryItem(name: "ckWebAuthToken", value: signedIn.line)]
        // The server reads a plus sign in a query as a space.
        let address = try #require(components?.string?.replacingOccurrences(of: "+", with: "%2B"))
        let request = URLRequest(url: try WebServicesClient.url(address))
        let fields = #""text":{"value":"hello"},"stars":{"value":4},"tags":{"value":["a","b"]}"#
        let body = #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{\#(fields)}}}]}"#
        let answer = try await WebServicesClient.send(request, Data(body.utf8), over: .shared)
        #expect(answer.status == 200)
        return String(decoding: answer.body, as: UTF8.self)
    }

    @Test func `a page's first save makes its type and fields, without a word about types`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let up = try await administrator.run(Self.up + ["--json"])
            #expect(up.status == 0 && up.messages.contains("web pages included"), "\(up.messages)")
            let text = try await savedByPage(try up.object(), administrator)
            for type in ["STRING", "INT64", "STRING_LIST"] { #expect(text.contains(#""type":"\#(type)""#), "\(text)") }
            #expect(!text.contains("serverErrorCode"))
        }
    }

    @Test func `a container that was made as Apple's stays so, and what lets pages make types is said`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            #expect(try await administrator.run(["container", "create", Administrator.container]).status == 0)
            let up = try await administrator.run(Self.up + ["--json"])
            #expect(up.status == 0 && up.messages.contains("nacre container change \(Administrator.container) --just-in-time all"))
            let setup = try up.object()
            #expect(try await savedByPage(setup, administrator).contains("Did not find record type: Note"))
            #expect(try await administrator.run(["container", "change", Administrator.container, "--just-in-time", "all"]).status == 0)
            #expect(try await !savedByPage(setup, administrator).contains("serverErrorCode"))
        }
    }

    @Test func `a token that was revoked and a user who was deleted are made anew`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let first = try await administrator.run(Self.up + ["--json"]).object()
            let token = try #require(first["apiToken"] as? String)
            let user = try #require(first["user"] as? String)
            #expect(try await administrator.run(["token", "revoke", token]).status == 0)
            #expect(try await administrator.run(["session", "revoke", "--all", "--email", user]).status == 0)
            let second = try await administrator.run(Self.up + ["--json"]).object()
            #expect(second["apiToken"] as? String != token && second["user"] as? String == user)
            #expect(second["accountToken"] as? String != first["accountToken"] as? String)
        }
    }

    @Test func `an address that is somebody's is refused with what to do, and nothing is left behind`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.preparedWithUser()
            let tokens = try await administrator.run(["token", "list"]).output
            let run = try await administrator.run(Self.up + ["--email", Administrator.email])
            #expect(run.status == 1)
            #expect(run.messages.contains("whose password the file does not have") && run.messages.contains("NACRE_PASSWORD"))
            #expect(!FileManager.default.fileExists(atPath: server.scratch + "/.env"))
            #expect(try await administrator.run(["token", "list"]).output == tokens)
        }
    }

    @Test func `another file is for another user of the same container`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let first = try await administrator.run(Self.up + ["--json", "--env-file", "a"]).object()
            let second = try await administrator.run(Self.up + ["--json", "--env-file", "b"]).object()
            #expect(first["user"] as? String != second["user"] as? String && second["accountToken"] != nil)
            #expect(try await administrator.run(Self.up + ["--json", "--env-file", "a"]).object()["user"] as? String == first["user"] as? String)
        }
    }

    @Test func `without a server it starts one, which serves until it is interrupted`() async throws {
        let folder = try TemporaryFolder()
        let file = try FileAppearance(of: ".env", in: folder.path)
        let process = try Launched(Self.up + ["--data", folder.path + "/data", "--listen", "127.0.0.1:0", "--json"], named: "up", in: folder.path)
        #expect(await file.wait(while: process, seconds: RunningServer.patienceSeconds))
        // The server serves: requests under way are finished first, and then the server ends.
        process.signal(SIGINT)
        #expect(await process.ended() == 0)
        #expect(process.outputText.contains("accountToken"))
        let variables = try await Nacre.run(["env"], in: folder.path)
        #expect(variables.output.contains("CLOUDKIT_ACCOUNT_TOKEN="))
    }

    @Test func `a server for development prepares its container when it is ready`() async throws {
        let folder = try TemporaryFolder()
        let file = try FileAppearance(of: ".env", in: folder.path)
        let process = try Launched(
            ["serve", "--dev", Administrator.container, "--memory", "--data", folder.path + "/data", "--listen", "127.0.0.1:0"], named: "serve",
            in: folder.path)
        #expect(await file.wait(while: process, seconds: RunningServer.patienceSeconds))
        process.signal(SIGINT)
        #expect(await process.ended() == 0)
        #expect(process.errorText.contains("\(Administrator.container) is ready at http://127.0.0.1:"))
        #expect(try await Nacre.run(["env"], in: folder.path).output.contains("CLOUDKIT_ACCOUNT_TOKEN="))
    }

    @Test func `a command is run with a server of its own and ends with the command's status, and what it saved is there the next time`() async throws
    {
        let folder = try TemporaryFolder()
        func exec(_ script: String, _ options: [String] = []) async throws -> Nacre {
            try await Nacre.run(["run", Administrator.container] + options + ["--", "sh", "-c", script, "--json"], in: folder.path)
        }
        let put = try await exec(
            "nacre=$0; test -n \"$CLOUDKIT_API_TOKEN\"; '\(Launched.executable)' record put one --type Note --set text=hello; exit 7")
        #expect(put.status == 7 && put.output.contains("hello"), "\(put.messages)")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/nacre-data/admin.json"))
        let found = try await exec("'\(Launched.executable)' record get one; kill -KILL $$")
        #expect(found.status == 128 + SIGKILL && found.output.contains("hello"), "\(found.messages)")
        let missing = try await Nacre.run(["run", Administrator.container, "--memory", "--", "no-such-command"], in: folder.path)
        #expect(missing.status == 1 && missing.messages.contains("no-such-command cannot be run: No such file or directory"))
    }

    @Test func `a command is run beside a server that runs already, which stays`() async throws {
        try await RunningServer.with { server in
            let run = try await Nacre.run(
                ["run", Administrator.container, "--data", server.data, "--", "printenv", "CLOUDKIT_SERVER_URL"], in: server.scratch)
            #expect(run.status == 0 && run.line == server.url)
            _ = try await NewCloud(server)
        }
    }

    @Test func `a folder without the file has no variables`() async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(["env"], in: folder.path)
        #expect(run.status == 1 && run.output.isEmpty && run.messages.contains("nacre up"))
    }
}
