import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire

/// A failed attempt at a task, and the task after it.
package struct TaskFailure: Sendable {
    /// The task as it is stored now: due when it is tried again, or parked.
    package var task: TaskRow
    /// The key of the task's database; nil where the store could not say.
    package var database: DatabaseKey?
    package var cause: any Error

    package init(task: TaskRow, database: DatabaseKey?, cause: any Error) {
        self.task = task
        self.database = database
        self.cause = cause
    }
}

extension TaskRow {
    /// Returns the task after a failed attempt. It waits a second after its first attempt, twice as long after each
    /// further one, and at most `Limits.taskPauseSeconds`. After `Limits.taskAttempts` attempts without progress it is
    /// parked. A store that is full, cannot be written or cannot be reached parks no task: that passes, whatever the
    /// task is. The receiver of a webhook may ask for a longer pause, and one that is gone parks the task at once.
    func after(_ cause: any Error, at now: Timestamp) -> TaskRow {
        var next = self
        let passes = (cause as? StoreError)?.passes ?? false
        if passes { next.attempts = min(attempts, Limits.taskAttempts - 1) }
        let report = (cause as? WebhookRefusal)?.report
        let isLast = next.attempts >= Limits.taskAttempts || report?.isGone ?? false
        next.due = isLast ? Self.parked : now + max(Self.pause(after: next.attempts), report?.pauseSeconds ?? 0)
        // A second attempt marks the task as begun, so that no process takes it for new.
        if key.kind.isHandedOver { next.attempts = max(next.attempts, 2) }
        return next
    }

    /// Returns the task due without its lease; nil: no worker has taken it since it got on, or it is due as early.
    func withoutLease(at now: Timestamp) -> TaskRow? {
        guard attempts > 0, !isParked else { return nil }
        var next = self
        next.due = attempts == 1 ? now : now + Self.pause(after: attempts - 1)
        return next.due < due ? next : nil
    }

    /// Returns the task as the next process is to find it; nil: unchanged.
    func afterProcess(endedAt now: Timestamp) -> TaskRow? {
        guard key.kind.isHandedOver else { return withoutLease(at: now) }
        switch attempts {
        // The task keeps the due time that its commit has set.
        case 1: return nil
        // A task that was taken up once before goes in front, in the order in which the tasks were taken up.
        case 2 where due > now && !isParked:
            var next = self
            next.due = due + -Limits.taskLeaseSeconds
            return next
        default: return withoutLease(at: now)
        }
    }

    /// Returns the seconds that a task waits after a number of attempts.
    static func pause(after attempts: Int64) -> Double {
        var pause = 1.0
        for _ in 1..<max(attempts, 1) where pause < Limits.taskPauseSeconds { pause *= 2 }
        return min(pause, Limits.taskPauseSeconds)
    }
}

extension StoreError {
    /// Whether the same call can succeed later, because the failure is not about what was asked.
    fileprivate var passes: Bool {
        switch code {
        case .full, .readOnly, .unavailable, .outpaced, .closed, .inUse, .collision: true
        case .corrupt, .tooLarge, .newerVersion, .foreignLog: false
        }
    }
}
