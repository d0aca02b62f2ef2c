import Foundation
import NacreCloudTestSupport
import NacreCrypto
import Testing

/// Tests of `nacre webhook`, with the receiver of `docs/webhooks.md` as it stands.
@Suite(.timeLimit(.minutes(5))) struct WebhookCommandTests {
    private static let python = "/usr/bin/python3"
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/webhooks.md")

    /// Returns the receiver on the page.
    private static func receiver() throws -> String {
        let text = try String(contentsOf: page, encoding: .utf8)
        let begin = try #require(text.firstRange(of: "```python\n"))
        let end = try #require(text[begin.upperBound...].firstRange(of: "```"))
        return String(text[begin.upperBound..<end.lowerBound])
    }

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: python)), "python3 is not installed"))
    func `a receiver is told of a save by a signed delivery, and refuses one that is signed otherwise`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let up = try await administrator.run(["up", Administrator.container])
            try #require(up.status == 0, "\(up.messages)")
            let place = ["--container", Administrator.container, "--environment", "development"]
            let port = try QuietPort.any()
            func run(_ verb: String, _ more: String...) async throws -> Nacre { try await administrator.run(["webhook", verb] + more + place) }
            let made = try await run("create", "--url", "http://127.0.0.1:\(port)/", "--fields", "title")
            let lines = made.output.split(separator: "\n").map(String.init)
            try #require(made.status == 0 && lines.count == 2, "\(made)")
            let (id, secret) = (lines[0], lines[1])
            let silent = try await run("test", id)
            #expect(silent.status == 1 && silent.output.contains("no answer"), "\(silent)")

            let told = server.scratch + "/told"
            let environment = ProcessInfo.processInfo.environment.merging(["SECRET": secret, "PORT": "\(port)"]) { $1 }
            let receiver = try Program(Self.python, ["-c", try Self.receiver()], environment: environment).start(output: told)
            defer {
                kill(receiver, SIGKILL)
                Program.reap(receiver)
            }
            try await until { try await run("test", id).output == "204\n" }
            let save = try await Nacre.run(
                ["record", "put", "olives", "--type", "Note", "--set", "title=Olives", "--database", "public"], in: server.scratch,
                environment: try Self.variables(server))
            try #require(save.status == 0, "\(save)")
            try await until { try await run("list").output.hasPrefix("\(id)\tactive\t204 at ") }
            let text = try String(contentsOfFile: told, encoding: .utf8)
            #expect(text.contains("'recordName': 'olives'"), "\(text)")
            #expect(text.contains("'title': {'value': 'Olives'") && text.contains("'reason': 'created'"))
            #expect(try await run("show", id).output.contains("fields: title\n"))

            // A delivery that is sent again later is too old, and another secret makes another code.
            let body = #"{"changes":["forged"]}"#
            let old = Self.signature(of: body, at: Int(Date().timeIntervalSince1970) - 3600, by: secret)
            let forged = Self.signature(of: body, at: Int(Date().timeIntervalSince1970), by: id)
            for signature in [old, forged] { #expect(try await Self.post(body, signature, to: port) == 401) }
            #expect(try await Self.post(body, Self.signature(of: body, at: Int(Date().timeIntervalSince1970), by: secret), to: port) == 204)

            let granted = try await run("create", "--url", "https://example.com/", "--private")
            let log = try await administrator.run(["audit", "list"])
            #expect(log.output.contains("isPrivate=true") && !log.output.contains(secret), "\(log.output)")
            for webhook in [id, String(granted.output.prefix { $0 != "\n" })] { #expect(try await run("delete", webhook).status == 0) }
            #expect(try await run("list").output.isEmpty)
            #expect(try await run("resume", id).status == 1)
        }
    }

    /// Returns the variables of an app that `nacre up` has written.
    private static func variables(_ server: RunningServer) throws -> [String: String] {
        let lines = try String(contentsOfFile: server.scratch + "/.env", encoding: .utf8).split(separator: "\n")
        let pairs = lines.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }.filter { $0.count == 2 }
        return Dictionary(pairs.map { ($0[0], $0[1].trimmingCharacters(in: CharacterSet(charactersIn: "'"))) }, uniquingKeysWith: { $1 })
    }

    /// Asks until it is so. Each question is a process, which takes its time.
    private func until(_ isSo: () async throws -> Bool) async throws {
        for _ in 0..<200 {
            if try await isSo() { return }
        }
        Issue.record("It did not come about")
    }

    private static func signature(of body: String, at seconds: Int, by secret: String) -> String {
        "t=\(seconds),v1=\(Hex.encode(HMACSHA256.code(for: Array("\(seconds).\(body)".utf8), key: Array(secret.utf8))))"
    }

    private static func post(_ body: String, _ signature: String, to port: Int) async throws -> Int {
        let request = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Nacre-Signature: \(signature)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        return try await RawClient.response(to: Array(request.utf8), port: port).status
    }
}
