import CloudContainer
import Locks

/// The running parts of an open store: threads, their connections, the queues to them, and the claim on the folder.
final class SQLiteEngine: Sendable {
    let writes = WorkQueue<any PendingWrite>(limit: SQLiteLimits.waitingWrites, consumers: .one)
    let reads = WorkQueue<any PendingRead>(limit: SQLiteLimits.waitingReads, consumers: .many)
    let statistics = SQLiteStatistics()

    private let lock: FolderLock
    private let disk: DiskTrust
    private let checkpointer: Checkpointer
    private let connections: Connections
    private let state = Locked(State.open([]))

    private struct Connections: Sendable {
        let writer: Connection
        let checkpointer: Connection
        let readers: [Connection]

        func close() {
            for reader in readers {
                reader.close()
            }
            checkpointer.close()
            writer.close()
        }
    }

    private enum State {
        case open([BlockingThread])
        case closing([CheckedContinuation<Void, Never>])
        case closed
    }

    /// Claims the folder, brings the file up to date and starts the threads. Blocks: not for the cooperative pool.
    init(folder: String, options: SQLiteOptions) throws {
        lock = try FolderLock(folder: folder)
        disk = DiskTrust(onLoss: options.onFsyncFailure)
        checkpointer = Checkpointer(statistics: statistics, disk: disk, pagesBeforeCheckpoint: options.pagesBeforeCheckpoint)
        do {
            let file = DatabaseFile(folder: folder, vfs: options.vfs)
            try FolderLock.makeFile(file.path)
            connections = try Self.connect(file)
        } catch let error {
            lock.release()
            throw StoreError(error)
        }
        do {
            try FolderLock.syncFolder(folder)
            try start(options)
        } catch let error {
            close(nil)
            throw error
        }
    }

    private static func connect(_ file: DatabaseFile) throws -> Connections {
        let writer = try file.connect(cacheKibibytes: SQLiteLimits.writerCacheKibibytes)
        var others: [Connection] = []
        do {
            try file.prepare(writer)
            writer.watchLog()
            // A checkpoint waits for nobody: while it waited for readers it would hold off the writer.
            others.append(try file.connect(cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes, busyTimeoutMilliseconds: 0))
            for _ in 0..<SQLiteLimits.readers {
                let reader = try file.connect(cacheKibibytes: SQLiteLimits.readerCacheKibibytes)
                others.append(reader)
                try reader.execute("PRAGMA query_only = ON")
            }
        } catch {
            for connection in others + [writer] {
                connection.close()
            }
            throw error
        }
        return Connections(writer: writer, checkpointer: others[0], readers: Array(others[1...]))
    }

    private func start(_ options: SQLiteOptions) throws {
        let writer = Writer(
            connection: connections.writer, queue: writes, checkpointer: checkpointer, statistics: statistics, disk: disk,
            pagesInLog: options.pagesInLog)
        try startThread { writer.run() }
        try startThread { [checkpointer, connection = connections.checkpointer] in checkpointer.run(connection) }
        for connection in connections.readers {
            try startThread { [reads] in
                while let request = reads.next() {
                    request.serve(on: connection)
                }
            }
        }
    }

    private func startThread(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try BlockingThread(body)
        state.withLock { state in
            if case .open(let threads) = state { state = .open(threads + [thread]) }
        }
    }

    /// Serves what was accepted, empties the log into the file, gives the folder free, and then resumes `waiter`.
    func close(_ waiter: CheckedContinuation<Void, Never>?) {
        let (threads, isOver): ([BlockingThread]?, Bool) = state.withLock { state in
            switch state {
            case .open(let threads):
                state = .closing(waiter.map { [$0] } ?? [])
                return (threads, false)
            case .closing(let waiters):
                state = .closing(waiters + (waiter.map { [$0] } ?? []))
                return (nil, false)
            case .closed:
                return (nil, true)
            }
        }
        if isOver { waiter?.resume() }
        guard let threads else { return }
        let finish: @Sendable () -> Void = { self.finish(threads) }
        do {
            try BlockingThread(finish).detach()
        } catch {
            // Not even one more thread: then this one blocks for a moment.
            finish()
        }
    }

    private func finish(_ threads: [BlockingThread]) {
        writes.close()
        reads.close()
        checkpointer.stop()
        for thread in threads {
            thread.join()
        }
        // What this cannot do now, the next opening does; what is in the log is as durable as what is in the file.
        if disk.lost == nil { _ = try? connections.writer.checkpoint(.truncate) }
        connections.close()
        lock.release()
        let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            defer { state = .closed }
            if case .closing(let waiters) = state { return waiters }
            return []
        }
        for waiter in waiters {
            waiter.resume()
        }
    }
}
