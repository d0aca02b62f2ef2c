import Foundation
import Glibc

/// SIGINT, SIGTERM and SIGHUP as something to wait for. The second one ends the process at once.
///
/// Made before the process has other threads: they inherit the mask, so that the signals come to the one thread that waits for them.
final class StopSignals: Sendable {
    private let signals: AsyncStream<Int32>

    init() {
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&mask, signal) }
        pthread_sigmask(SIG_BLOCK, &mask, nil)
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.signals = signals
        let waited = mask
        let thread = Thread {
            var isStopping = false
            while true {
                var mask = waited
                var signal: Int32 = 0
                guard sigwait(&mask, &signal) == 0 else { continue }
                // 128 and the signal's number, as shells count.
                if isStopping { _exit(128 + signal) }
                isStopping = true
                continuation.yield(signal)
            }
        }
        thread.name = "signals"
        thread.start()
    }

    /// Returns at the first signal.
    func first() async {
        for await _ in signals { return }
    }
}
