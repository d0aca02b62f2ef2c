import Foundation
import NacreLocks

/// Runs an operation for an async function. Waiting blocks no thread, and cancelling the task cancels the operation.
enum SingleCall {
    /// - Parameter make: makes an operation that calls the given block once.
    static func result<Value: Sendable>(
        _ make: (_ completion: @escaping @Sendable (Value) -> Void) -> CKOperation
    ) async -> Value {
        let outcome = Outcome<Value>()
        let operation = make { outcome.set($0) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                outcome.wait(continuation)
                operation.start()
            }
        } onCancel: {
            operation.cancel()
        }
    }

    /// Passes the operation's result to the waiting task.
    private final class Outcome<Value: Sendable>: Sendable {
        private let waiting = Locked<CheckedContinuation<Value, Never>?>(nil)

        func wait(_ continuation: CheckedContinuation<Value, Never>) {
            waiting.withLock { $0 = continuation }
        }

        func set(_ value: Value) {
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: value)
        }
    }
}
