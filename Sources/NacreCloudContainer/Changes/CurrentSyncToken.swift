package import NacreCloudWire

extension Cloud {
    /// The token after everything that a zone has, for `getCurrentSyncToken`; nil for zones without a feed, and for one that is not there.
    ///
    /// Ask for it before reading records: what changes in between is then told twice, and never missed.
    package func currentSyncToken(of zoneID: ZoneID, in target: DatabaseTarget, by caller: Caller) async throws -> String? {
        guard !zoneID.isDefault, case .success = databaseVerdict(target, for: .changes, by: caller) else { return nil }
        let found = try await lookupZones(ZonesLookupRequest(zones: [zoneID]), in: target, by: caller).zones.first
        guard case .zone(let zone) = found else { return nil }
        return zone.syncToken
    }
}
