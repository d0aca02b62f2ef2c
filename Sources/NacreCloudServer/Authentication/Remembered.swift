import NacreCloudWire
import NacreLocks

/// Values read from the registry, kept for a few seconds: what was revoked is refused that much later.
///
/// A memory has keys of one kind. Text that a client sends and text that this server makes are never keys of one memory, since the one may look like the other.
final class Remembered<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// On this server: what was signed out is refused five seconds later at most.
    static var secondsMax: Double { 5 }
    /// Beyond it the memory starts afresh. On this server.
    static var countMax: Int { 20_000 }

    private struct Entry {
        var value: Value
        var read: Timestamp
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// How often something was forgotten: what was read before that is not kept.
        var forgotten = 0
    }

    private let state = Locked(State())

    /// The value kept, or the one that `read` finds, which is then kept; nothing is kept of a nil.
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

    /// To be called after a commit that ends something: who asks from now on does not meet it, and nor does a value come back that somebody reads just now.
    func forget(_ key: Key) {
        state.withLock { state in
            state.forgotten += 1
            state.entries[key] = nil
        }
    }

    /// The same for all values that are to be forgotten. Looks at each one: for what happens seldom.
    func forget(where isEnded: (Value) -> Bool) {
        state.withLock { state in
            state.forgotten += 1
            state.entries = state.entries.filter { !isEnded($0.value.value) }
        }
    }
}
