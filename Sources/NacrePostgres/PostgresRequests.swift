import NacreCloudStorage
import NacreCloudStore
import NacreLocks

/// A write that waits for a connection.
struct PostgresWrite<Value: Sendable>: PostgresRequest {
    private let continuation: CheckedContinuation<Value, any Error>
    private let body: @Sendable (any WriteTransaction) throws -> Ending<Value>
    private let meter = WorkMeter.current
    private let submitted = ContinuousClock.now

    init(_ continuation: CheckedContinuation<Value, any Error>, body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) {
        (self.continuation, self.body) = (continuation, body)
    }

    func serve(on worker: PostgresWorker) {
        let begun = ContinuousClock.now
        let result = worker.run(attempt)
        meter?.noteStore(from: submitted, begun, to: .now)
        continuation.resume(with: result)
    }

    private func attempt(_ connection: PostgresConnection) -> PostgresAttempt<Value> {
        connection.begin(.begin)
        let transaction = PostgresTransaction(connection, run: connection.run)
        let ending = Result { try body(transaction) }
        transaction.end()
        meter?.add(rowsInAll: transaction.rows)
        // A body may swallow an engine's failure. The transaction remembers it.
        if let failure = transaction.failure { return over(connection, failure) }
        var isCommit = false
        do {
            let value: Value
            switch try ending.get() {
            case .commit(let result): (value, isCommit) = (result, true)
            case .rollback(let result): value = result
            }
            guard !connection.isUntouched else { return .done(.success(value)) }
            try connection.send(isCommit ? .commit : .rollback)
            _ = try connection.flush()
            return .done(.success(value))
        } catch let failure as PostgresFailure {
            // The answer to the commit is lost, unless PostgreSQL refused something before it. The logged operation
            // tells a second run whether the first was committed.
            let isKnown = failure.isAnswer && failure.place < connection.lastCount - 1
            if isCommit, connection.isLost, !isKnown, !transaction.asksForOperation {
                var error = failure.storeError
                error.text = "The connection was lost during the commit"
                return .done(.failure(error))
            }
            return over(connection, failure)
        } catch {
            connection.rollBack()
            return .done(.failure(error))
        }
    }

    private func over(_ connection: PostgresConnection, _ error: any Error) -> PostgresAttempt<Value> {
        connection.rollBack()
        if let failure = error as? PostgresFailure, failure.mayPass { return .again(failure) }
        return .done(.failure(StoreError(postgres: error)))
    }
}

/// A read that a connection runs, to be cancelled. Any thread.
final class RunningRead: Sendable {
    private let canceller = Locked<PostgresCanceller?>(nil)

    func begin(_ connection: PostgresConnection) {
        let mine = connection.canceller
        canceller.withLock { $0 = mine }
    }

    /// Waits for a cancellation that is under way: it must not meet the connection's next read.
    func end() {
        canceller.withLock { $0 = nil }
    }

    /// Cancels the running statement, and blocks meanwhile.
    func cancelNow() {
        canceller.withLock { $0?.run() }
    }
}

/// A read that waits for a connection.
struct PostgresRead<Value: Sendable>: PostgresRequest {
    private let continuation: CheckedContinuation<Value, any Error>
    private let cancellation: ReadCancellation
    private let running: RunningRead
    private let body: @Sendable (any ReadTransaction) throws -> Value
    private let meter = WorkMeter.current
    private let submitted = ContinuousClock.now

    init(
        _ continuation: CheckedContinuation<Value, any Error>, _ cancellation: ReadCancellation, _ running: RunningRead,
        body: @escaping @Sendable (any ReadTransaction) throws -> Value
    ) {
        (self.continuation, self.cancellation, self.running, self.body) = (continuation, cancellation, running, body)
    }

    func serve(on worker: PostgresWorker) {
        guard !cancellation.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        let begun = ContinuousClock.now
        let result = worker.run(attempt)
        meter?.noteStore(from: submitted, begun, to: .now)
        if case .failure = result, cancellation.isCancelled { return continuation.resume(throwing: CancellationError()) }
        continuation.resume(with: result)
    }

    private func attempt(_ connection: PostgresConnection) -> PostgresAttempt<Value> {
        running.begin(connection)
        defer { running.end() }
        connection.begin(.beginRead)
        let snapshot = PostgresSnapshot(connection, cancellation)
        let result = Result { try body(snapshot) }
        snapshot.end()
        if let failure = snapshot.failure {
            connection.rollBack()
            if let failure = failure as? PostgresFailure, failure.mayPass, !cancellation.isCancelled { return .again(failure) }
            return .done(.failure(failure is CancellationError ? failure : StoreError(postgres: failure)))
        }
        if !connection.isUntouched {
            // The end of a read is waited for by nobody: a failure shows with the next request.
            do {
                try connection.send(.commit)
                try connection.post()
            } catch { connection.rollBack() }
        }
        return .done(result)
    }
}
