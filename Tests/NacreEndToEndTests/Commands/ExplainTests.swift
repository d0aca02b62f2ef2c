import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre explain`, and of the page of the documentation that it prints.
struct ExplainTests {
    @Test func `a code is explained by its name in any case of letters, and by the framework's number`() async throws {
        let folder = try TemporaryFolder()
        let conflict = try await Nacre.run(["explain", "conflict"], in: folder.path)
        #expect(conflict.status == 0 && conflict.messages.isEmpty)
        #expect(conflict.output.hasPrefix("CONFLICT: HTTP 409, CKError.serverRecordChanged (14)\n  "))
        #expect(try await Nacre.run(["explain", "14"], in: folder.path).output.hasPrefix("serverRecordChanged: CKError.serverRecordChanged (14)\n"))
        let object = try await Nacre.run(["explain", "THROTTLED", "--json"], in: folder.path).object()
        #expect(object["code"] as? String == "THROTTLED" && object["status"] as? Double == 429 && object["ckErrorCode"] as? Double == 7)
    }

    @Test func `an HTTP status is explained by all codes that have it`() async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(["explain", "404"], in: folder.path)
        let heads = run.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
        #expect(run.status == 0 && heads.contains("NOT_FOUND") && run.output.contains("NOT_FOUND: HTTP 404, "), "\(run.output)")
        #expect(run.output.components(separatedBy: ": HTTP 404, ").count == heads.count + 1)
        let lines = try await Nacre.run(["explain", "404", "--json"], in: folder.path).output.split(separator: "\n")
        #expect(lines.count == heads.count && lines.allSatisfy { $0.contains(#""status":404"#) })
        #expect(try await Nacre.run(["explain", "418"], in: folder.path).status == 64)
    }

    @Test func `a code that is none is a wrong usage, with the one that was probably meant`() async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(["explain", "BAD_REQEST"], in: folder.path)
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.messages.contains("did you mean BAD_REQUEST?"))
        #expect(try await Nacre.run(["explain", "?"], in: folder.path).messages.contains("nacre explain lists them"))
    }

    @Test func `the page of errors in the documentation is what the command prints`() async throws {
        let folder = try TemporaryFolder()
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/errors.md")
        let printed = try await Nacre.run(["explain", "--markdown"], in: folder.path)
        #expect(try String(contentsOf: page, encoding: .utf8) == printed.output, "nacre explain --markdown > docs/errors.md")
    }
}
