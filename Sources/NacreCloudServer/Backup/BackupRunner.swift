import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

/// Makes backups of a running server's data, one at a time, and reports their progress.
final class BackupRunner: Sendable {
    typealias Make = @Sendable (BackupOrder, BackupControl) async throws -> BackupManifest

    /// Copies chunks of assets into a pool beside the backups.
    typealias Share = @Sendable (_ pool: String, BackupControl) async throws -> Void

    private let make: Make?
    private let share: Share
    let folder: String
    private let work = BackupWork()

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
        let path = OfflineFolder.named(path)
        return try work.start(path, or: Self.busy) { try await self.backUp(path, $0, bytesPerSecond: bytesPerSecond) }
    }

    private static let busy = ServerError(
        .conflict, "a backup is under way", remedy: "Wait until it is done, or end it: the command that makes it ends it when it is interrupted.")

    /// Makes a backup and waits for it.
    /// - Throws: `BackupFault`.
    func make(_ path: String) async throws -> AdminMessages.Backup {
        try await work.run(path) { try await self.backUp(path, $0, bytesPerSecond: nil) }
    }

    private func backUp(_ path: String, _ control: BackupControl, bytesPerSecond: Int?) async throws -> AdminMessages.Backup {
        guard let make else { throw StoreError(.unavailable, "The data are in memory") }
        let order = BackupOrder(path: path, folder: folder, nacre: ServerVersion.current, bytesPerSecond: bytesPerSecond)
        let pool = AssetBackup.folder(besides: path)
        // Chunks are shared before the backup, since some may be removed meanwhile, and after it for chunks that were
        // added.
        try await share(pool, control)
        let manifest = try await make(order, control)
        try await share(pool, control)
        return AdminMessages.Backup(manifest, path: path, lostFiles: try await AssetBackup.lostFiles(of: path, control))
    }

    /// The progress of the backup under way, or the outcome of the last one.
    var status: AdminMessages.BackupStatus { work.status }

    /// Cancels the backup under way, and leaves nothing of it.
    func cancel() { work.cancel() }
}
