import Glibc
import NacreCloudStorage

/// The file `nacre.sqlite-run`, which names the run of the database file at the beginning of the log. It stands beside
/// the log.
///
/// SQLite does not notice an older database file under a newer log, and would write the log's pages into it. A copy of
/// a stopped server's folder has neither log nor run file, one of a running server has both. A run file of another run
/// therefore shows that the files do not belong together.
struct RunFile: Sendable {
    private let folder: String
    private let path: String
    private let logPath: String

    init(_ file: DatabaseFile) {
        folder = file.folder
        path = file.path + "-run"
        logPath = file.path + "-wal"
    }

    /// Refuses a log that was not written for the database file. Does nothing if either cannot be read, because SQLite
    /// then reports the fault.
    /// - Parameter run: Returns the run of the database file without its log.
    func check(against run: () -> Int64?) throws(StoreError) {
        guard let expected = read(), hasLog, let found = run(), found != expected else { return }
        throw StoreError(
            .foreignLog, "nacre.sqlite is not the file that the log nacre.sqlite-wal was written for",
            ["folder": folder, "run": String(found), "runOfLog": String(expected)])
    }

    private var hasLog: Bool {
        var status = stat()
        return stat(logPath, &status) == 0 && status.st_size > 0
    }

    private func read() -> Int64? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { Glibc.close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        // An incomplete line was cut off by a power failure.
        guard count > 0, bytes[count - 1] == UInt8(ascii: "\n") else { return nil }
        return Int64(String(decoding: bytes.prefix(count - 1), as: UTF8.self))
    }

    /// Writes the run of the database file while the log is empty. Durable before the log holds anything.
    func write(_ run: Int64) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DataFolder.systemError("The run's file could not be written", path) }
        let text = Array("\(run)\n".utf8)
        let isWritten = Glibc.write(descriptor, text, text.count) == text.count && fsync(descriptor) == 0
        let code = errno
        Glibc.close(descriptor)
        guard isWritten else { throw DataFolder.systemError("The run's file could not be written", path, code) }
        try FolderLock.syncFolder(folder)
    }

    /// Removes the file before the database file may enter another run. Durable at once.
    func remove() throws {
        if unlink(path) == 0 {
            try FolderLock.syncFolder(folder)
        } else if errno != ENOENT {
            throw DataFolder.systemError("The run's file could not be removed", path)
        }
    }
}
