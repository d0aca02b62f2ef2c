package import NacreCloudAccounts
package import NacreCloudServerWire
import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `records/lookup`: returns records by name, in the order asked; a missing one is an error of its own.
    ///
    /// Costs two calls of the store, three in a public database. Where some fields of large records are wanted, each 4
    /// MB of them costs one more.
    /// - Throws: `ServerError.answerTooLarge` where the wanted fields take more than `Limits.answerBytes`.
    ///   `.looksAtTooMuch` where the rest of the records takes more than `Limits.unansweredBytes`.
    package func lookupAnswer(_ request: RecordsLookupRequest, in target: DatabaseTarget, by caller: Caller) async throws -> LookupAnswer {
        let database = try await database(holding: request.zoneID, target, for: .read, by: caller)
        if let fault = RequestShape.fault(count: request.records.count, field: "records", by: caller) { throw fault }
        if let fault = RequestShape.fault(ofNames: request.records.map(\.recordName), field: "records") { throw fault }
        _ = try database.zone(request.zoneID)
        let meter = WorkMeter.current
        let (found, showing) = try await read(database, zone: request.zoneID) { database, transaction -> ([String: FoundRecord], ShownRecords) in
            let named = try database.zone(request.zoneID)
            guard let zone = try named.find(transaction) else { return ([:], named.showing) }
            var found: [String: FoundRecord] = [:]
            let answered = try transaction.found(in: zone.address, for: request, showing: zone.showing, within: Limits.answerBytes)
            meter?.add(bytes: answered.unanswered)
            for record in answered.records { found[record.name] = record }
            return (found, zone.showing)
        }
        report(found.values.compactMap(\.damaged), of: database.key, request.zoneID)
        var page = PagedRecords()
        page.reserve(request.records.count)
        var absent = 0
        for item in request.records {
            switch found[item.recordName] {
            case .kept(let record): page.append(record)
            case .read(let stored): page.append(showing.result(stored, named: item.recordName, keys: item.desiredKeys ?? request.desiredKeys))
            case nil:
                absent += 1
                page.append(showing.result(nil, named: item.recordName, keys: nil))
            }
        }
        return LookupAnswer(page: page, absent: absent)
    }

    /// Returns the answer of `lookupAnswer` with all its records decoded.
    package func lookupRecords(_ request: RecordsLookupRequest, in target: DatabaseTarget, by caller: Caller) async throws -> RecordsResponse {
        try await lookupAnswer(request, in: target, by: caller).whole
    }
}
