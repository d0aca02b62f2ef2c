import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension ToldTogether {
    /// Tells what was added, and puts the tasks into `told` or `failed`.
    func tell(_ cloud: Cloud) async {
        let (tasks, words) = take()
        do {
            try await cloud.tell(words)
            end(tasks, failedBy: nil)
        } catch {
            end(tasks, failedBy: error)
        }
    }
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
