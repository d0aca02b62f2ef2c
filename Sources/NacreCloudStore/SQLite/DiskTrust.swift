import Glibc
import NacreCloudContainer
import NacreLocks

/// Whether the disk still keeps what it is given. After one sync that failed nobody can know, so nothing is written any more.
final class DiskTrust: Sendable {
    private let state = Locked<StoreError?>(nil)
    private let onLoss: @Sendable (StoreError) -> Void

    /// - Parameter onLoss: called once, on the thread that saw the failure; meant to end the process.
    init(onLoss: @escaping @Sendable (StoreError) -> Void) {
        self.onLoss = onLoss
    }

    /// Why nothing is written any more; nil while all is well.
    var lost: StoreError? { state.withLock { $0 } }

    /// Looks at what went wrong: true if it was a sync, and then trust is gone for good.
    func isLost(to error: any Error) -> Bool {
        guard let failure = error as? SQLiteFailure, failure.isFsyncFailure else { return false }
        let isFirst = state.withLock { lost in
            defer { lost = lost ?? failure.storeError }
            return lost == nil
        }
        if isFirst { onLoss(failure.storeError) }
        return true
    }

    /// Says so on standard error and ends the process at once: nothing may be tidied up on a disk that failed.
    /// What was acknowledged is on the disk; the next start finds it.
    static let endProcess: @Sendable (StoreError) -> Void = { error in
        let line = "nacre: the disk failed to keep what it was given (SQLite code \(error.values["code"] ?? "unknown")); stopping\n"
        line.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
        _exit(exitCode)
    }

    /// EX_OSERR's neighbour for software: `EX_SOFTWARE` of sysexits.h.
    private static let exitCode: Int32 = 70
}
