import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Wakes those who wait for a change of a database, in this process. It is only a hint: a request that is woken reads the feed.
final class ChangeHub: Sendable {
    private struct State {
        var watches: [DatabaseID: [ObjectIdentifier: Watch]] = [:]
        /// How many waits each waiter has under way.
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

    /// A change was committed. Never blocks.
    func signal(_ database: DatabaseID) {
        let woken = state.withLock { Array(($0.watches[database] ?? [:]).values) }
        for watch in woken { watch.fire() }
    }

    /// Ends all waiting, now and later.
    func close() {
        let woken = state.withLock { state in
            state.isClosed = true
            return state.watches.values.flatMap { Array($0.values) }
        }
        for watch in woken { watch.expire() }
    }

    /// Nobody waits any more, because the server ends.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Runs `read` until it finds something, at most until `seconds` have passed. It watches before it reads, so that no change falls between.
    /// - Parameter waiter: the user that waits; no user waits more than `Limits.waitsPerUser` times at once.
    /// - Parameter account: of the request, which does not count as under way while it waits.
    /// - Throws: `THROTTLED` where that is so.
    func read<Value: Sendable>(
        _ database: DatabaseID, waiting seconds: Double, by waiter: String = "", account: RequestAccount? = nil, until isEnough: (Value) -> Bool,
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
            let hasFired = if let account { await account.whileWaiting { await watch.fired() } } else { await watch.fired() }
            guard hasFired else { return try await read() }
        }
    }

    /// For an answer that begins before it waits.
    /// - Throws: `THROTTLED` where the user waits as often as anybody may.
    func requireRoom(for waiter: String) throws {
        guard state.withLock({ $0.counts[waiter, default: 0] >= waitsPerUser }) else { return }
        overload.tell(.waits)
        throw ServerError.tooManyWaits
    }

    /// False when nobody waits any more, because the server ends.
    private func insert(_ watch: Watch, _ database: DatabaseID, _ waiter: String) throws -> Bool {
        let isIn = state.withLock { state -> Bool? in
            if state.isClosed { return false }
            guard state.counts[waiter, default: 0] < waitsPerUser else { return nil }
            state.watches[database, default: [:]][ObjectIdentifier(watch)] = watch
            state.counts[waiter, default: 0] += 1
            return true
        }
        guard let isIn else {
            overload.tell(.waits)
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
    /// Names no field: event streams wait too, and have none.
    static let tooManyWaits = ServerError(
        .throttled, "too many requests and event streams of this user wait for changes",
        remedy: "Wait once for each device, and end a wait or a stream before the next; \(Limits.waitsPerUser) at once are taken.",
        retryAfter: Int(Limits.waitSeconds))
}
