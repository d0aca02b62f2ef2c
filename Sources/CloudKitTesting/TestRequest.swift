import NacreCloudServer

/// The kinds of requests of a device for which a fault can be ordered.
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
    /// Changes in zones are fetched, by `CKSyncEngine` and `CKFetchRecordZoneChangesOperation`.
    case fetchZoneChanges
    /// The list of changed zones is fetched. An engine that fetches by itself also keeps a request of this kind open.
    case fetchDatabaseChanges
    case modifySubscriptions
    case fetchSubscriptions
    /// The current user is fetched: by `accountStatus`, `userRecordID`, and once before a device's first request about
    /// records.
    case fetchUser
    /// The bytes of an asset are uploaded or downloaded.
    case transferAsset
    /// Any request, also one of none of these kinds.
    case any

    var kind: FaultableRequest { FaultableRequest(rawValue: rawValue) ?? .any }
}
