import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension NotificationBatch {
    /// Puts the added items into the queues of devices, and the tasks into `done` or `failed`.
    func enqueue(_ cloud: Cloud) async {
        let (tasks, items) = take()
        do {
            try await cloud.enqueue(items)
            end(tasks, failedBy: nil)
        } catch {
            end(tasks, failedBy: error)
        }
    }
}

extension Cloud {
    /// Puts items into the queues of users' devices, the items of a user in their order. If a power cut takes the
    /// writes back, the task puts them in again. Users with a device that listens to this server come first: a device
    /// that listens elsewhere is notified a moment later.
    func enqueue(_ items: [NotificationBatch.Item]) async throws {
        var (listeners, others) = ([(AppUser, [NotificationBatch.Item])](), [(AppUser, [NotificationBatch.Item])]())
        for (appUser, items) in Dictionary(grouping: items, by: \.appUser) {
            if listening.contains(anyIn: try await registry.databaseID(Registry.Part.devices(of: appUser).key)) {
                listeners.append((appUser, items))
            } else {
                others.append((appUser, items))
            }
        }
        for users in [listeners, others] { try await enqueue(users) }
    }

    private func enqueue(_ users: [(AppUser, [NotificationBatch.Item])]) async throws {
        try await LeasedTask.each(of: users) { appUser, items in
            var rest = items[...]
            while let first = rest.first {
                let alike = rest.prefix { $0.author == first.author && $0.isNew == first.isNew }
                rest = rest.dropFirst(alike.count)
                let count = try await self.notify(appUser, of: alike.map(\.payload), notOn: first.author, areNew: first.isNew)
                for item in alike { self.handed.charge(HandedTasks.LineKey(of: item.task), count / alike.count) }
            }
        }
    }
}
