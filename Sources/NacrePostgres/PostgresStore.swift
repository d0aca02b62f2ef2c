package import NacreCloudStorage
import NacreCloudStore
import NacreLocks

/// The engine on PostgreSQL 15 or newer, for several servers on one database.
///
/// Writes run side by side at READ COMMITTED and lock rows as `Store` says; reads run on one snapshot each. A body runs
/// on a thread of the store. It is run again if PostgreSQL ended its transaction for another's sake, or if the
/// connection was lost before the commit.
///
/// ```swift
/// try await PostgresStore.migrate("postgres://nacre_owner@db.example.org/nacre")
/// let store = try await PostgresStore.open("postgres://nacre@db.example.org/nacre")
/// ```
package final class PostgresStore: Store {
    private let engine: PostgresEngine

    /// Other servers may have the database open at any time. No hints pass between them yet.
    package let neighbours: (any Neighbours)? = UnheardNeighbours()

    private init(_ engine: PostgresEngine) {
        self.engine = engine
    }

    deinit {
        engine.close(nil)
    }

    /// Opens the store. Its tables must be of this build's version: see `migrate`.
    /// - Parameter url: What libpq takes, with several hosts as well. Errors never quote it.
    /// - Throws: `StoreError` `.newerVersion`, `.unavailable`.
    package static func open(_ url: String, options: PostgresOptions = PostgresOptions()) async throws -> PostgresStore {
        PostgresStore(try await blocking { try PostgresEngine(url, options) })
    }

    /// Makes the tables, or brings them to the version of this build, in one transaction.
    /// - Parameters:
    ///   - url: The database, with a user who may make tables in it.
    ///   - isDryRun: Whether the statements are tried and undone.
    /// - Returns: The statements that it ran; none if there was nothing to do.
    @discardableResult
    package static func migrate(_ url: String, isDryRun: Bool = false) async throws -> [String] {
        try await blocking {
            do {
                return try PostgresSchema.migrate(url, isDryRun: isDryRun)
            } catch {
                throw StoreError(postgres: error)
            }
        }
    }

    private static func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try BlockingThread { continuation.resume(with: Result { try body() }) }.detach()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            if let refusal = engine.writes.submit(PostgresWrite(continuation, body: body)) {
                continuation.resume(throwing: refusal)
            }
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let (cancellation, running) = (ReadCancellation(), RunningRead())
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let refusal = engine.reads.submit(PostgresRead(continuation, cancellation, running, body: body)) {
                    continuation.resume(throwing: refusal)
                }
            }
        } onCancel: {
            cancellation.cancel()
            // A statement under way is cancelled as well; a body that is between two finds out by itself.
            _ = engine.cancellations.submit(running)
        }
    }

    package func close() async {
        await withCheckedContinuation { engine.close($0) }
    }
}

/// Neighbours to which no hint comes: each hint is lost, as hints may be.
private struct UnheardNeighbours: Neighbours {
    func tell(_: DatabaseID) {}
    func listen(_: @escaping @Sendable (DatabaseID) -> Void) {}
}
