package import NacreCloudStorage
import NacreLocks

/// The engine on one file, `nacre.sqlite` in a data folder: nothing to install, and as durable as the disk.
///
/// Writes run one after another on one thread, and those that wait together share one sync of the disk. Reads run on
/// other threads, each on one snapshot. They do not wait for writes and do not hold them up. No read should last longer
/// than a page of the feed, because the log cannot be emptied past the oldest snapshot.
///
/// ```swift
/// let store = try await SQLiteStore.open(folder: "/var/lib/nacre")
/// let databases = try await store.read { try $0.databases([id]) }
/// await store.close()
/// ```
package final class SQLiteStore: Store {
    private let engine: SQLiteEngine

    package var neighbours: (any Neighbours)? { nil }

    private init(_ engine: SQLiteEngine) {
        self.engine = engine
    }

    /// Opens the store in `folder`, and creates both if they are missing. One store at a time may have a folder.
    /// - Throws: `StoreError` `.inUse` with the pid of the process that has the folder, `.newerVersion` with both
    ///   versions, `.corrupt`, `.full`, `.unavailable`.
    package static func open(folder: String, options: SQLiteOptions = SQLiteOptions()) async throws -> SQLiteStore {
        // Pass the engine under a lock: ThreadSanitizer does not see the ordering of a continuation that is resumed
        // early.
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

    /// The most writes of one caller that may wait while no other caller's do; further ones are refused with
    /// `.unavailable`.
    package static var waitingWritesOfOneMaximum: Int { SQLiteLimits.waitingWrites.count / 2 }

    /// The number of writes that were accepted and not begun.
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

    /// Reads on a snapshot. If the read was ended because it held up the log, it begins again on a new snapshot.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        for _ in 1..<SQLiteLimits.readTries {
            do {
                return try await readOnce(body)
            } catch let error as StoreError where error.code == .outpaced && !Task.isCancelled {}
        }
        return try await readOnce(body)
    }

    /// Runs a small read on the caller's thread if it need not wait, which saves a change of threads. If other requests
    /// wait for that thread, readers take some of the reads.
    private func readOnce<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        let turn = Turn.current
        if engine.mayReadAtOnce(turn), !Task.isCancelled {
            let begun = ContinuousClock.now
            if let outcome = engine.readAtOnce(body) {
                WorkMeter.current?.noteStore(from: begun, begun, to: .now)
                return try outcome.get()
            }
        }
        let cancellation = ReadCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let request = ReadRequest(continuation, cancellation, body: body)
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

    /// Makes a backup of one moment beside reads and writes; see `BackupCopy`. One at a time. `control`, the task's
    /// cancellation and `close` cancel it.
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

    /// Limits the file to `pages` pages of 4 KiB. Writes beyond fail with `.full`. Lasts until the store is closed.
    package func limitFile(toPages pages: Int) async throws {
        try await write { transaction in
            guard let transaction = transaction as? SQLiteTransaction else { throw StoreError.closed }
            try transaction.ask { _ = try $0.execute("PRAGMA max_page_count = \(pages)") }
            return .commit(())
        }
    }
}
