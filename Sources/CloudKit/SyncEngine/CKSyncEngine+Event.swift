extension CKSyncEngine {
    /// What an engine tells its delegate; `docs/sync-engine.md` says in which order. Apple: iOS 17.
    public enum Event: Sendable, CustomStringConvertible {
        /// Keep it, with everything that was told before it.
        case stateUpdate(CKSyncEngine.Event.StateUpdate)
        /// Another user, or none, or one for the first time.
        case accountChange(CKSyncEngine.Event.AccountChange)
        /// Zones that came, changed or went.
        case fetchedDatabaseChanges(CKSyncEngine.Event.FetchedDatabaseChanges)
        /// Records that came, changed or went.
        case fetchedRecordZoneChanges(CKSyncEngine.Event.FetchedRecordZoneChanges)
        /// What became of the zones that were sent.
        case sentDatabaseChanges(CKSyncEngine.Event.SentDatabaseChanges)
        /// What became of a batch of records.
        case sentRecordZoneChanges(CKSyncEngine.Event.SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(CKSyncEngine.Event.WillFetchChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(CKSyncEngine.Event.WillFetchRecordZoneChanges)
        /// The fetch of a zone has ended.
        case didFetchRecordZoneChanges(CKSyncEngine.Event.DidFetchRecordZoneChanges)
        /// A fetch has ended.
        case didFetchChanges(CKSyncEngine.Event.DidFetchChanges)
        /// A send begins.
        case willSendChanges(CKSyncEngine.Event.WillSendChanges)
        /// A send has ended.
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
        /// Keep it, together with what was told before it.
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

        /// What happened, and who it was.
        public let changeType: CKSyncEngine.Event.AccountChange.ChangeType

        public var description: String { "<AccountChange: \(changeType)>" }
    }

    /// Zones that changed or went. Apple: iOS 17.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        /// Zones that are new, or in which something changed.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// Zones that are gone.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String { "<FetchedDatabaseChanges: \(modifications.count) modifications, \(deletions.count) deletions>" }
    }

    /// Records of one zone that changed or went. Apple: iOS 17.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        /// Records that are new or changed, as they are now.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// Records that are gone.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String { "<FetchedRecordZoneChanges: \(modifications.count) modifications, \(deletions.count) deletions>" }
    }

    /// What became of a batch of zones. Apple: iOS 17.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// Apple: iOS 17.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            /// The zone that was to be saved.
            public let zone: CKRecordZone
            /// Why.
            public let error: CKError

            public var description: String { "<FailedZoneSave: \(zone.zoneID), \(error.code)>" }
        }

        /// Zones that were saved.
        public let savedZones: [CKRecordZone]
        /// Zones that could not be saved, and why.
        public let failedZoneSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave]
        /// Zones that were deleted.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// Zones that could not be deleted, and why.
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
            /// The record as it was sent.
            public let record: CKRecord
            /// Why.
            public let error: CKError

            public var description: String { "<FailedRecordSave: \(record.recordID), \(error.code)>" }
        }

        /// Records that were saved, with what the server set: keep their system fields.
        public let savedRecords: [CKRecord]
        /// Records that could not be saved, and why.
        public let failedRecordSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave]
        /// Records that were deleted.
        public let deletedRecordIDs: [CKRecord.ID]
        /// Records that could not be deleted, and why.
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
        /// The zone.
        public let zoneID: CKRecordZone.ID

        public var description: String { "<WillFetchRecordZoneChanges: \(zoneID)>" }
    }

    /// Apple: iOS 17.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone.
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
        /// Why, and what is to be sent.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "<WillSendChanges: \(context)>" }
    }

    /// Apple: iOS 17.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        /// Why, and what was to be sent.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "<DidSendChanges: \(context)>" }
    }
}
