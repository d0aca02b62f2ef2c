import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

/// Tests of `nacre backup` and `nacre migrate`, used as in `docs/operations.md`.
struct BackupTests {
    private func prepared(_ server: RunningServer) async throws -> FaultedCloud {
        let cloud = try await FaultedCloud(server)
        #expect(await cloud.isCreated("first", "bread"))
        return cloud
    }

    @Test func `made beside a server and restored into its folder, a backup is the data of its moment`() async throws {
        try await RunningServer.with { server in
            let cloud = try await prepared(server)
            let file = server.scratch + "/notes.backup"
            let made = try await Nacre.run(["backup", "create", "notes.backup", "--data", server.data], in: server.scratch)
            #expect(made.status == 0 && made.line == file, "\(made.messages)")
            #expect(await cloud.isCreated("second", "olives"))

            let again = try await Nacre.run(["backup", "create", file, "--data", server.data], in: server.scratch)
            #expect(again.status == 1 && again.messages.contains("never overwritten"))
            let verified = try await Nacre.run(["backup", "verify", file, "--json"], in: server.scratch)
            #expect(verified.status == 0)
            #expect(try verified.object()["containers"] as? Double == 1)

            let running = try await Nacre.run(["backup", "restore", file, "--data", server.data, "--replace"], in: server.scratch)
            #expect(running.status == 1 && running.output.isEmpty)
            #expect(try await server.stop() == 0)
            let refused = try await Nacre.run(["backup", "restore", file, "--data", server.data], in: server.scratch)
            #expect(refused.status == 1 && refused.messages.contains("--replace"))
            let restored = try await Nacre.run(["backup", "restore", file, "--data", server.data, "--replace"], in: server.scratch)
            #expect(restored.status == 0 && restored.messages.contains("\(server.data)/replaced-"), "\(restored.messages)")
            try await server.start()
            #expect(try await cloud.texts(of: ["first", "second"]) == ["first": "bread"])
        }
    }

    @Test func `without a server the folder itself is read, a folder gets a file with a name, and no data are a failure`() async throws {
        try await RunningServer.with { server in
            _ = try await prepared(server)
            // A kill leaves the log, and an admin file whose server is gone.
            await server.kill()
            let made = try await Nacre.run(["backup", "create", server.scratch, "--data", server.data, "--json"], in: server.scratch)
            #expect(made.status == 0, "\(made.messages)")
            let path = try #require(try made.object()["path"] as? String)
            #expect(path.hasSuffix(".backup") && path.contains("/nacre-20"))
            #expect(try await Nacre.run(["backup", "verify", path], in: server.scratch).status == 0)
            let nowhere = try await Nacre.run(["backup", "create", "x.backup", "--data", server.scratch + "/nowhere"], in: server.scratch)
            #expect(nowhere.status == 1 && nowhere.messages.contains("no data"))
            let elsewhere = try await Nacre.run(
                ["backup", "create", "/x", "--server", "http://127.0.0.1:\(try QuietPort.any())", "--token-file", server.data + "/admin.json"],
                in: server.scratch)
            #expect(elsewhere.status == 69)
            try await server.start()
        }
    }

    @Test func `a damaged, a cut and a missing file each end with their own status`() async throws {
        try await RunningServer.with { server in
            _ = try await prepared(server)
            let file = server.scratch + "/whole.backup"
            #expect(try await Nacre.run(["backup", "create", file, "--data", server.data], in: server.scratch).status == 0)
            var bytes = try Data(contentsOf: URL(filePath: file))
            bytes[5000] ^= 4
            try bytes.write(to: URL(filePath: server.scratch + "/altered.backup"))
            try bytes.prefix(9000).write(to: URL(filePath: server.scratch + "/cut.backup"))
            for (name, says) in [("altered", "altered between bytes 0 and"), ("cut", "unfinished")] {
                let verified = try await Nacre.run(["backup", "verify", "\(name).backup"], in: server.scratch)
                #expect(verified.status == 2 && verified.output.isEmpty && verified.messages.contains(says), "\(verified.messages)")
                let restored = try await Nacre.run(["backup", "restore", "\(name).backup", "--data", "new"], in: server.scratch)
                #expect(restored.status == 2)
                #expect(!FileManager.default.fileExists(atPath: server.scratch + "/new"))
            }
            #expect(try await Nacre.run(["backup", "verify", "none.backup"], in: server.scratch).status == 1)
        }
    }

    @Test func `an interrupt ends a backup beside a server, and nothing stays of it`() async throws {
        try await RunningServer.with { server in
            _ = try await prepared(server)
            let appearance = try FileAppearance(of: "slow.backup.part", in: server.scratch)
            let process = try Launched(
                ["backup", "create", server.scratch + "/slow.backup", "--data", server.data, "--bandwidth", "1K"], in: server.scratch)
            #expect(await appearance.wait(while: process, seconds: 30))
            process.signal(SIGTERM)
            #expect(await process.ended() == 130)
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.scratch).filter { $0.contains("slow.backup") } == [])
            // Another backup may be made at once.
            #expect(try await Nacre.run(["backup", "create", "next.backup", "--data", server.data], in: server.scratch).status == 0)
        }
    }

    @Test func `the server makes backups by itself, and its end ends one that is under way`() async throws {
        let place = try TemporaryFolder()
        let backups = place.path + "/backups"
        try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: true)
        let appearance = try FileAppearance(suffix: ".backup", in: backups)
        try await RunningServer.with(["--backup-dir", backups, "--backup-every", "24h", "--backup-keep", "2"]) { server in
            #expect(await appearance.wait(while: try server.process, seconds: 30))
            let made = try FileManager.default.contentsOfDirectory(atPath: backups).filter { $0.hasSuffix(".backup") }
            #expect(made.count == 1)
            #expect(try await Nacre.run(["backup", "verify", backups + "/" + (made.first ?? "")], in: server.scratch).status == 0)
            let status = try await Nacre.run(["status", "--data", server.data], in: server.scratch)
            #expect(status.status == 0 && status.output.contains("\nbackup \(made.first ?? "?") "), "\(status)")
            let json = try await Nacre.run(["status", "--json", "--data", server.data], in: server.scratch)
            #expect(json.output.contains(#""lastBackup":{"#) && json.output.contains(#""publicURL":"\#(server.url)""#), "\(json)")
            #expect(try await server.stop() == 0)
        }
    }

    @Test func `a container is deleted after a backup, which has it still`() async throws {
        try await RunningServer.with { server in
            let container = try await prepared(server).client.container
            func run(_ arguments: String...) async throws -> Nacre {
                try await Nacre.run(arguments + ["--data", server.data], in: server.scratch)
            }
            let file = server.scratch + "/before.backup"
            let unasked = try await run("container", "delete", container, "--backup", file)
            #expect(unasked.status == 64 && unasked.messages.contains("--yes") && !FileManager.default.fileExists(atPath: file), "\(unasked)")
            let deleted = try await run("container", "delete", container, "--backup", file, "--yes")
            #expect(deleted.status == 0 && deleted.line == container && deleted.messages.contains(file), "\(deleted)")
            #expect(try await !run("container", "list").output.contains(container))
            #expect(try await run("audit", "list").output.contains("POST /admin/1/containers/delete name=\(container)"))
            let again = try await run("container", "delete", container, "--no-backup", "--yes")
            #expect(again.status == 1 && again.messages.contains("container does not exist"), "\(again)")
            #expect(try await run("check").status == 0)
            let verified = try await Nacre.run(["backup", "verify", file], in: server.scratch)
            #expect(verified.status == 0 && verified.messages.contains(": 1 containers, "), "\(verified)")
        }
    }

    @Test func `a folder of this version has nothing to migrate, which a dry run says too`() async throws {
        try await RunningServer.with { server in
            #expect(try await server.stop() == 0)
            for arguments in [["migrate", "--dry-run", "--data", server.data], ["migrate", "--data", server.data]] {
                let said = try await Nacre.run(arguments, in: server.scratch)
                #expect(said.status == 0 && said.messages.contains("Nothing is to be done"), "\(said.messages)")
            }
        }
    }
}
