import NacreCloudWire
import NacreLocks

/// A cache of values from the registry, kept for a few seconds: a revoked credential is refused that much later.
///
/// All keys of one cache are of one kind. Text that a client sends and text that this server makes never share a cache,
/// since one may look like the other.
final class Remembered<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Seconds that a value is kept. On this server: a signed-out credential is refused within five seconds.
    static var secondsMax: Double { 5 }
    /// Values that are kept; the cache is emptied when there are more. On this server.
    static var countMax: Int { 20_000 }

    private struct Entry {
        var value: Value
        var read: Timestamp
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The number of calls of `forget`: a value whose read began before the last call is not kept.
        var forgotten = 0
    }

    private let state = Locked(State())

    /// The cached value, or the one that `read` finds, which is then cached unless it is nil.
    func value(_ key: Key, at now: Timestamp, _ read: () async throws -> Value?) async throws -> Value? {
        let (known, forgotten) = state.withLock { ($0.entries[key], $0.forgotten) }
        if let known, abs(now.secondsSince2001 - known.read.secondsSince2001) < Self.secondsMax { return known.value }
        let value = try await read()
        state.withLock { state in
            guard let value else {
                state.entries[key] = nil
                return
            }
            guard state.forgotten == forgotten else { return }
            if state.entries.count >= Self.countMax { state.entries.removeAll() }
            state.entries[key] = Entry(value: value, read: now)
        }
        return value
    }

    /// Forgets a value, also one that is being read just now. Call it after a commit that ends something.
    func forget(_ key: Key) {
        state.withLock { state in
            state.forgotten += 1
            state.entries[key] = nil
        }
    }

    /// Forgets all values that match. Looks at each value, so it is for rare events.
    func forget(where isEnded: (Value) -> Bool) {
        state.withLock { state in
            state.forgotten += 1
            state.entries = state.entries.filter { !isEnded($0.value.value) }
        }
    }
}
