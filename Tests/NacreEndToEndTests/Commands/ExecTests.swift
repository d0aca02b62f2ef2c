import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre exec`: a command with its own emulator.
struct ExecTests {
    private func exec(_ words: String..., in folder: TemporaryFolder) async throws -> Nacre {
        try await Nacre.run(["exec"] + words, in: folder.path)
    }

    private static let nacre = Launched.executable

    @Test func `the command finds a server, a container, tokens and a signed-in user`() async throws {
        let folder = try TemporaryFolder()
        let run = try await exec(
            "--container", "iCloud.com.example.Notes", "--", "sh", "-c",
            "\"$0\" zone list && echo \"$CLOUDKIT_CONTAINER $CLOUDKIT_ENVIRONMENT ${CLOUDKIT_API_TOKEN:+token}\"", Self.nacre, in: folder)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.output.contains("_defaultZone"))
        #expect(run.output.hasSuffix("iCloud.com.example.Notes development token\n"))
        #expect(!run.messages.contains("The last requests"))
    }

    @Test func `it ends with the command's status, and then shows the last requests, without what they carry`() async throws {
        let folder = try TemporaryFolder()
        let run = try await exec(
            "sh", "-c", "\"$0\" zone list > /dev/null; echo $CLOUDKIT_ACCOUNT_TOKEN; exit 7", Self.nacre, in: folder)
        #expect(run.status == 7)
        #expect(run.messages.contains("sh ended with status 7. The last requests:"))
        #expect(run.messages.contains("zones/list"))
        let token = run.line
        #expect(token.count > 20 && !run.messages.contains(token))
    }

    @Test func `words behind the command are its own, also those that look like options`() async throws {
        let folder = try TemporaryFolder()
        let run = try await exec("printf", "%s %s", "--container", "--help", in: folder)
        #expect(run.status == 0 && run.output == "--container --help")
        #expect(try await exec(in: folder).status == 64)
        #expect(try await exec("--help", in: folder).output.contains("USAGE: nacre exec"))
    }

    @Test func `the command orders faults, and a signal that ends it is told as shells tell it`() async throws {
        let folder = try TemporaryFolder()
        let run = try await exec(
            "sh", "-c", "\"$0\" fault add zoneBusy --data \"$NACRE_DATA\"; \"$0\" fault list --data \"$NACRE_DATA\"; kill -9 $$", Self.nacre,
            in: folder)
        #expect(run.status == 137)
        #expect(run.output == "1 x any: zoneBusy(retryAfter: 1)\n1 x any: zoneBusy(retryAfter: 1)\n")
    }

    @Test func `a command that there is not is told, and nothing stays behind`() async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(["exec", "no-such-command-here"], in: folder.path, environment: ["TMPDIR": folder.path])
        #expect(run.status == 1 && run.messages.contains("no-such-command-here cannot be run: No such file or directory"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("nacre-exec") } == [])
    }
}
