import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire
import NacreLocks
import NacreTelemetry

/// Makes backups of a running server's data, one at a time, and reports their progress.
final class BackupRunner: Sendable {
    typealias Make = @Sendable (BackupOrder, BackupControl) async throws -> BackupManifest

    private struct Job: Sendable {
        var path: String
        var control: BackupControl
        var result: Result<AdminMessages.Backup, BackupFault>?
        var task: Task<Void, Never>?
    }

    /// Copies chunks of assets into a pool beside the backups.
    typealias Share = @Sendable (_ pool: String, BackupControl) async throws -> Void

    private let make: Make?
    private let share: Share
    let folder: String
    private let job = Locked<Job?>(nil)

    /// - Parameter store: a store in memory cannot be backed up.
    convenience init(_ store: any Store, folder: String, _ assets: any AssetStorage) {
        var make: Make?
        if let store = store as? SQLiteStore { make = { order, control in try await store.backUp(order, control) } }
        self.init(folder: folder, share: { pool, control in try await AssetBackup.sharing(assets, with: pool, control) }, make)
    }

    init(folder: String, share: @escaping Share = { _, _ in }, _ make: Make?) {
        self.folder = OfflineFolder.absolute(folder)
        self.share = share
        self.make = make
    }

    /// Begins a backup and returns at once.
    /// - Throws: `ServerError` if a backup is under way, or if the data are in memory.
    func start(_ path: String, bytesPerSecond: Int?) throws -> AdminMessages.BackupStatus {
        guard make != nil else {
            throw ServerError(.badRequest, "the data are in memory", remedy: "Start the server without --memory.")
        }
        let control = BackupControl()
        let path = OfflineFolder.named(path)
        try job.withLock { job in
            if let job, job.result == nil { throw Self.busy }
            job = Job(path: path, control: control)
            job?.task = Task { _ = try? await self.run(path, control, bytesPerSecond: bytesPerSecond) }
        }
        return status
    }

    private static let busy = ServerError(
        .conflict, "a backup is under way", remedy: "Wait until it is done, or end it: the command that makes it ends it when it is interrupted.")

    /// Makes a backup and waits for it.
    /// - Throws: `BackupFault`.
    func make(_ path: String) async throws -> AdminMessages.Backup {
        let control = BackupControl()
        let isFree = job.withLock { job in
            if let job, job.result == nil { return false }
            job = Job(path: path, control: control)
            return true
        }
        guard isFree else { throw BackupFault(StoreError(.inUse, "A backup is under way")) }
        return try await run(path, control, bytesPerSecond: nil)
    }

    private func run(_ path: String, _ control: BackupControl, bytesPerSecond: Int?) async throws -> AdminMessages.Backup {
        let result: Result<AdminMessages.Backup, BackupFault>
        do {
            guard let make else { throw StoreError(.unavailable, "The data are in memory") }
            let order = BackupOrder(path: path, folder: folder, nacre: ServerVersion.current, bytesPerSecond: bytesPerSecond)
            let pool = AssetBackup.folder(besides: path)
            // Chunks are shared before the backup, since some may be removed meanwhile, and after it for chunks that
            // were added.
            try await share(pool, control)
            let manifest = try await make(order, control)
            try await share(pool, control)
            let lostFiles = try await AssetBackup.lostFiles(of: path, control)
            result = .success(AdminMessages.Backup(manifest, path: path, lostFiles: lostFiles))
        } catch {
            result = .failure(BackupFault(error, file: path))
        }
        job.withLock { job in
            // Set before the return, so that a caller that cancels this backup can begin another at once.
            if job?.control === control { job?.result = result }
        }
        return try result.get()
    }

    /// The progress of the backup under way, or the outcome of the last one.
    var status: AdminMessages.BackupStatus {
        guard let job = job.withLock({ $0 }) else { return AdminMessages.BackupStatus(state: .none) }
        let progress = job.control.progress
        var status = AdminMessages.BackupStatus(
            state: .running, path: job.path, phase: progress.phase.rawValue, bytes: progress.bytes, bytesInAll: progress.bytesInAll)
        switch job.result {
        case nil: break
        case .success(let backup):
            status.state = .done
            status.backup = backup
        case .failure(let fault):
            status.state = .failed
            status.problem = fault.text
            status.remedy = fault.remedy
        }
        return status
    }

    /// Cancels the backup under way, and leaves nothing of it.
    func cancel() {
        job.withLock { $0 }?.control.cancel()
    }
}
