import NacreCloudStorage
import NacreLocks

/// A read that waits for a reader. It runs once and is answered once.
protocol PendingRead: Sendable {
    /// - Parameter page: The number of pages written to the log up to now. The age of the read is counted from it.
    func serve(on connection: Connection, atPage page: Int64)
}

/// Whether the task that asked for a read was cancelled. Any thread.
package final class ReadCancellation: Sendable {
    private let state = Locked(false)

    package init() {}

    package var isCancelled: Bool { state.withLock { $0 } }

    package func cancel() {
        state.withLock { $0 = true }
    }
}

struct ReadRequest<Value: Sendable>: PendingRead {
    private let continuation: CheckedContinuation<Value, any Error>
    private let cancellation: ReadCancellation
    private let meter = WorkMeter.current
    private let submitted = ContinuousClock.now
    private let body: @Sendable (any ReadTransaction) throws -> Value

    init(
        _ continuation: CheckedContinuation<Value, any Error>, _ cancellation: ReadCancellation,
        body: @escaping @Sendable (any ReadTransaction) throws -> Value
    ) {
        (self.continuation, self.cancellation, self.body) = (continuation, cancellation, body)
    }

    /// Runs the body on one snapshot. After a cancellation it does not begin, or ends: the current query is
    /// interrupted, and the next one fails.
    func serve(on connection: Connection, atPage page: Int64) {
        guard !cancellation.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        connection.watch?.begin(atPage: page, cancellation)
        let begun = ContinuousClock.now
        let outcome = Result { try connection.read(body) }
        connection.watch?.end()
        meter?.noteStore(from: submitted, begun, to: .now)
        if case .failure = outcome, cancellation.isCancelled { return continuation.resume(throwing: CancellationError()) }
        continuation.resume(with: outcome)
    }
}
