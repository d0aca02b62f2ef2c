package import NacreCloudWire

extension Cloud {
    /// `records/lookup`: records by name, in the order asked; a missing one is an error of its own. Costs two calls of the store; where some fields are
    /// wanted of large records, one more for each 4 MB of them.
    /// - Throws: `ServerError.answerTooLarge` where what is wanted is more than `Limits.answerBytes`, `.looksAtTooMuch` where the rest of the records is
    ///   more than `Limits.unansweredBytes`.
    package func lookupRecords(
        _ request: RecordsLookupRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> RecordsResponse {
        let database = try await database(target, for: .read, by: caller)
        if let fault = RequestShape.fault(count: request.records.count, field: "records", by: caller) { throw fault }
        if let fault = RequestShape.fault(ofNames: request.records.map(\.recordName), field: "records") { throw fault }
        let zone = try database.zone(request.zoneID)
        let meter = WorkMeter.current
        let found = try await stored(of: database.key, zone: request.zoneID) {
            try await self.store.read { transaction -> [String: StoredRecord] in
                guard let zone = try zone.find(transaction) else { return [:] }
                var found: [String: StoredRecord] = [:]
                let stored = try transaction.stored(in: zone.address, for: request, within: Limits.answerBytes)
                meter?.add(bytes: stored.unanswered)
                for record in stored.records { found[record.row.name] = record }
                return found
            }
        }
        tell(found.values.filter(\.isDamaged), of: database.key, request.zoneID)
        let showing = zone.showing
        return RecordsResponse(
            records: request.records.map { item in
                showing.result(found[item.recordName], named: item.recordName, keys: item.desiredKeys ?? request.desiredKeys)
            })
    }
}
