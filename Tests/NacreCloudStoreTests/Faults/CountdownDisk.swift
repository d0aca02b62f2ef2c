import CNacreSQLite
import NacreLocks

/// A disk that fails at its n-th call, counted over all calls that change a file.
final class CountdownDisk: Sendable {
    enum Fault: String, Sendable, CaseIterable, CustomStringConvertible {
        /// No room for one write; there is room again after it.
        case fullOnce
        /// No room from then on.
        case full
        /// One call fails, whichever it is.
        case errorOnce
        /// Everything fails from then on.
        case error
        /// Half of one write gets there.
        case tornOnce

        var isOnce: Bool { self != .full && self != .error }
        var description: String { rawValue }
    }

    fileprivate struct State {
        var fault: Fault?
        var failing = 0
        var made = 0
        var failed = 0
        /// The number of calls when a sync had just failed.
        var madeAtFailedSync: Int?
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

    /// Restarts the count.
    func arm(_ fault: Fault, at call: Int) {
        state.withLock { $0 = State(fault: fault, failing: call) }
    }

    /// Ends all faults.
    func heal() {
        state.withLock { $0.fault = nil }
    }

    var callsMade: Int { state.withLock { $0.made } }
    var failures: Int { state.withLock { $0.failed } }
    var hasFailedToSync: Bool { state.withLock { $0.madeAtFailedSync != nil } }

    /// Calls made although the disk can no longer be trusted.
    var callsAfterFailedSync: Int { state.withLock { state in state.madeAtFailedSync.map { state.made - $0 } ?? 0 } }
}

extension CountdownDisk.State {
    fileprivate mutating func answer(to call: DiskCall) -> DiskAnswer {
        made += 1
        guard let fault, made == failing || made > failing && !fault.isOnce else { return .carryOut }
        let answer = Self.answer(to: call, fault)
        if case .carryOut = answer { return answer }
        failed += 1
        if case .sync = call { madeAtFailedSync = madeAtFailedSync ?? made }
        return answer
    }

    private static func answer(to call: DiskCall, _ fault: CountdownDisk.Fault) -> DiskAnswer {
        switch (call, fault) {
        case (.write, .fullOnce), (.write, .full): .fail(SQLITE_FULL)
        case (_, .fullOnce), (_, .full): .carryOut
        case (.write, .tornOnce): .tear(SQLITE_FULL)
        case (.write, _): .fail(nacre_ioerr_write)
        case (.sync, _): .fail(nacre_ioerr_fsync)
        case (.truncate, _), (.delete, _): .fail(SQLITE_IOERR)
        }
    }
}
