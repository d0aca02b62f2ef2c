import CNacrePostgres

/// Cancels the statement that a connection runs. Any thread, also while the connection's own waits for the answer.
final class PostgresCanceller: @unchecked Sendable {
    // Sendable: libpq's object is made for other threads, and is not changed after it was made.
    private let cancel: OpaquePointer

    init(_ cancel: OpaquePointer) {
        self.cancel = cancel
    }

    deinit {
        PQfreeCancel(cancel)
    }

    /// Asks the server to end the statement, and blocks until the server has been told. A connection that runs nothing
    /// ignores it.
    func run() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            _ = PQcancel(cancel, text.baseAddress, Int32(text.count))
        }
    }
}
