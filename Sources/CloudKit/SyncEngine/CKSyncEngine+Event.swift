extension CKSyncEngine {
    /// What an engine tells its delegate; `docs/sync-engine.md` says in which order. Apple: iOS 17.
    public enum Event: Sendable, CustomStringConvertible {
        /// Keep it, with everything that was told before it.
        case stateUpdate(CKSyncEngine.Event.StateUpdate)
        case accountChange(CKSyncEngine.Event.AccountChange)
        case fetchedDatabaseChanges(CKSyncEngine.Event.FetchedDatabaseChanges)
        case fetchedRecordZoneChanges(CKSyncEngine.Event.FetchedRecordZoneChanges)
        case sentDatabaseChanges(CKSyncEngine.Event.SentDatabaseChanges)
        case sentRecordZoneChanges(CKSyncEngine.Event.SentRecordZoneChanges)
        case willFetchChanges(CKSyncEngine.Event.WillFetchChanges)
        case willFetchRecordZoneChanges(CKSyncEngine.Event.WillFetchRecordZoneChanges)
        case didFetchRecordZoneChanges(CKSyncEngine.Event.DidFetchRecordZoneChanges)
        case didFetchChanges(CKSyncEngine.Event.DidFetchChanges)
        case willSendChanges(CKSyncEngine.Event.WillSendChanges)
        case didSendChanges(CKSyncEngine.Event.DidSendChanges)

        public var description: String {
            switch self {
            case .stateUpdate(let event): event.description
            case .accountChange(let event): event.description
            case .fetchedDatabaseChanges(let event): event.description
            case .fetchedRecordZoneChanges(let event): event.description
            case .sentDatabaseChanges(let event): event.description
            case .sentRecordZoneChanges(let event): event.description
            case .willFetchChanges(let event): event.description
            case .willFetchRecordZoneChanges(let event): event.description
            case .didFetchRecordZoneChanges(let event): event.description
            case .didFetchChanges(let event): event.description
            case .willSendChanges(let event): event.description
            case .didSendChanges(let event): event.description
            }
        }
    }
}

extension CKSyncEngine.Event {
    /// What the engine knows now. It never knows more than the delegate was told and handled. Apple: iOS 17.
    public struct StateUpdate: Sendable, CustomStringConvertible {
        public let stateSerialization: CKSyncEngine.State.Serialization

        public var description: String { "<StateUpdate>" }
    }

    /// The user is another one than when the engine last knew. Apple: iOS 17.
    public struct AccountChange: Sendable, CustomStringConvertible {
        /// Apple: iOS 17.
        public enum ChangeType: Sendable, Equatable {
            /// What was pending before stays so.
            case signIn(currentUser: CKRecord.ID)
            /// The engine has forgotten what it knew, and what was pending.
            case signOut(previousUser: CKRecord.ID)
            /// The engine has forgotten what it knew, and what was pending.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        public let changeType: CKSyncEngine.Event.AccountChange.ChangeType

        public var description: String { "<AccountChange: \(changeType)>" }
    }

    /// Zones that changed or went. Apple: iOS 17.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String { "<FetchedDatabaseChanges: \(modifications.count) modifications, \(deletions.count) deletions>" }
    }

    /// Records of one zone that changed or went. Apple: iOS 17.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String { "<FetchedRecordZoneChanges: \(modifications.count) modifications, \(deletions.count) deletions>" }
    }

    /// What became of a batch of zones. Apple: iOS 17.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// Apple: iOS 17.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            public let zone: CKRecordZone
            public let error: CKError

            public var description: String { "<FailedZoneSave: \(zone.zoneID), \(error.code)>" }
        }

        public let savedZones: [CKRecordZone]
        public let failedZoneSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave]
        public let deletedZoneIDs: [CKRecordZone.ID]
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        public var description: String {
            "<SentDatabaseChanges: \(savedZones.count) saved, \(failedZoneSaves.count) not saved, \(deletedZoneIDs.count) deleted, "
                + "\(failedZoneDeletes.count) not deleted>"
        }
    }

    /// What became of a batch of records. Keep the system fields of those that were saved. Apple: iOS 17.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        /// Apple: iOS 17.
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            public let record: CKRecord
            public let error: CKError

            public var description: String { "<FailedRecordSave: \(record.recordID), \(error.code)>" }
        }

        public let savedRecords: [CKRecord]
        public let failedRecordSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave]
        public let deletedRecordIDs: [CKRecord.ID]
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public var description: String {
            "<SentRecordZoneChanges: \(savedRecords.count) saved, \(failedRecordSaves.count) not saved, \(deletedRecordIDs.count) deleted, "
                + "\(failedRecordDeletes.count) not deleted>"
        }
    }

    /// Apple: iOS 17.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        /// Apple: iOS 17.2.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "<WillFetchChanges: \(context)>" }
    }

    /// Apple: iOS 17.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        public let zoneID: CKRecordZone.ID

        public var description: String { "<WillFetchRecordZoneChanges: \(zoneID)>" }
    }

    /// Apple: iOS 17.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        public let zoneID: CKRecordZone.ID
        /// nil: all changes of the zone were told. `partialFailure`: all but these records' could be.
        public let error: CKError?

        public var description: String { "<DidFetchRecordZoneChanges: \(zoneID)\(error.map { ", \($0.code)" } ?? "")>" }
    }

    /// Apple: iOS 17.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        /// Apple: iOS 17.2.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "<DidFetchChanges: \(context)>" }
    }

    /// Apple: iOS 17.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "<WillSendChanges: \(context)>" }
    }

    /// Apple: iOS 17.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "<DidSendChanges: \(context)>" }
    }
}
