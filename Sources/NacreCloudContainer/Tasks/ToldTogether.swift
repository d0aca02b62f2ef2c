import NacreCloudWire
import NacreLocks

/// The notifications of tasks that a worker does one after the other, told together. A user's devices get them in the
/// tasks' order, in as few transactions as possible. Then only the rows of the tasks are left to remove.
///
/// Used by one worker, one call after the other:
///
/// ```swift
/// let together = ToldTogether()
/// together.add(task, telling: words)  // once for each task
/// await together.tell(cloud)
/// // Remove the rows of `together.told`, and try `together.failed` again.
/// ```
final class ToldTogether: Sendable {
    /// A notification for a user's devices.
    struct Word: Sendable {
        var place: AccountPlace
        /// The task that tells it.
        var task: TaskKey
        /// The ID of a device that is told nothing.
        var author: String?
        var payload: Payload
        /// Whether no turn has begun to tell it before.
        var isNew: Bool
    }

    private struct State {
        var tasks: [TaskRow] = []
        var words: [Word] = []
        var cost = 0
        var told: [TaskRow] = []
        var failed: [(task: TaskRow, cause: any Error)] = []
    }

    private let state = Locked(State())

    /// - Parameter task: a task that has nothing more to do than to tell these words.
    func add(_ task: TaskRow, telling words: [Word]) {
        state.withLock { state in
            state.tasks.append(task)
            state.words += words
        }
    }

    /// The number of words that are still to be told.
    var words: Int { state.withLock { $0.words.count } }

    /// The cost so far of finding the words, in the unit of `WorkMeter`.
    var cost: Int { state.withLock { $0.cost } }

    func count(_ cost: Int) {
        state.withLock { $0.cost += cost }
    }

    /// Tells what was added, and puts the tasks into `told` or `failed`.
    func tell(_ cloud: Cloud) async {
        let (tasks, words) = state.withLock { state in
            defer { (state.tasks, state.words) = ([], []) }
            return (state.tasks, state.words)
        }
        do {
            try await cloud.tell(words)
            state.withLock { $0.told += tasks }
        } catch {
            state.withLock { $0.failed += tasks.map { ($0, error) } }
        }
    }

    /// The tasks of which all was told.
    var told: [TaskRow] { state.withLock { $0.told } }
    /// The tasks of which something may not have been told, and why.
    var failed: [(task: TaskRow, cause: any Error)] { state.withLock { $0.failed } }
}

extension Cloud {
    /// Puts words into the queues of users' devices, the words of a user in their order. If a power cut takes the
    /// writes back, the task tells them again. Users with a device that listens to this server come first: a device
    /// that listens elsewhere is told a moment later.
    func tell(_ words: [ToldTogether.Word]) async throws {
        var (listeners, others) = ([(AccountPlace, [ToldTogether.Word])](), [(AccountPlace, [ToldTogether.Word])]())
        for (place, words) in Dictionary(grouping: words, by: \.place) {
            if listening.contains(anyIn: try await registry.databaseID(Registry.Part.devices(of: place).key)) {
                listeners.append((place, words))
            } else {
                others.append((place, words))
            }
        }
        for users in [listeners, others] { try await tell(users) }
    }

    private func tell(_ users: [(AccountPlace, [ToldTogether.Word])]) async throws {
        try await TaskTurn.each(of: users) { place, words in
            var rest = words[...]
            while let first = rest.first {
                let alike = rest.prefix { $0.author == first.author && $0.isNew == first.isNew }
                rest = rest.dropFirst(alike.count)
                let count = try await self.notify(place, of: alike.map(\.payload), notOn: first.author, areNew: first.isNew)
                for word in alike { self.handed.charge(HandedTasks.Place(of: word.task), count / alike.count) }
            }
        }
    }
}
