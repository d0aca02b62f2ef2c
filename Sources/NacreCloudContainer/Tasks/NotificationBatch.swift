package import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire
import NacreLocks

/// The notifications of tasks that a worker does one after the other, put into queues together. A user's devices get
/// them in the tasks' order, in as few transactions as possible. Then only the rows of the tasks are left to remove.
///
/// Used by one worker, one call after the other:
///
/// ```swift
/// let together = NotificationBatch()
/// together.add(task, adding: items)  // once for each task
/// await together.enqueue(cloud)
/// // Remove the rows of `together.done`, and try `together.failed` again.
/// ```
package final class NotificationBatch: Sendable {
    /// A notification for a user's devices.
    package struct Item: Sendable {
        package var appUser: AppUser
        /// The task that it comes from.
        package var task: TaskKey
        /// The ID of a device that is not notified.
        package var author: String?
        package var payload: Payload
        /// Whether no earlier attempt at the task can have put it into a queue.
        package var isNew: Bool

        package init(appUser: AppUser, task: TaskKey, author: String? = nil, payload: Payload, isNew: Bool) {
            self.appUser = appUser
            self.task = task
            self.author = author
            self.payload = payload
            self.isNew = isNew
        }
    }

    private struct State {
        var tasks: [TaskRow] = []
        var items: [Item] = []
        var cost = 0
        var done: [TaskRow] = []
        var failed: [(task: TaskRow, cause: any Error)] = []
    }

    private let state = Locked(State())

    package init() {}

    /// - Parameter task: a task that has nothing more to do than to enqueue these items.
    package func add(_ task: TaskRow, adding items: [Item]) {
        state.withLock { state in
            state.tasks.append(task)
            state.items += items
        }
    }

    /// The number of items that are still to be put into queues.
    package var items: Int { state.withLock { $0.items.count } }

    /// The cost so far of finding the items, in the unit of `WorkMeter`.
    package var cost: Int { state.withLock { $0.cost } }

    package func count(_ cost: Int) {
        state.withLock { $0.cost += cost }
    }

    /// Takes the added tasks and items, to put the items into queues.
    package func take() -> (tasks: [TaskRow], items: [Item]) {
        state.withLock { state in
            defer { (state.tasks, state.items) = ([], []) }
            return (state.tasks, state.items)
        }
    }

    /// Puts tasks into `done`, or into `failed` where there is a cause.
    package func end(_ tasks: [TaskRow], failedBy cause: (any Error)?) {
        state.withLock { state in
            if let cause { state.failed += tasks.map { ($0, cause) } } else { state.done += tasks }
        }
    }

    /// The tasks whose items are all in queues.
    package var done: [TaskRow] { state.withLock { $0.done } }
    /// The tasks of which an item may not be in a queue, and why.
    package var failed: [(task: TaskRow, cause: any Error)] { state.withLock { $0.failed } }
}
