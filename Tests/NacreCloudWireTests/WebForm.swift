import NacreCloudServerWire
import NacreCloudWire

// The part of a value that a web client sees: an answer without details.

extension Timestamp {
    var web: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970) }
}

extension Location {
    var web: Location {
        var web = self
        web.timestamp = timestamp?.web
        return web
    }
}

extension FieldValue {
    var web: FieldValue {
        switch self {
        case .timestamp(let value): .timestamp(value.web)
        case .timestampList(let values): .timestampList(values.map(\.web))
        case .location(let value): .location(value.web)
        case .locationList(let values): .locationList(values.map(\.web))
        default: self
        }
    }
}

extension RecordFields {
    var web: RecordFields { RecordFields(entries.map { Field($0.name, $0.value.web) }) }

    /// The fields without sealed values, which cannot be read back without their key IDs and have their own test.
    var withoutSealed: RecordFields {
        RecordFields(
            entries.filter {
                if case .sealed = $0.value { false } else { true }
            })
    }
}

extension Record {
    var web: Record {
        var web = self
        web.created.timestamp = created.timestamp.web
        web.modified.timestamp = modified.timestamp.web
        web.fields = fields.web
        web.sharing = sharing.map { Box($0.value.web) }
        web.manifest = nil
        return web
    }

    var withoutSealed: Record {
        var record = self
        record.fields = fields.withoutSealed
        return record
    }
}

extension ShareDetails {
    var web: ShareDetails {
        ShareDetails(
            shortGUID: shortGUID, publicPermission: publicPermission, participants: participants.map(\.web), owner: owner.web,
            currentUserParticipant: currentUserParticipant?.web)
    }
}

extension ShareParticipant {
    fileprivate var web: ShareParticipant {
        ShareParticipant(
            participantID: participantID, identity: identity, role: role, permission: permission, acceptance: acceptance,
            isApprovedRequester: isApprovedRequester)
    }
}

extension ServerError {
    var web: ServerError {
        ServerError(code, reason, retryAfter: retryAfter, redirectURL: redirectURL)
    }
}

extension RecordResult {
    var web: RecordResult {
        switch self {
        case .record(let record): .record(record.web)
        case .deleted(let tombstone): .deleted(Tombstone(recordName: tombstone.recordName, recordType: nil))
        case .failure(let name, let error): .failure(recordName: name, error.web)
        }
    }

    var withoutSealed: RecordResult {
        if case .record(let record) = self { .record(record.withoutSealed) } else { self }
    }
}

extension ZoneResult {
    var web: ZoneResult {
        switch self {
        case .failure(let zone, let error): return .failure(zone, error.web)
        case .zone(var zone):
            zone.isSharedWhole = false
            return .zone(zone)
        case .deleted: return self
        }
    }
}

extension ChangesDatabaseResponse {
    var web: ChangesDatabaseResponse {
        ChangesDatabaseResponse(
            zones: zones.map { ChangedZone(zoneID: $0.zoneID, deletion: $0.deletion.map { _ in .deleted }) }, syncToken: syncToken,
            moreComing: moreComing)
    }
}

extension ChangesZoneResponse.Result {
    func mapRecords(_ transform: (RecordResult) -> RecordResult) -> ChangesZoneResponse.Result {
        guard case .page(var page) = self else { return self }
        page.records = page.records.map(transform)
        return .page(page)
    }

    var web: ChangesZoneResponse.Result {
        switch self {
        case .failure(let zone, let error): return .failure(zone, error.web)
        case .page(var page):
            page.records = page.records.map(\.web)
            page.isMidCommit = false
            page.clientChangeToken = nil
            return .page(page)
        }
    }
}

extension RecordsModifyRequest {
    /// The request as it arrives without `nacre.details`.
    var web: RecordsModifyRequest {
        var web = self
        web.operations = operations.map { operation in
            operation.map { operation in
                var operation = operation
                operation.change.set = operation.change.set.web
                return operation
            }
        }
        return web
    }

    var withoutSealed: RecordsModifyRequest {
        var request = self
        request.operations = operations.map { operation in
            operation.map { operation in
                var operation = operation
                operation.change.set = operation.change.set.withoutSealed
                return operation
            }
        }
        return request
    }
}

extension UserIdentity {
    var web: UserIdentity {
        var web = self
        if case .contactHash? = lookupInfo { web.lookupInfo = nil }
        return web
    }
}

extension SubscriptionResult {
    var web: SubscriptionResult {
        switch self {
        case .subscription(var subscription):
            guard case .query(var subscribed) = subscription.kind else { return self }
            subscribed.query.filters = subscribed.query.filters.map { filter in
                var filter = filter
                filter.value = filter.value.web
                return filter
            }
            subscribed.query.sorts = subscribed.query.sorts.map { sort in
                var sort = sort
                sort.relativeLocation = sort.relativeLocation?.web
                return sort
            }
            subscription.kind = .query(subscribed)
            return .subscription(subscription)
        case .deleted: return self
        case .failure(let subscriptionID, let error): return .failure(subscriptionID, error.web)
        }
    }

    var holdsSealedValue: Bool {
        guard case .subscription(let subscription) = self, case .query(let subscribed) = subscription.kind else { return false }
        return subscribed.query.filters.contains { if case .sealed = $0.value { true } else { false } }
    }
}
