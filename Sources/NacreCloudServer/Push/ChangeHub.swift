import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Wakes requests of this process that wait for a change of a database. A wake-up is only a hint: the request then
/// reads the feed.
final class ChangeHub: Sendable {
    private struct State {
        var watches: [DatabaseID: [ObjectIdentifier: Watch]] = [:]
        /// The number of waits that each user has under way.
        var counts: [String: Int] = [:]
        var isClosed = false
    }

    private let state = Locked(State())
    private let sleep: @Sendable (Duration) async throws -> Void
    private let waitsPerUser: Int
    private let overload: OverloadLog

    init(
        waitsPerUser: Int = Limits.waitsPerUser, overload: OverloadLog = .silent, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.waitsPerUser = waitsPerUser
        self.overload = overload
        self.sleep = sleep
    }

    /// Wakes the requests that wait for this database. Never blocks.
    func signal(_ database: DatabaseID) {
        let woken = state.withLock { Array(($0.watches[database] ?? [:]).values) }
        for watch in woken { watch.fire() }
    }

    /// Ends all waits, and lets none begin.
    func close() {
        let woken = state.withLock { state in
            state.isClosed = true
            return state.watches.values.flatMap { Array($0.values) }
        }
        for watch in woken { watch.expire() }
    }

    /// Whether the server is ending, so that no request may wait.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Runs `read` until it finds something, or until `seconds` have passed. The watch begins before the first read, so
    /// that no change is missed.
    /// - Parameter waiter: the user that waits, at most `Limits.waitsPerUser` times at once.
    /// - Parameter ledger: the request's ledger, which does not count as under way while it waits.
    /// - Throws: `THROTTLED` if the user already waits that often.
    func read<Value: Sendable>(
        _ database: DatabaseID, waiting seconds: Double, by waiter: String = "", ledger: RequestLedger? = nil, until isEnough: (Value) -> Bool,
        _ read: () async throws -> Value
    ) async throws -> Value {
        let watch = Watch()
        guard seconds > 0, try insert(watch, database, waiter) else { return try await read() }
        defer { remove(watch, database, waiter) }
        let sleep = sleep
        let timer = Task {
            try? await sleep(.seconds(seconds))
            watch.expire()
        }
        defer { timer.cancel() }
        while true {
            let value = try await read()
            if isEnough(value) { return value }
            let hasFired = if let ledger { await ledger.whileWaiting { await watch.fired() } } else { await watch.fired() }
            guard hasFired else { return try await read() }
        }
    }

    /// Checks the number of a user's waits, for an answer that begins before it waits.
    /// - Throws: `THROTTLED` if the user already has all the waits it may have.
    func requireRoom(for waiter: String) throws {
        guard state.withLock({ $0.counts[waiter, default: 0] >= waitsPerUser }) else { return }
        overload.report(.waits)
        throw ServerError.tooManyWaits
    }

    /// Begins a wait; returns false if the server is ending.
    private func insert(_ watch: Watch, _ database: DatabaseID, _ waiter: String) throws -> Bool {
        let isIn = state.withLock { state -> Bool? in
            if state.isClosed { return false }
            guard state.counts[waiter, default: 0] < waitsPerUser else { return nil }
            state.watches[database, default: [:]][ObjectIdentifier(watch)] = watch
            state.counts[waiter, default: 0] += 1
            return true
        }
        guard let isIn else {
            overload.report(.waits)
            throw ServerError.tooManyWaits
        }
        return isIn
    }

    private func remove(_ watch: Watch, _ database: DatabaseID, _ waiter: String) {
        state.withLock { state in
            guard state.watches[database]?.removeValue(forKey: ObjectIdentifier(watch)) != nil else { return }
            let left = state.counts[waiter, default: 1] - 1
            state.counts[waiter] = left > 0 ? left : nil
            if state.watches[database]?.isEmpty == true { state.watches[database] = nil }
        }
    }
}

extension ServerError {
    /// The error names no field: it applies to event streams too, which have none.
    static let tooManyWaits = ServerError(
        .throttled, "too many requests and event streams of this user wait for changes",
        remedy: "Wait once for each device, and end a wait or a stream before the next; \(Limits.waitsPerUser) at once are taken.",
        retryAfter: Int(Limits.waitSeconds))
}
