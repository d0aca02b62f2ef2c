import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI

/// Tests of exit codes: each status of the manual by commands that end with it.
struct ExitCodeTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        var code: ExitCode
        var words: [String]
        var environment: [String: String] = [:]
        /// A part of the output, in data or messages.
        var says: String

        var testDescription: String { "\(code.rawValue) \(words.joined(separator: " "))" }
    }

    /// The variables of an app whose server does not exist.
    private static let nowhere = ["CLOUDKIT_SERVER_URL": "http://127.0.0.1:1", "CLOUDKIT_CONTAINER": "iCloud.a.b"]

    private static let rows = [
        Row(code: .success, words: ["version"], says: "0."), Row(code: .success, words: ["help", "serve"], says: "USAGE: nacre serve"),
        Row(code: .failure, words: ["serve", "--data", "/dev/null/data"], says: "/dev/null/data"),
        Row(code: .failure, words: ["serve", "--data", "data", "--backup-dir", "broken/backups"], says: "--backup-dir"),
        Row(code: .failure, words: ["serve", "--data", "data", "--backup-dir", "broken"], says: "Not a directory"),
        Row(code: .failure, words: ["backup", "verify", "missing"], says: "missing"),
        Row(code: .damaged, words: ["schema", "validate", "broken"], says: "broken"),
        Row(code: .damaged, words: ["backup", "verify", "broken"], says: "broken"),
        Row(code: .usage, words: ["conatiner"], says: "Did you mean 'container'?"),
        Row(code: .usage, words: ["serve"], environment: ["NACRE_LISTEN": "nowhere"], says: "NACRE_LISTEN"),
        Row(code: .unreachable, words: ["container", "list"], says: "no server runs"),
        Row(
            code: .unreachable, words: ["record", "query", "Note"], environment: nowhere.merging(["CLOUDKIT_ACCOUNT_TOKEN": "t"]) { $1 },
            says: "127.0.0.1:1"),
        Row(code: .authentication, words: ["record", "query", "Note"], environment: nowhere, says: "CLOUDKIT_ACCOUNT_TOKEN"),
        Row(code: .authentication, words: ["container", "list", "--server", "http://127.0.0.1:1", "--token-file", "broken"], says: "chmod 600"),
    ]

    @Test func `the manual names each status, and a row or the interrupted backup ends with it`() {
        #expect(Manual.exitCodes.map(\.code) == ExitCode.allCases)
        #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 2, 64, 69, 77, 130])
        #expect(Set(Self.rows.map(\.code)) == Set(ExitCode.allCases).subtracting([.interrupted]))
    }

    @Test(arguments: rows)
    private func `a command ends with the status of the manual, and says why on the right side`(row: Row) async throws {
        let folder = try TemporaryFolder()
        try "neither a schema nor a backup".write(toFile: folder.path + "/broken", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.path + "/broken")
        let run = try await Nacre.run(row.words, in: folder.path, environment: row.environment)
        #expect(run.status == row.code.rawValue, "\(run)")
        #expect((row.code == .success ? run.output : run.messages).contains(row.says), "\(run)")
        #expect(row.code == .success ? run.messages.isEmpty : run.output.isEmpty, "\(run)")
    }

    @Test func `a token that a server does not know ends with 77, and an interrupt with 130`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let file = server.scratch + "/token"
            #expect(FileManager.default.createFile(atPath: file, contents: Data("0123456789abcdef".utf8), attributes: [.posixPermissions: 0o600]))
            let wrong = try await Nacre.run(
                ["container", "list", "--server", try server.adminURL, "--token-file", file], in: server.scratch)
            #expect(wrong.status == ExitCode.authentication.rawValue, "\(wrong)")
            _ = try await administrator.prepared()
            let appearance = try FileAppearance(of: "slow.part", in: server.scratch)
            let backup = try Launched(["backup", "create", server.scratch + "/slow", "--data", server.data, "--bandwidth", "1K"], in: server.scratch)
            #expect(await appearance.wait(while: backup, seconds: RunningServer.patienceSeconds))
            backup.signal(SIGINT)
            #expect(await backup.ended() == ExitCode.interrupted.rawValue)
            // Without a server the command itself does the work, as verify and restore do.
            await server.kill()
            let again = try FileAppearance(of: "alone.part", in: server.scratch)
            let alone = try Launched(["backup", "create", server.scratch + "/alone", "--data", server.data, "--bandwidth", "1K"], in: server.scratch)
            #expect(await again.wait(while: alone, seconds: RunningServer.patienceSeconds))
            alone.signal(SIGINT)
            #expect(await alone.ended() == ExitCode.interrupted.rawValue)
            try await server.start()
        }
    }
}
