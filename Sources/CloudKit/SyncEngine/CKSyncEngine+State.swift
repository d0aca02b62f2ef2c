import NacreLocks

extension CKSyncEngine {
    /// A change of a record that waits to be sent. Apple: iOS 17.
    public enum PendingRecordZoneChange: Sendable, Hashable, CustomStringConvertible {
        /// A record is to be saved.
        case saveRecord(CKRecord.ID)
        /// A record is to be deleted.
        case deleteRecord(CKRecord.ID)

        public var description: String {
            switch self {
            case .saveRecord(let recordID): "saveRecord(\(recordID))"
            case .deleteRecord(let recordID): "deleteRecord(\(recordID))"
            }
        }
    }

    /// A change of a zone that waits to be sent. Two changes of the same kind are equal if they have the same zone ID.
    /// Apple: iOS 17.
    public enum PendingDatabaseChange: Sendable, Hashable, CustomStringConvertible {
        /// A zone is to be saved.
        case saveZone(CKRecordZone)
        /// A zone is to be deleted.
        case deleteZone(CKRecordZone.ID)

        public static func == (left: PendingDatabaseChange, right: PendingDatabaseChange) -> Bool {
            left.isSave == right.isSave && left.itemID == right.itemID
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(isSave)
            hasher.combine(itemID)
        }

        public var description: String {
            switch self {
            case .saveZone(let zone): "saveZone(\(zone.zoneID))"
            case .deleteZone(let zoneID): "deleteZone(\(zoneID))"
            }
        }
    }

    /// The pending changes, and the engine's knowledge of the server. Apple: iOS 17.
    public final class State: Sendable {
        let held: Locked<SyncState>
        /// The handler of changes by the app, called on the thread that made them.
        let changed = Locked<(@Sendable (SyncState.AppChange) -> Void)?>(nil)

        init(_ state: SyncState) {
            held = Locked(state)
        }

        /// The pending changes of records, in the order in which they were added. The cost grows with their number.
        public var pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange] { held.withLock { $0.records.changes } }

        /// The pending changes of zones, in the order in which they were added.
        public var pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange] { held.withLock { $0.zones.changes } }

        /// Whether the app has pending changes in a list of its own. Setting it to true makes the engine ask for a
        /// batch; the app sets it to false again.
        public var hasPendingUntrackedChanges: Bool {
            get { held.withLock(\.hasPendingUntrackedChanges) }
            set {
                held.withLock { state in
                    guard state.hasPendingUntrackedChanges != newValue else { return }
                    state.hasPendingUntrackedChanges = newValue
                    state.revision += 1
                }
                post(SyncState.AppChange(wantsSend: newValue))
            }
        }

        /// The zones that are known to have changes on the server that were not fetched.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { held.withLock(\.unfetched) }

        /// Adds changes of records. A change that is pending already keeps its place. If a save and a deletion name the
        /// same record, the later one wins.
        public func add(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange]) {
            held.withLock { $0.change { state in pendingRecordZoneChanges.reduce(false) { state.records.add($1) || $0 } } }
            post(SyncState.AppChange(wantsSend: !pendingRecordZoneChanges.isEmpty))
        }

        /// Removes changes of records; those that are not pending are ignored.
        public func remove(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange]) {
            held.withLock { $0.change { state in pendingRecordZoneChanges.reduce(false) { state.records.remove($1) || $0 } } }
            post(SyncState.AppChange(wantsSend: false))
        }

        /// Adds changes of zones. A change that is pending already keeps its place. If a save and a deletion name the
        /// same zone, the later one wins.
        public func add(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange]) {
            held.withLock { $0.change { state in pendingDatabaseChanges.reduce(false) { state.zones.add($1) || $0 } } }
            post(SyncState.AppChange(wantsSend: !pendingDatabaseChanges.isEmpty))
        }

        /// Removes changes of zones; those that are not pending are ignored.
        public func remove(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange]) {
            held.withLock { $0.change { state in pendingDatabaseChanges.reduce(false) { state.zones.remove($1) || $0 } } }
            post(SyncState.AppChange(wantsSend: false))
        }

        private func post(_ change: SyncState.AppChange) {
            let told = changed.withLock { $0 }
            told?(change)
        }
    }
}

extension CKSyncEngine.PendingRecordZoneChange: PendingChange {
    var itemID: CKRecord.ID {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
        }
    }
}

extension CKSyncEngine.PendingDatabaseChange: PendingChange {
    var isSave: Bool { if case .saveZone = self { true } else { false } }

    var itemID: CKRecordZone.ID {
        switch self {
        case .saveZone(let zone): zone.zoneID
        case .deleteZone(let zoneID): zoneID
        }
    }
}
