import Glibc
package import NacreCloudStorage
import NacreLocks

/// The request log on files of its own, `requests` in the data folder, or in memory.
///
/// One thread writes and reads all files. Rows wait for a fifth of a second, so that one transaction has many. The log
/// is a ring of parts: the newest grows, and the oldest is deleted when the bounds ask for it. Part files are opened
/// when the first row comes.
package final class RequestRing: RequestLog {
    private typealias Job = @Sendable (RequestParts) -> Void

    private struct State: Sendable {
        var rows: [@Sendable () -> RequestRow] = []
        var traces: [@Sendable () -> [RequestTrace]] = []
        var bytes = 0
        var lost = 0
        var jobs: [Job] = []
        /// Whether the thread was woken for what waits.
        var isCalled = false
        var isClosed = false
    }

    /// The time that rows wait for others.
    private static let gathering: Duration = .milliseconds(200)
    /// Waiting rows from which on they are written at once.
    private static let rowsAtOnce = 1000

    private let state = Locked(State())
    private let signal = Signal()
    private let haste = Signal()
    private let thread: BlockingThread
    private let bounds: RequestLogBounds

    /// - Parameters:
    ///   - folder: the data folder; nil: the log is in memory.
    ///   - server: a text that tells this server's log from that of another, such as a check value of its keys.
    ///   - now: milliseconds since 1970.
    ///   - report: called on the log's thread.
    /// - Throws: `StoreError` if no thread can be started.
    package init(
        folder: String?, vfs: String? = nil, server: String, bounds: RequestLogBounds, now: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (RequestLogEvent) -> Void
    ) throws {
        self.bounds = bounds
        let (state, signal, haste) = (state, signal, haste)
        thread = try BlockingThread {
            BlockingThread.yieldToOthers(BlockingThread.longWorkPriority)
            let parts = RequestParts(folder.map { $0 + "/" + Self.folderName }, vfs: vfs, server: server, bounds: bounds, now: now, report: report)
            while Self.serve(parts, state, signal, haste) {}
            parts.close()
        }
    }

    package static let folderName = "requests"

    /// Deletes a log that an earlier start has left, since the log is turned off.
    package static func remove(from folder: String) {
        RequestParts.removeFiles(folder + "/" + folderName)
    }

    package func add(bytes: Int, _ row: @escaping @Sendable () -> RequestRow) { take(bytes, count: 1) { $0.rows.append(row) } }

    package func add(bytes: Int, count: Int, _ traces: @escaping @Sendable () -> [RequestTrace]) {
        take(bytes, count: count) { $0.traces.append(traces) }
    }

    private func take(_ bytes: Int, count: Int, _ keep: (inout State) -> Void) {
        let (calls, hurries) = state.withLock { state in
            guard !state.isClosed, state.bytes + bytes <= RequestLogBounds.waitingBytes else {
                state.lost += count
                return (false, false)
            }
            keep(&state)
            state.bytes += bytes
            defer { state.isCalled = true }
            return (!state.isCalled, state.rows.count == Self.rowsAtOnce)
        }
        if calls { signal.notify() }
        if hurries { haste.notify() }
    }

    /// Waits for rows or jobs and serves them.
    /// - Returns: false if the log was closed.
    private static func serve(_ parts: RequestParts, _ state: Locked<State>, _ signal: Signal, _ haste: Signal) -> Bool {
        guard signal.wait(atMostSeconds: 3600) else {
            parts.trim()
            return true
        }
        // Calls to hurry that were meant for an earlier batch hurry no later one. They are dropped before the look at
        // the state, so that a call after it still counts.
        while haste.wait(atMost: .zero) {}
        if state.withLock({ $0.jobs.isEmpty && !$0.isClosed && $0.rows.count < rowsAtOnce }) { haste.wait(atMost: gathering) }
        let taken = state.withLock { state in
            let taken = state
            (state.rows, state.traces, state.jobs, state.bytes, state.lost, state.isCalled) = ([], [], [], 0, 0, false)
            return taken
        }
        parts.write(taken.rows, taken.traces.flatMap { $0() }, lost: taken.lost)
        for job in taken.jobs { job(parts) }
        return !taken.isClosed
    }

    private func ask<Value: Sendable>(_ body: @escaping @Sendable (RequestParts) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isClosed = state.withLock { state in
                if state.isClosed { return true }
                state.jobs.append { parts in continuation.resume(with: Result { try body(parts) }.mapError { StoreError($0) }) }
                state.isCalled = true
                return false
            }
            if isClosed { return continuation.resume(throwing: StoreError.closed) }
            signal.notify()
            haste.notify()
        }
    }

    package func page(_ filter: RequestFilter) async throws -> RequestPage { try await ask { try $0.page(filter) } }

    package func traces(of telling: String) async throws -> [RequestTrace] { try await ask { try $0.traces(of: telling) } }

    package func close() async {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        signal.notify()
        haste.notify()
        await withCheckedContinuation { continuation in
            let finish: @Sendable () -> Void = { [thread] in
                thread.join()
                continuation.resume()
            }
            do {
                try BlockingThread(finish).detach()
            } catch {
                finish()
            }
        }
    }
}
