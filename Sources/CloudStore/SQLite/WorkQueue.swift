import CloudContainer
import Locks

/// Requests on their way from Swift's tasks to threads that may block. Bounded: beyond the bound a request is refused at once, because
/// a queue that only grows answers everybody too late.
final class WorkQueue<Request: Sendable>: Sendable {
    private struct State {
        var waiting: [Request] = []
        var isClosed = false
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
        let (refusal, isFirst): (StoreError?, Bool) = state.withLock { state in
            if state.isClosed { return (.closed, false) }
            guard state.waiting.count < limit else {
                return (StoreError(.unavailable, "The store is busy", ["waiting": String(state.waiting.count)]), false)
            }
            state.waiting.append(request)
            return (nil, state.waiting.count == 1)
        }
        // One consumer takes all at once and needs to be told only of the first.
        if refusal == nil, isFirst || consumers == .many {
            signal.notify()
        }
        return refusal
    }

    /// Requests that nobody has taken yet.
    var count: Int { state.withLock { $0.waiting.count } }

    /// The oldest request, waiting for one if need be; nil once the queue is closed and empty. For `.many`.
    func next() -> Request? {
        while true {
            let (request, isOver): (Request?, Bool) = state.withLock { state in
                guard !state.waiting.isEmpty else { return (nil, state.isClosed) }
                return (state.waiting.removeFirst(), false)
            }
            if let request { return request }
            if isOver {
                // Hands the news on to the next thread that waits.
                signal.notify()
                return nil
            }
            signal.wait()
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
