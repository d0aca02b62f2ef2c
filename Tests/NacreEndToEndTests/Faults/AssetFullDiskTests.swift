import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

/// Tests of a disk without room for an uploaded file.
struct AssetFullDiskTests {
    @Test(.enabled(if: mayRun(MountedDisk.isAllowedInMemory), "needs root, to mount a small disk"))
    func `a file that finds no room is refused for a while, nothing of it stays, and the service goes on`() async throws {
        try await RunningServer.with(faults: .expected) { server in
            await server.kill()
            let disk = try MountedDisk.inMemory(mebibytes: 16, at: server.data)
            try await server.start()
            let cloud = try await NewCloud(server)
            try await cloud.addUser("ada@example.com")
            let files = RawFiles(client: cloud.client(try await cloud.device(of: "ada@example.com"), keepsConnections: false), zone: "Photos")
            try await files.zone("create")
            let bytes = RawFiles.bytes(2) + RawFiles.bytes(5)
            try await files.save(bytes, in: "before")
            // The disk is full in the middle of the file: some of its chunks find room.
            try DiskFiller.fill(server.data + "/filler")
            truncate(server.data + "/filler", off_t(try #require(Self.size(server.data + "/filler")) - 600_000))
            let large = (10..<20).flatMap { RawFiles.bytes($0 * 3 + 2) }
            for _ in 0..<3 {
                let refusal = await #expect(throws: RawFiles.Refusal.self) { _ = try await files.send(large, for: "after") }
                #expect(refusal?.status == 503 && refusal?.code == "TRY_AGAIN_LATER" && (refusal?.retryAfter ?? 0) > 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: server.data + "/assets/incoming").isEmpty)
            }
            #expect(try await files.bytes(of: "before") == bytes)
            #expect(try await files.bytes(of: "after") == nil)
            unlink(server.data + "/filler")
            try await files.save(large, in: "after")
            #expect(try await files.bytes(of: "after") == large)
            let verified = try await Nacre.run(["assets", "verify", "--data", server.data], in: server.scratch)
            #expect(verified.status == 0, "\(verified.output)")
            await server.kill()
            try disk.unmount()
        }
    }

    private static func size(_ path: String) -> Int? {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue
    }
}
