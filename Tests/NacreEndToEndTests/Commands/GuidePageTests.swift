import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of the code on users' pages, run word for word, one block after the other in one shell for each page.
@Suite(.timeLimit(.minutes(5))) struct GuidePageTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs")

    /// Code of a page, and the output that the page shows; nil: none.
    private struct Part {
        var script: String
        var printed: String?
    }

    private static let code: Set<Substring> = ["sh", "python", "javascript"]

    /// Returns blocks of some languages, each with the block of `text` that follows it. Others are run elsewhere, or
    /// are no code.
    private static func parts(of page: String, in languages: Set<Substring> = code) throws -> [Part] {
        var parts: [Part] = []
        var language: Substring?
        var last: Substring = ""
        var text = ""
        for line in try String(contentsOf: docs.appending(path: page), encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("```") else {
                if language != nil { text += line + "\n" }
                continue
            }
            guard let ended = language else {
                language = line.dropFirst(3)
                continue
            }
            switch ended {
            case _ where Self.code.contains(ended) && !languages.contains(ended): break
            case "sh": parts.append(Part(script: text))
            case "python": parts.append(Part(script: "/usr/bin/python3 - <<'@END'\n\(text)@END\n"))
            case "javascript": parts.append(Part(script: "node --input-type=module - <<'@END'\n\(text)@END\n"))
            case "text" where code.contains(last): parts[parts.count - 1].printed = text
            default: break
            }
            last = ended
            language = nil
            text = ""
        }
        return parts
    }

    /// The pages; `isPrepared`: whether a reader has run `nacre up` before; `printed`: the number of blocks with
    /// output.
    private static let pages = [(page: "ten-minutes.md", isPrepared: false, printed: 5), ("web-api.md", true, 8), ("data-modelling.md", true, 0)]

    private static let tools = ["/usr/bin/jq", "/usr/bin/python3", "/usr/bin/node"]

    @Test(
        .enabled(if: mayRun(tools.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }), "jq, python3 or nodejs is not installed"),
        arguments: pages)
    func `every block of a page runs, and prints what the page says`(page: String, isPrepared: Bool, printed: Int) async throws {
        let parts = try Self.parts(of: page)
        #expect(!parts.isEmpty && parts.count { $0.printed != nil } >= printed)
        try await RunningServer.with { server in
            let script = (isPrepared ? Self.up : "") + parts.map { $0.script + "echo @@\n" }.joined()
            let outputs = try await run(script, beside: server).components(separatedBy: "@@\n")
            for (part, output) in zip(parts, outputs) {
                if let expected = part.printed { #expect(output == expected, "\(part.script)") }
            }
            #expect(outputs.count == parts.count + 1)
        }
    }

    /// Pages about looking into a server. The receiver on the last one serves for ever: `WebhookCommandTests` runs it.
    private static let operatorPages = ["telemetry.md", "logs.md", "alerts.md", "webhooks.md"]

    /// Ends the commands that follow something until they are stopped.
    private static let following = """
        nacre() { if [[ " $* " == *" -f "* ]]; then timeout 0.3 nacre "$@" || (($? == 124)); else command nacre "$@"; fi; }

        """

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: tools[0])), "jq is not installed"))
    func `every command of the pages about looking into a server runs as it stands`() async throws {
        let scripts = try Self.operatorPages.map { try Self.parts(of: $0, in: ["sh"]).map(\.script).joined() }
        #expect(scripts.allSatisfy { $0.contains("nacre ") })
        let save = "nacre record put olives --type Note --set stars=5 --set title=Olives --database public\n"
        // A test of an alert about a disk is told at the level of an error.
        try await RunningServer.with(faults: .expected) { server in
            let printed = try await run(Self.up + save + Self.following + scripts.joined() + (try Self.agent(of: server)), beside: server)
            for text in ["requests: ", " asked for records/modify in the public database", "log ok: written", #""reset":true"#, "serverInfo"] {
                #expect(printed.contains(text), "\(text) is not in \(printed)")
            }
        }
    }

    /// Returns the command that an agent's program starts, as the page's file says, with a first message for it.
    private static func agent(of server: RunningServer) throws -> String {
        let text = try String(contentsOf: docs.appending(path: "agents.md"), encoding: .utf8)
        let block = try #require(text.components(separatedBy: "```json\n").dropFirst().first?.components(separatedBy: "```").first)
        let file = try #require(try JSONSerialization.jsonObject(with: Data(block.utf8)) as? [String: [String: [String: Any]]])
        let entry = try #require(file["mcpServers"]?["nacre"])
        let command = try #require(entry["command"] as? String)
        let arguments = try #require(entry["args"] as? [String]).map { $0 == "/srv/nacre/data" ? server.data : $0 }
        let hello = #"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"page","version":"1"}}"#
        return "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":\(hello)}' | "
            + ([command] + arguments).joined(separator: " ") + "\n"
    }

    @Test func `the README's commands for a schema run as they stand`() async throws {
        let readme = try String(contentsOf: Self.docs.appending(path: "../README.md"), encoding: .utf8)
        let lines = readme.split(separator: "\n").filter { $0.hasPrefix("nacre schema ") }.map { $0 + "\n" }
        #expect(lines.count >= 4)
        try await RunningServer.with { server in
            // The file that the third of them imports is the output of the first.
            let first = try #require(lines.first).trimmingCharacters(in: .newlines)
            let before = "nacre record put one --type Note --set text=hello\n\(first) > notes.ckdb\n"
            let printed = try await run(Self.up + before + lines.joined(), beside: server)
            #expect(printed.contains("RECORD TYPE Note"))
        }
    }

    private static let up = "nacre up iCloud.com.example.Notes 2> up.log; eval \"$(nacre env)\"; . ./.env\n"

    /// Returns the output of a script in a folder where commands find the server without options.
    private func run(_ script: String, beside server: RunningServer) async throws -> String {
        try FileManager.default.createSymbolicLink(atPath: server.scratch + "/nacre-data", withDestinationPath: server.data)
        let tools = URL(filePath: Launched.executable).deletingLastPathComponent().path
        let environment = ProcessInfo.processInfo.environment.merging([
            "CLOUDKIT_SERVER_URL": server.url, "PATH": tools + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
        ]) { $1 }
        let (status, output) = try await Program(
            "/bin/bash", ["-euo", "pipefail", "-c", "exec 2> errors\n" + script], in: server.scratch, environment: environment
        ).run(input: [UInt8](try Data(contentsOf: URL(filePath: server.data + "/admin.json"))))
        let printed = String(decoding: output, as: UTF8.self)
        let errors = (try? String(contentsOfFile: server.scratch + "/errors", encoding: .utf8)) ?? ""
        #expect(status == 0, "\(printed)\(errors)")
        return printed
    }
}
