import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import Testing

@testable import NacreCloudServer

@Suite(.timeLimit(.minutes(5))) struct OrphanSweepTests {
    @Test func `chunks of nobody go after the start and each day, and those that a receiver has stay`() async throws {
        let server = try await TestServer()
        let work = BackgroundWork()
        let sweep = OrphanSweep(cloud: server.cloud, clock: server.clock.serverClock, logger: server.log.logger)
        let strays = (1...2).map { ChunkName([UInt8](repeating: UInt8($0), count: 32)) }
        let receiver = server.assets.receiver(under: [UInt8](repeating: 1, count: 32))
        try await receiver.add((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
        let held = Set(try await receiver.finish().chunks.map(\.name))
        server.assets.leave([1, 2, 3], as: strays[0])
        work.start { await sweep.run() }
        await server.clock.sleeps(1)
        #expect(server.assets.chunkNames == held)
        server.assets.leave([4, 5], as: strays[1])
        server.clock.advance(24 * 3600 - 1)
        #expect(server.assets.chunkNames == held.union([strays[1]]))
        server.clock.advance(1)
        await server.clock.sleeps(2)
        #expect(server.assets.chunkNames == held)
        await receiver.release()
        server.clock.advance(24 * 3600)
        await server.clock.sleeps(3)
        #expect(server.assets.chunkNames.isEmpty)
        await work.stop()
    }
}
