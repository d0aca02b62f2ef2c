import NacreCloudServerWire
import NacreCloudWire

/// What a device asks of the server: the requests that a fault is for.
package enum FaultableRequest: String, CaseIterable, Hashable, Sendable {
    case modifyRecords
    case fetchRecords
    case queryRecords
    case modifyZones
    case fetchZones
    case fetchZoneChanges
    case fetchDatabaseChanges
    case modifySubscriptions
    case fetchSubscriptions
    case fetchUser
    case transferAsset
    /// Whatever is asked, also what is none of these.
    case any

    fileprivate static let paths: [String: FaultableRequest] = [
        "records/modify": .modifyRecords, "records/lookup": .fetchRecords, "records/query": .queryRecords, "zones/modify": .modifyZones,
        "zones/lookup": .fetchZones, "zones/list": .fetchZones, "changes/zone": .fetchZoneChanges, "changes/database": .fetchDatabaseChanges,
        "subscriptions/modify": .modifySubscriptions, "subscriptions/list": .fetchSubscriptions, "subscriptions/lookup": .fetchSubscriptions,
        "users/caller": .fetchUser,
    ]
}

/// A request on its way, as far as faults look at it.
package struct AskedRequest {
    /// nil: none of the named ones.
    package var kind: FaultableRequest?
    /// Its zones' names; empty where it names none.
    private(set) var zones: Set<String> = []
    /// The records that it changes, and of them those that it saves.
    private(set) var changes: Set<String> = []
    private(set) var saves: Set<String> = []
    /// Of the zones, those that it has a change token of.
    private(set) var followed: Set<String> = []
    /// It has a change token of its database.
    private(set) var followsDatabase = false

    /// - Parameter path: of the URL.
    package init(path: String, body: [UInt8]) {
        let parts = path.split(separator: "/")
        guard parts.first == "database" else {
            kind = parts.first == "assets" ? .transferAsset : nil
            return
        }
        kind = FaultableRequest.paths[parts.suffix(2).joined(separator: "/")]
        switch kind {
        case .modifyRecords:
            guard let request = try? RecordsModifyRequest(json: body) else { return }
            zones = [request.zoneID.zoneName]
            let operations = request.operations.compactMap { try? $0.get() }
            changes = Set(operations.compactMap(\.change.recordName))
            saves = Set(operations.filter(\.isSave).compactMap(\.change.recordName))
        case .fetchRecords: zones = Set([(try? RecordsLookupRequest(json: body))?.zoneID.zoneName].compactMap { $0 })
        case .queryRecords: zones = Set([(try? RecordsQueryRequest(json: body))?.zoneID?.zoneName].compactMap { $0 })
        case .modifyZones: zones = Set((try? ZonesModifyRequest(json: body))?.operations.map(\.zoneID.zoneName) ?? [])
        case .fetchZones: zones = Set((try? ZonesLookupRequest(json: body))?.zones.map(\.zoneName) ?? [])
        case .fetchZoneChanges:
            let items = (try? ChangesZoneRequest(json: body))?.zones ?? []
            zones = Set(items.map(\.zoneID.zoneName))
            followed = Set(items.filter { $0.syncToken != nil }.map(\.zoneID.zoneName))
        case .fetchDatabaseChanges: followsDatabase = (try? ChangesDatabaseRequest(json: body))?.syncToken != nil
        case .modifySubscriptions, .fetchSubscriptions, .fetchUser, .transferAsset, .any, nil: break
        }
    }
}

extension RecordOperation {
    var isSave: Bool { type != .delete && type != .forceDelete }
}
