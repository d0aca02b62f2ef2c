import Foundation

/// A file of this user alone that stays open: read and written at places, and lockable against other processes.
///
/// A lock is held until the file is closed, which the system does for a process that is killed, too.
final class KeptFile: Sendable {
    let descriptor: Int32

    /// Opens a file that is there.
    init(_ path: String) throws(CKError) {
        descriptor = try Self.opened(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    }

    /// Makes a new file; or opens it where there may be one.
    init(making path: String, mayBeThere: Bool = false) throws(CKError) {
        descriptor = try Self.opened(path, O_RDWR | O_CREAT | (mayBeThere ? 0 : O_EXCL) | O_NOFOLLOW | O_CLOEXEC)
    }

    private static func opened(_ path: String, _ flags: Int32) throws(CKError) -> Int32 {
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw .stateNotKept(errno) }
        return descriptor
    }

    deinit { close(descriptor) }

    /// Whether this process has the lock now; returns at once.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    func unlock() { flock(descriptor, LOCK_UN) }

    /// Whether somebody else has the lock.
    var isLocked: Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
        flock(descriptor, LOCK_UN)
        return false
    }

    /// Whether the name leads to this file still.
    func isAt(_ path: String) -> Bool {
        var (named, opened) = (stat(), stat())
        guard lstat(path, &named) == 0, fstat(descriptor, &opened) == 0 else { return false }
        return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    var size: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    func truncate(to count: Int) { _ = ftruncate(descriptor, off_t(count)) }

    /// What is there of these bytes.
    func bytes(_ count: Int, at offset: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            while filled < count {
                let more = pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
                if more < 0, errno == EINTR { continue }
                guard more > 0 else { return }
                filled += more
            }
        }
    }

    func write(_ bytes: [UInt8], at offset: Int) throws(CKError) {
        var written = 0
        while written < bytes.count {
            let more = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written, off_t(offset + written))
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw .stateNotKept(more == 0 ? ENOSPC : errno) }
            written += more
        }
    }

    /// Returns when what was written is on the disk.
    func sync() throws(CKError) {
        guard fsync(descriptor) == 0 else { throw .stateNotKept(errno) }
    }

    /// Returns when the names in a folder are on the disk.
    static func sync(folder: String) throws(CKError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .stateNotKept(errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .stateNotKept(errno) }
    }
}

extension CKError {
    /// What must outlive the process cannot be written on this machine.
    static func stateNotKept(_ code: Int32) -> CKError {
        CKError(
            .internalError, text: "The state of long-lived operations cannot be kept on this machine",
            underlying: NSError(domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [:]))
    }
}
