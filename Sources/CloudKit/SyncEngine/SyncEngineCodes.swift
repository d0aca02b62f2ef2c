// Objective-C enumerations that Apple's Swift module exports too. No function here takes or returns one.

/// The codes of `CKSyncEngine.Event`. Apple: iOS 17.
public enum CKSyncEngineEventType: Int, Sendable {
    /// `CKSyncEngine.Event.stateUpdate`.
    case stateUpdate = 0
    /// `CKSyncEngine.Event.accountChange`.
    case accountChange = 1
    /// `CKSyncEngine.Event.fetchedDatabaseChanges`.
    case fetchedDatabaseChanges = 2
    /// `CKSyncEngine.Event.fetchedRecordZoneChanges`.
    case fetchedRecordZoneChanges = 3
    /// `CKSyncEngine.Event.sentDatabaseChanges`.
    case sentDatabaseChanges = 4
    /// `CKSyncEngine.Event.sentRecordZoneChanges`.
    case sentRecordZoneChanges = 5
    /// `CKSyncEngine.Event.willFetchChanges`.
    case willFetchChanges = 6
    /// `CKSyncEngine.Event.willFetchRecordZoneChanges`.
    case willFetchRecordZoneChanges = 7
    /// `CKSyncEngine.Event.didFetchRecordZoneChanges`.
    case didFetchRecordZoneChanges = 8
    /// `CKSyncEngine.Event.didFetchChanges`.
    case didFetchChanges = 9
    /// `CKSyncEngine.Event.willSendChanges`.
    case willSendChanges = 10
    /// `CKSyncEngine.Event.didSendChanges`.
    case didSendChanges = 11
}

/// The codes of `CKSyncEngine.Event.AccountChange.ChangeType`. Apple: iOS 17.
public enum CKSyncEngineAccountChangeType: Int, Sendable {
    /// `CKSyncEngine.Event.AccountChange.ChangeType.signIn`.
    case signIn = 0
    /// `CKSyncEngine.Event.AccountChange.ChangeType.signOut`.
    case signOut = 1
    /// `CKSyncEngine.Event.AccountChange.ChangeType.switchAccounts`.
    case switchAccounts = 2
}

/// The codes of `CKDatabase.DatabaseChange.Deletion.Reason`. Apple: iOS 17.
public enum CKSyncEngineZoneDeletionReason: Int, Sendable {
    /// `CKDatabase.DatabaseChange.Deletion.Reason.deleted`.
    case deleted = 0
    /// `CKDatabase.DatabaseChange.Deletion.Reason.purged`.
    case purged = 1
    /// `CKDatabase.DatabaseChange.Deletion.Reason.encryptedDataReset`.
    case encryptedDataReset = 2
}

/// The codes of `CKSyncEngine.PendingRecordZoneChange`. Apple: iOS 17.
public enum CKSyncEnginePendingRecordZoneChangeType: Int, Sendable {
    /// `CKSyncEngine.PendingRecordZoneChange.saveRecord`.
    case saveRecord = 0
    /// `CKSyncEngine.PendingRecordZoneChange.deleteRecord`.
    case deleteRecord = 1
}

/// The codes of `CKSyncEngine.PendingDatabaseChange`. Apple: iOS 17.
public enum CKSyncEnginePendingDatabaseChangeType: Int, Sendable {
    /// `CKSyncEngine.PendingDatabaseChange.saveZone`.
    case saveZone = 0
    /// `CKSyncEngine.PendingDatabaseChange.deleteZone`.
    case deleteZone = 1
}

/// The codes of `CKSyncEngine.SyncReason`. Apple: iOS 17.
public enum CKSyncEngineSyncReason: Int, Sendable {
    /// `CKSyncEngine.SyncReason.scheduled`.
    case scheduled = 0
    /// `CKSyncEngine.SyncReason.manual`.
    case manual = 1
}
