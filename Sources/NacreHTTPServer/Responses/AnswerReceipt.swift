import NacreLocks

/// Reports whether a client has an answer: true if its kernel acknowledged all of it, false if the connection ended
/// before. Reported once, on any thread. A receipt that is released unsettled reports false. Thread-safe. It cannot
/// show whether the client's program read the answer from its kernel.
package final class AnswerReceipt: Sendable {
    private struct State {
        var isSettled = false
        var isDemanded = false
        /// Makes the connection ask for the acknowledgement.
        var look: (@Sendable () -> Void)?
    }

    private let tell: @Sendable (_ isTaken: Bool) -> Void
    private let state = Locked(State())

    package init(_ tell: @escaping @Sendable (_ isTaken: Bool) -> Void) {
        self.tell = tell
    }

    deinit { settle(isTaken: false) }

    /// Asks for the result, because a caller waits for it. A connection whose client does not acknowledge within
    /// `ServerLimits.receiptWait` is closed.
    package func demand() {
        let look = state.withLock { state in
            state.isDemanded = true
            return state.look
        }
        look?()
    }

    /// Notes that the answer is sent.
    /// - Parameter look: Called at a demand, also at one before this call.
    func expect(_ look: @escaping @Sendable () -> Void) {
        let isDemanded = state.withLock { state in
            if !state.isSettled { state.look = look }
            return state.isDemanded
        }
        if isDemanded { look() }
    }

    package func settle(isTaken: Bool) {
        let isFirst = state.withLock { state in
            defer { (state.isSettled, state.look) = (true, nil) }
            return !state.isSettled
        }
        if isFirst { tell(isTaken) }
    }
}
