import NacreLocks

/// The wait of one client for a change.
final class Watch: Sendable {
    private enum State {
        case idle
        case fired
        case expired
        case waiting(CheckedContinuation<Bool, Never>)
    }

    private let state = Locked(State.idle)

    func fire() {
        settle(.fired, result: true)
    }

    func expire() {
        settle(.expired, result: false)
    }

    /// Waits until the watch fires, or returns at once if it has fired since the last call. Returns false if time is up
    /// or the task was cancelled.
    func fired() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready: Bool? = state.withLock { state in
                    switch state {
                    case .idle, .waiting:
                        state = .waiting(continuation)
                        return nil
                    case .fired:
                        state = .idle
                        return true
                    case .expired:
                        return false
                    }
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            expire()
        }
    }

    private func settle(_ next: State, result: Bool) {
        let waiting: CheckedContinuation<Bool, Never>? = state.withLock { state in
            switch state {
            case .waiting(let continuation):
                state = result ? .idle : next
                return continuation
            case .idle, .fired:
                state = next
                return nil
            case .expired:
                return nil
            }
        }
        waiting?.resume(returning: result)
    }
}
