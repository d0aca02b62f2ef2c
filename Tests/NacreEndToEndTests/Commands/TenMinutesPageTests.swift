import Foundation
import NacreCloudTestSupport
import Testing

/// The lines of `docs/ten-minutes.md`, run as they stand there, one after the other in one shell.
@Suite(.timeLimit(.minutes(5))) struct TenMinutesPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/ten-minutes.md")

    /// Code of the page, and what it is said to print; nil: nothing is said.
    private struct Part {
        var script: String
        var printed: String?
    }

    private static func parts() throws -> [Part] {
        var parts: [Part] = []
        var language: Substring?
        var text = ""
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("```") else {
                if language != nil { text += line + "\n" }
                continue
            }
            guard let ended = language else {
                language = line.dropFirst(3)
                continue
            }
            switch ended {
            case "sh": parts.append(Part(script: text))
            case "text": parts[parts.count - 1].printed = text
            // The test has started the server.
            default: #expect(text == "nacre serve\n")
            }
            language = nil
            text = ""
        }
        return parts
    }

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: "/usr/bin/jq")), "jq is not installed"))
    func `every line of the page runs, and prints what the page says`() async throws {
        let parts = try Self.parts()
        #expect(parts.count { $0.printed != nil } >= 5)
        try await RunningServer.with { server in
            // Where the commands look for a server without more.
            try FileManager.default.createSymbolicLink(atPath: server.scratch + "/nacre-data", withDestinationPath: server.data)
            let tools = URL(filePath: Launched.executable).deletingLastPathComponent().path
            let script = parts.map { $0.script + "echo @@\n" }.joined()
            let environment = ProcessInfo.processInfo.environment.merging([
                "CLOUDKIT_SERVER_URL": server.url, "PATH": tools + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
            ]) { $1 }
            let (status, output) = try await Program(
                "/bin/bash", ["-euo", "pipefail", "-c", script], in: server.scratch, environment: environment
            ).run(input: [UInt8](try Data(contentsOf: URL(filePath: server.data + "/admin.json"))))
            let printed = String(decoding: output, as: UTF8.self)
            #expect(status == 0, "\(printed)")
            let outputs = printed.components(separatedBy: "@@\n")
            for (part, output) in zip(parts, outputs) {
                if let expected = part.printed { #expect(output == expected, "\(part.script)") }
            }
            #expect(outputs.count == parts.count + 1)
        }
    }
}
