import NacreCloudWire

/// A turn of a task that failed, and what becomes of the task.
package struct TaskFailure: Sendable {
    /// As it is kept now: due when it is tried again, or parked.
    package var task: TaskRow
    /// nil where the store could not tell.
    package var database: DatabaseKey?
    package var cause: any Error

    package init(task: TaskRow, database: DatabaseKey?, cause: any Error) {
        self.task = task
        self.database = database
        self.cause = cause
    }
}

extension TaskRow {
    /// A task whose turn failed. It waits a second after its first attempt, twice as long after each further one, and at most
    /// `Limits.taskPauseSeconds`; after `Limits.taskAttempts` attempts without progress it is parked. A store that is full, cannot be written or
    /// cannot be reached parks nothing: that passes, whatever the task is.
    func after(_ cause: any Error, at now: Timestamp) -> TaskRow {
        var next = self
        let passes = (cause as? StoreError)?.passes ?? false
        if passes { next.attempts = min(attempts, Limits.taskAttempts - 1) }
        next.due = next.attempts >= Limits.taskAttempts ? Self.parked : now + Self.pause(after: next.attempts)
        // It was begun: nobody takes it for new.
        if key.kind.isHandedOver { next.attempts = max(next.attempts, 2) }
        return next
    }

    /// The task as it is due where nobody holds it any more; nil: it stays as it is, because nobody has taken it since it got on, or it comes as early.
    func withoutLease(at now: Timestamp) -> TaskRow? {
        guard attempts > 0, !isParked else { return nil }
        var next = self
        next.due = attempts == 1 ? now : now + Self.pause(after: attempts - 1)
        return next.due < due ? next : nil
    }

    /// The task as the next process finds it; nil: as it is, because that is so already.
    func afterProcess(endedAt now: Timestamp) -> TaskRow? {
        guard key.kind.isHandedOver else { return withoutLease(at: now) }
        switch attempts {
        // It is found where its commit has put it.
        case 1: return nil
        // And one that was taken up once before it, in the order in which they were.
        case 2 where due > now && !isParked:
            var next = self
            next.due = due + -Limits.taskLeaseSeconds
            return next
        default: return withoutLease(at: now)
        }
    }

    /// Seconds that a task waits after so many attempts.
    static func pause(after attempts: Int64) -> Double {
        var pause = 1.0
        for _ in 1..<max(attempts, 1) where pause < Limits.taskPauseSeconds { pause *= 2 }
        return min(pause, Limits.taskPauseSeconds)
    }
}

extension StoreError {
    /// The failure is not about what was asked: the same call can succeed later.
    fileprivate var passes: Bool {
        switch code {
        case .full, .readOnly, .unavailable, .outpaced, .closed, .inUse, .collision: true
        case .corrupt, .tooLarge, .newerVersion, .foreignLog: false
        }
    }
}
