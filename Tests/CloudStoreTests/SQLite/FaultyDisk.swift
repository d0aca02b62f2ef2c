import CSQLite
import Glibc
import Locks

/// A disk that fails on command: SQLite's own file system, with faults put before its writes and syncs.
///
/// Each disk is a virtual file system under its own name. SQLite asks for registered ones by name and never forgets one, so a disk lives as long
/// as the process.
final class FaultyDisk: @unchecked Sendable {
    // Sendable: the C structures are filled before anybody sees them and not changed after; the faults are behind a lock.

    enum Fault: Sendable {
        case none
        /// Writes that would make a file longer fail, as if no block were free.
        case full
        /// The next write fails, then all is well again.
        case writeOnce
        /// The next sync fails, then all is well again: the lie that a kernel tells after it dropped the pages.
        case syncOnce
    }

    let name: String
    private let fault = Locked(Fault.none)
    private let faultsMade = Locked(0)
    private let system: UnsafeMutablePointer<sqlite3_vfs>
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    /// What the system would do for files with a table of ours, by the address of that table.
    private struct Table: Sendable {
        var disk: FaultyDisk
        var original: UInt
    }

    private static let tables = Locked([UInt: Table]())
    private static let count = Locked(0)
    /// Our tables by the addresses of the system's: it has one for the database file and one for the log.
    private let made = Locked([UInt: UInt]())

    init?() {
        guard let system = sqlite3_vfs_find(nil) else { return nil }
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        name = "faulty-\(number)"
        self.system = system
        vfs = .allocate(capacity: 1)
        vfs.initialize(to: system.pointee)
        vfs.pointee.zName = UnsafePointer(strdup(name))
        vfs.pointee.pNext = nil
        vfs.pointee.pAppData = Unmanaged.passRetained(self).toOpaque()
        vfs.pointee.xOpen = { vfs, path, file, flags, outFlags in
            guard let vfs, let file, let context = vfs.pointee.pAppData else { return SQLITE_INTERNAL }
            return Unmanaged<FaultyDisk>.fromOpaque(context).takeUnretainedValue().open(path, file, flags, outFlags)
        }
        guard sqlite3_vfs_register(vfs, 0) == SQLITE_OK else { return nil }
    }

    func set(_ fault: Fault) {
        self.fault.withLock { $0 = fault }
    }

    /// How often the disk failed.
    var faults: Int { faultsMade.withLock { $0 } }

    private func open(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let open = system.pointee.xOpen else { return SQLITE_INTERNAL }
        // The system's file system looks at its own structure for what it is.
        let result = open(system, path, file, flags, outFlags)
        guard result == SQLITE_OK, let original = file.pointee.pMethods else { return result }
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
                guard let file, let (disk, original) = FaultyDisk.table(of: file) else { return SQLITE_INTERNAL }
                return disk.write(original, file, bytes, amount, offset)
            }
            methods.pointee.xSync = { file, flags in
                guard let file, let (disk, original) = FaultyDisk.table(of: file) else { return SQLITE_INTERNAL }
                return disk.sync(original, file, flags)
            }
            let ours = UInt(bitPattern: methods)
            made[address] = ours
            Self.tables.withLock { $0[ours] = Table(disk: self, original: address) }
            return ours
        }
    }

    private static func table(of file: UnsafeMutablePointer<sqlite3_file>) -> (FaultyDisk, UnsafePointer<sqlite3_io_methods>)? {
        let table = tables.withLock { $0[UInt(bitPattern: file.pointee.pMethods)] }
        guard let table, let original = UnsafePointer<sqlite3_io_methods>(bitPattern: table.original) else { return nil }
        return (table.disk, original)
    }

    private func write(
        _ original: UnsafePointer<sqlite3_io_methods>, _ file: UnsafeMutablePointer<sqlite3_file>, _ bytes: UnsafeRawPointer?, _ amount: Int32,
        _ offset: Int64
    ) -> Int32 {
        switch take(where: { $0 == .writeOnce || $0 == .full }) {
        case .writeOnce:
            return nacre_ioerr_write
        case .full:
            var size: Int64 = 0
            _ = original.pointee.xFileSize?(file, &size)
            if offset + Int64(amount) > size { return SQLITE_FULL }
        default: break
        }
        return original.pointee.xWrite?(file, bytes, amount, offset) ?? SQLITE_INTERNAL
    }

    private func sync(_ original: UnsafePointer<sqlite3_io_methods>, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32) -> Int32 {
        if case .syncOnce = take(where: { $0 == .syncOnce }) { return nacre_ioerr_fsync }
        return original.pointee.xSync?(file, flags) ?? SQLITE_INTERNAL
    }

    /// The fault that is set, if it is one of these; a fault for once is used up by it.
    private func take(where matches: (Fault) -> Bool) -> Fault {
        let taken = fault.withLock { fault in
            guard matches(fault) else { return Fault.none }
            defer { if fault != .full { fault = .none } }
            return fault
        }
        if taken != .none { faultsMade.withLock { $0 += 1 } }
        return taken
    }
}
