import NacreLocks

/// Counts what one request costs, in units that are about ten microseconds of work each and that no clock measures: one for the request, one for each
/// record that it names (absent ones count less), and one for each thousand bytes that it sends, is sent, or has looked at. It goes with the task of
/// the request; any thread may add.
package final class WorkMeter: Sendable {
    @TaskLocal package static var current: WorkMeter?

    /// The request that it counts for; empty for a task.
    package let requestID: String
    /// The route of the request, or the kind of the task, for the log.
    package let operation: String
    private let sums = Locked((rows: 1, bytes: 0, zone: String?.none))

    package init(requestID: String = "", operation: String = "") {
        self.requestID = requestID
        self.operation = operation
    }

    package func add(rows: Int = 0, bytes: Int = 0) {
        sums.withLock { sums in
            sums.rows += rows
            sums.bytes += bytes
        }
    }

    /// Counts rows that were written, where they are more than what was counted: they may grow with more than the names of the request.
    package func add(rowsInAll rows: Int) {
        sums.withLock { $0.rows = max($0.rows, rows) }
    }

    /// The zone that the request names, for the log; of several the last.
    package var zone: String? { sums.withLock { $0.zone } }

    func note(zone name: String) { sums.withLock { $0.zone = name } }

    package var cost: Int { sums.withLock { $0.rows + $0.bytes / 1000 } }
}
