import NacreCloudWire

/// The user that the app is to the server. Pure.
///
/// The server knows users by the names of their user records. An app sees itself as `CKCurrentUserDefaultName` wherever
/// the server names it as the creator or last editor of a record. It may also use that name for its own user record;
/// see `docs/decisions/users-current.md`.
struct CurrentUser: Sendable {
    /// The name of the user's record; nil if there is no account.
    let recordName: String?

    private static let alias = CKCurrentUserDefaultName

    // MARK: Requests

    func spellingOut(_ request: RecordsModifyRequest) -> RecordsModifyRequest {
        guard recordName != nil else { return request }
        var request = request
        for index in request.operations.indices {
            guard case .success(var operation) = request.operations[index] else { continue }
            operation.change.recordName = operation.change.recordName.map { spellingOut($0, in: request.zoneID) }
            for field in operation.change.set.entries where mayName(field.value) {
                operation.change.set[field.name] = spellingOut(field.value) { [zone = request.zoneID] in ($0 ?? zone).isDefault }
            }
            if case .set(let parent) = operation.change.parent, (parent.zoneID ?? request.zoneID).isDefault {
                operation.change.parent = .set(spellingOut(parent))
            }
            operation.change.sharing = operation.change.sharing.map { Box(spellingOut($0.value)) }
            request.operations[index] = .success(operation)
        }
        return request
    }

    func spellingOut(_ request: RecordsLookupRequest) -> RecordsLookupRequest {
        var request = request
        for index in request.records.indices {
            request.records[index].recordName = spellingOut(request.records[index].recordName, in: request.zoneID)
        }
        return request
    }

    func spellingOut(_ request: AssetsUploadRequest) -> AssetsUploadRequest {
        var request = request
        for index in request.tokens.indices {
            request.tokens[index].recordName = request.tokens[index].recordName.map { spellingOut($0, in: request.zoneID) }
        }
        return request
    }

    func spellingOut(_ request: RecordsQueryRequest) -> RecordsQueryRequest {
        var request = request
        request.query = spellingOut(request.query)
        return request
    }

    func spellingOut(_ request: SubscriptionsModifyRequest) -> SubscriptionsModifyRequest {
        var request = request
        request.operations = request.operations.map { operation in
            guard case .create(var subscription) = operation, case .query(var subscribed) = subscription.kind else { return operation }
            subscribed.query = spellingOut(subscribed.query)
            subscription.kind = .query(subscribed)
            return .create(subscription)
        }
        return request
    }

    /// Replaces the alias in a query. CloudKit: predicates compare only the record ID of a reference, so its zone does
    /// not count.
    private func spellingOut(_ query: Query) -> Query {
        guard recordName != nil else { return query }
        var query = query
        for index in query.filters.indices where mayName(query.filters[index].value) {
            query.filters[index].value = spellingOut(query.filters[index].value) { _ in true }
        }
        return query
    }

    private func mayName(_ value: FieldValue) -> Bool {
        switch value {
        case .reference(let reference): reference.recordName == Self.alias
        case .referenceList(let list): list.contains { $0.recordName == Self.alias }
        default: false
        }
    }

    private func spellingOut(_ value: FieldValue, where isMeant: (ZoneID?) -> Bool) -> FieldValue {
        switch value {
        case .reference(let reference) where isMeant(reference.zoneID): .reference(spellingOut(reference))
        case .referenceList(let list): .referenceList(list.map { isMeant($0.zoneID) ? spellingOut($0) : $0 })
        default: value
        }
    }

    private func spellingOut(_ reference: Reference) -> Reference {
        var reference = reference
        if reference.recordName == Self.alias, let recordName { reference.recordName = recordName }
        return reference
    }

    private func spellingOut(_ change: ShareChange) -> ShareChange {
        var change = change
        change.participants = change.participants?.map { participant in
            var participant = participant
            if participant.identity.userRecordName == Self.alias { participant.identity.userRecordName = recordName }
            return participant
        }
        return change
    }

    /// Replaces the alias in a default zone, where user records are; in other zones it is a name like any other.
    private func spellingOut(_ name: String, in zone: ZoneID) -> String {
        name == Self.alias && zone.isDefault ? recordName ?? name : name
    }

    // MARK: Answers

    /// - Parameter names: the names that the app used for the records, in the order of the results.
    func showing(_ results: [RecordResult], askedAs names: [String?]) -> [RecordResult] {
        guard recordName != nil, results.count == names.count else { return showing(results) }
        return zip(showing(results), names).map { result, name in
            guard case .record(var record) = result, name == Self.alias, record.recordName == recordName else { return result }
            record.recordName = Self.alias
            return .record(record)
        }
    }

    func showing(_ results: [RecordResult]) -> [RecordResult] {
        guard recordName != nil else { return results }
        return results.map { result in
            switch result {
            case .record(let record): return .record(showing(record))
            case .failure(let name, var error):
                error.serverRecord = error.serverRecord.map { Box(showing($0.value)) }
                return .failure(recordName: name, error)
            case .deleted: return result
            }
        }
    }

    func showing(_ record: Record) -> Record {
        var record = record
        if record.created.userRecordName == recordName { record.created.userRecordName = Self.alias }
        if record.modified.userRecordName == recordName { record.modified.userRecordName = Self.alias }
        record.sharing = record.sharing.map { Box(showing($0.value)) }
        return record
    }

    private func showing(_ details: ShareDetails) -> ShareDetails {
        var details = details
        details.participants = details.participants.map(showing)
        details.owner = showing(details.owner)
        details.currentUserParticipant = details.currentUserParticipant.map(showing)
        return details
    }

    private func showing(_ participant: ShareParticipant) -> ShareParticipant {
        var participant = participant
        if participant.identity.userRecordName == recordName { participant.identity.userRecordName = Self.alias }
        return participant
    }
}
