import Glibc
import NacreCloudStorage

/// An open file, read and written at offsets. Never the live database: closing it would end SQLite's locks on the same
/// file.
struct FileBytes {
    let path: String
    let descriptor: Int32

    /// Opens a file for reading.
    init(_ path: String) throws {
        try self.init(path, O_RDONLY)
    }

    /// Creates a file for its owner alone, and locks it as being written for as long as the process lives.
    /// - Throws: `.inUse` if another process writes it. The file of a process that ended is replaced.
    static func create(_ path: String) throws -> FileBytes {
        if let old = try? FileBytes(path) {
            defer { old.close() }
            guard flock(old.descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw StoreError(.inUse, "Another process writes this file", ["path": path, "remedy": "wait until it is done, or take another name"])
            }
            unlink(path)
        }
        let file = try FileBytes(path, O_RDWR | O_CREAT | O_EXCL)
        flock(file.descriptor, LOCK_EX | LOCK_NB)
        return file
    }

    private init(_ path: String, _ flags: Int32) throws {
        self.path = path
        descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DataFolder.systemError("The file could not be opened", path) }
    }

    func close() {
        Glibc.close(descriptor)
    }

    var size: Int64 {
        get throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw DataFolder.systemError("The file could not be looked at", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw StoreError(.unavailable, "This is not a file", ["path": path, "remedy": "name a file"])
            }
            return Int64(status.st_size)
        }
    }

    /// Reads exactly `count` bytes.
    func read(_ count: Int, at place: Int64) throws -> [UInt8] {
        var done = 0
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while done < count {
                let got = pread(descriptor, buffer.baseAddress.map { $0 + done }, count - done, off_t(place) + off_t(done))
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = errno }
                if got <= 0 { break }
                done += got
            }
            filled = done
        }
        guard failure == 0 else { throw DataFolder.systemError("The file could not be read", path, failure) }
        guard done == count else { throw StoreError(.unavailable, "The file became shorter while it was read", ["path": path]) }
        return bytes
    }

    func write(_ bytes: [UInt8], at place: Int64) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(place) + off_t(done)) }
            guard count >= 0 || errno == EINTR else { throw DataFolder.systemError("The file could not be written", path) }
            done += max(count, 0)
        }
    }

    /// Waits until all bytes and attributes are on the disk.
    func sync() throws {
        guard fsync(descriptor) == 0 else { throw DataFolder.systemError("The disk did not confirm that it keeps the file", path) }
    }

    /// Waits until the written bytes are on the disk, so that later syncs have less to do at once.
    func syncData() throws {
        guard fdatasync(descriptor) == 0 else { throw DataFolder.systemError("The disk did not confirm that it keeps the file", path) }
    }

    /// Makes later reads come from the disk, as far as the kernel allows.
    func forgetCache() {
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }
}
