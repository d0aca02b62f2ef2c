import FoundationEssentials
import Glibc
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire
import NacreCrypto

/// Operations on backups and on data folders that no server uses. Every call blocks for as long as the disk takes.
package enum OfflineFolder {
    package struct Restored: Sendable {
        package var backup: AdminMessages.Backup
        /// The folder with the previous data; nil if there were none.
        package var replaced: String?
        /// The number of records' files that are lost, because their chunks are missing beside the backup.
        package var lostFiles: Int
    }

    package struct Migration: Codable, Sendable {
        package var from: Int32
        package var to: Int32
        package var bytes: Int64
        package var freeBytes: Int64
        package var backupBytes: Int64
        package var logBytes: Int64
        package var isNeeded: Bool
        /// The backup that was made; nil if nothing was done, or no backup was wanted.
        package var backup: String?
    }

    /// Cancels an operation under way, for example at a signal.
    package struct Cancellation: Sendable {
        let control = BackupControl()

        package init() {}

        package func cancel() { control.cancel() }
    }

    /// - Throws: `BackupFault`.
    package static func create(_ path: String, of folder: String, bytesPerSecond: Int?, _ cancellation: Cancellation) throws -> AdminMessages.Backup {
        do {
            try AssetHome(folder: folder).requireFiles()
            let path = named(path)
            let order = BackupOrder(path: path, folder: absolute(folder), nacre: ServerVersion.current, bytesPerSecond: bytesPerSecond)
            let manifest = try FolderBackup.create(order, cancellation.control)
            try AssetBackup.share(order.folder + "/assets", with: AssetBackup.folder(besides: path)) { cancellation.control.isCancelled }
            let lostFiles = try AssetBackup.look(path, reads: false, cancellation.control).lostFiles
            return AdminMessages.Backup(manifest, path: path, lostFiles: lostFiles)
        } catch {
            throw BackupFault(error)
        }
    }

    /// - Throws: `BackupFault`.
    package static func verify(_ path: String, _ cancellation: Cancellation) throws -> AdminMessages.Backup {
        try verify(path, cancellation.control)
    }

    /// - Throws: `BackupFault`.
    static func verify(_ path: String, _ control: BackupControl) throws -> AdminMessages.Backup {
        do {
            let manifest = try BackupFile.verify(path, control)
            try AssetBackup.look(path, control).requireWhole()
            return AdminMessages.Backup(manifest, path: path, lostFiles: 0)
        } catch {
            throw BackupFault(error, file: path, interrupted: "The check was interrupted")
        }
    }

    /// - Throws: `BackupFault`.
    package static func restore(
        _ path: String, to folder: String, replaces: Bool, withoutAssets: Bool, _ cancellation: Cancellation
    ) throws -> Restored {
        do {
            let outcome = try FolderRestore.restore(path, to: folder, replaces: replaces, withoutAssets: withoutAssets, cancellation.control)
            let backup = AdminMessages.Backup(outcome.manifest, path: path, lostFiles: outcome.lostFiles)
            return Restored(backup: backup, replaced: outcome.replaced, lostFiles: outcome.lostFiles)
        } catch {
            throw BackupFault(error, file: path, interrupted: "The restore was interrupted; the data folder has the data of before")
        }
    }

    /// Plans the migration of a folder to this version. Changes nothing.
    /// - Throws: `BackupFault`.
    package static func migrationPlan(of folder: String) throws -> Migration {
        do {
            let plan = try FolderMigration.plan(folder)
            return Migration(
                from: plan.from, to: plan.to, bytes: plan.bytes, freeBytes: plan.freeBytes, backupBytes: plan.backupBytes, logBytes: plan.logBytes,
                isNeeded: plan.isNeeded)
        } catch {
            throw BackupFault(error)
        }
    }

    /// Migrates a folder, like a start of the server.
    /// - Throws: `BackupFault`.
    package static func migrate(_ folder: String, makesBackup: Bool) async throws -> Migration {
        do {
            var migration = try migrationPlan(of: folder)
            let store = try await SQLiteStore.open(folder: folder, options: options(folder, makesBackup: makesBackup, backupFolders: []) { _ in })
            await store.close()
            migration.backup = migration.isNeeded && makesBackup ? FolderBackup.newest(in: [folder], schemaVersionAtMost: migration.from)?.path : nil
            return migration
        } catch {
            throw BackupFault(error)
        }
    }

    /// Checks the assets of a folder that no server uses.
    /// - Throws: `BackupFault` if a server uses the folder or its data are of an older version; any error of `body`.
    package static func reviewAssets(of folder: String, _ body: (AssetReviewing) async throws -> Void) async throws {
        if try migrationPlan(of: folder).isNeeded {
            throw BackupFault(StoreError(.newerVersion, "The data are of an older version", ["remedy": "bring them to this one: nacre migrate"]))
        }
        let store: SQLiteStore
        let assets: AssetFiles
        do {
            store = try await SQLiteStore.open(folder: folder, options: options(folder, makesBackup: false, backupFolders: []) { _ in })
        } catch {
            throw BackupFault(error)
        }
        do {
            assets = try await AssetHome(folder: folder).open(over: store)
        } catch {
            await store.close()
            throw BackupFault(error)
        }
        do {
            let clock = ServerClock.system
            let random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
            let keys = try await Registry(store: store, clock: clock.now, random: random).sealingKeys { try SealingKey.newKeyBytes() }
            let cloud = Cloud(
                store: store, tokens: try TokenSealer(keys: keys), process: CloudProcess(clock: clock.now, random: random), assets: assets)
            try await body(AssetReviewing(cloud: cloud))
        } catch {
            await assets.close()
            await store.close()
            throw error
        }
        await assets.close()
        await store.close()
    }

    static func options(
        _ folder: String, makesBackup: Bool, backupFolders: [String], report: @escaping @Sendable (StoreEvent) -> Void
    ) -> SQLiteOptions {
        var options = SQLiteOptions()
        options.backsUpBeforeMigrationAs = makesBackup ? ServerVersion.current : nil
        options.backupFolders = backupFolders
        options.report = report
        return options
    }

    /// The absolute path of a folder.
    package static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// The path of a backup: the given file, or a file in the given folder that is named by the time.
    static func named(_ path: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return path }
        return absolute(path) + "/" + FolderBackup.name(time(nil))
    }
}
