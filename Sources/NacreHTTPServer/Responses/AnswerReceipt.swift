import NacreLocks

/// Tells whether a client has an answer: its kernel has said that all of it arrived, or the connection has ended before. Told once, on any thread; an answer
/// that is let go unsent was not taken. Thread-safe.
///
/// A client's program may end between its kernel and itself; that nobody can see.
package final class AnswerReceipt: Sendable {
    private struct State {
        var isSettled = false
        var isDemanded = false
        /// Has the connection look.
        var look: (@Sendable () -> Void)?
    }

    private let tell: @Sendable (_ isTaken: Bool) -> Void
    private let state = Locked(State())

    package init(_ tell: @escaping @Sendable (_ isTaken: Bool) -> Void) {
        self.tell = tell
    }

    deinit { settle(isTaken: false) }

    /// Somebody waits to know: a connection whose client does not say so in a moment ends.
    package func demand() {
        let look = state.withLock { state in
            state.isDemanded = true
            return state.look
        }
        look?()
    }

    /// The answer is sent.
    /// - Parameter look: called at a demand, also one before this.
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
