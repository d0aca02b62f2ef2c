import Dispatch
import Glibc
import NacreLocks

/// SIGINT, SIGTERM and SIGHUP as something to wait for. The second one ends the process at once.
///
/// Uses dispatch sources and not a thread in `sigwait`: once `main` suspends, Dispatch parks the first thread with no
/// signal blocked, and the signal would end the process there.
final class StopSignals: @unchecked Sendable {
    // Sendable: both properties are `let`; the sources are only kept alive here.

    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// Begins to watch.
    /// - Parameter hangup: Called, on a thread of Dispatch's, at every SIGHUP, which then ends nothing; nil: it ends.
    init(hangup: (@Sendable () -> Void)? = nil) {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.signals = signals
        let isStopping = Locked(false)
        let queue = DispatchQueue(label: "nacre.signals")
        sources = [SIGINT, SIGTERM, SIGHUP].map { signal in
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            source.setEventHandler {
                if signal == SIGHUP, let hangup { return hangup() }
                let wasStopping = isStopping.withLock { isStopping in
                    defer { isStopping = true }
                    return isStopping
                }
                // 128 plus the signal's number, as shells count.
                if wasStopping { _exit(128 + signal) }
                continuation.yield()
            }
            source.activate()
            return source
        }
    }

    /// Returns at the first signal.
    func first() async {
        for await _ in signals { return }
    }

    /// Runs `body` and returns its value. A signal that comes first cancels `body`, waits for nothing and returns
    /// nil. Call it once: later signals are not delivered.
    func orElse<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value? {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Result<Value, any Error>?.self)
        let tasks = [
            Task {
                do { continuation.yield(.success(try await body())) } catch { continuation.yield(.failure(error)) }
            },
            Task {
                await first()
                continuation.yield(nil)
            },
        ]
        defer { for task in tasks { task.cancel() } }
        for await outcome in outcomes { return try outcome?.get() }
        return nil
    }
}
