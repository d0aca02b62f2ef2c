import NacreCloudContainer
import NacreLocks

/// Requests on their way from Swift's tasks to threads that may block, served in turn as `Lanes` says. Bounded: beyond the bound a request is refused
/// at once, because a queue that only grows answers everybody too late.
final class WorkQueue<Request: Sendable>: Sendable {
    /// A request that has a place, until `end`.
    struct Taken: Sendable {
        let request: Request
        let turn: Turn
    }

    private struct State {
        var lanes: Lanes
        var requests: [Int: Request] = [:]
        var isClosed = false
        /// Threads that wait, or are about to.
        var sleepers = 0
        /// One of them was called and has not looked yet. It calls the next if there is more than it takes: a burst wakes as many threads as it
        /// keeps busy, and not one for each request.
        var isCalling = false

        /// Whether to wake a thread for what waits.
        mutating func mustCall() -> Bool {
            guard sleepers > 0, !isCalling, lanes.hasNext else { return false }
            isCalling = true
            return true
        }

        mutating func next(costAtMost: Int = .max) -> Taken? {
            guard let ticket = lanes.next(costAtMost: costAtMost), let request = requests.removeValue(forKey: ticket.number) else { return nil }
            return Taken(request: request, turn: ticket.turn)
        }
    }

    private let state: Locked<State>
    private let signal = Signal()

    init(_ places: LanePlaces, room: LaneRoom) {
        state = Locked(State(lanes: Lanes(places, room: room)))
    }

    /// Adds a request, or says why not.
    func submit(_ request: Request, _ turn: Turn = .current) -> StoreError? {
        let (refusal, mustCall): (StoreError?, Bool) = state.withLock { state in
            if state.isClosed { return (.closed, false) }
            guard let ticket = state.lanes.add(turn) else {
                return (StoreError(.unavailable, "The store is busy", ["waiting": String(state.lanes.count)]), false)
            }
            state.requests[ticket.number] = request
            return (nil, state.mustCall())
        }
        if mustCall { signal.notify() }
        return refusal
    }

    /// Requests that nobody has taken yet.
    var count: Int { state.withLock { $0.lanes.count } }

    /// The request whose turn it is, waiting for one if need be; nil once the queue is closed and empty. It has a place until `end`.
    /// - Parameter last: of what the thread has served, whose place is free now.
    func next(after last: Turn? = nil) -> Taken? {
        var last = last
        while true {
            let (taken, mustCall, isOver): (Taken?, Bool, Bool) = state.withLock { state in
                if let last { state.lanes.end(last) }
                last = nil
                if let taken = state.next() { return (taken, state.mustCall(), false) }
                let isOver = state.isClosed && state.lanes.count == 0
                if !isOver { state.sleepers += 1 }
                return (nil, false, isOver)
            }
            if mustCall { signal.notify() }
            if let taken { return taken }
            if isOver {
                // Hands the news on to the next thread that waits.
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

    /// The request whose turn it is, where there is one now and it costs no more than that.
    func nextNow(costAtMost: Int = .max) -> Taken? {
        state.withLock { $0.next(costAtMost: costAtMost) }
    }

    /// The places of requests are free again.
    func end(_ served: [Taken]) {
        state.withLock { state in
            for taken in served { state.lanes.end(taken.turn) }
        }
    }

    /// Refuses new requests from now on; those that were accepted are still to be served.
    func close() {
        state.withLock { $0.isClosed = true }
        signal.notify()
    }
}
