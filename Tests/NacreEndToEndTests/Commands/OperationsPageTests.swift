import Foundation
import Testing

/// Tests of the commands in `docs/operations.md`, run word for word.
struct OperationsPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/operations.md")

    /// Returns the lines of its code that call nacre.
    private static func commands() throws -> [[String]] {
        var isCode = false
        var commands: [[String]] = []
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("```") { isCode.toggle() }
            let words = line.split(separator: " ").map(String.init)
            if isCode, words.first == "nacre" { commands.append(Array(words.dropFirst())) }
        }
        return commands
    }

    @Test func `every command of the page does what it says, in the order of the page`() async throws {
        let commands = try Self.commands()
        #expect(commands.count >= 10)
        let serve = try #require(commands.first { $0.first == "serve" })
        #expect(serve.prefix(3) == ["serve", "--data", "/srv/nacre"])
        try await RunningServer.with(Array(serve.dropFirst(3)).map { $0 == "/backup" ? "backups" : $0 }) { server in
            _ = try await FaultedCloud(server)
            try FileManager.default.createDirectory(atPath: server.scratch + "/backup", withIntermediateDirectories: true)
            // The icon of an app, which its maker has in the folder where the command is called.
            let icon = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
            try #require(Data(base64Encoded: icon)).write(to: URL(filePath: server.scratch + "/trips.png"))
            var isUp = true
            for command in commands where command.first != "serve" {
                // The page says: "Stop the server first."
                let isForStopped = ["restore", "migrate"].contains(where: command.prefix(2).contains)
                if isForStopped, isUp { await server.kill() }
                if !isForStopped, !isUp { try await server.start() }
                isUp = !isForStopped
                let words = command.map {
                    $0.replacingOccurrences(of: "/srv/nacre", with: server.data).replacingOccurrences(
                        of: "/backup/", with: server.scratch + "/backup/")
                }
                // The server may be making its own backup at this moment.
                var run = try await Nacre.run(words, in: server.scratch)
                while run.messages.contains("a backup is under way") { run = try await Nacre.run(words, in: server.scratch) }
                #expect(run.status == 0, "\(command): \(run.messages)")
            }
            if !isUp { try await server.start() }
        }
    }
}
