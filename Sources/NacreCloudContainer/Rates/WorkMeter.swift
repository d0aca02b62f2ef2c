import NacreCloudWire
import NacreLocks

/// Counts what one request costs, in units that are about ten microseconds of work each and that no clock measures: `Limits.requestCost` for the
/// request, one for each record that it names (absent ones count less), and one for each thousand bytes that it sends, is sent, or has looked at.
/// The meter goes with the task of the request; any thread may add.
package final class WorkMeter: Sendable {
    @TaskLocal package static var current: WorkMeter?

    /// The request that it counts for; empty for a task.
    package let requestID: String
    /// The route of the request, or the kind of the task, for the log.
    package let operation: String
    private let sums = Locked(Sums())

    private struct Sums {
        var rows = Limits.requestCost
        var bytes = 0
        var answerBytes = 0
        var paid = 0
        var zone: String?

        var cost: Int { rows + (bytes + answerBytes) / 1000 }
    }

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

    package var cost: Int { sums.withLock { $0.cost } }

    /// Counts the answer once, whoever else does so.
    package func answer(bytes: Int) { sums.withLock { $0.answerBytes = bytes } }

    /// The cost that nobody has paid yet. It is paid from then on, so several may each take what has come since.
    package func takeUnpaid() -> Int {
        sums.withLock { sums in
            defer { sums.paid = sums.cost }
            return sums.cost - sums.paid
        }
    }
}
