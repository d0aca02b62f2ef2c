import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// Tests of backups that a server makes by itself, on a clock that the test moves.
@Suite(.timeLimit(.minutes(5))) struct ScheduledBackupTests {
    private static let day = 86400

    private struct Scene {
        let place: TemporaryFolder
        let store: TemporarySQLiteStore
        let clock = TestClock()
        let log = LogLines()
        let fails = Locked(false)
        let telemetry = Telemetry()
        let scheduled: ScheduledBackups

        init(keep: Int) async throws {
            let place = try TemporaryFolder()
            let store = try await TemporarySQLiteStore()
            (self.place, self.store) = (place, store)
            let runner = BackupRunner(folder: store.folder.path) { [fails, clock] order, control in
                if fails.withLock({ $0 }) { throw StoreError(.full, "There is no room for the backup", ["path": order.path]) }
                // The manifest has the wall clock's time, which a test does not move: it is replaced by the test's
                // time.
                var manifest = try await store.store.backUp(order, control)
                manifest.time = UTCText.time(Int(clock.now.secondsSince2001) + 978_307_200)
                try ManifestTime.set(manifest, in: order.path)
                return manifest
            }
            scheduled = ScheduledBackups(
                BackupSchedule(folder: place.path, everySeconds: ScheduledBackupTests.day, keep: keep), runner, clock: clock.serverClock,
                logger: log.logger, telemetry)
        }

        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() }
    }

    @Test func `one at once, one each day, the newest are kept, and nothing of others is touched`() async throws {
        let scene = try await Scene(keep: 2)
        let foreign = ["nacre-notes.backup", "nacre-20200101T000000Z.backup", "holiday.jpg"]
        for name in foreign { try Data([1]).write(to: URL(filePath: scene.place.path + "/" + name)) }
        // Left by a killed process.
        try Data([1]).write(to: URL(filePath: scene.place.path + "/nacre-20200102T000000Z.backup.part"))
        // A finished backup of another data folder.
        let other = try await TemporarySQLiteStore()
        let others = scene.place.path + "/nacre-20200103T000000Z.backup"
        _ = try await other.store.backUp(BackupOrder(path: others, folder: other.folder.path, nacre: "1"))
        let before = Set(try scene.names()).subtracting(["nacre-20200102T000000Z.backup.part"])

        scene.scheduled.start()
        var made: [Set<String>] = []
        for day in 1...4 {
            await scene.clock.sleeps(day)
            made.append(Set(try scene.names()).subtracting(before))
            scene.clock.advance(Double(Self.day))
        }
        await scene.clock.sleeps(5)
        #expect(made.map(\.count) == [1, 2, 2, 2])
        #expect(Set(made).count == 4)
        #expect(before.isSubset(of: try scene.names()))
        #expect(scene.log.objects("A backup is made").count == 5)
        await scene.scheduled.stop()
    }

    @Test func `the server lists its backups and verifies one at a time, by its name in the list alone`() async throws {
        let scene = try await Scene(keep: 2)
        scene.scheduled.start()
        await scene.clock.sleeps(1)
        scene.clock.advance(Double(Self.day))
        await scene.clock.sleeps(2)
        let list = try await scene.scheduled.list()
        #expect(list.folder == scene.place.path && list.verification.state == .none)
        #expect(list.backups.map(\.name) == (try scene.names()).filter { $0.hasSuffix(".backup") }.reversed())
        #expect(
            list.backups.allSatisfy { $0.check == nil } && list.next == scene.clock.now.millisecondsSince1970 / 1000 * 1000 + Int64(Self.day) * 1000)

        // The older one gets a wrong byte in its database.
        let (whole, damaged) = (try #require(list.backups.first).name, try #require(list.backups.last).name)
        let path = scene.place.path + "/" + damaged
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[2000] ^= 1
        try bytes.write(to: URL(filePath: path))
        for name in [whole, damaged] {
            var status = try await scene.scheduled.verify(name)
            while status.state == .running {
                await Task.yield()
                status = try await scene.scheduled.list().verification
            }
            #expect(status.state == (name == whole ? .done : .failed), "\(status)")
        }
        #expect(try await scene.scheduled.list().backups.map(\.check?.isWhole) == [true, false])
        for name in ["", ".", "nacre-20200101T000000Z.backup", "../\(scene.place.path.split(separator: "/").last ?? "")/\(whole)", path] {
            await #expect(throws: ServerError.noSuchBackup) { try await scene.scheduled.verify(name) }
        }
        await scene.scheduled.stop()
    }

    @Test func `one that fails is said with what to do, tried again after ten minutes, and counts for nothing`() async throws {
        let scene = try await Scene(keep: 1)
        scene.fails.withLock { $0 = true }
        scene.scheduled.start()
        await scene.clock.sleeps(1)
        let line = try #require(scene.log.objects("A scheduled backup failed and will be tried again").first)
        #expect(scene.telemetry.prometheusText().contains("nacre_backup_failing 1\n"))
        #expect(line["level"] == .string("error") && line["reason"] == .string("make room, or name a file on another disk"))
        scene.clock.advance(Double(BackupSchedule.retrySeconds))
        await scene.clock.sleeps(2)
        #expect(scene.log.objects("A scheduled backup failed and will be tried again").count == 2)
        scene.fails.withLock { $0 = false }
        scene.clock.advance(Double(BackupSchedule.retrySeconds))
        await scene.clock.sleeps(3)
        #expect(try scene.names().count == 1)
        #expect(scene.telemetry.prometheusText().contains("nacre_backup_failing 0\n"))
        scene.fails.withLock { $0 = true }
        scene.clock.advance(Double(Self.day))
        await scene.clock.sleeps(4)
        // The old backup is kept until there is a better one.
        #expect(try scene.names().count == 1)
        await scene.scheduled.stop()
    }

    @Test func `a folder that becomes one that cannot be written is told each time, with what to do`() async throws {
        let scene = try await Scene(keep: 1)
        try FileManager.default.removeItem(atPath: scene.place.path)
        try Data([1]).write(to: URL(filePath: scene.place.path))
        scene.scheduled.start()
        await scene.clock.sleeps(1)
        scene.clock.advance(Double(BackupSchedule.retrySeconds))
        await scene.clock.sleeps(2)
        let lines = scene.log.objects("A scheduled backup failed and will be tried again")
        #expect(lines.count == 2 && lines.allSatisfy { $0["reason"]?.text?.contains("--backup-dir") == true }, "\(lines)")
        try FileManager.default.removeItem(atPath: scene.place.path)
        scene.clock.advance(Double(BackupSchedule.retrySeconds))
        await scene.clock.sleeps(3)
        #expect(try scene.names().count == 1)
        await scene.scheduled.stop()
    }

    @Test(arguments: [(nil, 100, 0), (50, 100, 50), (0, 100, 0), (100, 100, 100), (500, 100, 100)] as [(Int?, Int, Int)])
    func `the newest backup tells how long to wait, and a clock that was set back lets nobody wait longer than once`(
        newest: Int?, now: Int, wait: Int
    ) {
        #expect(BackupSchedule.wait(everySeconds: 100, newest: newest, now: now) == wait)
    }
}

/// Sets another time in a finished backup's manifest.
private enum ManifestTime {
    static func set(_ manifest: BackupManifest, in path: String) throws {
        let database = try Data(contentsOf: URL(filePath: path)).prefix(Int(manifest.databaseBytes))
        try (database + Data(try BackupFile.tail(manifest))).write(to: URL(filePath: path))
    }
}
