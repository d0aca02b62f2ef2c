import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks

/// A store that runs other work before each write: other workers, other clients, time.
package final class InterruptedStore: LayeredStore {
    private struct State {
        var writes = 0
        var interruption: (@Sendable (Int) async throws -> Void)?
    }

    package let below: any Store
    private let state = Locked(State())

    package init(_ store: any Store) {
        below = store
    }

    /// Begins to interrupt, or stops.
    /// - Parameter interruption: Gets the number of the write that follows, counted from 1. Its own writes must
    ///   bypass this store, or they would interrupt themselves.
    package func interrupt(_ interruption: (@Sendable (Int) async throws -> Void)?) {
        state.withLock { $0 = State(interruption: interruption) }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        let (number, interruption) = state.withLock { state in
            state.writes += 1
            return (state.writes, state.interruption)
        }
        try await interruption?(number)
        return try await below.write(body)
    }
}
