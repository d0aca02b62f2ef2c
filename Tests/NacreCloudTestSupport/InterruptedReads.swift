package import NacreCloudContainer
import NacreLocks

/// A store in which others do something after reads, and which ends reads that take long, as where they are in the way of what others write.
package final class InterruptedReads: LayeredStore {
    private struct State {
        var after: (@Sendable () async throws -> Void)?
        var most = Int.max
    }

    package let below: any Store
    private let state = Locked(State())

    package init(_ store: any Store) {
        below = store
    }

    /// From now on this happens after each read, and not after those that it does itself.
    package func after(_ body: (@Sendable () async throws -> Void)?) { state.withLock { $0.after = body } }

    /// From now on a read of bodies with more bytes is ended.
    package func endReads(ofMoreThan bytes: Int) { state.withLock { $0.most = bytes } }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let most = state.withLock { $0.most }
        let value = try await below.read { transaction in
            var bytes = 0
            let observed = ObservedReads(transaction) { _ in }
            observed.read = { bytes += $0 }
            let value = try body(observed)
            if bytes > most { throw StoreError(.outpaced, "A test says so") }
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
