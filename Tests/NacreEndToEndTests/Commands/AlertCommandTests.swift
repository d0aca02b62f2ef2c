import Foundation
import Testing

/// Tests of `nacre alert`, with its output.
@Suite(.timeLimit(.minutes(5))) struct AlertCommandTests {
    @Test func `a rule is added, shown, tested, silenced and removed`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            func run(_ arguments: String...) async throws -> Nacre { try await administrator.run(["alert"] + arguments) }
            let own = try await run("list").output
            #expect(own.contains("disk-free ") && own.contains("server-errors ") && !own.contains("backup-"), "\(own)")
            let added = try await run("add", "late", "--kind", "task-overdue", "--limit", "2h", "--for", "0s")
            #expect(added.status == 0 && added.output.isEmpty && added.messages == "added late\n", "\(added)")
            let hook = ["--kind", "tasks-parked", "--limit", "1", "--webhook", "http://127.0.0.1:1/x", "--json"]
            let secret = try await administrator.run(["alert", "add", "hook"] + hook).object()
            #expect((secret["secret"] as? String)?.count == 64)
            let shown = try await run("show", "late")
            #expect(shown.output.contains("kind: task-overdue\n") && shown.output.contains("limit: 7200.0 seconds\n"), "\(shown.output)")
            #expect(try await run("test", "late").output == "log ok: written\n")
            let failed = try await run("test", "hook")
            #expect(failed.status == 1 && failed.output.contains("log ok: written\nwebhook FAILED: no answer"), "\(failed)")
            #expect(try await run("silence", "late", "--for", "2h").status == 64)
            let silenced = try await run("silence", "late", "--for", "2h", "--why", "a slow disk", "--by", "Ada")
            #expect(silenced.status == 0 && silenced.messages.hasPrefix("silent until 20"))
            #expect(try await run("show", "late").output.contains(" by Ada: a slow disk\n"))
            #expect(try await run("silence", "late", "--end").messages == "no longer silent\n")
            #expect(try await run("silence", "late", "--end", "--for", "2h").status == 64)
            #expect(try await run("remove", "late").messages == "removed late\n")
            #expect(try await run("show", "late").messages.contains("nacre alert list"))
            let own2 = try await run("remove", "tasks-parked")
            #expect(own2.status == 1 && own2.messages.contains("nacre alert silence"))
        }
    }

    @Test func `figures are given with their units, and others are refused`() async throws {
        try await RunningServer.with(["--alert-host", "hooks.example.com"]) { server in
            let administrator = Administrator(server: server)
            func add(_ kind: String, _ limit: String, _ more: String...) async throws -> Nacre {
                try await administrator.run(["alert", "add", "x", "--kind", kind, "--limit", limit] + more)
            }
            let limits = [
                ("disk-free", "15%", "15.0 percent"), ("disk-free-bytes", "5G", "5368709120.0 bytes"), ("task-overdue", "48h", "172800.0 seconds"),
            ]
            for (kind, limit, shown) in limits {
                #expect(try await add(kind, limit).status == 0)
                #expect(try await administrator.run(["alert", "show", "x"]).output.contains("limit: \(shown)\n"))
            }
            for limit in ["", "x", "1e999", "nan"] { #expect(try await add("disk-free", limit).status == 64, "\(limit)") }
            #expect(try await add("disk-free", "5G").status == 1)
            #expect(try await add("weather", "1").status == 64)
            #expect(try await add("disk-free", "5%", "--webhook", "https://hooks.example.com/x").status == 0)
            let elsewhere = try await add("disk-free", "5%", "--webhook", "https://hooks.example.org/x")
            #expect(elsewhere.status == 1 && elsewhere.messages.contains("--alert-host"))
        }
    }
}
