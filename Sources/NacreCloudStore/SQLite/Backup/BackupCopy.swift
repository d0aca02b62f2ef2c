import CNacreSQLite
import Glibc
import NacreCloudStorage
import NacreCrypto

/// Makes a backup of a database with SQLite's backup interface: one snapshot, read slice by slice beside writes.
/// Blocks. The file is written under another name, synced, read again from the disk and checked. Only then it gets its
/// name, so a file of that name is a whole backup.
struct BackupCopy {
    let order: BackupOrder
    let control: BackupControl
    let seconds: Int

    /// Pages read at a time: 256 KiB, so that neither a writer's sync nor a cancellation waits long.
    private static let pagesPerSlice: Int32 = 64
    /// Bytes after which the copy waits for the disk. A larger sync would hold up the syncs of the writes beside it.
    private static let bytesPerSync: Int64 = 4 << 20
    private static let chunkBytes = 1 << 20

    private var unfinishedPath: String { order.path + BackupCopy.unfinishedSuffix }
    static let unfinishedSuffix = ".part"

    /// - Parameters:
    ///   - source: A connection outside of any transaction, which no other caller uses meanwhile.
    ///   - watch: Reports that the backup keeps too much in the log.
    ///   - snapshotIsOver: Called as soon as the source is no longer read.
    func run(from source: Connection, _ watch: ReaderWatch?, snapshotIsOver: () -> Void) throws -> BackupManifest {
        guard access(order.path, F_OK) != 0 else {
            throw StoreError(
                .unavailable, "There is a file of this name already",
                ["path": order.path, "remedy": "take another name: backups are never overwritten"])
        }
        let file = try FileBytes.create(unfinishedPath)
        defer { file.close() }
        do {
            var pace = Pace(bytesPerSecond: order.bytesPerSecond)
            let pages = try copy(from: source, to: file, watch, &pace, snapshotIsOver)
            let manifest = try close(file, pages: pages, &pace)
            try file.sync()
            file.forgetCache()
            _ = try BackupFile.verify(unfinishedPath, control, &pace)
            guard rename(unfinishedPath, order.path) == 0 else { throw DataFolder.systemError("The backup could not be given its name", order.path) }
            try FolderLock.syncFolder(Self.folder(of: order.path))
            return manifest
        } catch {
            unlink(unfinishedPath)
            if let damage = error as? BackupFile.Damage {
                throw StoreError(.corrupt, "The backup does not read back as it was written: \(damage.text)", ["path": order.path])
            }
            throw StoreError(error)
        }
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: The database

    /// Copies the snapshot. Returns the number of its pages.
    private func copy(
        from source: Connection, to file: FileBytes, _ watch: ReaderWatch?, _ pace: inout Pace, _ snapshotIsOver: () -> Void
    ) throws -> Int {
        defer {
            source.abandonTransaction()
            snapshotIsOver()
        }
        // An open read keeps the snapshot. Without it the copy would begin again with every commit.
        try source.run(.beginRead)
        _ = try source.execute("SELECT count(*) FROM sqlite_schema")
        let pageBytes = Int64(try source.execute("PRAGMA page_size") ?? "") ?? 4096
        let target = try Connection(path: file.path, vfs: nil, cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes, busyTimeoutMilliseconds: 0)
        defer { target.close() }
        // An unfinished file has no value, so neither a journal nor SQLite's syncs are of use.
        try target.execute("PRAGMA journal_mode = OFF")
        try target.execute("PRAGMA synchronous = OFF")
        guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw SQLiteFailure(code: sqlite3_extended_errcode(target.handle), of: target.handle)
        }
        var result = SQLITE_OK
        var unsynced: Int64 = 0
        do {
            while result == SQLITE_OK {
                result = sqlite3_backup_step(backup, Self.pagesPerSlice)
                let all = Int64(sqlite3_backup_pagecount(backup)) * pageBytes
                let done = all - Int64(sqlite3_backup_remaining(backup)) * pageBytes
                if watch?.isEnded == true { throw Self.givenUp }
                try control.reached(.copying, done, of: all)
                unsynced += Int64(Self.pagesPerSlice) * pageBytes
                if unsynced >= Self.bytesPerSync {
                    unsynced = 0
                    try file.syncData()
                }
                pace.pass(Int64(Self.pagesPerSlice) * pageBytes, control)
            }
        } catch {
            sqlite3_backup_finish(backup)
            throw error
        }
        let pages = Int(sqlite3_backup_pagecount(backup))
        let ended = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE, ended == SQLITE_OK else {
            let failure = SQLiteFailure(code: result == SQLITE_DONE ? ended : result, of: target.handle)
            guard failure.storeError.code == .full else { throw failure }
            throw StoreError(.full, "There is no room for the backup", ["path": order.path, "needed": String(Int64(pages) * pageBytes)])
        }
        return pages
    }

    static let givenUp = StoreError(
        .unavailable, "The backup was given up: it kept more in the log than it may, or a write found no room",
        ["remedy": "back up in a quieter hour, without --bandwidth, or to a faster disk; see that the data folder's disk has room"])

    // MARK: The manifest

    private func close(_ file: FileBytes, pages: Int, _ pace: inout Pace) throws -> BackupManifest {
        let (manifest, bytes) = try described(file, pages: pages)
        guard try file.size == bytes else {
            throw StoreError(.unavailable, "The copy is not as long as the database", ["path": order.path])
        }
        let sums = try BackupFile.checksums(of: file, bytes: bytes, chunkBytes: Self.chunkBytes, control, &pace)
        var whole = manifest
        whole.chunks = sums.chunks
        whole.sha256 = sums.whole
        try file.write(try BackupFile.tail(whole), at: bytes)
        return whole
    }

    private func described(_ file: FileBytes, pages: Int) throws -> (BackupManifest, Int64) {
        let copy = try Connection(
            path: file.path, vfs: nil, access: .immutable, cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes, busyTimeoutMilliseconds: 0)
        defer { copy.close() }
        let version = Int32(try copy.execute("PRAGMA user_version") ?? "") ?? 0
        let pageBytes = Int(try copy.execute("PRAGMA page_size") ?? "") ?? 0
        let containers = try copy.execute("SELECT count(*) FROM entries WHERE kind = \(EntryKind.container.rawValue)")
        let databases = try copy.execute("SELECT count(*) FROM databases")
        let manifest = BackupManifest(
            nacre: order.nacre, schemaVersion: version, time: UTCText.time(seconds), folder: order.folder, containers: Int(containers ?? "") ?? 0,
            databases: Int(databases ?? "") ?? 0, pageBytes: pageBytes, pages: pages, chunkBytes: Self.chunkBytes, chunks: [], sha256: "")
        return (manifest, manifest.databaseBytes)
    }
}
