import NacreLocks

extension CKSyncEngine {
    /// A record that waits to be sent. Apple: iOS 17.
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

    /// A zone that waits to be sent. Two of the same kind are equal when they are of the same zone. Apple: iOS 17.
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

    /// What is pending, and what the engine knows. Apple: iOS 17.
    public final class State: Sendable {
        let held: Locked<SyncState>
        /// Told after the app changed something, by the thread that did.
        let changed = Locked<(@Sendable (SyncState.AppChange) -> Void)?>(nil)

        init(_ state: SyncState) {
            held = Locked(state)
        }

        /// In the order in which they were added; costs their number.
        public var pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange] { held.withLock { $0.records.changes } }

        /// In the order in which they were added.
        public var pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange] { held.withLock { $0.zones.changes } }

        /// The app keeps a list of its own of what is pending: setting it has the engine ask for a batch. The app sets it to false again.
        public var hasPendingUntrackedChanges: Bool {
            get { held.withLock(\.hasPendingUntrackedChanges) }
            set {
                held.withLock { state in
                    guard state.hasPendingUntrackedChanges != newValue else { return }
                    state.hasPendingUntrackedChanges = newValue
                    state.revision += 1
                }
                tell(SyncState.AppChange(wantsSend: newValue))
            }
        }

        /// Zones of which the engine knows that they have changes on the server that were not fetched.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { held.withLock(\.unfetched) }

        /// Of a save and a deletion of one record the later one counts; what is there already stays in its place.
        public func add(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange]) {
            held.withLock { $0.change { state in pendingRecordZoneChanges.reduce(false) { state.records.add($1) || $0 } } }
            tell(SyncState.AppChange(wantsSend: !pendingRecordZoneChanges.isEmpty))
        }

        /// Takes records off the list; what is not on it is passed over.
        public func remove(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange]) {
            held.withLock { $0.change { state in pendingRecordZoneChanges.reduce(false) { state.records.remove($1) || $0 } } }
            tell(SyncState.AppChange(wantsSend: false))
        }

        /// Of a save and a deletion of one zone the later one counts; what is there already stays in its place.
        public func add(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange]) {
            held.withLock { $0.change { state in pendingDatabaseChanges.reduce(false) { state.zones.add($1) || $0 } } }
            tell(SyncState.AppChange(wantsSend: !pendingDatabaseChanges.isEmpty))
        }

        /// Takes zones off the list; what is not on it is passed over.
        public func remove(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange]) {
            held.withLock { $0.change { state in pendingDatabaseChanges.reduce(false) { state.zones.remove($1) || $0 } } }
            tell(SyncState.AppChange(wantsSend: false))
        }

        private func tell(_ change: SyncState.AppChange) {
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
