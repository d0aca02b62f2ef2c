import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks
import Testing

/// Tests of power cuts while the server works: only the data on the disk at that moment survives.
struct PowerCutTests {
    /// `NACRE_POWER_CUTS` sets another number of rounds.
    private static let rounds = ProcessInfo.processInfo.environment["NACRE_POWER_CUTS"].flatMap { Int($0) } ?? 2
    private static let writers = 4
    private static let numbersPerWriter = 10_000

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedExt4), "needs root and a loop device"))
    func `what was acknowledged before a power cut is there after it`() async throws {
        try await cutting("", mebibytes: 32, answersMax: 80) { cloud, number in
            await cloud.isCreated("\(number)", "\(number)")
        } lost: { cloud, numbers in
            let texts = try await cloud.texts(of: numbers.map { "\($0)" })
            return numbers.filter { texts["\($0)"] != "\($0)" }
        }
    }

    @Test(.enabled(if: mayRun(MountedDisk.isAllowedExt4), "needs root and a loop device"))
    func `every file that was acknowledged before a power cut reads back whole after it, and what was left by half is mended by who sends it again`()
        async throws
    {
        // The database has another disk: on a shared one, ext4 would write chunks with the database's own syncs.
        try await cutting("/assets", mebibytes: 256, answersMax: 16) { cloud, number in
            let files = RawFiles(client: cloud.client, zone: FaultedCloud.zone)
            return (try? await files.save(Self.file(number), in: "\(number)")) != nil
        } lost: { cloud, numbers in
            let files = RawFiles(client: cloud.client, zone: FaultedCloud.zone)
            // The last file of each writer, acknowledged or not.
            let next = Set(numbers.map { $0 / Self.numbersPerWriter }).compactMap { writer in
                numbers.filter { $0 / Self.numbersPerWriter == writer }.max().map { $0 + 1 }
            }
            for number in next { try await files.save(Self.file(number), in: "again-\(number)") }
            func isOther(_ number: Int, _ record: String) async -> Bool { (try? await files.bytes(of: record)) != Self.file(number) }
            var lost: [Int] = []
            for number in numbers where await isOther(number, "\(number)") { lost.append(number) }
            for number in next where await isOther(number, "again-\(number)") { lost.append(number) }
            return lost
        }
    }

    /// Returns a file: in one round of few chunks, which are synced one by one, and in the next of so many that the
    /// whole disk is synced. Most files share chunks with files that are being sent.
    private static func file(_ number: Int) -> [UInt8] {
        let isLong = number / (writers * numbersPerWriter) % 2 == 1
        return isLong ? (0..<4).flatMap { RawFiles.bytes(number + $0) } : RawFiles.bytes(number)
    }

    /// Cuts the power while four writers work, starts the server on the disk's state, and checks for acknowledged
    /// items.
    /// - Parameters:
    ///   - folder: The part of the server's data on the disk that loses its power.
    ///   - answersMax: Answers before each cut, at most.
    ///   - write: Writes the item of a number, and returns whether it was acknowledged.
    ///   - lost: Returns which of the acknowledged items are missing or damaged.
    private func cutting(
        _ folder: String, mebibytes: Int, answersMax: Int, write: @escaping @Sendable (FaultedCloud, Int) async -> Bool,
        lost: (FaultedCloud, [Int]) async throws -> [Int]
    ) async throws {
        var seed = SeededRandom()
        try await RunningServer.with { server in
            await server.kill()
            var image = server.scratch + "/disk-0"
            try MountedDisk.makeExt4(image, mebibytes: mebibytes)
            let point = server.data + folder
            var disk = try MountedDisk.ext4(image, at: point)
            try await server.start()
            let cloud = try await FaultedCloud(server)
            let acknowledged = Locked<[Int]>([])
            for round in 1...Self.rounds {
                let count = Int.random(in: Self.writers...answersMax, using: &seed)
                let process = try server.process
                let next = server.scratch + "/disk-\(round)"
                let loaded = image
                try await Self.write(round, acknowledged, atLeast: count) {
                    await write(cloud, $0)
                } cut: {
                    // Data that the kernel has not written to the disk by now is lost.
                    process.signal(SIGSTOP)
                    try Tool.run("/bin/cp", "--sparse=always", loaded, next)
                    process.signal(SIGKILL)
                }
                await server.kill()
                try disk.unmount()
                unlink(image)
                image = next
                disk = try MountedDisk.ext4(image, at: point)
                try await server.start()
                let numbers = acknowledged.withLock { $0 }
                let lost = try await lost(cloud, numbers)
                #expect(lost.isEmpty, "\(seed), round \(round): lost \(lost.count) of \(numbers.count)")
                #expect(await cloud.isCreated("after-\(round)"))
            }
            await server.kill()
            try disk.unmount()
        }
    }

    /// Runs writers until `count` answers have come; then runs `cut` in the middle of their work.
    private static func write(
        _ round: Int, _ acknowledged: Locked<[Int]>, atLeast count: Int, _ one: @escaping @Sendable (Int) async -> Bool,
        cut: @escaping @Sendable () throws -> Void
    ) async throws {
        let progress = AsyncStream<Void>.makeStream()
        let goesOn = Locked(true)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    var number = (round * writers + writer) * numbersPerWriter
                    while goesOn.withLock({ $0 }) {
                        defer { number += 1 }
                        guard await one(number) else { continue }
                        acknowledged.withLock { [number] in $0.append(number) }
                        progress.continuation.yield()
                    }
                }
            }
            var answers = 0
            for await _ in progress.stream {
                answers += 1
                if answers >= count { break }
            }
            // An answer after the copy began may be of a commit that the copy lacks: none is counted from here on.
            let before = acknowledged.withLock { $0 }
            defer { goesOn.withLock { $0 = false } }
            try cut()
            goesOn.withLock { $0 = false }
            try await group.waitForAll()
            acknowledged.withLock { $0 = before }
        }
    }
}
