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

    /// Runs the body on one snapshot. It begins with the body's first question and ends with the body, so that the log can be emptied after it.
    /// Where nobody waits for it any more it is not begun, or ends with its next question and in the middle of the one under way.
    func serve(on connection: Connection, atPage page: Int64) {
        guard !cancellation.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        connection.watch?.begin(atPage: page, cancellation)
        let outcome = Result {
            try Self.begin(on: connection)
            let snapshot = SQLiteSnapshot(connection)
            defer { snapshot.end() }
            let value = try body(snapshot)
            if let failure = snapshot.failure { throw failure }
            return value
        }
        connection.abandonTransaction()
        connection.watch?.end()
        if case .failure = outcome, cancellation.isCancelled { return continuation.resume(throwing: CancellationError()) }
        continuation.resume(with: outcome)
    }

    private static func begin(on connection: Connection) throws {
        do {
            try connection.run(.beginRead)
        } catch let error {
            throw StoreError(error)
        }
    }
}
