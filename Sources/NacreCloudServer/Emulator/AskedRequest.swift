import NacreCloudServerWire
import NacreCloudWire

/// Kinds of requests that a fault can apply to.
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
    /// Any request, including those that are none of the above.
    case any

    fileprivate static let paths: [String: FaultableRequest] = [
        "records/modify": .modifyRecords, "records/lookup": .fetchRecords, "records/query": .queryRecords, "zones/modify": .modifyZones,
        "zones/lookup": .fetchZones, "zones/list": .fetchZones, "changes/zone": .fetchZoneChanges, "changes/database": .fetchDatabaseChanges,
        "subscriptions/modify": .modifySubscriptions, "subscriptions/list": .fetchSubscriptions, "subscriptions/lookup": .fetchSubscriptions,
        "users/caller": .fetchUser,
    ]
}

/// The parts of a request that faults depend on.
package struct AskedRequest {
    /// The kind of the request; nil: none of the named ones.
    package var kind: FaultableRequest?
    /// Names of the zones that the request names.
    private(set) var zones: Set<String> = []
    /// Names of the records that the request changes, and of those that it saves.
    private(set) var changes: Set<String> = []
    private(set) var saves: Set<String> = []
    /// Names of the zones for which the request has a change token.
    private(set) var followed: Set<String> = []
    /// Whether the request has a change token of its database.
    private(set) var followsDatabase = false

    /// - Parameter path: the path of the URL.
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
