import Glibc
import NacreCloudStorage

/// The lock of one process, and of one store in it, on a data folder. The kernel holds it (`flock` on `nacre.lock`), so
/// it ends with the process, however that ends. The file's text only names the process.
final class FolderLock: Sendable {
    private let descriptor: Int32
    /// The paths in the folder that were open to others.
    let findings: DataFolder.Findings

    /// Creates the folder if it is missing, makes it private, and locks it.
    init(folder: String) throws {
        try Self.makeFolder(folder)
        findings = try DataFolder.makePrivate(folder)
        let path = folder + "/nacre.lock"
        let descriptor = Self.open(path, folder)
        guard descriptor >= 0 else { throw DataFolder.systemError("The data folder's lock could not be opened", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let holder = Self.read(descriptor)
            Glibc.close(descriptor)
            guard code == EWOULDBLOCK else { throw DataFolder.systemError("The data folder could not be locked", path, code) }
            throw StoreError(
                .inUse, "The data folder is in use by another process: stop that one, or choose another folder",
                ["folder": folder, "pid": holder.isEmpty ? "unknown" : holder])
        }
        self.descriptor = descriptor
        let text = Array("\(getpid())\n".utf8)
        // The lock holds without the text, too; another process would then read "unknown".
        if ftruncate(descriptor, 0) == 0 {
            _ = pwrite(descriptor, text, text.count, 0)
        }
    }

    /// Opens the lock file. On a read-only disk it is the file as it is, or the folder if there is no file.
    private static func open(_ path: String, _ folder: String) -> Int32 {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor < 0, errno == EROFS || errno == EACCES else { return descriptor }
        let asItIs = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        return asItIs >= 0 ? asItIs : Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }

    /// Releases the folder. Call it once.
    func release() {
        _ = ftruncate(descriptor, 0)
        // Unlock explicitly: a child that was forked and has not yet called exec holds the same lock.
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }

    private static func read(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static func makeFolder(_ folder: String) throws {
        var path = folder.hasPrefix("/") ? "" : "."
        for part in folder.split(separator: "/") {
            let parent = path.isEmpty ? "/" : path
            path += "/" + part
            if mkdir(path, 0o700) == 0 {
                // The parent keeps the name of a new folder. Without this sync a power cut could take the whole folder.
                try syncFolder(parent)
            } else if errno != EEXIST {
                throw DataFolder.systemError("The data folder could not be made", path)
            }
        }
    }

    /// Makes the names in a folder durable.
    static func syncFolder(_ folder: String) throws {
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            // This user may not read the folder (a parent may belong to anyone), so it cannot be synced.
            if errno == EACCES { return }
            throw DataFolder.systemError("A folder could not be opened", folder)
        }
        let result = fsync(descriptor)
        let code = errno
        Glibc.close(descriptor)
        guard result == 0 else { throw DataFolder.systemError("A folder could not be made durable", folder, code) }
    }

    /// Creates an empty file that only its owner may read, unless there is one. SQLite gives the log beside it the same
    /// rights.
    static func makeFile(_ path: String) throws {
        if access(path, F_OK) == 0 { return }
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DataFolder.systemError("The database file could not be opened", path) }
        Glibc.close(descriptor)
    }
}
