import NacreTelemetry

/// Counts the requests of one loop by what their handlers do, in the server's gauges too, which add up all loops.
struct RequestCounts {
    private let metrics: ServerMetrics
    /// Requests whose handlers work.
    private var inFlight = 0
    /// Requests whose handlers only wait.
    private var waiting = 0
    /// The part of `waiting` that waits for its client.
    private var awaitingClient = 0

    init(_ metrics: ServerMetrics) {
        self.metrics = metrics
    }

    var isEmpty: Bool { inFlight == 0 && waiting == 0 }

    /// - Parameter wait: what the handler waits for; nil: it works.
    mutating func add(_ change: Int, waitingFor wait: RequestLedger.Wait?) {
        guard let wait else {
            inFlight += change
            return metrics.inFlight.add(change)
        }
        waiting += change
        metrics.waiting.add(change)
        guard wait == .client else { return }
        awaitingClient += change
        metrics.awaitingClient.add(change)
    }

    /// Takes all requests out of the gauges: the loop ends, and handlers that outlive it are not counted.
    mutating func end() {
        metrics.inFlight.add(-inFlight)
        metrics.waiting.add(-waiting)
        metrics.awaitingClient.add(-awaitingClient)
        (inFlight, waiting, awaitingClient) = (0, 0, 0)
    }
}
