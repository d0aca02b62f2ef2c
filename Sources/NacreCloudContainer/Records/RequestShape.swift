import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire

/// Checks of a request before anything is looked up.
enum RequestShape {
    package static func fault(of request: RecordsModifyRequest, by caller: Caller) -> ServerError? {
        if let fault = fault(count: request.operations.count, field: "operations", by: caller) ?? fault(of: request.extension) { return fault }
        let readable = request.operations.compactMap { try? $0.get() }
        let names = request.operations.compactMap { operation in
            switch operation {
            case .success(let operation): operation.change.recordName
            case .failure(let fault): fault.recordName
            }
        }
        guard Set(names).count == names.count else { return .repeatedItem(field: "operations") }
        let assets = readable.reduce(0) { $0 + $1.change.set.entries.reduce(0) { $0 + $1.value.assets.count } }
        if assets > Limits.assetsPerRequest { return .tooManyAssets("operations") }
        let bytes = readable.reduce(0) { $0 + $1.change.set.byteCount }
        return caller.client == .framework && bytes > Limits.nativeRequestBytes ? .requestTooLarge : nil
    }

    /// Returns the error of a list with too many items. On this server: a request with an empty list asks for nothing,
    /// and is answered by an empty list.
    package static func fault(count: Int, field: String, by caller: Caller) -> ServerError? {
        count > caller.itemsPerRequest ? .tooManyItems(count, limit: caller.itemsPerRequest, field: field) : nil
    }

    /// Returns the error of repeated names. On this server: a request names a thing once, and a short request has no
    /// long answer. See `docs/decisions/records-answers.md`.
    package static func fault(ofNames names: [String], field: String) -> ServerError? {
        Set(names).count == names.count ? nil : .repeatedName(field: field)
    }

    /// Returns the error of repeated zones, however their owner is spelled.
    package static func fault(ofZones zones: [ZoneID], field: String, in database: DatabaseKey, by caller: Caller) -> ServerError? {
        struct Zone: Hashable {
            var name: String
            /// The owner's user record name; nil: the owner of the database.
            var owner: String?
        }
        let named = zones.map { Zone(name: $0.zoneName, owner: ownerVerdict($0, in: database, by: caller) == nil ? nil : $0.ownerRecordName) }
        return Set(named).count == named.count ? nil : .repeatedName(field: field)
    }

    package static func fault(of request: RequestExtension) -> ServerError? {
        if let id = request.operationID, id.isEmpty || id.utf8.count > Limits.operationIDCharacters {
            return .badValue(
                "nacre.operationID", "invalid operation ID",
                remedy: "Operation IDs have 1 to \(Limits.operationIDCharacters) characters; a UUID is good.")
        }
        if let token = request.clientChangeToken, token.count > Limits.clientChangeTokenBytes {
            return .badValue(
                "nacre.clientChangeToken", "client change token is too large", remedy: "It may take \(Limits.clientChangeTokenBytes) bytes.")
        }
        return nil
    }

    package static func fault(of operation: RecordOperation, in zoneID: ZoneID, of database: DatabaseKey, by caller: Caller) -> ServerError? {
        if let name = operation.change.recordName {
            if let fault = Names.recordNameFault(name, field: "recordName", mayBeUser: zoneID.isDefault) { return fault }
        } else if operation.type.isDelete || operation.type == .update || operation.type == .replace {
            return .missing("recordName")
        }
        if operation.type == .create, operation.change.recordType == nil { return .missing("recordType") }
        return fault(ofNumbersIn: operation.change.set) ?? fault(ofReferencesIn: operation.change, in: zoneID, of: database, by: caller)
    }

    /// Returns the error of a number that is not finite. On this server: JSON has no NaN and no infinities, an index
    /// has no position for NaN, and an app that saves one has a bug.
    private static func fault(ofNumbersIn fields: RecordFields) -> ServerError? {
        let place = fields.entries.indices.first { !fields.entries[$0].value.hasFiniteNumbers }
        return place.map {
            .badValue(fields.entries[$0].name, "numbers must be finite", remedy: "Leave the field out where there is no number to give.")
        }
    }

    /// Returns the error of a wrong reference. CloudKit: a reference stays inside its zone, and a parent's action is
    /// none.
    private static func fault(
        ofReferencesIn change: RecordChange, in zoneID: ZoneID, of database: DatabaseKey, by caller: Caller
    ) -> ServerError? {
        func fault(ofZone target: ZoneID?, field: String) -> ServerError? {
            guard let target, target.zoneName != zoneID.zoneName || ownerVerdict(target, in: database, by: caller) != nil else { return nil }
            return .badValue(field, "references across zones are not allowed", remedy: "Refer to records of the same zone.")
        }
        if case .set(let parent) = change.parent {
            if parent.action != .none {
                return .badValue("parent", "parent reference must have action NONE", remedy: "Make the parent reference with action NONE.")
            }
            if let fault = Names.recordNameFault(parent.recordName, field: "parent", mayBeUser: zoneID.isDefault)
                ?? fault(ofZone: parent.zoneID, field: "parent")
            {
                return fault
            }
        }
        let fields = change.set.entries
        for index in fields.indices {
            let references: [Reference]
            switch fields[index].value {
            case .reference(let reference): references = [reference]
            case .referenceList(let list): references = list
            default: continue
            }
            for reference in references {
                if let fault = fault(ofZone: reference.zoneID, field: fields[index].name) { return fault }
                if reference.action != .none,
                    let fault = Names.recordNameFault(reference.recordName, field: fields[index].name, mayBeUser: zoneID.isDefault)
                {
                    return fault
                }
            }
        }
        return nil
    }
}
