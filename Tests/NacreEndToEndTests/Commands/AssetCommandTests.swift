import Foundation
import FoundationNetworking
import NacreCloudTestSupport
import Testing

/// Tests of `nacre assets` with the executable, and of assets in backups and metrics.
struct AssetCommandTests {
    /// Runs a server with a file of several chunks, a small one, and no damage.
    private func withFiles(_ body: (RunningServer, RawFiles) async throws -> Void) async throws {
        try await RunningServer.with(faults: .expected) { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser("ada@example.com")
            let files = RawFiles(client: cloud.client(try await cloud.device(of: "ada@example.com"), keepsConnections: false), zone: "Photos")
            try await files.zone("create")
            try await files.save(Self.large, in: "large")
            try await files.save([1, 2, 3], in: "small")
            try await body(server, files)
        }
    }

    private static let large = RawFiles.bytes(2) + RawFiles.bytes(5)

    private func run(_ server: RunningServer, _ words: String...) async throws -> Nacre {
        try await Nacre.run(words + ["--data", server.data], in: server.scratch)
    }

    private func flip(_ path: String) throws {
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[bytes.count / 3] ^= 8
        try bytes.write(to: URL(filePath: path))
    }

    /// Returns the path for a chunk that no record has.
    private func stray(beside chunk: String) -> String {
        let part = String(name(chunk).prefix(2))
        return String(chunk.dropLast(64)) + String(repeating: part, count: 32)
    }

    private func name(_ path: String) -> String { URL(filePath: path).lastPathComponent }

    @Test(arguments: [true, false]) func `verify names what is damaged, missing and nobody's, beside a server and without one`(
        isRunning: Bool
    ) async throws {
        try await withFiles { server, files in
            let chunks = try server.assetChunks()
            try #require(chunks.count >= 3)
            if !isRunning { await server.kill() }
            let sound = try await run(server, "assets", "verify")
            #expect(sound.status == 0 && sound.output == "2 assets, \(chunks.count) chunks, \(Self.large.count + 3) bytes, 0 wrong\n", "\(sound)")
            try flip(chunks[0])
            try FileManager.default.moveItem(atPath: chunks[1], toPath: server.scratch + "/aside")
            let stray = stray(beside: chunks[2])
            try Data([1, 2]).write(to: URL(filePath: stray))
            let wrong = try await run(server, "assets", "verify")
            #expect(wrong.status == 2 && wrong.output.contains(" 3 wrong"), "\(wrong)")
            for (what, path) in [("damaged", chunks[0]), ("missing", chunks[1])] {
                #expect(wrong.output.contains("\(what) chunk \(name(path)) of iCloud."), "\(wrong.output)")
            }
            #expect(wrong.output.contains(" Photos large image\n") && wrong.output.contains("orphaned chunk \(name(stray)), 2 bytes"))
            let json = try await run(server, "assets", "verify", "--json")
            let report = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
            #expect(json.status == 2 && (report?["findings"] as? [[String: Any]])?.count == 3 && report?["next"] == nil)

            let dry = try await run(server, "assets", "collect", "--dry-run")
            #expect(dry.status == 0 && dry.line == name(stray) && FileManager.default.fileExists(atPath: stray), "\(dry)")
            #expect(try await run(server, "assets", "collect").line == name(stray))
            #expect(!FileManager.default.fileExists(atPath: stray))
            #expect(try await run(server, "assets", "collect").output.isEmpty)
            // A lost chunk returns with another file that has it.
            try flip(chunks[0])
            try FileManager.default.moveItem(atPath: server.scratch + "/aside", toPath: chunks[1])
            #expect(try await run(server, "assets", "verify").status == 0)
            if !isRunning { try await server.start() }
            #expect(try await files.bytes(of: "large") == Self.large)
        }
    }

    @Test func `a start takes away what a killed process left, and metrics tell what is there`() async throws {
        try await withFiles { server, _ in
            await server.kill()
            let chunks = try server.assetChunks()
            let bytes = try chunks.reduce(0) { try $0 + Data(contentsOf: URL(filePath: $1)).count }
            let stray = stray(beside: chunks[0])
            try Data(count: 5000).write(to: URL(filePath: stray))
            try await server.start()
            // The metric appears once the sweep has ended.
            var metrics = ""
            for _ in 0..<3000 where !metrics.contains("nacre_asset_bytes ") {
                let answer = try await WebServicesClient.send(
                    URLRequest(url: try WebServicesClient.url(try server.adminURL + "/metrics")), nil, over: .shared)
                metrics = String(decoding: answer.body, as: UTF8.self)
            }
            #expect(metrics.contains("nacre_asset_bytes \(bytes)\n"), "\(metrics)")
            #expect(metrics.contains("nacre_asset_chunks \(chunks.count)\n"))
            let status = try await run(server, "status")
            #expect(status.status == 0 && status.output.contains("assets \(bytes) bytes in \(chunks.count) chunks\n"), "\(status)")
            #expect(status.output.hasSuffix("\nbackup none: nacre serve --backup-dir\n"))
            #expect(try await run(server, "status", "--json").output.contains("\"bytes\":\(bytes)"))
            #expect(!FileManager.default.fileExists(atPath: stray))
        }
    }

    @Test func `a backup without its files of records is restored only on the word that they may be lost; then they are named, and may come back`()
        async throws
    {
        try await withFiles { server, files in
            let (manager, file, pool) = (FileManager.default, server.scratch + "/b/one.backup", server.scratch + "/b/assets")
            try manager.createDirectory(atPath: server.scratch + "/b", withIntermediateDirectories: true)
            #expect(try await run(server, "backup", "create", file).status == 0)
            #expect(try await server.stop() == 0)
            try manager.moveItem(atPath: pool, toPath: server.scratch + "/aside")
            let refused = try await Nacre.run(["backup", "restore", file, "--data", "new"], in: server.scratch)
            #expect(refused.status == 2 && refused.messages.contains("a file of a record is not with it"), "\(refused)")
            #expect(refused.messages.contains(pool) && refused.messages.contains("--without-assets"), "\(refused)")
            #expect(!manager.fileExists(atPath: server.scratch + "/new"))
            // The data folder still has them.
            let here = try await run(server, "backup", "restore", file, "--replace")
            #expect(here.status == 0 && !here.messages.contains("Lost"), "\(here)")
            let replaced = try #require(try manager.contentsOfDirectory(atPath: server.data).first { $0.hasPrefix("replaced-") })
            #expect(try server.assetChunks(in: server.data + "/" + replaced).count == server.assetChunks().count)

            try manager.moveItem(atPath: server.data + "/assets", toPath: server.scratch + "/old")
            let served = try await run(server, "serve", "--listen", "127.0.0.1:0")
            #expect(served.status == 1 && served.messages.contains("The files of assets are missing"), "\(served)")
            #expect(try await run(server, "backup", "restore", file, "--replace").status == 2)
            // All files have their sizes, and wrong bytes: they count as lost.
            try manager.copyItem(atPath: server.scratch + "/aside", toPath: pool)
            for chunk in try server.assetChunks(in: server.scratch + "/b") { try flip(chunk) }
            let restored = try await run(server, "backup", "restore", file, "--replace", "--without-assets", "--json")
            #expect(restored.status == 0)
            #expect(try restored.object()["lostFiles"] as? Double == 1)
            try await server.start()
            #expect(try await files.bytes(of: "small") == [1, 2, 3])
            await #expect { _ = try await files.bytes(of: "large") } throws: { error in
                guard let answer = error as? UnexpectedAnswer else { return false }
                return answer.status == 404 && answer.body.contains("the file of the asset is lost")
            }
            let check = try await run(server, "check")
            #expect(check.status == 2 && check.output.contains(" Photos large: The file of its field image is not whole"), "\(check)")
            #expect(check.output.contains(", 1 wrong,") && check.messages.contains("folder assets beside a backup"), "\(check)")
            try manager.createDirectory(atPath: server.scratch + "/c", withIntermediateDirectories: true)
            let lacking = try await run(server, "backup", "create", server.scratch + "/c/two.backup")
            #expect(lacking.status == 0 && lacking.messages.contains("missing before: 1"), "\(lacking)")
            let nowhere = try await run(server, "backup", "create", server.scratch + "/none/two.backup")
            #expect(nowhere.status == 1 && nowhere.messages.contains("name a file in a folder that is there"), "\(nowhere)")

            try manager.removeItem(atPath: server.data + "/assets")
            try manager.moveItem(atPath: server.scratch + "/aside", toPath: server.data + "/assets")
            #expect(try await run(server, "check").status == 0)
            #expect(try await files.bytes(of: "large") == Self.large)
        }
    }

    @Test func `a restore puts a sound chunk in the place of a damaged one`() async throws {
        try await withFiles { server, files in
            let file = server.scratch + "/b/one.backup"
            try FileManager.default.createDirectory(atPath: server.scratch + "/b", withIntermediateDirectories: true)
            #expect(try await run(server, "backup", "create", file).status == 0)
            #expect(try await server.stop() == 0)
            let damaged = try #require(try server.assetChunks().first)
            let whole = try Data(contentsOf: URL(filePath: damaged))
            // A new file: the backup's shares its inode with the one that was there.
            try FileManager.default.removeItem(atPath: damaged)
            try whole.dropLast().write(to: URL(filePath: damaged))
            #expect(try await run(server, "backup", "restore", file, "--replace").status == 0)
            #expect(try Data(contentsOf: URL(filePath: damaged)) == whole)
            try await server.start()
            #expect(try await files.bytes(of: "large") == Self.large)
        }
    }

    @Test func `a backup is verified with its chunks, and one that lacks some is damaged`() async throws {
        try await withFiles { server, _ in
            let file = server.scratch + "/b/one.backup"
            try FileManager.default.createDirectory(atPath: server.scratch + "/b", withIntermediateDirectories: true)
            #expect(try await run(server, "backup", "create", file).status == 0)
            func verified() async throws -> Nacre { try await Nacre.run(["backup", "verify", file], in: server.scratch) }
            #expect(try await verified().status == 0)
            let chunks = try server.assetChunks(in: server.scratch + "/b")
            // The backup's file shares its inode with the server's: it is written anew, so that the server keeps its
            // own.
            let whole = try Data(contentsOf: URL(filePath: chunks[0]))
            for change in [whole.dropLast(), Data(whole.reversed()), nil] {
                try FileManager.default.removeItem(atPath: chunks[0])
                if let change { try change.write(to: URL(filePath: chunks[0])) }
                let damaged = try await verified()
                #expect(damaged.status == 2 && damaged.messages.contains(name(chunks[0])), "\(damaged)")
                if change == nil { #expect(damaged.messages.contains("1 are missing")) }
                try? FileManager.default.removeItem(atPath: chunks[0])
                try whole.write(to: URL(filePath: chunks[0]))
            }
            #expect(try await verified().status == 0)
            #expect(try await run(server, "assets", "verify").status == 0)
        }
    }
}
