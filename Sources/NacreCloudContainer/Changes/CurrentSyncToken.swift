package import NacreCloudWire

extension Cloud {
    /// The token after everything that a zone has, for `getCurrentSyncToken`; nil for zones without a feed, and for one that is not there.
    ///
    /// Ask for it before reading records: what changes in between is then told twice, and never missed.
    package func currentSyncToken(of zoneID: ZoneID, in target: DatabaseTarget, by caller: Caller) async throws -> String? {
        guard !zoneID.isDefault, case .success = databaseVerdict(target, for: .changes, by: caller) else { return nil }
        let database = try await database(target, for: .changes, by: caller)
        guard let requested = try? database.zone(zoneID) else { return nil }
        let rows = try await stored(of: database.key) { try await self.store.read { try $0.zones(in: database.id, named: [requested.name]) } }
        guard let row = rows.first else { return nil }
        return try shown(database.resolve(row)).syncToken
    }
}
