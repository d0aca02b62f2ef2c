import CloudContainer
import CloudWire
import Locks

/// Wakes those who wait for a change of a database, in this process. A hint and no more: whoever wakes reads the feed.
final class ChangeHub: Sendable {
    /// Who waits beyond this many does not wait at all. On this server: each is an open request.
    static let watchesMax = 20_000

    private struct State {
        var watches: [DatabaseID: [ObjectIdentifier: Watch]] = [:]
        var count = 0
        var isClosed = false
    }

    private let state = Locked(State())
    private let sleep: @Sendable (Duration) async throws -> Void

    init(sleep: @escaping @Sendable (Duration) async throws -> Void) {
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

    /// Runs `read` until it finds something, at most until `seconds` have passed. It watches before it reads, so that no change falls between.
    func read<Value: Sendable>(
        _ database: DatabaseID, waiting seconds: Double, until isEnough: (Value) -> Bool, _ read: () async throws -> Value
    ) async throws -> Value {
        let watch = Watch()
        guard seconds > 0, insert(watch, database) else { return try await read() }
        defer { remove(watch, database) }
        let sleep = sleep
        let timer = Task {
            try? await sleep(.seconds(seconds))
            watch.expire()
        }
        defer { timer.cancel() }
        while true {
            let value = try await read()
            if isEnough(value) { return value }
            guard await watch.fired() else { return try await read() }
        }
    }

    private func insert(_ watch: Watch, _ database: DatabaseID) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.count < Self.watchesMax else { return false }
            state.watches[database, default: [:]][ObjectIdentifier(watch)] = watch
            state.count += 1
            return true
        }
    }

    private func remove(_ watch: Watch, _ database: DatabaseID) {
        state.withLock { state in
            guard state.watches[database]?.removeValue(forKey: ObjectIdentifier(watch)) != nil else { return }
            state.count -= 1
            if state.watches[database]?.isEmpty == true { state.watches[database] = nil }
        }
    }
}

/// One who waits.
private final class Watch: Sendable {
    private enum State {
        case idle
        case fired
        case expired
        case waiting(CheckedContinuation<Bool, Never>)
    }

    private let state = Locked(State.idle)

    func fire() {
        settle(.fired, result: true)
    }

    func expire() {
        settle(.expired, result: false)
    }

    /// Waits until something happened since the last call. False: time is up, or the task was cancelled.
    func fired() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready: Bool? = state.withLock { state in
                    switch state {
                    case .idle, .waiting:
                        state = .waiting(continuation)
                        return nil
                    case .fired:
                        state = .idle
                        return true
                    case .expired:
                        return false
                    }
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            expire()
        }
    }

    private func settle(_ next: State, result: Bool) {
        let waiting: CheckedContinuation<Bool, Never>? = state.withLock { state in
            switch state {
            case .waiting(let continuation):
                state = result ? .idle : next
                return continuation
            case .idle, .fired:
                state = next
                return nil
            case .expired:
                return nil
            }
        }
        waiting?.resume(returning: result)
    }
}
