import NacreLocks

/// Lets so many in at a time; others wait in the order in which they came. Fair, and costs a lock.
///
/// A page of records passes through many forms before it is bytes: rows, values, text. Readers of the store make them faster than the one loop
/// can write them down, so without a gate 200 clients at once would have 200 pages lying about in every form.
final class Gate: Sendable {
    fileprivate struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Of `waiting`, those who went in already; they are removed now and then, and not each alone.
        var gone = 0
    }

    private let state: Locked<State>

    init(places: Int) {
        state = Locked(State(free: places))
    }

    func pass<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        let isIn = state.withLock { $0.takePlace() }
        if isIn { return }
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                if state.takePlace() { return true }
                state.waiting.append(continuation)
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.gone < state.waiting.count else {
                state.free += 1
                return nil
            }
            defer {
                state.gone += 1
                if state.gone * 2 > state.waiting.count {
                    state.waiting.removeFirst(state.gone)
                    state.gone = 0
                }
            }
            return state.waiting[state.gone]
        }
        next?.resume()
    }
}

extension Gate.State {
    fileprivate mutating func takePlace() -> Bool {
        guard free > 0 else { return false }
        free -= 1
        return true
    }
}
