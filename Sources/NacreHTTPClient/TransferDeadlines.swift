import Glibc

/// The clock of transfers, which tests replace.
package struct TransferClock: Sendable {
    /// The time since a fixed moment; it never goes back.
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

/// The deadlines of one transfer, as a value without a clock.
struct TransferDeadlines: Equatable, Sendable {
    private let idle: Duration?
    private let total: Duration?
    private let start: Duration
    private var lastActivity: Duration?

    /// - Parameter now: The moment at which the request was made.
    init(idle: Duration?, total: Duration?, now: Duration) {
        self.idle = idle
        self.total = total
        start = now
    }

    /// Notes traffic, or that traffic may come from now on.
    mutating func touch(_ now: Duration) {
        lastActivity = now
    }

    /// Stops the idle time until the next `touch`, because this side causes the delay.
    mutating func hold() {
        lastActivity = nil
    }

    /// The earliest deadline if nothing happens until then; nil if there is none.
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
