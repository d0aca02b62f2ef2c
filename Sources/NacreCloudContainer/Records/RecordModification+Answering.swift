import NacreCloudStorage
import NacreCloudWire

extension RecordModification {
    /// - Parameter saved: the records that the batch's saves made, in the order of the saves.
    package func response(to batch: ModifyBatch, with saved: [StoredRecord], _ showing: ShownRecords) -> RecordsResponse {
        var response = RecordsResponse(records: [])
        response.records.reserveCapacity(items.count)
        var next = 0
        for index in items.indices {
            let name = items[index].name
            switch batch.verdicts[index] {
            case .refuse(let error):
                response.records.append(.failure(recordName: name, showing.error(error, on: batch.stored[name])))
            case .delete, .nothing:
                response.records.append(showing.deleted(batch.stored[name], named: name))
            case .save:
                // A participant who deletes a share of another user's zone leaves it. The share stays, and was saved.
                let leaves = items[index].operation.type.isDelete
                response.records.append(
                    leaves
                        ? showing.deleted(batch.stored[name], named: name)
                        : showing.saved(saved[next], keys: wantedKeys(of: items[index].operation)))
                next += 1
            }
        }
        return response
    }

    private func wantedKeys(of operation: RecordOperation) -> [String]? {
        operation.desiredKeys ?? request.desiredKeys
    }

    /// Returns the answer to a request that was done before: its failures as they were, and the saved records as they
    /// are now.
    ///
    /// A record that was changed since is answered in its newest version, never in a mix of old and new. For one that
    /// was deleted since, the answer is an error.
    package func replay(
        _ operation: OperationRow, in row: ZoneRow?, _ showing: ShownRecords, _ patience: inout Patience, _ transaction: any ReadTransaction
    ) throws -> Outcome {
        let result = try OperationResult(operation, of: log)
        guard let row else { throw try transaction.error(ofMissing: request.zoneID, in: zone.database.id) }
        var names = items.map(\.name)
        for made in result.madeNames where names.indices.contains(made.index) { names[made.index] = made.name }
        var stored: [String: StoredRecord] = [:]
        do {
            // The first answer had room for the records that the request found and those that it brought.
            try add(names, from: row, to: &stored, within: 2 * Limits.answerBytes, &patience, transaction)
        } catch let error as ServerError where error == .answerTooLarge {
            // Other writes made the records larger since. The request was done, and must not be split and sent again.
            throw ServerError.responseLost
        }
        let failures = result.errors
        let response = RecordsResponse(
            records: names.enumerated().map { index, name in
                if let error = failures[index] { return .failure(recordName: name, showing.error(error, on: stored[name])) }
                if items[index].operation.type.isDelete { return showing.deleted(stored[name], named: name) }
                guard let live = stored[name], live.isLive else {
                    return .failure(recordName: name, stored[name]?.isDamaged == true ? .recordDamaged : .lostSinceSaved)
                }
                return showing.saved(live, keys: wantedKeys(of: items[index].operation))
            })
        return Outcome(response: response, zone: row.address, movedFeed: false, damaged: stored.values.filter(\.isDamaged))
    }
}
