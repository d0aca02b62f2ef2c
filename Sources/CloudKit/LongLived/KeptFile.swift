import Foundation

/// An open file of this user alone, which can be read and written at offsets, and locked against other processes.
///
/// A lock is held until the file is closed. The system closes it when the process is killed.
final class KeptFile: Sendable {
    let descriptor: Int32

    /// Opens an existing file.
    init(_ path: String) throws(CKError) {
        descriptor = try Self.opened(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    }

    /// Creates a file. With `mayBeThere`, opens an existing one.
    init(making path: String, mayBeThere: Bool = false) throws(CKError) {
        descriptor = try Self.opened(path, O_RDWR | O_CREAT | (mayBeThere ? 0 : O_EXCL) | O_NOFOLLOW | O_CLOEXEC)
    }

    private static func opened(_ path: String, _ flags: Int32) throws(CKError) -> Int32 {
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw .stateNotKept(errno) }
        return descriptor
    }

    deinit { close(descriptor) }

    /// Takes the lock without waiting; returns whether this process has it now.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    func unlock() { flock(descriptor, LOCK_UN) }

    /// Whether another process has the lock.
    var isLocked: Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
        flock(descriptor, LOCK_UN)
        return false
    }

    /// Returns whether the path still leads to this file.
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

    /// Returns the bytes of a range, fewer at the end of the file.
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

    /// Returns when written data is on the disk.
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
    /// State that must outlive the process cannot be written on this machine.
    static func stateNotKept(_ code: Int32) -> CKError {
        CKError(
            .internalError, text: "The state of long-lived operations cannot be kept on this machine",
            underlying: NSError(domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [:]))
    }
}
