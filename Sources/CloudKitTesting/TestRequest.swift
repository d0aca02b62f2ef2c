import NacreCloudServer

/// What a device asks of the server: the requests that a fault is for.
public enum TestRequest: String, CaseIterable, Hashable, Sendable {
    /// Records are saved or deleted.
    case modifyRecords
    /// Records are fetched by their IDs.
    case fetchRecords
    case queryRecords
    /// Zones are saved or deleted.
    case modifyZones
    /// Zones are fetched, by their IDs or all.
    case fetchZones
    /// What has changed in zones. `CKSyncEngine` and `CKFetchRecordZoneChangesOperation` ask it.
    case fetchZoneChanges
    /// Which zones have changed. An engine that fetches by itself also holds such a question open.
    case fetchDatabaseChanges
    case modifySubscriptions
    case fetchSubscriptions
    /// Who the user is: `accountStatus`, `userRecordID`, and once before a device's first request about records.
    case fetchUser
    /// The bytes of an asset, in either direction.
    case transferAsset
    /// Whatever is asked, also what is none of these.
    case any

    var kind: FaultableRequest { FaultableRequest(rawValue: rawValue) ?? .any }
}
