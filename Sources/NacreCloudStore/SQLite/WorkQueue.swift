package import NacreCloudStorage
import NacreLocks

/// A queue of requests from Swift's tasks to threads that may block, served in the order of `TurnQueue`. Bounded:
/// beyond the bound a request is refused at once, because a queue that only grows answers every caller too late.
package final class WorkQueue<Request: Sendable>: Sendable {
    /// A request that has a slot, until `end`.
    package struct Taken: Sendable {
        package let request: Request
        package let turn: Turn
    }

    private struct State {
        var queue: TurnQueue
        var requests: [Int: Request] = [:]
        var isClosed = false
        /// The number of threads that wait, or are about to.
        var sleepers = 0
        /// Whether a waiting thread was called and has not looked yet. It calls the next one if there is more than it
        /// takes. A burst therefore wakes as many threads as it keeps busy, and not one for each request.
        var isCalling = false

        /// Whether to wake a thread for the waiting requests.
        mutating func mustCall() -> Bool {
            guard sleepers > 0, !isCalling, queue.hasNext else { return false }
            isCalling = true
            return true
        }

        mutating func next(costAtMost: Int = .max) -> Taken? {
            guard let ticket = queue.next(costAtMost: costAtMost), let request = requests.removeValue(forKey: ticket.number) else { return nil }
            return Taken(request: request, turn: ticket.turn)
        }
    }

    private let state: Locked<State>
    private let signal = Signal()

    package init(_ places: TurnLimits, room: TurnRoom) {
        state = Locked(State(queue: TurnQueue(places, room: room)))
    }

    /// Adds a request. Returns the reason if it is refused, otherwise nil.
    package func submit(_ request: Request, _ turn: Turn = .current) -> StoreError? {
        let (refusal, mustCall): (StoreError?, Bool) = state.withLock { state in
            if state.isClosed { return (.closed, false) }
            guard let ticket = state.queue.add(turn) else {
                return (StoreError(.unavailable, "The store is busy", ["waiting": String(state.queue.count)]), false)
            }
            state.requests[ticket.number] = request
            return (nil, state.mustCall())
        }
        if mustCall { signal.notify() }
        return refusal
    }

    /// The number of requests that no thread has taken yet.
    package var count: Int { state.withLock { $0.queue.count } }

    /// Returns the next request in turn, and waits for one if necessary; nil once the queue is closed and empty. The
    /// request has a slot until `end`.
    /// - Parameter last: The turn of the request that the thread has served. Its slot becomes free.
    package func next(after last: Turn? = nil) -> Taken? {
        var last = last
        while true {
            let (taken, mustCall, isOver): (Taken?, Bool, Bool) = state.withLock { state in
                if let last { state.queue.end(last) }
                last = nil
                if let taken = state.next() { return (taken, state.mustCall(), false) }
                let isOver = state.isClosed && state.queue.count == 0
                if !isOver { state.sleepers += 1 }
                return (nil, false, isOver)
            }
            if mustCall { signal.notify() }
            if let taken { return taken }
            if isOver {
                // Wake the next waiting thread, so that it sees the end, too.
                signal.notify()
                return nil
            }
            signal.wait()
            state.withLock { state in
                state.sleepers -= 1
                state.isCalling = false
            }
        }
    }

    /// Returns the next request in turn, if there is one now and it costs at most `costAtMost`.
    func nextNow(costAtMost: Int = .max) -> Taken? {
        state.withLock { $0.next(costAtMost: costAtMost) }
    }

    /// Frees the slots of requests.
    func end(_ served: [Taken]) {
        state.withLock { state in
            for taken in served { state.queue.end(taken.turn) }
        }
    }

    /// Refuses new requests from now on. Accepted ones are still served.
    package func close() {
        state.withLock { $0.isClosed = true }
        signal.notify()
    }
}
