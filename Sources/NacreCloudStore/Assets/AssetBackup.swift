import Glibc
package import NacreCloudContainer
import NacreCloudWire

/// Chunks beside backups: a folder `assets` next to them holds each chunk once, however many backups need it.
package enum AssetBackup {
    /// Where the chunks of a backup stand.
    package static func folder(besides backup: String) -> String {
        let end = backup.lastIndex(of: "/")
        return (end.map { String(backup[..<$0]) } ?? ".") + "/assets"
    }

    /// Gives each chunk of one folder a place in another, where it is not there. On one disk that takes no room. What is there already stays as it is.
    /// Blocks as long as the disk takes.
    /// - Parameter isCancelled: asked before each of up to 256 parts is looked through, and before it is shared.
    /// - Returns: how many came.
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
        // A chunk that came just now may not be on the disk yet. A power cut would leave it by half in both folders, and in the other one for ever.
        if !new.isEmpty { try FileCall.syncAll(beside: disk.descriptor, source) }
        var count = 0
        for (part, names) in new {
            if isCancelled() { throw BackupControl.cancelled }
            try FileCall.makeFolder("\(target)/\(part)")
            // One that was collected meanwhile is in no backup.
            for name in names where try FileCall.share("\(source)/\(part)/\(name)", as: "\(target)/\(part)/\(name)") { count += 1 }
            try FileCall.sync(folder: "\(target)/\(part)")
        }
        try FileCall.sync(folder: target)
        return count
    }

    /// Brings the chunks of a running server's storage beside its backups, where they are not there: of files by `share`, off the thread that asks, of a bucket
    /// as copies.
    package static func sharing(_ source: any AssetStorage, with target: String, _ control: BackupControl) async throws {
        switch source {
        case let files as AssetFiles: _ = try await onThread { try share(files.folder, with: target) { control.isCancelled } }
        case let bucket as S3Assets: try await bucket.copy(to: target) { control.isCancelled }
        default: break
        }
    }

    /// `prune`, off the thread that asks.
    package static func pruning(besides folder: String) async throws -> Int {
        try await onThread { try prune(besides: folder) }
    }

    private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
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

    /// The result of a look at the chunks that a backup needs.
    package struct Look {
        fileprivate var pool: String
        fileprivate var seen: Set<AssetChunk> = []
        fileprivate var missing: Set<AssetChunk> = []
        fileprivate var damaged: Set<AssetChunk> = []
        fileprivate var first: ChunkName?
        /// Damaged files of the data folder of which the backup has sound ones.
        var replaced: [String] = []
        /// Files of records of which chunks are missing or damaged.
        package var lostFiles = 0

        /// Names of chunks of which no sound copy was found. An asset of before may name one chunk in two sizes: in the right one it is sound.
        var lost: Set<ChunkName> {
            let bad = missing.union(damaged)
            return Set(bad.map(\.name)).subtracting(seen.subtracting(bad).map(\.name))
        }

        /// - Throws: `BackupFile.Damage` where files are lost.
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

    /// Holds the chunks beside a backup against the assets in it. Blocks as long as the disk takes.
    /// - Parameters:
    ///   - data: a data folder into which the backup is to be restored: chunks that are there already count too.
    ///   - reads: false: a chunk's size is enough.
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

    /// Counts the files of records of which a backup lacks chunks, by their sizes, off the thread that asks.
    package static func lostFiles(of backup: String, _ control: BackupControl) async throws -> Int {
        try await onThread { try look(backup, reads: false, control).lostFiles }
    }

    /// Takes away what no backup of a folder needs any more. While a backup is made there it does nothing, and so it does where a backup cannot be read.
    /// - Returns: how many chunks went.
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
                // Another file, or a backup that nobody can restore.
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

    /// The chunks of each asset in a backup, with the key under which they are named.
    private static func eachAsset(of backup: String, _ body: ([AssetChunk], [UInt8]) throws -> Void) throws {
        let connection = try Connection(
            path: backup, vfs: nil, access: .immutable, cacheKibibytes: SQLiteLimits.readerCacheKibibytes, busyTimeoutMilliseconds: 0)
        defer { connection.close() }
        // Versions that had no checksums of entries had no assets.
        guard try connection.lines("SELECT name FROM pragma_table_info('entries')").contains("checksum") else { return }
        var serverKey: [UInt8]?
        // The server's key stands in the registry, which may come behind.
        for wanted in [EntryKind.chunkKey, .asset] {
            var last: KeptPlace?
            repeat {
                let page = try connection.rows(of: .entries, after: last, limit: Limits.checkRows)
                for case .entry(let row) in page.lazy.map(\.value) where row.key.kind == wanted {
                    if wanted == .chunkKey { serverKey = row.value }
                    guard let serverKey, let chunks = try row.assetChunks, !chunks.isEmpty else { continue }
                    try body(chunks, ChunkNaming.key(of: row.key.database, serverKey))
                }
                last = page.last?.place
            } while last != nil
            // Without it there are no chunks.
            if serverKey == nil { return }
        }
    }

    /// Held by who brings chunks into a folder, and alone by who takes some away.
    private struct Lock {
        private let descriptor: Int32

        /// nil: somebody else has it, and `kind` is `LOCK_EX`.
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
