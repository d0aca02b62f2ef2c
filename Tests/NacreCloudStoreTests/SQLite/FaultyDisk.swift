import CNacreSQLite
import NacreLocks

/// A disk that fails on command.
final class FaultyDisk: Sendable {
    enum Fault: Sendable {
        case none
        /// Writes that extend a file fail, as if no block were free.
        case full
        /// The next write fails; later ones succeed.
        case writeOnce
        /// The next sync fails; later ones succeed, as in a kernel that has dropped the pages.
        case syncOnce
    }

    fileprivate struct State {
        var fault = Fault.none
        var faultsMade = 0
        /// sizes[path]: the bytes of each file.
        var sizes: [String: Int64] = [:]
    }

    private let state: Locked<State>
    private let disk: WatchedDisk

    init?() {
        let state = Locked(State())
        self.state = state
        guard let disk = WatchedDisk({ call in state.withLock { $0.answer(to: call) } }) else { return nil }
        self.disk = disk
    }

    var name: String { disk.name }

    func set(_ fault: Fault) {
        state.withLock { $0.fault = fault }
    }

    /// The number of faults so far.
    var faults: Int { state.withLock { $0.faultsMade } }
}

extension FaultyDisk.State {
    fileprivate mutating func answer(to call: DiskCall) -> DiskAnswer {
        switch (call, fault) {
        case (.write, .writeOnce):
            fault = .none
            faultsMade += 1
            return .fail(nacre_ioerr_write)
        case (.write(let path, let offset, let bytes), .full) where offset + Int64(bytes.count) > sizes[path, default: 0]:
            faultsMade += 1
            return .fail(SQLITE_FULL)
        case (.sync, .syncOnce):
            fault = .none
            faultsMade += 1
            return .fail(nacre_ioerr_fsync)
        case (.write(let path, let offset, let bytes), _):
            sizes[path] = max(sizes[path, default: 0], offset + Int64(bytes.count))
        case (.truncate(let path, let size), _): sizes[path] = size
        case (.delete(let path), _): sizes[path] = 0
        default: break
        }
        return .carryOut
    }
}
