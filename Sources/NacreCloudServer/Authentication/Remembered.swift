import NacreCloudWire
import NacreLocks

/// Values read from the registry, kept for a few seconds: what was revoked is refused that much later.
final class Remembered<Value: Sendable>: Sendable {
    /// On this server: what was signed out is refused five seconds later at most.
    static var secondsMax: Double { 5 }
    /// Beyond it the memory starts afresh. On this server.
    static var countMax: Int { 20_000 }

    private struct Entry {
        var value: Value
        var read: Timestamp
    }

    private let entries = Locked<[String: Entry]>([:])

    /// The value kept, or the one that `read` finds, which is then kept; nothing is kept of a nil.
    func value(_ key: String, at now: Timestamp, _ read: () async throws -> Value?) async throws -> Value? {
        let known = entries.withLock { $0[key] }
        if let known, abs(now.secondsSince2001 - known.read.secondsSince2001) < Self.secondsMax { return known.value }
        guard let value = try await read() else {
            forget(key)
            return nil
        }
        entries.withLock { entries in
            if entries.count >= Self.countMax { entries.removeAll() }
            entries[key] = Entry(value: value, read: now)
        }
        return value
    }

    func forget(_ key: String) {
        entries.withLock { $0[key] = nil }
    }
}
