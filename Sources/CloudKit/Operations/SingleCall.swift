import Foundation
import NacreLocks

/// Runs an operation for an async function: the task waits without a thread, and its cancellation cancels the operation.
enum SingleCall {
    /// - Parameter make: makes the operation, which calls the block it is given once.
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

    /// Where the operation's result and the task that waits for it meet.
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
