import NacreCloudContainer
import NacreCloudWire

/// Schemas of shares, beyond those of all records, and of the endpoints that name shares by their URLs.
extension CloudKitSchemas {
    private static let lookupInfo = Schema.either([
        .answer(["emailAddress": .string]), .answer(["phoneNumber": .string]), .answer(["userRecordName": .string]),
    ])
    private static let identity = Schema.titled(
        "ParticipantIdentity",
        .answer([
            "userRecordName?": .string, "nameComponents?": .answer(["givenName?": .string, "familyName?": .string]), "lookupInfo?": lookupInfo,
        ]))
    private static let permission = Schema.word([SharePermission.none, .readOnly, .readWrite].map(\.rawValue))
    private static let role = Schema.word(ParticipantRole.allCases.filter { $0 != .unknown }.map(\.rawValue))
    private static let acceptance = Schema.word([ParticipantAcceptance.invited, .accepted].map(\.rawValue))
    private static let participant = Schema.titled(
        "Participant",
        .answer([
            "participantId": .string, "userIdentity": identity, "type": role, "permission": permission, "acceptanceStatus": acceptance,
            "isApprovedRequester?": .constant(true),
            "nacre?": .answer(["oneTime?": .boolean, "oneTimeSecret?": .string, "added?": .number]),
        ]))
    /// Members of `nacre` in a record's answer, for a share.
    static let shareExtension = Schema.members([
        "allowsAccessRequests?": .constant(true), "requesters?": .list(identity), "blockedIdentities?": .list(identity),
    ])
    /// Members of a record's answer, for a share.
    static let shareMembers = Schema.members([
        "shortGUID?": .string, "publicPermission?": permission, "participants?": .list(participant), "owner?": participant,
        "currentUserParticipant?": participant,
    ])

    private static let identityAsked = Schema.request([
        "userRecordName?": .string, "lookupInfo?": .request(["emailAddress?": .string, "phoneNumber?": .string, "userRecordName?": .string]),
    ])
    private static let participantAsked = Schema.titled(
        "ParticipantAsked",
        .request([
            "participantId?": .string, "userIdentity?": identityAsked,
            "type?": .words(of: ParticipantRole.self), "permission?": .words(of: SharePermission.self),
            "acceptanceStatus?": .word(ParticipantAcceptance.allCases.map(\.rawValue) + ["PENDING"]), "nacre?": .request(["oneTime?": .boolean]),
        ]))
    /// Members of `nacre` in a record of `records/modify`, for a share.
    static let shareExtensionAsked = Schema.members([
        "allowsAccessRequests?": .boolean, "requesters?": .list(identityAsked), "blockedIdentities?": .list(identityAsked),
    ])
    /// Members of a record of `records/modify`, for a share.
    static let shareMembersAsked = Schema.members([
        "publicPermission?": .words(of: SharePermission.self), "participants?": .list(participantAsked),
        "forRecord?": .request(["recordName": .string, "recordChangeTag?": .string]),
    ])

    static let sharesRequest = Schema.titled(
        "SharesRequest",
        .request([
            "shortGUIDs": .listOrOne(
                .request(["value": .string, "shouldFetchRootRecord?": .boolean, "rootRecordDesiredKeys?": .list(.string)])),
            "nacre?": requestDetails,
        ]))
    private static let guid = Schema.answer(["value": .string])
    private static let metadata = Schema.titled(
        "ShareMetadata",
        .answer([
            "shortGUID": guid, "containerIdentifier": .string, "databaseScope": .word(["PRIVATE", "SHARED"]), "environment": .string,
            "zoneID": zoneID, "share": record, "ownerIdentity": userIdentity, "participantPermission": permission,
            "participantStatus": acceptance, "participantType": role, "rootRecordName?": .string, "rootRecord?": record,
            "webpageURL?": .string,
            "potentialMatchList?": .list(.answer(["participantId": .string, "contactInformation": lookupInfo])),
        ]))
    private static let shareError = Schema.titled("ShareError", .answer(["shortGUID": guid], errorMembers))
    static let sharesResponse = Schema.titled("SharesResponse", .answer(["results": .list(.either([metadata, shareError]))]))
    static let accessRequestsResponse = Schema.titled(
        "AccessRequestsResponse", .answer(["results": .list(.either([.answer(["shortGUID": guid]), shareError]))]))
    static let sharePageRequest = Schema.titled(
        "SharePageRequest",
        .request([
            "zoneID": zoneIDAsked, "recordName?": .string, "shareTitle?": .string, "shareType?": .string,
            "supportedAccess?": .list(.word(ShareOffer.Access.allCases.map(\.rawValue))),
            "supportedPermissions?": .list(.word([SharePermission.readOnly, .readWrite].map(\.rawValue))), "nacre?": requestDetails,
        ]))
    static let sharePageResponse = Schema.titled("SharePageResponse", .answer(["url": .string]))
}
