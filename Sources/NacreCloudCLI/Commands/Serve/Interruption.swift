import NacreLocks

/// Notes that SIGINT, SIGTERM or SIGHUP asked a command to end. The command ends at its next safe point, with
/// `ExitCode.interrupted`. The second signal ends the process at once.
final class Interruption: Sendable {
    private let asked = Locked(false)
    private let watching: Task<Void, Never>

    /// Begins the watch.
    /// - Parameter onSignal: Called once, at the first signal.
    init(_ onSignal: @escaping @Sendable () -> Void = {}) {
        let signals = StopSignals()
        watching = Task { [asked] in
            await signals.first()
            guard !Task.isCancelled else { return }
            asked.withLock { $0 = true }
            onSignal()
        }
    }

    var isAsked: Bool { asked.withLock { $0 } }

    /// Ends the watch. Call it when the command's work is done.
    func end() { watching.cancel() }
}
