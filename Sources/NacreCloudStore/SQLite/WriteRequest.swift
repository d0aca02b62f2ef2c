import NacreCloudContainer

/// A write on its way through the writer: tried once or more, then answered once.
protocol PendingWrite: AnyObject, Sendable {
    /// Runs the body and keeps what it said. The writer's thread alone calls this.
    func attempt(_ transaction: SQLiteTransaction) -> WriteAttempt

    /// Replaces what the body said: its transaction did not happen.
    func fail(_ error: StoreError)

    /// Tells the caller. Last, and once.
    func answer()

    /// Whose request or task it is; nil: the server's own.
    var meter: WorkMeter? { get }
}

/// What is to become of the rows that a body wrote.
enum WriteAttempt: Sendable {
    case keep
    case undo
}

final class WriteRequest<Value: Sendable>: PendingWrite, @unchecked Sendable {
    // Sendable: made by the caller and handed over through a locked queue; `outcome` is touched by the writer's thread alone.
    private let body: @Sendable (any WriteTransaction) throws -> Ending<Value>
    private let continuation: CheckedContinuation<Value, any Error>
    let meter = WorkMeter.current
    private var outcome: Result<Value, any Error> = .failure(StoreError.closed)

    init(
        _ continuation: CheckedContinuation<Value, any Error>, body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) {
        self.continuation = continuation
        self.body = body
    }

    func attempt(_ transaction: SQLiteTransaction) -> WriteAttempt {
        let ending = Result { try body(transaction) }
        meter?.add(rowsInAll: transaction.rows)
        // A body may swallow an engine's failure; the transaction does not.
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
        continuation.resume(with: outcome)
    }
}
