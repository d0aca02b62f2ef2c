import NacreCloudContainer

/// A read on its way to a reader: run once, answered once.
protocol PendingRead: Sendable {
    /// - Parameter page: the number of pages written to the log so far, by which the age of the read is counted.
    func serve(on connection: Connection, atPage page: Int64)
}

struct ReadRequest<Value: Sendable>: PendingRead {
    let continuation: CheckedContinuation<Value, any Error>
    let body: @Sendable (any ReadTransaction) throws -> Value

    /// Runs the body on one snapshot. It begins with the body's first question and ends with the body, so that the log can be emptied after it.
    func serve(on connection: Connection, atPage page: Int64) {
        connection.watch?.begin(atPage: page)
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
