import NacreCloudContainer
import NacreLocks

/// Lets so many in at a time; others wait for their turn, as `Lanes` says. Costs a lock.
///
/// A page of records passes through many forms before it is bytes: rows, values, text. Readers of the store make them faster than the one loop
/// can write them down, so without a gate 200 clients at once would have 200 pages lying about in every form.
final class Gate: Sendable {
    private struct State {
        var lanes: Lanes
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]

        mutating func next() -> CheckedContinuation<Void, Never>? {
            lanes.next().flatMap { waiting.removeValue(forKey: $0.number) }
        }
    }

    private let state: Locked<State>

    init(_ places: LanePlaces) {
        // Requests under way are bounded already.
        state = Locked(State(lanes: Lanes(places, room: .unbounded)))
    }

    /// Whoever the turn is of comes in as soon as there is a place for it.
    func pass<Value>(_ turn: Turn = .current, _ body: () async throws -> Value) async rethrows -> Value {
        await enter(turn)
        defer { leave(turn) }
        return try await body()
    }

    private func enter(_ turn: Turn) async {
        let isIn = state.withLock { $0.lanes.beginNow(turn) }
        if isIn { return }
        await withCheckedContinuation { continuation in
            let next = state.withLock { state in
                // There is always room.
                if let ticket = state.lanes.add(turn) { state.waiting[ticket.number] = continuation }
                return state.next()
            }
            next?.resume()
        }
    }

    private func leave(_ turn: Turn) {
        // Nobody else can go in by this than the one who takes the place.
        let next = state.withLock { state in
            state.lanes.end(turn)
            return state.next()
        }
        next?.resume()
    }
}
