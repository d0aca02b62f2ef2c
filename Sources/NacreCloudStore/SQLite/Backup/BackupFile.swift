import CNacreSQLite
import Glibc
import NacreCloudStorage
import NacreCrypto

/// A backup as a file: the database, its manifest, and an end that tells a complete file from an unfinished one. After
/// the database come the manifest (JSON), its SHA-256 (32 bytes), its length (8 bytes, big-endian) and 16 bytes that
/// name the format. The database comes first, so SQLite's own tools can read a backup, too (`file:…?immutable=1`).
package enum BackupFile {
    static let ending = Array("nacre backup 1\r\n".utf8)
    private static let tailBytes = 32 + 8 + ending.count
    /// The longest manifest that this program writes: 64 MiB hold the chunks of 4 TB.
    private static let manifestBytesMax = 64 << 20

    /// The reason why a file is not a sound backup.
    package struct Damage: Error, Hashable, Sendable {
        /// The text for people.
        package var text: String
        /// The words between the file's name and `text`.
        package var verdict = "is damaged"
        /// The remedy; nil: take another backup.
        package var remedy: String?
    }

    static let unfinished = Damage(text: "it is unfinished, cut off, or no backup: its end is missing")

    /// Returns the manifest of a finished file. Reads only its end; `verify` reads all of it.
    /// - Throws: `Damage`; `StoreError` if the file cannot be read or is of a newer format.
    package static func manifest(of path: String) throws -> BackupManifest {
        let file = try FileBytes(path)
        defer { file.close() }
        return try manifest(of: file)
    }

    private static func manifest(of file: FileBytes) throws -> BackupManifest {
        let size = try file.size
        guard size > tailBytes else { throw unfinished }
        let tail = try file.read(tailBytes, at: size - Int64(tailBytes))
        guard Array(tail.suffix(ending.count)) == ending else { throw unfinished }
        let length = tail[32..<40].reduce(0) { $0 << 8 | Int64($1) }
        let start = size - Int64(tailBytes) - length
        guard length > 0, length <= manifestBytesMax, start >= 0 else { throw unfinished }
        let text = try file.read(Int(length), at: start)
        guard SHA256.digest(text) == Array(tail.prefix(32)) else { throw Damage(text: "its manifest was altered") }
        guard let manifest = BackupManifest.read(text) else {
            throw StoreError(.newerVersion, "The backup is of a form that this version does not know", ["path": file.path])
        }
        guard manifest.format == BackupManifest.currentFormat else {
            throw StoreError(
                .newerVersion, "The backup is of a newer form: use the version that made it",
                ["path": file.path, "found": String(manifest.format), "supported": String(BackupManifest.currentFormat)])
        }
        guard manifest.databaseBytes == start, manifest.chunkBytes > 0 else { throw Damage(text: "its length is not what its manifest says") }
        return manifest
    }

    /// Reads all of a backup: verifies its checksums, and lets SQLite check the database. Blocks as long as the disk
    /// takes.
    /// - Throws: `Damage`; `StoreError` if the file cannot be read.
    @discardableResult
    package static func verify(_ path: String, _ control: BackupControl = BackupControl()) throws -> BackupManifest {
        var pace = Pace(bytesPerSecond: nil)
        return try verify(path, control, &pace)
    }

    static func verify(_ path: String, _ control: BackupControl, _ pace: inout Pace) throws -> BackupManifest {
        let file = try FileBytes(path)
        defer { file.close() }
        let manifest = try manifest(of: file)
        let sums = try checksums(of: file, bytes: manifest.databaseBytes, chunkBytes: manifest.chunkBytes, control, &pace)
        guard sums.chunks == manifest.chunks else {
            let first = zip(sums.chunks, manifest.chunks).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
            let place = Int64(first) * Int64(manifest.chunkBytes)
            throw Damage(text: "the database was altered between bytes \(place) and \(place + Int64(manifest.chunkBytes))")
        }
        guard sums.whole == manifest.sha256 else { throw Damage(text: "the checksum of the whole does not match its chunks") }
        try checkDatabase(path, manifest, control)
        return manifest
    }

    /// Opens the database in the file, and lets SQLite check it.
    private static func checkDatabase(_ path: String, _ manifest: BackupManifest, _ control: BackupControl) throws {
        let connection = try Connection(
            path: path, vfs: nil, access: .immutable, cacheKibibytes: SQLiteLimits.readerCacheKibibytes, busyTimeoutMilliseconds: 0)
        defer { connection.close() }
        connection.stop(when: { control.isCancelled })
        do {
            let owner = try connection.execute("PRAGMA application_id")
            let version = try connection.execute("PRAGMA user_version")
            guard owner == DatabaseFile.applicationID, version == String(manifest.schemaVersion) else {
                throw Damage(text: "the database in it is not Nacre's, or of another version than its manifest says")
            }
            let answer = try connection.execute("PRAGMA integrity_check(1)")
            guard answer == "ok" else { throw Damage(text: "SQLite finds the database in it damaged: \(answer ?? "no answer")") }
        } catch let failure as SQLiteFailure {
            if control.isCancelled { throw BackupControl.cancelled }
            guard failure.storeError.code == .corrupt else { throw failure.storeError }
            throw Damage(text: "SQLite finds the database in it damaged: \(failure.message)")
        }
    }

    // MARK: Writing

    struct Checksums {
        var chunks: [String]
        var whole: String
    }

    static func checksums(
        of file: FileBytes, bytes: Int64, chunkBytes: Int, _ control: BackupControl, _ pace: inout Pace
    ) throws -> Checksums {
        var whole = try SHA256.Stream()
        var chunks: [String] = []
        var place: Int64 = 0
        while place < bytes {
            let chunk = try file.read(Int(min(Int64(chunkBytes), bytes - place)), at: place)
            whole.update(chunk)
            chunks.append(Hex.encode(SHA256.digest(chunk)))
            place += Int64(chunk.count)
            try control.reached(.checking, place, of: bytes)
            pace.pass(Int64(chunk.count), control)
        }
        return Checksums(chunks: chunks, whole: Hex.encode(try whole.finish()))
    }

    /// Returns the bytes after the database.
    package static func tail(_ manifest: BackupManifest) throws -> [UInt8] {
        let text = try manifest.written()
        let length = (0..<8).map { UInt8(truncatingIfNeeded: text.count >> ((7 - $0) * 8)) }
        return text + SHA256.digest(text) + length + ending
    }
}
