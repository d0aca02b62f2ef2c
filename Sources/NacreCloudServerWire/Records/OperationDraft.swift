import NacreCloudWire

/// The member `record` of an operation, collected in any order. Keys that only answers need are ignored, since
/// clients send records back as they got them.
private struct ChangeDraft {
    var recordName: String?
    var recordType: String?
    var recordChangeTag: String?
    var zoneID: ZoneID?
    var parent: Reference?
    var wantsShortGUID = false
    var fields = FieldsDraft()
    var sharing = ShareChange()
    var details = ChangeExtension()

    init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "recordType": recordType = try reader.optionalString()
            case "recordChangeTag": recordChangeTag = try reader.optionalString()
            case "fields": fields = try FieldsDraft(from: &reader)
            case "parent": parent = try reader.optionalLink()
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "createShortGUID": wantsShortGUID = try reader.optionalBoolean() ?? false
            case "publicPermission": sharing.publicPermission = try reader.takeNull() ? nil : try reader.name(of: SharePermission.self)
            case "participants":
                sharing.participants =
                    try reader.takeNull()
                    ? nil : try reader.array { reader throws(JSONError) in try ShareParticipant(from: &reader) }
            case "forRecord": sharing.forRecord = try reader.optionalLink()?.recordName
            case "nacre": details = try ChangeExtension(from: &reader)
            default: try reader.skip()
            }
        }
        sharing.allowsAccessRequests = details.allowsAccessRequests
        sharing.requesters = details.requesters
        sharing.blockedIdentities = details.blockedIdentities
    }

    var change: RecordChange {
        let (set, cleared) = fields.change
        let parent: RecordChange.ParentChange =
            if details.clearsParent { .clear } else if let parent = self.parent { .set(parent) } else { .keep }
        return RecordChange(
            recordName: recordName, recordType: recordType, recordChangeTag: recordChangeTag, set: set, cleared: cleared,
            untyped: fields.untyped(of: set), parent: parent, carriesAllKeys: details.carriesAllKeys, wantsShortGUID: wantsShortGUID,
            manifest: details.manifest.map { RecordChange.Manifest(bytes: $0, base: details.base) }, sharing: sharing.isEmpty ? nil : sharing)
    }
}

/// Our additions to a record of a request: the object `nacre` inside it; see `docs/wire.md`.
private struct ChangeExtension {
    var clearsParent = false
    var carriesAllKeys = false
    var manifest: [UInt8]?
    var base: [UInt8]?
    // Members of a share, as `ShareChange` has them.
    var allowsAccessRequests: Bool?
    var requesters: [ParticipantIdentity]?
    var blockedIdentities: [ParticipantIdentity]?

    init() {}

    init(from reader: inout JSONReader) throws(JSONError) {
        if try reader.takeNull() { return }
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "clearsParent": clearsParent = try reader.optionalBoolean() ?? false
            case "allKeys": carriesAllKeys = try reader.optionalBoolean() ?? false
            case "manifest": manifest = try reader.optionalBase64()
            case "base": base = try reader.optionalBase64()
            case "allowsAccessRequests": allowsAccessRequests = try reader.optionalBoolean()
            case "requesters": requesters = try reader.optionalIdentities()
            case "blockedIdentities": blockedIdentities = try reader.optionalIdentities()
            default: try reader.skip()
            }
        }
    }
}

/// An entry of `operations`, and the zone that its record names.
struct OperationDraft {
    let operation: Result<RecordOperation, OperationFault>
    let recordName: String?
    let zoneID: ZoneID?

    init(from reader: inout JSONReader) throws(JSONError) {
        var type: OperationType?
        var record: ChangeDraft?
        var desiredKeys: [String]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": type = try reader.takeNull() ? nil : try reader.name(of: OperationType.self)
            case "record": record = try reader.takeNull() ? nil : try ChangeDraft(from: &reader)
            case "desiredKeys": desiredKeys = try reader.optionalNames()
            default: try reader.skip()
            }
        }
        let operationType = try reader.require(type, "operationType", at: start)
        let draft = try reader.require(record, "record", at: start)
        recordName = draft.recordName
        zoneID = draft.zoneID
        if let fault = draft.fields.fault {
            operation = .failure(OperationFault(recordName: draft.recordName, error: fault))
        } else {
            operation = .success(RecordOperation(operationType, draft.change, desiredKeys: desiredKeys))
        }
    }

    /// Returns the operation, or its fault where its record names another zone than the request.
    func operation(in requestZone: ZoneID) -> Result<RecordOperation, OperationFault> {
        guard let zoneID, !zoneID.mayBe(requestZone) else { return operation }
        let error = ServerError(
            .badRequest, "the record's zone is not the request's", field: "zoneID", remedy: "send one request for each zone")
        return .failure(OperationFault(recordName: recordName, error: error))
    }
}
