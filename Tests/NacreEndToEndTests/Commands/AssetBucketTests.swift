import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre serve --assets s3://…`, over a real S3 server and a network that fails.
@Suite(.enabled(if: mayRun(S3Server.program != nil), "\(S3Server.absent)"), .timeLimit(.minutes(5))) struct AssetBucketTests {
    private static let large = RawFiles.bytes(2) + RawFiles.bytes(5)

    private func withFiles(_ body: (RunningServer, RawFiles, S3Server, S3Proxy) async throws -> Void) async throws {
        let bucket = try S3Server()
        let proxy = try S3Proxy(before: bucket.port)
        defer { proxy.close() }
        try await RunningServer.with(["--assets", S3Server.url(proxy.port)], environment: S3Server.environment, faults: .expected) { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser("ada@example.com")
            let files = RawFiles(client: cloud.client(try await cloud.device(of: "ada@example.com"), keepsConnections: false), zone: "Photos")
            try await files.zone("create")
            try await body(server, files, bucket, proxy)
        }
    }

    private func run(_ server: RunningServer, _ words: String..., data: Bool = true) async throws -> Nacre {
        try await Nacre.run(words + (data ? ["--data", server.data] : []), in: server.scratch, environment: S3Server.environment)
    }

    @Test func `files are saved into a bucket and fetched from it, and a bucket that is down is an error that passes`() async throws {
        try await withFiles { server, files, bucket, proxy in
            try await files.save(Self.large, in: "large")
            #expect(try await files.bytes(of: "large") == Self.large)
            #expect(!FileManager.default.fileExists(atPath: server.data + "/assets"))
            proxy.fail(.dead)
            let refusal = await #expect(throws: RawFiles.Refusal.self) { try await files.save(RawFiles.bytes(4), in: "other") }
            #expect(refusal?.status == 503 && refusal?.code == "TRY_AGAIN_LATER" && (refusal?.retryAfter ?? 0) > 0)
            await #expect(throws: (any Error).self) { _ = try await files.bytes(of: "large") }
            // A file stored in a row needs no bucket.
            try await files.save([1, 2, 3], in: "small")
            #expect(try await files.bytes(of: "small") == [1, 2, 3])
            proxy.mend()
            try await files.save(RawFiles.bytes(4), in: "other")
            #expect(try await files.bytes(of: "other") == RawFiles.bytes(4))
            let verified = try await run(server, "assets", "verify")
            #expect(verified.status == 0 && verified.output.contains(" 0 wrong"), "\(verified)")
            await server.kill()
            try await server.start()
            #expect(try await files.bytes(of: "large") == Self.large)
        }
    }

    @Test func `a backup has the chunks of the bucket, and comes back into a folder`() async throws {
        try await withFiles { server, files, _, _ in
            try await files.save(Self.large, in: "large")
            let backup = server.scratch + "/backups/one"
            try FileManager.default.createDirectory(atPath: server.scratch + "/backups", withIntermediateDirectories: true)
            #expect(try await run(server, "backup", "create", backup).status == 0)
            let verified = try await run(server, "backup", "verify", backup, data: false)
            #expect(verified.status == 0, "\(verified)")
            await server.kill()
            // Without a server no command reads a folder whose files are in a bucket.
            let words = [["backup", "create", backup + "2"], ["assets", "verify"], ["assets", "collect"]]
            for command in words {
                let refused = try await Nacre.run(command + ["--data", server.data], in: server.scratch)
                #expect(refused.status != 0 && refused.messages.contains("in a bucket") && refused.messages.contains("--assets"), "\(refused)")
            }
            let started = try await Nacre.run(["serve", "--data", server.data, "--listen", "127.0.0.1:0"], in: server.scratch)
            #expect(started.status != 0 && started.messages.contains("in a bucket"), "\(started)")
            let restored = try await Nacre.run(["backup", "restore", backup, "--data", server.scratch + "/restored"], in: server.scratch)
            #expect(restored.status == 0, "\(restored)")
            let sound = try await Nacre.run(["assets", "verify", "--data", server.scratch + "/restored"], in: server.scratch)
            #expect(sound.status == 0 && sound.output.contains(" 0 wrong"), "\(sound)")
            // Its files are in the folder: a bucket is refused in its place.
            let elsewhere = try await Nacre.run(
                ["serve", "--data", server.scratch + "/restored", "--listen", "127.0.0.1:0", "--assets", "s3://other?endpoint=http://127.0.0.1:9"],
                in: server.scratch, environment: S3Server.environment)
            #expect(elsewhere.status != 0 && elsewhere.messages.contains("in the data folder"), "\(elsewhere)")
        }
    }

    @Test func `what is wrong with a bucket's URL or its credentials is said before anything begins`() async throws {
        let folder = try TemporaryFolder()
        for (words, environment, wanted) in [
            (["--assets", "ftp://x"], S3Server.environment, "s3://BUCKET"), (["--assets", "s3://photos"], [:], "AWS_ACCESS_KEY_ID"),
            (["--assets", "s3://photos", "--memory"], S3Server.environment, "--memory"),
        ] {
            let started = try await Nacre.run(["serve", "--data", folder.path + "/d"] + words, in: folder.path, environment: environment)
            #expect(started.status != 0 && started.messages.contains(wanted), "\(started)")
        }
    }
}
