import Glibc
import NacreCloudTestSupport

/// Fills a disk.
enum DiskFiller {
    /// Takes every free block.
    static func fill(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXFault(call: "open", code: errno) }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
        guard errno == ENOSPC else { throw POSIXFault(call: "write", code: errno) }
    }
}
