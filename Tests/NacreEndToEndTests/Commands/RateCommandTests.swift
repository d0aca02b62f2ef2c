import Foundation
import Testing

/// Tests of `nacre rate` and `nacre token rotate`, with their output.
@Suite(.timeLimit(.minutes(5))) struct RateCommandTests {
    private static let container = ["--container", Administrator.container]

    @Test func `rates are set for one container, shown, and given back`() async throws {
        try await RunningServer.with(["--request-rate", "5000"]) { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.prepared()
            func run(_ verb: String, _ more: String...) async throws -> Nacre {
                try await administrator.run(["rate", verb] + Self.container + more)
            }
            #expect(try await run("show").output == "user 5000 server\nall 200000 server\n")
            #expect(try await run("set", "--user", "20", "--all", "none").output == "user 20 own\nall none own\n")
            #expect(try await run("set", "--user", "server").output == "user 5000 server\nall none own\n")
            let shown = try await run("show", "--json").object()
            #expect(shown["userRate"] as? Double == 5000 && shown["isContainerRateOwn"] as? Double == 1)
            #expect(try await run("set").status == 64)
            for units in ["", "-1", "0", "x", "1000000001"] { #expect(try await run("set", "--all", units).status == 64, "\(units)") }
            let unknown = try await administrator.run(["rate", "show", "--container", "iCloud.com.example.Nobody"])
            #expect(unknown.status == 1 && unknown.messages.contains("nacre container create"))
        }
    }

    @Test func `a token is rotated, and the list says until when the old one is good`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let old = try await administrator.prepared()
            let rotated = try await administrator.run(["token", "rotate", old, "--grace", "7d"])
            #expect(rotated.status == 0 && rotated.line.count == 64 && rotated.line != old && !rotated.messages.contains(old))
            let lines = try await administrator.run(["token", "list"] + Self.container).output.split(separator: "\n")
            #expect(lines.count == 2 && lines.count { $0.contains(" ends=20") && $0.contains(old) } == 1)
            #expect(try await administrator.run(["token", "rotate", old]).messages.contains("nacre token list"))
            for grace in ["7", "0d", "-1h", ""] {
                #expect(try await administrator.run(["token", "rotate", rotated.line, "--grace", grace]).status == 64, "\(grace)")
            }
            let tooLong = try await administrator.run(["token", "rotate", rotated.line, "--grace", "31d"])
            #expect(tooLong.status == 1 && tooLong.messages.contains("graceSeconds"))
            let last = try await administrator.run(["token", "rotate", rotated.line, "--json"])
            #expect(try last.object().keys.sorted() == ["token"])
        }
    }
}
