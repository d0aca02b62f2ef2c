import CNacreSQLite
import Glibc
import NacreLocks

/// A call of SQLite that changes the disk.
enum DiskCall: Sendable {
    case write(path: String, offset: Int64, bytes: [UInt8])
    case truncate(path: String, size: Int64)
    case sync(path: String)
    case delete(path: String)
}

/// The outcome of a call.
enum DiskAnswer: Sendable {
    /// The system carries it out.
    case carryOut
    /// Nothing happens, and SQLite gets this code.
    case fail(Int32)
    /// Half of the bytes are written, and SQLite gets this code.
    case tear(Int32)
}

/// SQLite's own file system with a watcher that decides on each call that changes a file.
///
/// Each disk is a virtual file system under its own name. SQLite finds registered ones by name and never forgets one,
/// so a disk lives as long as the process.
final class WatchedDisk: @unchecked Sendable {
    // Sendable: the C structures are filled before they are used and not changed later; all else is behind locks.

    typealias Watcher = @Sendable (DiskCall) -> DiskAnswer

    let name: String
    private let watcher: Watcher
    private let slept = Locked(0)
    /// The time that SQLite has waited for locks, all its threads together.
    var sleptMicroseconds: Int { slept.withLock { $0 } }
    private let system: UnsafeMutablePointer<sqlite3_vfs>
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>

    /// The system's methods of files with a method table of ours, by the address of that table.
    private struct Table: Sendable {
        var disk: WatchedDisk
        var original: UInt
    }

    private static let tables = Locked([UInt: Table]())
    private static let count = Locked(0)
    /// made[address]: our table for a table of the system, which has one for the database file and one for the log.
    private let made = Locked([UInt: UInt]())
    /// paths[address]: the path of an open file, by the address of SQLite's structure for it.
    private let paths = Locked([UInt: String]())

    /// Registers the disk.
    /// - Parameter watcher: Called on SQLite's threads, several at once.
    init?(_ watcher: @escaping Watcher) {
        guard let system = sqlite3_vfs_find(nil) else { return nil }
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        name = "watched-\(number)"
        self.watcher = watcher
        self.system = system
        vfs = .allocate(capacity: 1)
        vfs.initialize(to: system.pointee)
        vfs.pointee.zName = UnsafePointer(strdup(name))
        vfs.pointee.pNext = nil
        vfs.pointee.pAppData = Unmanaged.passRetained(self).toOpaque()
        vfs.pointee.xOpen = { vfs, path, file, flags, outFlags in
            guard let file, let disk = WatchedDisk.of(vfs) else { return SQLITE_INTERNAL }
            return disk.open(path, file, flags, outFlags)
        }
        vfs.pointee.xDelete = { vfs, path, syncs in
            guard let path, let disk = WatchedDisk.of(vfs) else { return SQLITE_INTERNAL }
            return disk.obey(.delete(path: String(cString: path))) { disk.system.pointee.xDelete?(disk.system, path, syncs) }
        }
        vfs.pointee.xSleep = { vfs, microseconds in
            guard let disk = WatchedDisk.of(vfs) else { return 0 }
            disk.slept.withLock { $0 += Int(microseconds) }
            return disk.system.pointee.xSleep?(disk.system, microseconds) ?? 0
        }
        guard sqlite3_vfs_register(vfs, 0) == SQLITE_OK else { return nil }
    }

    private static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> WatchedDisk? {
        vfs?.pointee.pAppData.map { Unmanaged<WatchedDisk>.fromOpaque($0).takeUnretainedValue() }
    }

    private func open(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let open = system.pointee.xOpen else { return SQLITE_INTERNAL }
        // The system's file system reads its own structure.
        let result = open(system, path, file, flags, outFlags)
        guard result == SQLITE_OK, let original = file.pointee.pMethods else { return result }
        paths.withLock { $0[UInt(bitPattern: file)] = path.map { String(cString: $0) } }
        file.pointee.pMethods = UnsafePointer(bitPattern: table(for: original))
        return SQLITE_OK
    }

    private func table(for original: UnsafePointer<sqlite3_io_methods>) -> UInt {
        made.withLock { made in
            let address = UInt(bitPattern: original)
            if let known = made[address] { return known }
            let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
            methods.initialize(to: original.pointee)
            methods.pointee.xWrite = { file, bytes, amount, offset in
                guard let file, let bytes, let (disk, original) = WatchedDisk.table(of: file) else { return SQLITE_INTERNAL }
                return disk.write(original, file, UnsafeRawBufferPointer(start: bytes, count: Int(amount)), at: offset)
            }
            methods.pointee.xTruncate = { file, size in
                guard let file, let (disk, original) = WatchedDisk.table(of: file) else { return SQLITE_INTERNAL }
                return disk.obey(.truncate(path: disk.path(of: file), size: size)) { original.pointee.xTruncate?(file, size) }
            }
            methods.pointee.xSync = { file, flags in
                guard let file, let (disk, original) = WatchedDisk.table(of: file) else { return SQLITE_INTERNAL }
                return disk.obey(.sync(path: disk.path(of: file))) { original.pointee.xSync?(file, flags) }
            }
            let ours = UInt(bitPattern: methods)
            made[address] = ours
            Self.tables.withLock { $0[ours] = Table(disk: self, original: address) }
            return ours
        }
    }

    private static func table(of file: UnsafeMutablePointer<sqlite3_file>) -> (WatchedDisk, UnsafePointer<sqlite3_io_methods>)? {
        let table = tables.withLock { $0[UInt(bitPattern: file.pointee.pMethods)] }
        guard let table, let original = UnsafePointer<sqlite3_io_methods>(bitPattern: table.original) else { return nil }
        return (table.disk, original)
    }

    private func path(of file: UnsafeMutablePointer<sqlite3_file>) -> String {
        paths.withLock { $0[UInt(bitPattern: file)] ?? "" }
    }

    private func write(
        _ original: UnsafePointer<sqlite3_io_methods>, _ file: UnsafeMutablePointer<sqlite3_file>, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) -> Int32 {
        obey(.write(path: path(of: file), offset: offset, bytes: Array(bytes))) { half in
            let amount = half ? bytes.count / 2 : bytes.count
            return original.pointee.xWrite?(file, bytes.baseAddress, Int32(amount), offset)
        }
    }

    private func obey(_ call: DiskCall, _ system: () -> Int32?) -> Int32 {
        obey(call) { (half: Bool) in half ? SQLITE_OK : system() }
    }

    private func obey(_ call: DiskCall, _ system: (_ half: Bool) -> Int32?) -> Int32 {
        switch watcher(call) {
        case .carryOut: return system(false) ?? SQLITE_INTERNAL
        case .fail(let code): return code
        case .tear(let code):
            // Whatever the half did, the call counts as not done.
            _ = system(true)
            return code
        }
    }
}
