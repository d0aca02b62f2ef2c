import NacreCloudContainer
import NacreLocks

/// A read on its way to a reader: run once, answered once.
protocol PendingRead: Sendable {
    /// - Parameter page: the number of pages written to the log so far, by which the age of the read is counted.
    func serve(on connection: Connection, atPage page: Int64)
}

/// Whether the task that asked for a read was cancelled. Any thread.
final class ReadCancellation: Sendable {
    private let state = Locked(false)

    var isCancelled: Bool { state.withLock { $0 } }

    func cancel() {
        state.withLock { $0 = true }
    }
}

struct ReadRequest<Value: Sendable>: PendingRead {
    let continuation: CheckedContinuation<Value, any Error>
    let cancellation: ReadCancellation
    let body: @Sendable (any ReadTransaction) throws -> Value

    /// Runs the body on one snapshot. Where nobody waits for it any more it is not begun, or ends with its next question and in the middle of the one
    /// under way.
    func serve(on connection: Connection, atPage page: Int64) {
        guard !cancellation.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        connection.watch?.begin(atPage: page, cancellation)
        let outcome = Result { try connection.read(body) }
        connection.watch?.end()
        if case .failure = outcome, cancellation.isCancelled { return continuation.resume(throwing: CancellationError()) }
        continuation.resume(with: outcome)
    }
}
