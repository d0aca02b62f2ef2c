import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks

/// A store that runs other work after reads, and ends long reads, as if they were in the way of other writes.
package final class InterruptedReads: LayeredStore {
    private struct State {
        var after: (@Sendable () async throws -> Void)?
        var most = Int.max
        var ended = 0
    }

    package let below: any Store
    private let state = Locked(State())

    package init(_ store: any Store) {
        below = store
    }

    /// Sets the work to run after each read, except after its own reads.
    package func after(_ body: (@Sendable () async throws -> Void)?) { state.withLock { $0.after = body } }

    /// Ends reads that return more bytes of bodies than this, from now on.
    package func endReads(ofMoreThan bytes: Int) { state.withLock { $0.most = bytes } }

    /// The number of reads that were ended.
    package var readsEnded: Int { state.withLock(\.ended) }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let most = state.withLock { $0.most }
        let value = try await below.read { transaction in
            var bytes = 0
            let observed = ObservedReads(transaction) { _ in }
            observed.read = { bytes += $0 }
            let value = try body(observed)
            if bytes > most {
                self.state.withLock { $0.ended += 1 }
                throw StoreError(.outpaced, "A test says so")
            }
            return value
        }
        let after = state.withLock { state in
            defer { state.after = nil }
            return state.after
        }
        if let after {
            try await after()
            state.withLock { $0.after = after }
        }
        return value
    }
}
