import NacreCloudWire

/// Schemas of dictionaries that requests and answers of CloudKit Web Services share, as `NacreCloudWire` and
/// `NacreCloudServerWire` read and write them.
enum CloudKitSchemas {
    // MARK: Zones

    static let zoneIDAsked = Schema.titled(
        "ZoneIDAsked", .request(["zoneName": .string, "ownerRecordName?": .string, "ownerName?": .string]))
    static let zoneID = Schema.titled(
        "ZoneID",
        .answer(["zoneName": .string, "ownerRecordName": .string, "zoneType": .word(["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"])]))

    // MARK: Errors

    /// Members of an error, after those that name the item.
    static let errorMembers = Schema.members([
        "serverErrorCode": .words(of: ServerErrorCode.self), "reason": .string, "retryAfter?": .integer, "redirectURL?": .string,
        "nacre?": errorDetails,
    ])
    private static let errorDetails = Schema.titled(
        "ErrorDetails",
        .answer(["code": .integer, "internalCode?": .integer, "field?": .string, "remedy?": .string, "serverRecord?": record]))

    // MARK: Values

    /// A field's value in an answer, by type. Numbers are strings if the request has `numbersAsStrings`; doubles that
    /// JSON cannot write always are.
    static let value = Schema.titled("FieldValue", .either(values(isAnswer: true)))
    /// A field's value in a request. Its type may be inferred from the value; a missing value clears the field.
    static let valueAsked = Schema.titled(
        "FieldValueAsked",
        .either(
            values(isAnswer: false) + [
                .request(["value?": .any, "isEncrypted?": .boolean, "nacre?": .request(["seconds?": .any, "keyID?": .string])]), .null,
            ]))

    private static func values(isAnswer: Bool) -> [Schema] {
        let plain = FieldType.allCases.map { type -> Schema in
            let (value, name) = (bare(type, isAnswer: isAnswer), Schema.word([type.rawValue]))
            return isAnswer
                ? .answer(["value": value, "type": name, "nacre?": .answer(["seconds": .either([.number, .list(.either([.number, .null]))])])])
                : .request(["value?": value, "type": name])
        }
        guard isAnswer else { return plain }
        return plain + [
            .answer([
                "value": .base64, "type": .words(of: FieldType.self), "isEncrypted": .constant(true), "nacre?": .answer(["keyID?": .string]),
            ])
        ]
    }

    private static func bare(_ type: FieldType, isAnswer: Bool) -> Schema {
        switch type {
        case .string: .string
        case .int64, .timestamp: .either([.integer, .string])
        case .double: .either([.number, .string])
        case .bytes: .base64
        case .location: isAnswer ? location : locationAsked
        case .reference: isAnswer ? reference : referenceAsked
        case .asset: isAnswer ? asset : assetAsked
        case .stringList: .list(.string)
        case .int64List, .timestampList: .list(.either([.integer, .string]))
        case .doubleList: .list(.either([.number, .string]))
        case .bytesList: .list(.base64)
        case .locationList: .list(isAnswer ? location : locationAsked)
        case .referenceList: .list(isAnswer ? reference : referenceAsked)
        case .assetList: .list(isAnswer ? asset : assetAsked)
        case .unknownList: .list(.any)
        }
    }

    private static let component = Schema.either([.number, .string])
    private static let location = Schema.titled(
        "Location",
        .answer([
            "latitude": component, "longitude": component, "horizontalAccuracy?": component, "verticalAccuracy?": component, "altitude?": component,
            "speed?": component, "course?": component, "timestamp?": .integer,
        ]))
    static let locationAsked = Schema.titled(
        "LocationAsked",
        .request([
            "latitude": component, "longitude": component, "horizontalAccuracy?": component, "verticalAccuracy?": component, "altitude?": component,
            "speed?": component, "course?": component, "timestamp?": .either([.integer, .string]),
        ]))
    private static let action = Schema.words(of: Reference.Action.self)
    private static let reference = Schema.titled("Reference", .answer(["recordName": .string, "action": action, "zoneID?": zoneID]))
    private static let referenceAsked = Schema.titled(
        "ReferenceAsked", .request(["recordName": .string, "action?": action, "zoneID?": zoneIDAsked]))
    static let asset = Schema.titled(
        "Asset",
        .answer([
            "fileChecksum": .string, "size": .integer, "referenceChecksum?": .string, "wrappingKey?": .string, "receipt?": .string,
            "downloadURL?": .string,
        ]))
    private static let assetAsked = Schema.titled(
        "AssetAsked",
        .request([
            "fileChecksum": .string, "size": .either([.integer, .string]), "referenceChecksum?": .string, "wrappingKey?": .string,
            "receipt?": .string, "downloadURL?": .string,
        ]))

    // MARK: Records

    private static let stamp = Schema.titled("Stamp", .answer(["timestamp": .integer, "userRecordName": .string, "deviceID?": .string]))
    /// The schema of `parent` and `share`, which have no action.
    private static let link = Schema.titled("Link", .answer(["recordName": .string, "zoneID?": zoneID]))
    static let record = Schema.titled(
        "Record",
        .answer(
            [
                "recordName": .string, "recordType": .string, "fields": .map(value), "pluginFields": .map(.any), "recordChangeTag": .string,
                "created": stamp, "modified": stamp, "deleted": .constant(false), "zoneID?": zoneID, "parent?": link, "share?": link,
                "nacre?": .answer(["created?": .number, "modified?": .number, "manifest?": .base64], shareExtension),
            ], shareMembers))
    static let deletedRecord = Schema.titled(
        "DeletedRecord", .answer(["recordName": .string, "deleted": .constant(true), "nacre?": .answer(["recordType": .string])]))
    static let recordError = Schema.titled("RecordError", .answer(["recordName?": .string, "zoneID?": zoneID], errorMembers))
    /// The result for one record.
    static let recordResult = Schema.either([record, deletedRecord, recordError])

    /// A record of `records/modify`.
    static let recordAsked = Schema.titled(
        "RecordAsked",
        .request(
            [
                "recordName?": .string, "recordType?": .string, "recordChangeTag?": .string, "fields?": .map(valueAsked), "parent?": referenceAsked,
                "zoneID?": zoneIDAsked, "createShortGUID?": .boolean,
                "nacre?": .request(
                    ["clearsParent?": .boolean, "allKeys?": .boolean, "manifest?": .base64, "base?": .base64], shareExtensionAsked),
            ], shareMembersAsked))

    // MARK: Requests

    /// The extension `nacre` of every request; see docs/wire.md.
    static let requestDetails = Schema.titled(
        "RequestDetails",
        .request(["details?": .boolean, "operationID?": .string, "waitSeconds?": .number, "tokenOnly?": .boolean, "clientChangeToken?": .base64]))
}
