import Glibc
import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire

/// Chunks of backups. A folder `assets` beside the backups holds each chunk once, however many backups need it.
package enum AssetBackup {
    /// Returns the folder that holds the chunks of a backup.
    package static func folder(besides backup: String) -> String {
        let end = backup.lastIndex(of: "/")
        return (end.map { String(backup[..<$0]) } ?? ".") + "/assets"
    }

    /// Links each chunk of one folder into another that lacks it. On one disk that takes no room. Existing chunks stay
    /// as they are. Blocks as long as the disk takes.
    /// - Parameter isCancelled: Called before each of up to 256 parts is searched, and before it is linked.
    /// - Returns: The number of chunks that were added.
    @discardableResult
    package static func share(_ source: String, with target: String, isCancelled: () -> Bool = { false }) throws(StoreError) -> Int {
        let parts = try FileCall.names(in: source).filter { $0.utf8.count == 2 }
        guard !parts.isEmpty else { return 0 }
        try FileCall.makeFolder(target)
        let lock = try Lock(target, LOCK_SH)
        defer { lock?.release() }
        let disk = try OpenedFile(FileCall.openFolder(source))
        var new: [(part: String, names: [String])] = []
        for part in parts {
            if isCancelled() { throw BackupControl.cancelled }
            let there = Set(try FileCall.names(in: "\(target)/\(part)"))
            let names = try FileCall.names(in: "\(source)/\(part)").filter { $0.utf8.count == 64 && !there.contains($0) }
            if !names.isEmpty { new.append((part, names)) }
        }
        // A new chunk may not be on the disk yet. A power cut would leave it incomplete in both folders, and for ever
        // in `target`.
        if !new.isEmpty { try FileCall.syncAll(beside: disk.descriptor, source) }
        var count = 0
        for (part, names) in new {
            if isCancelled() { throw BackupControl.cancelled }
            try FileCall.makeFolder("\(target)/\(part)")
            // A chunk that was collected meanwhile is in no backup.
            for name in names where try FileCall.share("\(source)/\(part)/\(name)", as: "\(target)/\(part)/\(name)") { count += 1 }
            try FileCall.sync(folder: "\(target)/\(part)")
        }
        try FileCall.sync(folder: target)
        return count
    }

    /// Brings the chunks of a running server's storage beside its backups, if they are not there yet. Files are linked
    /// by `share`, off the calling thread; the objects of a bucket are copied.
    package static func sharing(_ source: any AssetStorage, with target: String, _ control: BackupControl) async throws {
        switch source {
        case let files as AssetFiles: _ = try await onThread { try share(files.folder, with: target) { control.isCancelled } }
        case let bucket as S3Assets: try await bucket.copy(to: target) { control.isCancelled }
        default: break
        }
    }

    /// Runs `prune` off the calling thread.
    package static func pruning(besides folder: String) async throws -> Int {
        try await onThread { try prune(besides: folder) }
    }

    /// Runs work that blocks on a thread of its own.
    package static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let threads = try FileThreads(count: 1)
        do {
            let value = try await threads.run(body)
            await threads.close()
            return value
        } catch {
            await threads.close()
            throw error
        }
    }

    /// The result of a search for the chunks that a backup needs.
    package struct Look {
        fileprivate var pool: String
        fileprivate var seen: Set<AssetChunk> = []
        fileprivate var missing: Set<AssetChunk> = []
        fileprivate var damaged: Set<AssetChunk> = []
        fileprivate var first: ChunkName?
        /// Paths of damaged chunks in the data folder for which the backup has sound ones.
        var replaced: [String] = []
        /// The number of files of records that lack a sound chunk.
        package var lostFiles = 0

        /// The names of chunks without a sound copy. An older asset may name one chunk with two sizes: with the right
        /// one it is sound.
        var lost: Set<ChunkName> {
            let bad = missing.union(damaged)
            return Set(bad.map(\.name)).subtracting(seen.subtracting(bad).map(\.name))
        }

        /// - Throws: `BackupFile.Damage` if files are lost.
        package func requireWhole() throws {
            guard let first else { return }
            throw BackupFile.Damage(
                text: "\(lostFiles == 1 ? "a file of a record is" : "\(lostFiles) files of records are") not with it: of \(seen.count) chunks "
                    + "\(missing.count) are missing in \(pool) and \(damaged.count) damaged, first \(first.text)",
                verdict: "is not whole",
                remedy: "copy the folder assets that stood beside the backup to \(pool); to restore without these files, and lose them: "
                    + "--without-assets")
        }
    }

    /// Compares the chunks beside a backup with the assets in it. Blocks as long as the disk takes.
    /// - Parameters:
    ///   - data: A data folder that the backup will be restored into. Its sound chunks count, too.
    ///   - reads: Whether the bytes are hashed; false: a chunk's size is enough.
    package static func look(_ backup: String, restoringInto data: String? = nil, reads: Bool = true, _ control: BackupControl) throws -> Look {
        var look = Look(pool: folder(besides: backup))
        try eachAsset(of: backup) { chunks, key in
            for chunk in chunks where look.seen.insert(chunk).inserted {
                if control.isCancelled { throw BackupControl.cancelled }
                func state(in folder: String) throws -> (path: String, isSound: Bool?) {
                    let path = path(of: chunk.name, in: folder)
                    guard reads else { return (path, try FileCall.size(path).map { $0 == chunk.size }) }
                    let bytes = try FileCall.contents(path, bytesMax: chunk.size)
                    return (path, bytes.map { (try? ChunkNaming.verify($0, are: chunk, under: key)) != nil })
                }
                let there = try data.map { try state(in: $0 + "/assets") }
                if there?.isSound == true { continue }
                switch try state(in: look.pool).isSound {
                case true?: if let there, there.isSound == false { look.replaced.append(there.path) }
                case false?: look.damaged.insert(chunk)
                case nil: look.missing.insert(chunk)
                }
            }
            guard let bad = chunks.first(where: { look.missing.contains($0) || look.damaged.contains($0) }) else { return }
            look.lostFiles += 1
            if look.first == nil { look.first = bad.name }
        }
        return look
    }

    static func path(of chunk: ChunkName, in folder: String) -> String { "\(folder)/\(chunk.text.prefix(2))/\(chunk.text)" }

    /// Counts the files of records that lack chunks in a backup, by the chunks' sizes, off the calling thread.
    package static func lostFiles(of backup: String, _ control: BackupControl) async throws -> Int {
        try await onThread { try look(backup, reads: false, control).lostFiles }
    }

    /// Removes the chunks that no backup in a folder needs any more. Does nothing while a backup is being made there.
    /// Throws, and removes nothing, if a backup cannot be read.
    /// - Returns: The number of removed chunks.
    package static func prune(besides folder: String) throws -> Int {
        let pool = folder + "/assets"
        guard access(pool, F_OK) == 0, let lock = try Lock(pool, LOCK_EX) else { return 0 }
        defer { lock.release() }
        let names = try FileCall.names(in: folder).filter { $0 != "assets" }
        guard !names.contains(where: { $0.hasSuffix(BackupCopy.unfinishedSuffix) }) else { return 0 }
        var needed: Set<ChunkName> = []
        for path in names.map({ "\(folder)/\($0)" }) where try FileCall.size(path) != nil {
            do {
                _ = try BackupFile.manifest(of: path)
            } catch is BackupFile.Damage {
                // Another file, or a backup that cannot be restored.
                continue
            }
            try eachAsset(of: path) { chunks, _ in needed.formUnion(chunks.map(\.name)) }
        }
        var count = 0
        for part in try FileCall.names(in: pool) where part.utf8.count == 2 {
            for text in try FileCall.names(in: "\(pool)/\(part)") {
                guard let name = ChunkName(text: text), !needed.contains(name) else { continue }
                try FileCall.remove("\(pool)/\(part)/\(text)")
                count += 1
            }
        }
        return count
    }

    /// Calls `body` with the chunks of each asset in a backup, and the key under which they are named.
    private static func eachAsset(of backup: String, _ body: ([AssetChunk], [UInt8]) throws -> Void) throws {
        let connection = try Connection(
            path: backup, vfs: nil, access: .immutable, cacheKibibytes: SQLiteLimits.readerCacheKibibytes, busyTimeoutMilliseconds: 0)
        defer { connection.close() }
        // Versions without checksums of entries had no assets.
        guard try connection.lines("SELECT name FROM pragma_table_info('entries')").contains("checksum") else { return }
        var serverKey: [UInt8]?
        // The server's key is in the registry, which may come after the assets.
        for wanted in [EntryKind.chunkKey, .asset] {
            var last: RowKey?
            repeat {
                let page = try connection.rows(of: .entries, after: last, limit: Limits.checkRows)
                for case .entry(let row) in page.lazy.map(\.value) where row.key.kind == wanted {
                    if wanted == .chunkKey { serverKey = row.value }
                    guard let serverKey, let chunks = try row.assetChunks, !chunks.isEmpty else { continue }
                    try body(chunks, ChunkNaming.key(of: row.key.database, serverKey))
                }
                last = page.last?.key
            } while last != nil
            // Without the key there are no chunks.
            if serverKey == nil { return }
        }
    }

    /// A lock on a folder of chunks: shared while chunks are added, exclusive while some are removed.
    private struct Lock {
        private let descriptor: Int32

        /// Returns nil if another process holds it and `kind` is `LOCK_EX`.
        init?(_ folder: String, _ kind: Int32) throws(StoreError) {
            descriptor = try FileCall.openFolder(folder)
            while flock(descriptor, kind == LOCK_EX ? LOCK_EX | LOCK_NB : kind) != 0 {
                guard errno == EINTR else {
                    Glibc.close(descriptor)
                    return nil
                }
            }
        }

        func release() { Glibc.close(descriptor) }
    }
}
