import NacreCloudStorage

/// A write in the hands of the writer: tried once or more, then answered once.
protocol PendingWrite: AnyObject, Sendable {
    /// Runs the body and keeps its result. Only the writer's thread calls this.
    func attempt(_ transaction: SQLiteTransaction) -> WriteAttempt

    /// Replaces the result of the body, because its transaction did not happen.
    func fail(_ error: StoreError)

    /// Delivers the result to the caller. Called last, and once.
    func answer()

    /// The meter of the write's request or task; nil for the server's own work.
    var meter: WorkMeter? { get }
}

/// The fate of the rows that a body wrote.
enum WriteAttempt: Sendable {
    case keep
    case undo
}

final class WriteRequest<Value: Sendable>: PendingWrite, @unchecked Sendable {
    // Sendable: the caller creates it and hands it over through a locked queue. Only the writer's thread touches
    // `outcome` and `begun`.
    private let body: @Sendable (any WriteTransaction) throws -> Ending<Value>
    private let continuation: CheckedContinuation<Value, any Error>
    let meter = WorkMeter.current
    private let submitted = ContinuousClock.now
    private var begun: ContinuousClock.Instant?
    private var outcome: Result<Value, any Error> = .failure(StoreError.closed)

    init(
        _ continuation: CheckedContinuation<Value, any Error>, body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) {
        self.continuation = continuation
        self.body = body
    }

    func attempt(_ transaction: SQLiteTransaction) -> WriteAttempt {
        if begun == nil { begun = .now }
        let ending = Result { try body(transaction) }
        meter?.add(rowsInAll: transaction.rows)
        // A body may swallow an engine's failure. The transaction remembers it.
        if let failure = transaction.failure {
            outcome = .failure(failure)
            return .undo
        }
        switch ending {
        case .success(.commit(let value)):
            outcome = .success(value)
            return .keep
        case .success(.rollback(let value)):
            outcome = .success(value)
            return .undo
        case .failure(let error):
            outcome = .failure(error)
            return .undo
        }
    }

    func fail(_ error: StoreError) {
        outcome = .failure(error)
    }

    func answer() {
        meter?.noteStore(from: submitted, begun, to: .now)
        continuation.resume(with: outcome)
    }
}
