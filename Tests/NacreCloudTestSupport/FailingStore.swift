import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks

/// A store that fails once, at its n-th call: its state must then be as before or as after, never in between.
///
/// Every verb is a call, and every commit: a commit that fails leaves nothing, as when the disk is full.
package final class FailingStore: LayeredStore {
    package static let failure = StoreError(.unavailable, "The disk failed", ["because": "a test says so"])

    private struct Countdown {
        var made = 0
        var failing: Int?
    }

    package let below: any Store
    private let countdown: Locked<Countdown>

    /// Makes the store.
    /// - Parameter call: The call that fails, counted from 1; nil: none.
    package init(_ store: any Store, failingAtCall call: Int?) {
        below = store
        countdown = Locked(Countdown(failing: call))
    }

    /// Calls made so far, including the failed one.
    package var callsMade: Int { countdown.withLock { $0.made } }

    /// Restarts the count, to fail at another call.
    package func fail(atCall call: Int?) {
        countdown.withLock { $0 = Countdown(failing: call) }
    }

    private static func count(_ countdown: Locked<Countdown>) throws {
        try countdown.withLock { countdown in
            countdown.made += 1
            if countdown.made == countdown.failing { throw failure }
        }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await below.write { [countdown] transaction in
            // A failed transaction stays failed, even if its body ignores the error, as in every engine.
            var hasFailed = false
            let call = {
                if hasFailed { throw Self.failure }
                hasFailed = true
                try Self.count(countdown)
                hasFailed = false
            }
            let ending = try body(ObservedTransaction(transaction) { _ in try call() })
            if case .commit = ending { try call() }
            if hasFailed { throw Self.failure }
            return ending
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await below.read { [countdown] transaction in
            try body(ObservedReads(transaction) { _ in try Self.count(countdown) })
        }
    }
}
