import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

/// Tests of the whole server on a disk without room.
struct FullDiskTests {
    private static let text = String(repeating: "no room for this; ", count: 2000)
    private static let diskMebibytes = 6

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedInMemory), "needs root, to mount a small disk"))
    func `a full disk refuses writes for a while, reads go on, and writes resume by themselves`() async throws {
        try await RunningServer.with(faults: .expected) { server in
            await server.kill()
            let disk = try MountedDisk.inMemory(mebibytes: Self.diskMebibytes, at: server.data)
            try await server.start()
            let cloud = try await FaultedCloud(server)
            #expect(await cloud.isCreated("before", "bread"))
            try DiskFiller.fill(server.data + "/filler")
            var kept: [String] = ["before"]
            var refusal: FaultedCloud.Answer?
            // Blocks that the log already has can be reused; then the disk is full.
            for number in 0..<100 where refusal == nil {
                let name = "r\(number)"
                let answer = try #require(await cloud.create(name, Self.text))
                if answer.status == 200 { kept.append(name) } else { refusal = answer }
            }
            let answer = try #require(refusal)
            let error = try JSONDecoder().decode(RawError.self, from: answer.body)
            #expect(answer.status == 503 && error.serverErrorCode == "TRY_AGAIN_LATER")
            #expect(Int(answer.retryAfter ?? "") ?? 0 > 0 && error.retryAfter == Int(answer.retryAfter ?? ""))
            // On a slow machine the log may be truncated meanwhile, which makes room: acknowledged records must be
            // kept.
            var refused: [String] = []
            for name in (0..<5).map({ "more\($0)" }) {
                let status = await cloud.create(name, Self.text)?.status
                if status == 200 { kept.append(name) } else { refused.append(name) }
                #expect(status == 200 || status == 503)
            }
            let asked = kept + ["r99"] + refused
            #expect(try await cloud.texts(of: asked).keys.sorted() == kept.sorted())
            let feed: RawZones = try await cloud.client.post("changes/zone", RawZones(zones: [.init(zoneID: .init(zoneName: FaultedCloud.zone))]))
            #expect(Set(try #require(feed.zones[0].records).compactMap(\.recordName)) == Set(kept))

            unlink(server.data + "/filler")
            #expect(await cloud.isCreated("after", Self.text))
            #expect(try server.process.isRunning)
            #expect(try await server.stop() == 0)
            try await server.start()
            #expect(try await cloud.texts(of: asked + ["after"]).keys.sorted() == (kept + ["after"]).sorted())
            await server.kill()
            try disk.unmount()
        }
    }
}
