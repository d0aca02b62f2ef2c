import Glibc
import NacreCloudStorage
import NacreLocks

/// Whether the disk keeps the data that it is given. After one failed sync that is unknown, so the store writes no
/// more.
final class DiskTrust: Sendable {
    private let state = Locked<StoreError?>(nil)
    private let onLoss: @Sendable (StoreError) -> Void

    /// - Parameter onLoss: Called once, on the thread that saw the failure. It should end the process.
    init(onLoss: @escaping @Sendable (StoreError) -> Void) {
        self.onLoss = onLoss
    }

    /// The reason why the store writes no more; nil while all is well.
    var lost: StoreError? { state.withLock { $0 } }

    /// Whether an error is a failed sync. After the first one, trust is gone for good.
    func isLost(to error: any Error) -> Bool {
        guard let failure = error as? SQLiteFailure, failure.isFsyncFailure else { return false }
        let isFirst = state.withLock { lost in
            defer { lost = lost ?? failure.storeError }
            return lost == nil
        }
        if isFirst { onLoss(failure.storeError) }
        return true
    }

    /// Reports the failure on standard error and ends the process at once, without any cleanup on the failed disk.
    /// Acknowledged data are on the disk, and the next start finds them.
    static let endProcess: @Sendable (StoreError) -> Void = { error in
        let line = "nacre: the disk failed to keep what it was given (SQLite code \(error.values["code"] ?? "unknown")); stopping\n"
        line.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
        _exit(exitCode)
    }

    /// `EX_SOFTWARE` of sysexits.h.
    private static let exitCode: Int32 = 70
}
