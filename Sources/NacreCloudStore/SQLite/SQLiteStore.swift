package import NacreCloudContainer
import NacreLocks

/// The engine on one file, `nacre.sqlite` in a data folder: nothing to install, and as durable as the disk.
///
/// Writes run one after another on one thread, and all that wait at a time share one sync of the disk. Reads run on threads of their own, each
/// on one snapshot, and neither wait for writes nor hold them up. A page of the feed is the longest that a read should last: the log
/// cannot be emptied past the oldest snapshot.
package final class SQLiteStore: Store {
    private let engine: SQLiteEngine

    private init(_ engine: SQLiteEngine) {
        self.engine = engine
    }

    /// Opens the store in `folder`, making both if they are not there. One store at a time may have a folder.
    ///
    /// - Throws: `StoreError` `.inUse` with the pid that has the folder, `.newerVersion` with both versions, `.corrupt`, `.full`, `.unavailable`.
    package static func open(folder: String, options: SQLiteOptions = SQLiteOptions()) async throws -> SQLiteStore {
        // Handed over under a lock of ours: ThreadSanitizer does not see that a continuation which is resumed early orders what comes before it.
        let made = Locked<SQLiteEngine?>(nil)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try BlockingThread {
                    continuation.resume(
                        with: Result {
                            let engine = try SQLiteEngine(folder: folder, options: options)
                            made.withLock { $0 = engine }
                        })
                }.detach()
            } catch let error {
                continuation.resume(throwing: error)
            }
        }
        guard let engine = made.withLock({ $0 }) else { throw StoreError.closed }
        return SQLiteStore(engine)
    }

    deinit {
        engine.close(nil)
    }

    package var statistics: SQLiteStatistics { engine.statistics }

    /// How many writes of one asker may wait while nobody else's do; beyond, a write is refused with `.unavailable`.
    package static var waitingWritesOfOneMaximum: Int { SQLiteLimits.waitingWrites.count / 2 }

    /// Writes that were accepted and not begun.
    package var waitingWrites: Int { engine.writes.count }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            if let refusal = engine.writes.submit(WriteRequest(continuation, body: body)) {
                continuation.resume(throwing: refusal)
            }
        }
    }

    /// A read that was ended, because it held up the log while others wrote, is begun again on a new snapshot.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        for _ in 1..<SQLiteLimits.readTries {
            do {
                return try await readOnce(body)
            } catch let error as StoreError where error.code == .outpaced && !Task.isCancelled {}
        }
        return try await readOnce(body)
    }

    /// A small read of a request runs on the caller's thread where it waits for nothing: it costs no change of threads then. Where others wait for
    /// that thread, readers have some to do too.
    private func readOnce<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let turn = Turn.current
        if engine.mayReadAtOnce(turn), !Task.isCancelled, let outcome = engine.readAtOnce(body) { return try outcome.get() }
        let cancellation = ReadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let request = ReadRequest(continuation: continuation, cancellation: cancellation, body: body)
                if let refusal = engine.reads(of: turn).submit(request, turn) {
                    continuation.resume(throwing: refusal)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    package func close() async {
        await withCheckedContinuation { engine.close($0) }
    }

    /// Makes a backup of one moment while reads and writes go on, as `BackupCopy` says; one at a time. Cancelled by `control`, by the task's end,
    /// and by `close`.
    package func backUp(_ order: BackupOrder, _ control: BackupControl = BackupControl()) async throws -> BackupManifest {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do {
                    try engine.backUp(order, control) { continuation.resume(with: $0) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            control.cancel()
        }
    }

    /// Lets the file grow to `pages` pages of 4 KiB and no further; writes beyond fail with `.full`. Lasts until the store is closed.
    package func limitFile(toPages pages: Int) async throws {
        try await write { transaction in
            guard let transaction = transaction as? SQLiteTransaction else { throw StoreError.closed }
            try transaction.ask { _ = try $0.execute("PRAGMA max_page_count = \(pages)") }
            return .commit(())
        }
    }
}
