import NacreCloudWire
import NacreLocks

/// Counts the cost of one request without a clock, in units of about ten microseconds of work. `Limits.requestCost` is
/// the cost of any request. Each record that it names costs one unit (absent ones less), and so does each thousand
/// bytes that it sends, is sent, or has looked at. The meter belongs to the task of the request; any thread may add to
/// it.
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

    /// Raises the rows to the number written, if that is larger. It can exceed the number of names in the request.
    package func add(rowsInAll rows: Int) {
        sums.withLock { $0.rows = max($0.rows, rows) }
    }

    /// The last zone that the request named, for the log.
    package var zone: String? { sums.withLock { $0.zone } }

    package func note(zone name: String) { sums.withLock { $0.zone = name } }

    package var cost: Int { sums.withLock { $0.cost } }

    /// Sets the bytes of the answer. A further call replaces the value.
    package func answer(bytes: Int) { sums.withLock { $0.answerBytes = bytes } }

    /// Returns the cost not paid yet, and marks it as paid. Several callers may each take what was added since.
    package func takeUnpaid() -> Int {
        sums.withLock { sums in
            defer { sums.paid = sums.cost }
            return sums.cost - sums.paid
        }
    }
}
