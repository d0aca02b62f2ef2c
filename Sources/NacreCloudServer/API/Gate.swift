import NacreCloudContainer
import NacreCloudStorage
import NacreLocks

/// Lets a limited number of callers in at a time; others wait for their turn, as `TurnQueue` decides. Costs a lock.
///
/// A page of records takes many forms before it is bytes: rows, values, text. The store's readers make pages faster
/// than the one loop can encode them. Without a gate, 200 clients at once would have 200 pages in memory in every form.
final class Gate: Sendable {
    private struct State {
        var queue: TurnQueue
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]

        mutating func next() -> CheckedContinuation<Void, Never>? {
            queue.next().flatMap { waiting.removeValue(forKey: $0.number) }
        }
    }

    private let state: Locked<State>

    init(_ places: TurnLimits) {
        // The number of waiting requests is bounded elsewhere.
        state = Locked(State(queue: TurnQueue(places, room: .unbounded)))
    }

    /// Runs `body` when there is a slot for the turn's asker.
    func pass<Value>(_ turn: Turn = .current, _ body: () async throws -> Value) async rethrows -> Value {
        await enter(turn)
        defer { leave(turn) }
        return try await body()
    }

    private func enter(_ turn: Turn) async {
        let isIn = state.withLock { $0.queue.beginNow(turn) }
        if isIn { return }
        await withCheckedContinuation { continuation in
            let next = state.withLock { state in
                // The room is unbounded, so there is always a ticket.
                if let ticket = state.queue.add(turn) { state.waiting[ticket.number] = continuation }
                return state.next()
            }
            next?.resume()
        }
    }

    private func leave(_ turn: Turn) {
        // Each slot that becomes free lets one waiting caller in.
        let next = state.withLock { state in
            state.queue.end(turn)
            return state.next()
        }
        next?.resume()
    }
}
