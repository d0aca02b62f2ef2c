import Glibc

/// Time for transfers, to be replaced in tests.
package struct TransferClock: Sendable {
    /// Since some moment; never goes back.
    package var now: @Sendable () -> Duration

    package init(now: @escaping @Sendable () -> Duration) {
        self.now = now
    }

    package static let monotonic = TransferClock {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// When a transfer is given up: a value without a clock.
struct TransferDeadlines: Equatable, Sendable {
    private let idle: Duration?
    private let total: Duration?
    private let start: Duration
    private var lastActivity: Duration?

    /// - Parameter now: the moment at which the request was made.
    init(idle: Duration?, total: Duration?, now: Duration) {
        self.idle = idle
        self.total = total
        start = now
    }

    /// Something came or went, or may come and go from now on.
    mutating func touch(_ now: Duration) {
        lastActivity = now
    }

    /// This side is the one that is waited for, until the next `touch`.
    mutating func hold() {
        lastActivity = nil
    }

    /// The moment at which there will be a verdict, if nothing happens until then; nil: never.
    var due: Duration? {
        let totalDue = total.map { start + $0 }
        let idleDue = idle.flatMap { idle in lastActivity.map { $0 + idle } }
        guard let totalDue, let idleDue else { return totalDue ?? idleDue }
        return min(totalDue, idleDue)
    }

    func verdict(at now: Duration) -> HTTPClient.Failure.Timeout? {
        if let total, now >= start + total { return .total }
        if let idle, let lastActivity, now >= lastActivity + idle { return .idle }
        return nil
    }
}
