import CNacreSQLite
import NacreLocks

/// A disk that fails on command.
final class FaultyDisk: Sendable {
    enum Fault: Sendable {
        case none
        /// Writes that would make a file longer fail, as if no block were free.
        case full
        /// The next write fails, then all is well again.
        case writeOnce
        /// The next sync fails, then all is well again: the lie that a kernel tells after it dropped the pages.
        case syncOnce
    }

    fileprivate struct State {
        var fault = Fault.none
        var faultsMade = 0
        /// How long each file is.
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

    /// How often the disk failed.
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
