import NacreLocks

/// The engines of this process. A notification to one container reaches all engines of its user through it.
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

    /// Returns the engines with the same user, server and container.
    func of(_ line: ServerLine) -> [CKSyncEngine] {
        guard let settings = try? line.settings() else { return [] }
        return kept.withLock { $0.compactMap(\.engine) }.filter { (try? $0.database.line.settings()) == settings }
    }

    /// Makes the engines of a database look for their subscription at the next fetch, after the app deleted one.
    func subscriptionEnded(_ line: ServerLine, _ scope: CKDatabase.Scope) {
        for engine in of(line) where engine.database.databaseScope == scope { engine.state.held.withLock { $0.hasSubscription = false } }
    }
}

extension CKContainer {
    /// Makes the engines of a database fetch, after a notification came for this container's user.
    package func notifiedOfChange(by userInfo: [AnyHashable: Any]) {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return }
        let zone = notification as? CKRecordZoneNotification
        let scope = zone?.databaseScope ?? (notification as? CKDatabaseNotification)?.databaseScope
        // A notification without a subscription ID stands for all notifications that were not delivered.
        guard scope != nil || notification.subscriptionID == nil else { return }
        for engine in SyncEngines.shared.of(line) where scope == nil || engine.database.databaseScope == scope {
            engine.heard(of: zone?.recordZoneID)
        }
    }
}
