package import NacreCloudAccounts
package import NacreCloudContainer
import NacreCloudStorage
package import NacreCloudWire

/// A user at one database of a test's cloud, with short forms of the cloud's operations.
package struct TestCloudUser: Sendable {
    package var cloud: Cloud
    package var target: DatabaseTarget
    package var caller: Caller
    /// The owner of the zones that it names; nil: not given.
    package var zoneOwner: String?

    /// Returns the same user at zones of another, in the shared database.
    package func at(_ owner: String) -> TestCloudUser {
        var user = self
        user.target.scope = .shared
        user.zoneOwner = owner
        return user
    }

    private func zoneID(_ name: String) -> ZoneID { ZoneID(zoneName: name, ownerRecordName: zoneOwner) }

    /// Sends one `records/modify`.
    /// - Parameters:
    ///   - digest: The digest of the request's bytes.
    ///   - age: Seconds since a repeated request was sent first.
    @discardableResult
    package func modify(
        _ operations: [RecordOperation], zone: String = ZoneID.defaultZoneName, atomic: Bool? = nil, id: String? = nil,
        digest: [UInt8] = [], age: Double? = nil, token: [UInt8]? = nil
    ) async throws -> [RecordResult] {
        let request = RecordsModifyRequest(
            operations: operations, zoneID: zoneID(zone), atomic: atomic,
            extension: RequestExtension(operationID: id, clientChangeToken: token))
        return try await cloud.modifyRecords(request, in: target, by: caller, digest: digest, age: age).records
    }

    package func lookup(_ names: [String], zone: String = ZoneID.defaultZoneName) async throws -> [RecordResult] {
        let request = RecordsLookupRequest(records: names.map { .init(recordName: $0) }, zoneID: zoneID(zone))
        return try await cloud.lookupRecords(request, in: target, by: caller).records
    }

    @discardableResult
    package func modifyZones(_ operations: ZoneOperation...) async throws -> [ZoneResult] {
        try await cloud.modifyZones(ZonesModifyRequest(operations: operations), in: target, by: caller).zones
    }

    @discardableResult
    package func makeZone(_ names: String...) async throws -> [ZoneResult] {
        let operations = names.map { ZoneOperation(.create, zoneID($0)) }
        return try await cloud.modifyZones(ZonesModifyRequest(operations: operations), in: target, by: caller).zones
    }

    @discardableResult
    package func deleteZone(_ names: String...) async throws -> [ZoneResult] {
        let operations = names.map { ZoneOperation(.delete, zoneID($0)) }
        return try await cloud.modifyZones(ZonesModifyRequest(operations: operations), in: target, by: caller).zones
    }

    /// Makes the user's log of keys, unless it is there, and the `SampleScope` of a zone, which has none.
    package func makeScope(in zone: String) async throws {
        let scope = try SampleScope(SampleKeyring(caller.userRecordName ?? "", container: target.container), zone: zone)
        _ = try await cloud.appendKeyStatement(scope.keys.request(), in: target, by: caller)
        _ = try await cloud.modifyScope(scope.request(isNewKey: true), in: target, by: caller)
    }

    /// Returns one page of one zone's feed; throws the error of the zone.
    package func changes(
        _ zone: String, after token: String? = nil, limit: Int? = nil, types: [String]? = nil, keys: [String]? = nil, wantsTokenOnly: Bool = false
    ) async throws -> ChangesZoneResponse.Page {
        let item = ChangesZoneRequest.Item(
            zoneID: zoneID(zone), syncToken: token, resultsLimit: limit, desiredKeys: keys, desiredRecordTypes: types)
        let request = ChangesZoneRequest(zones: [item], extension: RequestExtension(wantsTokenOnly: wantsTokenOnly))
        let response = try await cloud.zoneChanges(request, in: target, by: caller)
        switch response.zones.first {
        case .page(let page)?: return page
        case .failure(_, let error)?: throw error
        case nil: throw ServerError.internalError
        }
    }

    package func query(_ type: String, zone: String = ZoneID.defaultZoneName, marker: String? = nil, limit: Int? = nil) async throws
        -> RecordsQueryResponse
    {
        try await cloud.queryRecords(
            RecordsQueryRequest(
                query: Query(recordType: type, filters: [QueryFilter(.greaterThanOrEquals, fieldName: "text", value: .string(""))]),
                zoneID: zoneID(zone), resultsLimit: limit, continuationMarker: marker), in: target, by: caller)
    }

    package func databaseChanges(after token: String? = nil, limit: Int? = nil) async throws -> ChangesDatabaseResponse {
        try await cloud.databaseChanges(
            ChangesDatabaseRequest(syncToken: token, resultsLimit: limit), in: cloud.database(target, for: .changes, by: caller))
    }
}

extension RecordOperation {
    /// Makes an operation with the fields and the tag that a test names.
    package static func make(
        _ type: NacreCloudWire.OperationType, _ name: String?, type recordType: String? = "Note", tag: String? = nil, _ fields: RecordFields = [:],
        cleared: [String] = [], parent: RecordChange.ParentChange = .keep
    ) -> RecordOperation {
        RecordOperation(
            type,
            RecordChange(recordName: name, recordType: recordType, recordChangeTag: tag, set: fields, cleared: cleared, parent: parent))
    }

    package static func create(_ name: String?, _ fields: RecordFields = [:], parent: String? = nil) -> RecordOperation {
        make(.create, name, fields, parent: parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .keep)
    }

    package static func update(_ name: String, _ fields: RecordFields = [:]) -> RecordOperation {
        make(.forceUpdate, name, fields)
    }

    package static func delete(_ name: String) -> RecordOperation {
        make(.forceDelete, name, type: nil)
    }
}

extension RecordResult {
    package var record: Record? {
        if case .record(let record) = self { record } else { nil }
    }

    package var error: ServerError? {
        if case .failure(_, let error) = self { error } else { nil }
    }

    package var tombstone: Tombstone? {
        if case .deleted(let tombstone) = self { tombstone } else { nil }
    }

    package var recordName: String? {
        switch self {
        case .record(let record): record.recordName
        case .deleted(let tombstone): tombstone.recordName
        case .failure(let name, _): name
        }
    }
}

extension ZoneResult {
    package var zone: Zone? {
        if case .zone(let zone) = self { zone } else { nil }
    }

    package var error: ServerError? {
        if case .failure(_, let error) = self { error } else { nil }
    }
}
