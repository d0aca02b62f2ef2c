import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks
import Testing

/// The power goes while the server works: what the disk has at that moment is all that is left.
struct PowerCutTests {
    /// `NACRE_POWER_CUTS`: more of them for a longer look.
    private static let rounds = ProcessInfo.processInfo.environment["NACRE_POWER_CUTS"].flatMap { Int($0) } ?? 2
    private static let writers = 4
    private static let imageMebibytes = 32
    /// Answers before each cut, at most.
    private static let answersPerRound = 80

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedExt4), "needs root and a loop device"))
    func `what was acknowledged before a power cut is there after it`() async throws {
        var seed = SeededRandom()
        try await RunningServer.with { server in
            await server.kill()
            var image = server.scratch + "/disk-0"
            try MountedDisk.makeExt4(image, mebibytes: Self.imageMebibytes)
            var disk = try MountedDisk.ext4(image, at: server.data)
            try await server.start()
            let cloud = try await FaultedCloud(server)
            let acknowledged = Locked<[String]>([])
            for round in 1...Self.rounds {
                let count = Int.random(in: Self.writers...Self.answersPerRound, using: &seed)
                let process = try server.process
                let next = server.scratch + "/disk-\(round)"
                let loaded = image
                try await Self.write(round, to: cloud, acknowledged, atLeast: count) {
                    // What the kernel has not given to the disk by now is gone.
                    process.signal(SIGSTOP)
                    try Tool.run("/bin/cp", "--sparse=always", loaded, next)
                    process.signal(SIGKILL)
                }
                await server.kill()
                try disk.unmount()
                unlink(image)
                image = next
                disk = try MountedDisk.ext4(image, at: server.data)
                try await server.start()
                let names = acknowledged.withLock { $0 }
                let texts = try await cloud.texts(of: names)
                let lost = names.filter { texts[$0] != $0 }
                #expect(lost.isEmpty, "\(seed), round \(round): lost \(lost.count) of \(names.count)")
                #expect(await cloud.isCreated("after-\(round)"))
            }
            await server.kill()
            try disk.unmount()
        }
    }

    /// Writers at work until so many answers have come; then `cut`, in the middle of what they do.
    private static func write(
        _ round: Int, to cloud: FaultedCloud, _ acknowledged: Locked<[String]>, atLeast count: Int, _ cut: @escaping @Sendable () throws -> Void
    ) async throws {
        let progress = AsyncStream<Void>.makeStream()
        let goesOn = Locked(true)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    var number = 0
                    while goesOn.withLock({ $0 }) {
                        let name = "\(round)-\(writer)-\(number)"
                        number += 1
                        guard await cloud.isCreated(name, name) else { continue }
                        acknowledged.withLock { $0.append(name) }
                        progress.continuation.yield()
                    }
                }
            }
            var answers = 0
            for await _ in progress.stream {
                answers += 1
                if answers >= count { break }
            }
            // An answer that comes after the copy began may be of a commit that it does not have: none is counted from here on.
            let before = acknowledged.withLock { $0 }
            defer { goesOn.withLock { $0 = false } }
            try cut()
            goesOn.withLock { $0 = false }
            try await group.waitForAll()
            acknowledged.withLock { $0 = before }
        }
    }
}
