import NacreCloudWire
import NacreLocks

/// What tasks that a worker does one after the other have left to be told, together: a user's devices get it in the tasks' order, in as few transactions as
/// it takes. The tasks are done then, but for their rows.
///
/// Used by one worker, one call after the other.
final class ToldTogether: Sendable {
    /// What a user's devices are told.
    struct Word: Sendable {
        var place: AccountPlace
        /// Whose task tells it.
        var task: TaskKey
        /// A device that is told nothing.
        var author: String?
        var payload: Payload
        /// Nobody has begun to tell it before.
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

    /// - Parameter task: does no more than to tell this.
    func add(_ task: TaskRow, telling words: [Word]) {
        state.withLock { state in
            state.tasks.append(task)
            state.words += words
        }
    }

    /// How many are to be told.
    var words: Int { state.withLock { $0.words.count } }

    /// What it has cost so far to find what is to be told, in the unit of `WorkMeter`.
    var cost: Int { state.withLock { $0.cost } }

    func count(_ cost: Int) {
        state.withLock { $0.cost += cost }
    }

    /// Tells what was added.
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

    /// Those of which all was told.
    var told: [TaskRow] { state.withLock { $0.told } }
    /// Those of which something may not have been told, and why.
    var failed: [(task: TaskRow, cause: any Error)] { state.withLock { $0.failed } }
}

extension Cloud {
    /// Puts words into the queues of users' devices, those of a user in their order. To be done again, as the task that tells it is. Users come first of whom
    /// a device listens to this server: of the others nobody waits, and elsewhere it is told a moment later.
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
