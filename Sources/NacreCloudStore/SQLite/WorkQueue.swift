import NacreCloudContainer
import NacreLocks

/// Requests on their way from Swift's tasks to threads that may block. Bounded: beyond the bound a request is refused at once, because
/// a queue that only grows answers everybody too late.
final class WorkQueue<Request: Sendable>: Sendable {
    private struct State {
        var waiting: [Request] = []
        var isClosed = false
        /// Threads that wait, or are about to.
        var sleepers = 0
        /// One of them was called and has not looked yet. It calls the next if there is more than it takes: a burst wakes as many threads as it
        /// keeps busy, and not one for each request.
        var isCalling = false

        /// Whether to wake a thread for what waits.
        mutating func mustCall() -> Bool {
            guard !waiting.isEmpty, sleepers > 0, !isCalling else { return false }
            isCalling = true
            return true
        }
    }

    private let state = Locked(State())
    private let signal = Signal()
    private let limit: Int
    private let consumers: Consumers

    /// Who takes requests from it: one thread takes all that wait, or several take one each.
    enum Consumers: Sendable {
        case one
        case many
    }

    init(limit: Int, consumers: Consumers) {
        self.limit = limit
        self.consumers = consumers
    }

    /// Adds a request, or says why not.
    func submit(_ request: Request) -> StoreError? {
        let (refusal, mustCall): (StoreError?, Bool) = state.withLock { state in
            if state.isClosed { return (.closed, false) }
            guard state.waiting.count < limit else {
                return (StoreError(.unavailable, "The store is busy", ["waiting": String(state.waiting.count)]), false)
            }
            state.waiting.append(request)
            switch consumers {
            // It takes all at once and needs to be told only of the first.
            case .one: return (nil, state.waiting.count == 1)
            case .many: return (nil, state.mustCall())
            }
        }
        if mustCall { signal.notify() }
        return refusal
    }

    /// Requests that nobody has taken yet.
    var count: Int { state.withLock { $0.waiting.count } }

    /// The oldest request, waiting for one if need be; nil once the queue is closed and empty. For `.many`.
    func next() -> Request? {
        while true {
            let (request, mustCall, isOver): (Request?, Bool, Bool) = state.withLock { state in
                guard state.waiting.isEmpty else {
                    let request = state.waiting.removeFirst()
                    return (request, state.mustCall(), false)
                }
                if !state.isClosed { state.sleepers += 1 }
                return (nil, false, state.isClosed)
            }
            if mustCall { signal.notify() }
            if let request { return request }
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

    /// All requests, waiting for one if need be; none once the queue is closed and empty. For `.one`.
    func all() -> [Request] {
        while true {
            let (requests, isOver) = takeAll()
            if !requests.isEmpty || isOver { return requests }
            signal.wait()
        }
    }

    /// What there is now, without waiting.
    func allNow() -> [Request] {
        takeAll().requests
    }

    private func takeAll() -> (requests: [Request], isOver: Bool) {
        state.withLock { state in
            let requests = state.waiting
            state.waiting = []
            return (requests, state.isClosed)
        }
    }

    /// Refuses new requests from now on; those that were accepted are still to be served.
    func close() {
        state.withLock { $0.isClosed = true }
        signal.notify()
    }
}
