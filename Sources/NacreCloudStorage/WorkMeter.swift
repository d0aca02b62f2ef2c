package import NacreCloudWire
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
        var facts = RequestFacts()

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

    /// The facts of the request that are known so far.
    package var facts: RequestFacts { sums.withLock { $0.facts } }

    /// Adds to the facts of the request. `change` runs under a lock: it only sets values.
    package func note(_ change: (inout RequestFacts) -> Void) { sums.withLock { change(&$0.facts) } }

    package func note(zone name: String) { note { $0.zone = name } }

    /// Adds the time of one call of the store.
    /// - Parameters:
    ///   - submitted: the time at which the call was made.
    ///   - begun: the time at which its body began; nil: it did not.
    ///   - end: the time at which its result was there.
    package func noteStore(from submitted: ContinuousClock.Instant, _ begun: ContinuousClock.Instant?, to end: ContinuousClock.Instant) {
        note { facts in
            facts.waited += (begun ?? end) - submitted
            if let begun { facts.stored += end - begun }
        }
    }

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

/// The facts of one request that the parts of the server find out while they answer it, for the log and the telemetry.
package struct RequestFacts: Sendable {
    /// The last zone that the request named.
    package var zone: String?
    /// The client's name for the request over its retries.
    package var operationID: String?
    /// Time in queues: for a slot among pages, and for the store. Calls of the store that run beside each other count
    /// one by one, so that times may add up to more than the request took.
    package var waited = Duration.zero
    /// Time in the store, with the sync of the disk.
    package var stored = Duration.zero
    /// Time in which the answer was encoded.
    package var encoded = Duration.zero
    /// Records, zones, subscriptions or users that the request names.
    package var itemsAsked = 0
    /// Items that the answer holds, refused ones included.
    package var itemsAnswered = 0
    /// The error that the client was told: of the whole request, or of the first refused item.
    package var refusal: ServerError?
    /// The way in which a query was searched, in names of the schema alone.
    package var index: String?
    /// The database that an authenticated request is about, without its owner. Its container exists.
    package var database: DatabaseKey?
    /// The codes of the refused items of an answer with status 200, with their numbers.
    package var refusedItems: [ServerErrorCode: Int] = [:]
    /// The number of items that the answer refuses although its status is 200.
    package var itemsRefused: Int { refusedItems.values.reduce(0, +) }
    /// The task by which devices are told of the request's changes.
    package var telling: TaskKey?

    package init() {}
}
