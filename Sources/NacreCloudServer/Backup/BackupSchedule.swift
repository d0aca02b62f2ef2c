import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire
import NacreLocks
import NacreTelemetry

/// The folder, interval and number of scheduled backups.
package struct BackupSchedule: Hashable, Sendable {
    package var folder: String
    package var everySeconds: Int
    package var keep: Int

    package init(folder: String, everySeconds: Int, keep: Int) {
        self.folder = folder
        self.everySeconds = everySeconds
        self.keep = keep
    }

    /// Creates the folder if it is missing. Blocks for a moment.
    /// - Throws: `StoreError` if backups cannot be written there.
    func makeFolder() throws(StoreError) {
        // The `/.` also makes a file of this name an error.
        if mkdir(folder, 0o700) == 0 || errno == EEXIST, access(folder + "/.", W_OK | X_OK) == 0 { return }
        throw StoreError(
            .unavailable, "Backups cannot be written into the folder of --backup-dir",
            [
                "path": folder, "reason": String(cString: strerror(errno)),
                "remedy": "see that the disk is there and that this user may write in that folder, or name another with --backup-dir",
            ])
    }

    /// Seconds after which a failed backup is tried again, unless the interval is shorter.
    static let retrySeconds = 600

    /// Seconds until the next backup, by the time of the newest finished one.
    static func wait(everySeconds: Int, newest: Int?, now: Int) -> Int {
        guard let newest else { return 0 }
        // A clock that was set back delays a backup by one interval at most.
        return min(max(newest + everySeconds - now, 0), everySeconds)
    }
}

extension MetricKey {
    static let backupTime = MetricKey(
        "nacre_backup_last_success_timestamp_seconds",
        help: "Time of the newest finished backup of the schedule, in seconds since 1970; 0 if there is none.", unit: .seconds)
    static let backupFailing = MetricKey("nacre_backup_failing", help: "1 while the last scheduled backup has failed, else 0.")
}

/// Makes scheduled backups while the server runs, and removes old ones. It counts and removes only finished backups of
/// its own data folder.
final class ScheduledBackups: Sendable {
    private let schedule: BackupSchedule
    private let runner: BackupRunner
    private let clock: ServerClock
    private let logger: Logger
    private let failing: Gauge
    /// The time of the newest finished backup, in nanoseconds since 1970; 0 without one.
    private let newestTime: Gauge
    private let work = BackgroundWork()
    private let verification = BackupWork()
    /// The outcomes of verifications since the server's start, by the backup's path.
    private let checks = Locked<[String: AdminMessages.BackupCheck]>([:])

    init(_ schedule: BackupSchedule, _ runner: BackupRunner, clock: ServerClock, logger: Logger, _ telemetry: Telemetry) {
        self.schedule = schedule
        self.runner = runner
        self.clock = clock
        self.logger = logger
        failing = telemetry.gauge(.backupFailing)
        newestTime = telemetry.gauge(.backupTime)
    }

    func start() {
        work.start { [self] in
            await withTaskCancellationHandler(operation: run, onCancel: runner.cancel)
        }
    }

    /// Stops the schedule, and cancels a backup under way.
    func stop() async {
        verification.cancel()
        await work.stop()
    }

    /// The newest backups, what verifications found in them, and the time of the next one.
    func list() async throws -> AdminMessages.Backups {
        let finished = try await AssetBackup.onThread { self.finished() }
        let paths = Set(finished.map(\.path))
        let checks = checks.withLock { checks in
            checks = checks.filter { paths.contains($0.key) }
            return checks
        }
        let lines = finished.suffix(Limits.resultsPerPage).reversed().map { path, manifest in
            AdminMessages.BackupLine(
                name: String(path.dropFirst(schedule.folder.count + 1)), time: manifest.time, nacre: manifest.nacre, bytes: manifest.databaseBytes,
                check: checks[path])
        }
        let newest = finished.last.flatMap { UTCText.seconds($0.manifest.time) }
        let wait = BackupSchedule.wait(everySeconds: schedule.everySeconds, newest: newest, now: now)
        return AdminMessages.Backups(
            folder: schedule.folder, backups: lines, next: Int64(now + wait) * 1000, verification: verification.status)
    }

    /// Begins to verify a backup as `nacre backup verify` does, and returns at once.
    /// - Throws: `NOT_FOUND` for a name that the list does not have, `CONFLICT` while another is verified.
    func verify(_ name: String) async throws -> AdminMessages.BackupStatus {
        let finished = try await AssetBackup.onThread { self.finished() }
        guard let path = finished.map(\.path).first(where: { $0 == "\(schedule.folder)/\(name)" }) else { throw ServerError.noSuchBackup }
        return try verification.start(path, or: .isVerifying) { [self] control in
            do {
                let backup = try await AssetBackup.onThread { try OfflineFolder.verify(path, control) }
                note(nil, of: path)
                return backup
            } catch {
                let fault = BackupFault(error, file: path)
                if fault.kind != .interrupted { note(fault.text, of: path) }
                throw fault
            }
        }
    }

    private func note(_ problem: String?, of path: String) {
        let check = AdminMessages.BackupCheck(time: clock.now().millisecondsSince1970, isWhole: problem == nil, problem: problem)
        checks.withLock { $0[path] = check }
    }

    /// The time of the newest backup, and whether the last one failed.
    var health: (newest: Timestamp?, isFailing: Bool) {
        let newest = newestTime.value
        return (newest == 0 ? nil : Timestamp(millisecondsSince1970: Int64(newest / 1_000_000)), failing.value == 1)
    }

    private var now: Int { Int(clock.now().secondsSince2001.rounded(.down)) + 978_307_200 }

    private func run() async {
        while !Task.isCancelled {
            let newest = finished().last.flatMap { UTCText.seconds($0.manifest.time) }
            newestTime.set((newest ?? 0) * 1_000_000_000)
            let wait = BackupSchedule.wait(everySeconds: schedule.everySeconds, newest: newest, now: now)
            if wait > 0 {
                try? await clock.sleep(.seconds(wait))
                continue
            }
            if await !makeOne(), !Task.isCancelled { try? await clock.sleep(.seconds(min(schedule.everySeconds, BackupSchedule.retrySeconds))) }
        }
    }

    private func makeOne() async -> Bool {
        let path = schedule.folder + "/" + FolderBackup.name(now)
        do {
            try schedule.makeFolder()
            let backup = try await runner.make(path)
            logger.log(.notice, "A backup is made", [.path: .string(backup.path), .bytes: .int(Int(backup.bytes))])
            if backup.lostFiles > 0 {
                logger.log(
                    .warning, "A backup lacks files of records; nacre check names them",
                    [.path: .string(backup.path), .count: .int(backup.lostFiles)])
            }
            failing.set(0)
            await prune()
            return true
        } catch {
            guard !Task.isCancelled else { return false }
            failing.set(1)
            let fault = BackupFault(error, file: path)
            logger.log(
                .error, "A scheduled backup failed and will be tried again",
                [.path: .string(path), .error: .string(fault.text), .reason: .string(fault.remedy ?? "")])
            return false
        }
    }

    /// Finished backups of this data folder, the oldest first.
    private func finished() -> [(path: String, manifest: BackupManifest)] {
        FolderBackup.finished(in: schedule.folder).filter { $0.manifest.folder == runner.folder }.sorted { $0.manifest.time < $1.manifest.time }
    }

    private func prune() async {
        var gone = FolderBackup.removeUnfinished(in: schedule.folder)
        for backup in finished().dropLast(schedule.keep) where unlink(backup.path) == 0 { gone.append(backup.path) }
        guard !gone.isEmpty else { return }
        logger.log(.notice, "Old backups are removed", [.path: .string(gone.joined(separator: ", "))])
        do {
            let count = try await AssetBackup.pruning(besides: schedule.folder)
            if count > 0 { logger.log(.notice, "Chunks are removed that no backup needs any more", [.count: .int(count)]) }
        } catch {
            let fault = BackupFault(error)
            logger.log(.warning, "Chunks that no backup needs any more were not removed", [.error: .string(fault.text)])
        }
    }
}

extension ServerError {
    static let noSuchBackup = ServerError(
        .notFound, "no such backup in the folder of --backup-dir", field: "name", remedy: "Take a name of nacre backup list.")

    fileprivate static let isVerifying = ServerError(
        .conflict, "a backup is being verified", remedy: "Wait until that is done: nacre backup list tells how far it is.")
}
