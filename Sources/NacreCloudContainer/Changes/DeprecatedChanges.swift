package import NacreCloudAccounts
package import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire

extension Cloud {
    /// `records/changes`: returns what `changes/zone` answers for one zone, its errors as errors of the request.
    package func recordChanges(
        _ request: RecordsChangesRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> RecordsChangesResponse {
        let asked = ChangesZoneRequest(zones: [request.item], extension: request.extension)
        switch try await zoneChanges(asked, in: target, by: caller).zones.first {
        case .failure(_, let error): throw error
        case nil: throw ServerError.internalError
        case .page(let page):
            return RecordsChangesResponse(
                records: page.records, syncToken: page.syncToken, moreComing: page.moreComing, reverse: request.item.reverse)
        }
    }

    /// `zones/changes`: returns what `changes/database` answers, each zone as `zones/lookup` shows it. One snapshot for
    /// each of the two.
    package func zonesChanges(
        _ request: ZonesChangesRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> ZonesChangesResponse {
        let page: ChangesDatabaseResponse
        do {
            page = try await databaseChanges(request.changes, in: try await database(target, for: .changes, by: caller))
        } catch var error as ServerError {
            if error.field == "syncToken" { error.field = "metaSyncToken" }
            throw error
        }
        return ZonesChangesResponse(
            zones: try await shown(page.zones, in: target, by: caller), metaSyncToken: page.syncToken, moreComing: page.moreComing)
    }

    /// Shows the changed zones. A zone that goes between the two snapshots shows as deleted, as on the next page.
    private func shown(
        _ changed: [ChangesDatabaseResponse.ChangedZone], in target: DatabaseTarget, by caller: Caller
    ) async throws -> [ZoneResult] {
        let live = changed.filter { $0.deletion == nil }.map(\.zoneID)
        guard !live.isEmpty else { return changed.map { .deleted($0.zoneID) } }
        var found: [ZoneID: ZoneResult] = [:]
        for result in try await lookupZones(ZonesLookupRequest(zones: live), in: target, by: caller).zones {
            if case .zone(let zone) = result { found[zone.zoneID] = result }
        }
        return changed.map { found[$0.zoneID] ?? .deleted($0.zoneID) }
    }
}
