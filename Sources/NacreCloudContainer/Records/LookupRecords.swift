package import NacreCloudWire

extension Cloud {
    /// `records/lookup`: records by name, in the order asked; a missing one is an error of its own. Costs two calls of the store.
    /// - Throws: `ServerError.answerTooLarge` where they are more than `Limits.answerBytes`.
    package func lookupRecords(
        _ request: RecordsLookupRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> RecordsResponse {
        let key = try databaseVerdict(target, for: .read, by: caller).get()
        if let fault = RequestShape.fault(count: request.records.count, field: "records", by: caller) { throw fault }
        if let fault = RequestShape.fault(ofNames: request.records.map(\.recordName), field: "records") { throw fault }
        if let fault = ownerVerdict(request.zoneID, in: key, by: caller) { throw fault }
        let database = try await databaseID(key)
        let zoneID = request.zoneID
        let names = request.records.map(\.recordName)
        let found = try await stored(of: key, zone: zoneID) {
            try await self.store.read { transaction -> [String: StoredRecord] in
                guard let zone = try transaction.zones(in: database, named: [zoneID.zoneName]).first else {
                    guard zoneID.isDefault, key.scope != .shared else { throw ServerError.zoneNotFound(zoneID) }
                    return [:]
                }
                var found: [String: StoredRecord] = [:]
                for row in try transaction.records(in: zone.address, named: names, within: Limits.answerBytes) {
                    found[row.name] = StoredRecord(row, in: zone.address)
                }
                return found
            }
        }
        tell(found.values.filter(\.isDamaged), of: key, zoneID)
        let shownZone = key.zoneID(zoneID.zoneName)
        return RecordsResponse(
            records: request.records.map { item in
                let stored = found[item.recordName]
                if stored?.isDamaged == true { return .failure(recordName: item.recordName, .recordDamaged) }
                guard let stored, stored.isLive else { return .failure(recordName: item.recordName, .recordNotFound) }
                var record = stored.record
                record.fields = record.fields.only(item.desiredKeys ?? request.desiredKeys)
                return .record(record.shown(in: shownZone))
            })
    }
}
