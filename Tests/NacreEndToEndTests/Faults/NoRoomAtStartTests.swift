import Foundation
import FoundationNetworking
import Glibc
import NacreCloudTestSupport
import Testing

/// Tests of starts on a disk without room, and on one that cannot be written.
struct NoRoomAtStartTests {
    /// Waits for the answer of a route that needs no store.
    private func isUp(_ server: RunningServer, _ process: Launched) async throws {
        let request = URLRequest(url: try WebServicesClient.url("\(server.url)/readyz"))
        while process.isRunning {
            if let answer = try? await WebServicesClient.send(request, nil, over: .shared), answer.status == 200 { return }
        }
        throw ServerDidNotStart(status: await process.ended(), errors: process.errorText)
    }

    private func serve(_ server: RunningServer, named name: String) throws -> Launched {
        try Launched(
            ["serve", "--data", server.data, "--listen", "127.0.0.1:\(server.port)", "--log-format", "json"], named: name, in: server.scratch)
    }

    /// Saves again and again until it succeeds: without a restart or any other intervention.
    private func isCreatedAgain(_ cloud: FaultedCloud, _ name: String, while process: Launched) async -> Bool {
        while process.isRunning {
            if await cloud.isCreated(name, "olives") { return true }
        }
        return false
    }

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedInMemory), "needs root, to mount a small disk"), .timeLimit(.minutes(2)))
    func `a start without a free block serves reads, says why, and writes again by itself when there is room`() async throws {
        try await RunningServer.with(faults: .expected) { server in
            await server.kill()
            let disk = try MountedDisk.inMemory(mebibytes: 6, at: server.data)
            try await server.start()
            let cloud = try await FaultedCloud(server)
            #expect(await cloud.isCreated("before", "bread"))
            #expect(try await server.stop() == 0)
            try DiskFiller.fill(server.data + "/filler")

            let process = try serve(server, named: "full")
            try await isUp(server, process)
            #expect(try await cloud.texts(of: ["before"]) == ["before": "bread"])
            let refusal = try #require(await cloud.create("refused", "no"))
            #expect(refusal.status == 503)
            #expect(try JSONDecoder().decode(RawError.self, from: refusal.body).serverErrorCode == "TRY_AGAIN_LATER")
            #expect(!FileManager.default.fileExists(atPath: server.data + "/admin.json"))
            let said = process.errorText
            #expect(said.contains("No space left on device") && said.contains("reads are served"))
            #expect(!said.contains("make the folder writable"))

            let appearance = try FileAppearance(of: "admin.json", in: server.data)
            unlink(server.data + "/filler")
            #expect(await isCreatedAgain(cloud, "after", while: process))
            // Reads see later writes, and not the file as it was at the start.
            #expect(try await cloud.texts(of: ["before", "refused", "after"]) == ["before": "bread", "after": "olives"])
            #expect(await appearance.wait(while: process, seconds: 30))
            process.signal(SIGTERM)
            #expect(await process.ended() == 0)
            #expect(process.errorText.contains("The data can be written again"))
            try await server.start()
            #expect(try await cloud.texts(of: ["before", "after"]).count == 2)
            await server.kill()
            try disk.unmount()
        }
    }

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedInMemory), "needs root, to mount a small disk"), .timeLimit(.minutes(2)))
    func `a disk mounted for reading only is read, writes are refused for now, and go on when it is mounted for writing`() async throws {
        try await RunningServer.with(faults: .expected) { server in
            await server.kill()
            let disk = try MountedDisk.inMemory(mebibytes: 6, at: server.data)
            try await server.start()
            let cloud = try await FaultedCloud(server)
            #expect(await cloud.isCreated("before", "bread"))
            #expect(try await server.stop() == 0)
            try disk.remount("ro")

            let process = try serve(server, named: "readonly")
            try await isUp(server, process)
            #expect(try await cloud.texts(of: ["before"]) == ["before": "bread"])
            #expect(await cloud.create("refused", "no")?.status == 503)
            #expect(process.errorText.contains("Read-only file system"))
            let second = try await Nacre.run(["serve", "--data", server.data, "--listen", "127.0.0.1:0"], in: server.scratch)
            #expect(second.status == 1 && second.messages.contains("has the data folder"))

            try disk.remount("rw")
            #expect(await isCreatedAgain(cloud, "after", while: process))
            #expect(try await cloud.texts(of: ["before", "after"]).count == 2)
            process.signal(SIGTERM)
            #expect(await process.ended() == 0)
            try disk.unmount()
        }
    }

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedInMemory), "needs root, to mount a small disk"), .timeLimit(.minutes(2)))
    func `a log that cannot be read back for lack of room is said to be the reason, and loses nothing`() async throws {
        try await RunningServer.with(faults: .expected) { server in
            await server.kill()
            let disk = try MountedDisk.inMemory(mebibytes: 6, at: server.data)
            try await server.start()
            let cloud = try await FaultedCloud(server)
            #expect(await cloud.isCreated("before", "bread"))
            await server.kill()
            unlink(server.data + "/nacre.sqlite-shm")
            try DiskFiller.fill(server.data + "/filler")

            let refused = try await Nacre.run(["serve", "--data", server.data, "--listen", "127.0.0.1:0"], in: server.scratch)
            #expect(refused.status == 1)
            #expect(refused.messages.contains("The log of the last run cannot be read back"), "\(refused.messages)")
            #expect(refused.messages.contains("No space left on device") && refused.messages.contains("make room"), "\(refused.messages)")

            unlink(server.data + "/filler")
            try await server.start()
            #expect(try await cloud.texts(of: ["before"]) == ["before": "bread"])
            await server.kill()
            try disk.unmount()
        }
    }
}
