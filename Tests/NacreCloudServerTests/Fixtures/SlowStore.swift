import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreLocks

/// A store in memory in which reads of requests wait until they are released. Background work does not wait.
final class SlowStore: LayeredStore {
    private struct State {
        var isHolding = false
        var isClosed = false
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    let below: any Store = MemoryStore()
    private let state = Locked(State())

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func hold() {
        state.withLock { $0.isHolding = true }
    }

    func release() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    /// Returns once a read is held.
    func arrived() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.held.isEmpty { state.watchers.append(continuation) }
                return !state.held.isEmpty
            }
            if isThere { continuation.resume() }
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        // The server's own reads have no asker, or the lane of notifications.
        let isOfRequest = !["", TaskLane.push.turn.asker].contains(Turn.current.asker)
        await withCheckedContinuation { continuation in
            let watchers: [CheckedContinuation<Void, Never>]? = state.withLock { state in
                guard state.isHolding, isOfRequest else { return nil }
                state.held.append(continuation)
                defer { state.watchers = [] }
                return state.watchers
            }
            guard let watchers else { return continuation.resume() }
            for watcher in watchers { watcher.resume() }
        }
        return try await below.read(body)
    }

    func close() async {
        await below.close()
        state.withLock { $0.isClosed = true }
    }
}
