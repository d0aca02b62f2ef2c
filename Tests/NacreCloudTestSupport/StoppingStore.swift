package import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudTasks
import NacreLocks

/// A store that cancels the worker at the n-th call of a verb, and counts the calls.
package final class StoppingStore: LayeredStore {
    private struct State {
        var calls = 0
        var stop: (@Sendable () -> Void)?
    }

    package let below: any Store
    private let verb: StoreVerb
    private let stopping: Int
    private let state = Locked(State())

    package init(_ store: any Store, at stopping: Int, of verb: StoreVerb) {
        below = store
        self.verb = verb
        self.stopping = stopping
    }

    /// Calls of the verb since the worker began.
    package var calls: Int { state.withLock { $0.calls } }

    /// Runs due tasks in a Swift task of its own, which is cancelled from inside the store.
    package func runDueTasks(of cloud: Cloud) async throws -> WorkerRound {
        let (begin, begun) = AsyncStream<Void>.makeStream()
        let worker = Task {
            for await _ in begin { break }
            return try await cloud.runDueTasks()
        }
        state.withLock { $0 = State(stop: { worker.cancel() }) }
        begun.yield()
        begun.finish()
        defer { state.withLock { $0.stop = nil } }
        return try await worker.value
    }

    private func count(_ called: StoreVerb) {
        guard called == verb else { return }
        let stop = state.withLock { state in
            state.calls += 1
            return state.calls == stopping ? state.stop : nil
        }
        stop?()
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await below.write { transaction in try body(ObservedTransaction(transaction) { self.count($0) }) }
    }
}
