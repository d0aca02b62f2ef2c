import Glibc
package import NacreCloudStorage
import NacreLocks

package struct BackupOrder: Sendable {
    /// The file to make. It must not exist.
    package var path: String
    /// The data folder, as the manifest names it.
    package var folder: String
    package var nacre: String
    /// The most bytes that are read and written in a second; nil for no limit.
    package var bytesPerSecond: Int?

    package init(path: String, folder: String, nacre: String, bytesPerSecond: Int? = nil) {
        self.path = path
        self.folder = folder
        self.nacre = nacre
        self.bytesPerSecond = bytesPerSecond
    }
}

/// The control of a backup under way: its progress, and its cancellation. Any thread may hold it.
package final class BackupControl: Sendable {
    package enum Phase: String, Sendable, Codable {
        case copying
        case checking
    }

    package struct Progress: Hashable, Sendable {
        package var phase = Phase.copying
        package var bytes: Int64 = 0
        package var bytesInAll: Int64 = 0
    }

    private struct State {
        var progress = Progress()
        var isCancelled = false
    }

    private let state = Locked(State())
    /// Called at each step of the copy, for tests that stop there.
    private let onStep: @Sendable (Progress) -> Void

    package init(onStep: @escaping @Sendable (Progress) -> Void = { _ in }) {
        self.onStep = onStep
    }

    package func cancel() {
        state.withLock { $0.isCancelled = true }
    }

    package var progress: Progress { state.withLock { $0.progress } }

    package static let cancelled = StoreError(.closed, "The backup was cancelled; nothing is left of it")

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// - Throws: `cancelled`.
    func reached(_ phase: Phase, _ bytes: Int64, of all: Int64) throws {
        let progress = Progress(phase: phase, bytes: bytes, bytesInAll: all)
        state.withLock { $0.progress = progress }
        onStep(progress)
        if isCancelled { throw Self.cancelled }
    }
}

/// Keeps a stream of bytes below a rate.
struct Pace {
    private let bytesPerSecond: Int?
    private let start = ContinuousClock.now
    private var bytes: Int64 = 0

    /// The longest pause between two checks for a cancellation.
    private static let restMilliseconds: Int64 = 50

    init(bytesPerSecond: Int?) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// Blocks until `more` further bytes are due, or the backup is cancelled.
    mutating func pass(_ more: Int64, _ control: BackupControl) {
        bytes += more
        guard let bytesPerSecond, bytesPerSecond > 0 else { return }
        let due = start + .milliseconds(bytes * 1000 / Int64(bytesPerSecond))
        while !control.isCancelled {
            let left = (due - ContinuousClock.now).components
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else { return }
            var rest = timespec(tv_sec: 0, tv_nsec: Int(min(milliseconds, Self.restMilliseconds)) * 1_000_000)
            nanosleep(&rest, nil)
        }
    }
}
