extension CKSyncEngine {
    /// An event that an engine sends to its delegate. `docs/sync-engine.md` gives their order. Apple: iOS 17.
    public enum Event: Sendable, CustomStringConvertible {
        /// The engine's state changed. Store it, together with everything that earlier events brought.
        case stateUpdate(CKSyncEngine.Event.StateUpdate)
        /// The user signed in, signed out or is another one.
        case accountChange(CKSyncEngine.Event.AccountChange)
        /// Zones were added, changed or removed.
        case fetchedDatabaseChanges(CKSyncEngine.Event.FetchedDatabaseChanges)
        /// Records were added, changed or removed.
        case fetchedRecordZoneChanges(CKSyncEngine.Event.FetchedRecordZoneChanges)
        /// Zones were sent. The event has their results.
        case sentDatabaseChanges(CKSyncEngine.Event.SentDatabaseChanges)
        /// A batch of records was sent. The event has their results.
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
    /// The engine's current state. It never contains more than the delegate was told and has handled. Apple: iOS 17.
    public struct StateUpdate: Sendable, CustomStringConvertible {
        /// The state to store, together with everything that earlier events brought.
        public let stateSerialization: CKSyncEngine.State.Serialization

        public var description: String { "<StateUpdate>" }
    }

    /// The user is another one than the engine last knew. Apple: iOS 17.
    public struct AccountChange: Sendable, CustomStringConvertible {
        /// The kind of account change. Apple: iOS 17.
        public enum ChangeType: Sendable, Equatable {
            /// A user signed in. Pending changes stay pending.
            case signIn(currentUser: CKRecord.ID)
            /// The user signed out. The engine has cleared its state and its pending changes.
            case signOut(previousUser: CKRecord.ID)
            /// Another user signed in. The engine has cleared its state and its pending changes.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// The kind of change, with the user record IDs.
        public let changeType: CKSyncEngine.Event.AccountChange.ChangeType

        public var description: String { "<AccountChange: \(changeType)>" }
    }

    /// Zones that were changed or removed. Apple: iOS 17.
    public struct FetchedDatabaseChanges: Sendable, CustomStringConvertible {
        /// Zones that are new or have changes in them.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// Zones that are gone.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]

        public var description: String { "<FetchedDatabaseChanges: \(modifications.count) modifications, \(deletions.count) deletions>" }
    }

    /// Records of one zone that were changed or removed. Apple: iOS 17.
    public struct FetchedRecordZoneChanges: Sendable, CustomStringConvertible {
        /// Records that are new or changed, in their current version.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// Records that are gone.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]

        public var description: String { "<FetchedRecordZoneChanges: \(modifications.count) modifications, \(deletions.count) deletions>" }
    }

    /// The results of a batch of zones. Apple: iOS 17.
    public struct SentDatabaseChanges: Sendable, CustomStringConvertible {
        /// A zone that could not be saved. Apple: iOS 17.
        public struct FailedZoneSave: Sendable, CustomStringConvertible {
            /// The zone that was to be saved.
            public let zone: CKRecordZone
            /// The reason of the failure.
            public let error: CKError

            public var description: String { "<FailedZoneSave: \(zone.zoneID), \(error.code)>" }
        }

        /// Zones that were saved.
        public let savedZones: [CKRecordZone]
        /// Zones that could not be saved, with the reasons.
        public let failedZoneSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave]
        /// Zones that were deleted.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// Zones that could not be deleted, with the reasons.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]

        public var description: String {
            "<SentDatabaseChanges: \(savedZones.count) saved, \(failedZoneSaves.count) not saved, \(deletedZoneIDs.count) deleted, "
                + "\(failedZoneDeletes.count) not deleted>"
        }
    }

    /// The results of a batch of records. Store the system fields of the saved ones. Apple: iOS 17.
    public struct SentRecordZoneChanges: Sendable, CustomStringConvertible {
        /// A record that could not be saved. Apple: iOS 17.
        public struct FailedRecordSave: Sendable, CustomStringConvertible {
            /// The record as it was sent.
            public let record: CKRecord
            /// The reason of the failure.
            public let error: CKError

            public var description: String { "<FailedRecordSave: \(record.recordID), \(error.code)>" }
        }

        /// Records that were saved, with the values that the server set. Store their system fields.
        public let savedRecords: [CKRecord]
        /// Records that could not be saved, with the reasons.
        public let failedRecordSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave]
        /// Records that were deleted.
        public let deletedRecordIDs: [CKRecord.ID]
        /// Records that could not be deleted, with the reasons.
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public var description: String {
            "<SentRecordZoneChanges: \(savedRecords.count) saved, \(failedRecordSaves.count) not saved, \(deletedRecordIDs.count) deleted, "
                + "\(failedRecordDeletes.count) not deleted>"
        }
    }

    /// The start of a fetch. Apple: iOS 17.
    public struct WillFetchChanges: Sendable, CustomStringConvertible {
        /// The reason and the options of the fetch. Apple: iOS 17.2.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "<WillFetchChanges: \(context)>" }
    }

    /// The start of the fetch of a zone. Apple: iOS 17.
    public struct WillFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone.
        public let zoneID: CKRecordZone.ID

        public var description: String { "<WillFetchRecordZoneChanges: \(zoneID)>" }
    }

    /// The end of the fetch of a zone. Apple: iOS 17.
    public struct DidFetchRecordZoneChanges: Sendable, CustomStringConvertible {
        /// The zone.
        public let zoneID: CKRecordZone.ID
        /// nil if all changes of the zone were delivered; `partialFailure` if only the records that it names are
        /// missing.
        public let error: CKError?

        public var description: String { "<DidFetchRecordZoneChanges: \(zoneID)\(error.map { ", \($0.code)" } ?? "")>" }
    }

    /// The end of a fetch. Apple: iOS 17.
    public struct DidFetchChanges: Sendable, CustomStringConvertible {
        /// The reason and the options of the fetch. Apple: iOS 17.2.
        public let context: CKSyncEngine.FetchChangesContext

        public var description: String { "<DidFetchChanges: \(context)>" }
    }

    /// The start of a send. Apple: iOS 17.
    public struct WillSendChanges: Sendable, CustomStringConvertible {
        /// The reason of the send and its scope.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "<WillSendChanges: \(context)>" }
    }

    /// The end of a send. Apple: iOS 17.
    public struct DidSendChanges: Sendable, CustomStringConvertible {
        /// The reason of the send and its scope.
        public let context: CKSyncEngine.SendChangesContext

        public var description: String { "<DidSendChanges: \(context)>" }
    }
}
