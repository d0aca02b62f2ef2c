import NacreLocks

/// The engines of this process, so that a notification that comes to one container reaches those of its user.
final class SyncEngines: Sendable {
    private struct Kept {
        weak var engine: CKSyncEngine?
    }

    static let shared = SyncEngines()

    private let kept = Locked<[Kept]>([])

    func add(_ engine: CKSyncEngine) {
        kept.withLock { kept in
            kept.removeAll { $0.engine == nil }
            kept.append(Kept(engine: engine))
        }
    }

    /// Those with the same user on the same server, in the same container.
    func of(_ line: ServerLine) -> [CKSyncEngine] {
        guard let settings = try? line.settings() else { return [] }
        return kept.withLock { $0.compactMap(\.engine) }.filter { (try? $0.database.line.settings()) == settings }
    }
}

extension CKContainer {
    /// A notification came for this container's user: the engines of its database look what changed.
    package func toldOfChange(by userInfo: [AnyHashable: Any]) {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return }
        let zone = notification as? CKRecordZoneNotification
        let scope = zone?.databaseScope ?? (notification as? CKDatabaseNotification)?.databaseScope
        // Without a subscription's name it stands for all that was not told.
        guard scope != nil || notification.subscriptionID == nil else { return }
        for engine in SyncEngines.shared.of(line) where scope == nil || engine.database.databaseScope == scope {
            engine.heard(of: zone?.recordZoneID)
        }
    }
}
