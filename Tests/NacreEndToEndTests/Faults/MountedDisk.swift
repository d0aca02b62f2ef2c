import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks

/// A small disk of a test, mounted over a folder. Only root may mount one, and not on every machine.
final class MountedDisk: Sendable {
    private let folder: String
    private let isMounted = Locked(true)

    private init(_ folder: String) {
        self.folder = folder
    }

    /// Mounts a disk of `mebibytes` MiB in memory.
    static func inMemory(mebibytes: Int, at folder: String) throws -> MountedDisk {
        try Tool.run("/bin/mount", "-t", "tmpfs", "-o", "size=\(mebibytes)m,mode=0700", "nacre-test", folder)
        return MountedDisk(folder)
    }

    /// Mounts the ext4 file system in the file `image`. The kernel itself writes only after five minutes: unsynced
    /// data is not in the image.
    static func ext4(_ image: String, at folder: String) throws -> MountedDisk {
        try Tool.run("/bin/mount", "-t", "ext4", "-o", "loop,commit=300", image, folder)
        return MountedDisk(folder)
    }

    /// Makes the file `image`, an empty ext4 file system of `mebibytes` MiB.
    static func makeExt4(_ image: String, mebibytes: Int) throws {
        try Data().write(to: URL(filePath: image))
        guard truncate(image, off_t(mebibytes) << 20) == 0 else { throw POSIXFault(call: "truncate", code: errno) }
        try Tool.run("/sbin/mkfs.ext4", "-q", "-F", image)
    }

    /// Remounts as `ro` or `rw`. Files open for writing prevent the first.
    func remount(_ mode: String) throws {
        try Tool.run("/bin/mount", "-o", "remount,\(mode)", folder)
    }

    /// Unmounts the disk. No file may be open there.
    func unmount() throws {
        try Tool.run("/bin/umount", folder)
        isMounted.withLock { $0 = false }
    }

    deinit {
        // The test failed half-way. A mount left behind would outlive the whole run.
        if isMounted.withLock({ $0 }) { _ = umount2(folder, Int32(MNT_DETACH)) }
    }

    // MARK: Permissions of this machine

    /// Whether a disk in memory can be mounted: tried once.
    static let isAllowedInMemory = isAllowed { try inMemory(mebibytes: 1, at: $0) }

    /// Whether a small ext4 file system can be made and mounted: tried once.
    static let isAllowedExt4 = isAllowed { folder in
        let image = folder + ".image"
        defer { unlink(image) }
        try makeExt4(image, mebibytes: 4)
        return try ext4(image, at: folder)
    }

    private static func isAllowed(_ mount: (String) throws -> MountedDisk) -> Bool {
        guard getuid() == 0, let folder = try? TemporaryFolder() else { return false }
        let point = folder.path + "/try"
        guard mkdir(point, 0o700) == 0, let disk = try? mount(point) else { return false }
        return (try? disk.unmount()) != nil
    }
}

/// Programs of the system.
enum Tool {
    struct Failure: Error {
        var command: [String]
        var status: Int32
    }

    static func run(_ command: String...) throws {
        let status = try Program(command[0], Array(command.dropFirst())).run()
        guard status == 0 else { throw Failure(command: command, status: status) }
    }
}
