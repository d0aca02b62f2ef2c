import Glibc

/// A regular file that is open for reading. It is closed with the last reference.
final class OpenFile: Sendable {
    let descriptor: Int32
    let size: UInt64
    /// A tag made of modification time and size. New content gets a new tag as long as the clock moves between two
    /// writes.
    let entityTag: String

    /// Opens a file. Returns nil if it cannot be opened or is no regular file.
    init?(path: String) {
        // Non-blocking, so that a FIFO at this path cannot hold the loop. The flag has no effect on a regular file.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        size = UInt64(status.st_size)
        let modified = UInt64(bitPattern: Int64(status.st_mtim.tv_sec)) &* 1_000_000_000 &+ UInt64(status.st_mtim.tv_nsec)
        entityTag = "\"\(String(modified, radix: 16))-\(String(status.st_size, radix: 16))\""
    }

    deinit { close(descriptor) }
}
