import NacreCloudWire

/// Schemas of the requests and answers of CloudKit Web Services, named as in docs/wire.md.
extension CloudKitSchemas {
    private static let names = Schema.list(.string)

    // MARK: Records

    static let recordsModifyRequest = Schema.titled(
        "RecordsModifyRequest",
        .request([
            "operations": .list(
                .request(["operationType": .words(of: OperationType.self), "record": recordAsked, "desiredKeys?": names])),
            "zoneID?": zoneIDAsked, "atomic?": .boolean, "desiredKeys?": names, "numbersAsStrings?": .boolean, "numberAsStrings?": .boolean,
            "nacre?": requestDetails,
        ]))
    static let recordsLookupRequest = Schema.titled(
        "RecordsLookupRequest",
        .request([
            "records": .listOrOne(.request(["recordName": .string, "desiredKeys?": names, "zoneID?": zoneIDAsked])), "zoneID?": zoneIDAsked,
            "desiredKeys?": names, "numbersAsStrings?": .boolean, "numberAsStrings?": .boolean, "nacre?": requestDetails,
        ]))
    static let recordsResponse = Schema.titled("RecordsResponse", .answer(["records": .list(recordResult), "syncToken?": .base64]))

    // MARK: Assets

    private static let announcedFile = Schema.titled(
        "AnnouncedFile", .request(["chunks": .list(.request(["size": .integer, "sha256": .string]))]))
    static let assetsUploadRequest = Schema.titled(
        "AssetsUploadRequest",
        .request([
            "tokens": .listOrOne(
                .request(["recordName?": .string, "recordType": .string, "fieldName": .string, "nacre?": announcedFile])),
            "zoneID?": zoneIDAsked, "nacre?": requestDetails,
        ]))
    static let assetsUploadResponse = Schema.titled(
        "AssetsUploadResponse",
        .answer([
            "tokens": .list(
                .answer([
                    "recordName": .string, "fieldName": .string, "url": .string,
                    "nacre?": .answer(["missing": .list(.integer), "offset": .integer]),
                ]))
        ]))
    static let assetUploadResponse = Schema.titled("AssetUploadResponse", .answer(["singleFile": asset]))
    static let assetsRereferenceRequest = Schema.titled(
        "AssetsRereferenceRequest",
        .request([
            "assets": .listOrOne(.request(["recordName": .string, "fieldName": .string])), "zoneID?": zoneIDAsked, "nacre?": requestDetails,
        ]))
    static let assetsRereferenceResponse = Schema.titled("AssetsRereferenceResponse", .answer(["assets": .list(asset)]))

    // MARK: Queries

    private static let systemField = Schema.word(SystemField.allCases.map(\.webName))
    private static let filter = Schema.titled(
        "Filter",
        .request([
            "fieldName?": .string, "systemFieldName?": systemField,
            "comparator": .word(QueryComparator.allCases.map(\.rawValue) + ["LIST_NOT_CONTAINS", "LIST_NOT_CONTAINS_ANY"]),
            "fieldValue": valueAsked, "distance?": .number,
        ]))
    private static let sort = Schema.titled(
        "Sort",
        .request([
            "fieldName?": .string, "systemFieldName?": systemField, "ascending?": .boolean,
            "relativeLocation?": .either([valueAsked, locationAsked]),
        ]))
    private static let query = Schema.titled(
        "Query", .request(["recordType": .string, "filterBy?": .listOrOne(filter), "sortBy?": .listOrOne(sort)]))
    static let recordsQueryRequest = Schema.titled(
        "RecordsQueryRequest",
        .request([
            "query": query, "zoneID?": zoneIDAsked, "zoneWide?": .boolean, "resultsLimit?": .integer, "continuationMarker?": .string,
            "desiredKeys?": names, "numbersAsStrings?": .boolean, "numberAsStrings?": .boolean, "nacre?": requestDetails,
        ]))
    static let recordsQueryResponse = Schema.titled(
        "RecordsQueryResponse",
        .answer(["records": .list(.either([record, recordError])), "continuationMarker?": .base64, "syncToken?": .base64]))

    // MARK: Zones

    private static let zone = Schema.titled(
        "Zone",
        .answer([
            "zoneID": zoneID, "syncToken?": .base64, "atomic": .boolean, "nacre?": .answer(["zoneWideShare": .constant(true)]),
        ]))
    private static let deletedZone = Schema.titled("DeletedZone", .answer(["zoneID": zoneID, "deleted": .constant(true)]))
    private static let zoneError = Schema.titled("ZoneError", .answer(["zoneID": zoneID], errorMembers))
    private static let zoneResult = Schema.either([zone, deletedZone, zoneError])
    static let zonesResponse = Schema.titled("ZonesResponse", .answer(["zones": .list(zoneResult)]))
    static let zonesListRequest = Schema.titled("ZonesListRequest", .request(["nacre?": requestDetails]))
    static let zonesLookupRequest = Schema.titled(
        "ZonesLookupRequest",
        .request(["zones": .list(.either([zoneIDAsked, .request(["zoneID": zoneIDAsked])])), "nacre?": requestDetails]))
    static let zonesModifyRequest = Schema.titled(
        "ZonesModifyRequest",
        .request([
            "operations": .list(
                .request(["operationType": .words(of: ZoneOperation.OperationType.self), "zone": .request(["zoneID": zoneIDAsked])])),
            "nacre?": requestDetails,
        ]))

    // MARK: Changes

    static let recordsChangesRequest = Schema.titled(
        "RecordsChangesRequest",
        .request([
            "zoneID": zoneIDAsked, "syncToken?": .string, "resultsLimit?": .integer, "desiredKeys?": names, "desiredRecordTypes?": names,
            "reverse?": .boolean, "numbersAsStrings?": .boolean, "numberAsStrings?": .boolean, "nacre?": requestDetails,
        ]))
    static let changesZoneRequest = Schema.titled(
        "ChangesZoneRequest",
        .request([
            "zones": .list(
                .request([
                    "zoneID": zoneIDAsked, "syncToken?": .string, "resultsLimit?": .integer, "desiredKeys?": names, "desiredRecordTypes?": names,
                    "reverse?": .boolean, "numbersAsStrings?": .boolean, "numberAsStrings?": .boolean,
                ])),
            "resultsLimit?": .integer, "desiredKeys?": names, "desiredRecordTypes?": names, "reverse?": .boolean, "numbersAsStrings?": .boolean,
            "numberAsStrings?": .boolean, "nacre?": requestDetails,
        ]))
    static let zonesChangesRequest = Schema.titled(
        "ZonesChangesRequest", .request(["metaSyncToken?": .string, "resultsLimit?": .integer, "nacre?": requestDetails]))
    static let changesDatabaseRequest = Schema.titled(
        "ChangesDatabaseRequest", .request(["syncToken?": .string, "resultsLimit?": .integer, "nacre?": requestDetails]))

    static let recordsChangesResponse = Schema.titled(
        "RecordsChangesResponse",
        .answer(["records": .list(recordResult), "syncToken": .base64, "moreComing": .boolean, "reverse": .boolean]))
    static let changesZoneResponse = Schema.titled(
        "ChangesZoneResponse",
        .answer([
            "zones": .list(
                .either([
                    .answer([
                        "zoneID": zoneID, "records": .list(recordResult), "syncToken": .base64, "moreComing": .boolean,
                        "nacre?": .answer(["midCommit?": .constant(true), "clientChangeToken?": .base64]),
                    ]),
                    zoneError,
                ]))
        ]))
    static let zonesChangesResponse = Schema.titled(
        "ZonesChangesResponse", .answer(["zones": .list(zoneResult), "metaSyncToken": .base64, "moreComing": .boolean]))
    static let changesDatabaseResponse = Schema.titled(
        "ChangesDatabaseResponse",
        .answer([
            "zones": .list(
                .answer([
                    "zoneID": zoneID, "deleted?": .constant(true), "nacre?": .answer(["reason": .words(of: ZoneDeletionReason.self)]),
                ])),
            "syncToken": .base64, "moreComing": .boolean,
        ]))

    // MARK: Subscriptions

    private static let firesOn = Schema.list(.word(["create", "update", "delete"]))
    private static let subscriptionTypes = ["query", "zone"]
    private static let notificationInfo = Schema.titled(
        "NotificationInfo", .answer([:], notificationMembers))
    private static let notificationInfoAsked = Schema.titled(
        "NotificationInfoAsked",
        .object(
            notificationMembers.map {
                Schema.Member(name: $0.name, schema: .either([$0.schema, .null]), isRequired: false)
            }, isClosed: false))
    private static let notificationTexts = [
        "alertBody", "alertLocalizationKey", "title", "titleLocalizationKey", "subtitle", "subtitleLocalizationKey", "alertActionLocalizationKey",
        "alertLaunchImage", "soundName", "category", "collapseIDKey",
    ]
    private static let notificationMembers =
        notificationTexts.map { Schema.Member(name: $0, schema: .string, isRequired: false) } + notificationRest
    private static let notificationRest = Schema.members([
        "alertLocalizationArgs?": names, "titleLocalizationArgs?": names, "subtitleLocalizationArgs?": names, "shouldBadge?": .boolean,
        "shouldSendContentAvailable?": .boolean, "shouldSendMutableContent?": .boolean, "additionalFields?": names,
    ])
    private static let answeredFilter = Schema.titled(
        "AnsweredFilter",
        .answer(["fieldName?": .string, "comparator": .words(of: QueryComparator.self), "fieldValue": value, "distance?": .number]))
    private static let answeredSort = Schema.titled(
        "AnsweredSort", .answer(["fieldName": .string, "ascending?": .boolean, "relativeLocation?": value]))
    private static let subscription = Schema.titled(
        "Subscription",
        .answer([
            "subscriptionID": .string, "subscriptionType": .word(subscriptionTypes),
            "query?": .answer(["recordType": .string, "filterBy?": .list(answeredFilter), "sortBy?": .list(answeredSort)]), "zoneID?": zoneID,
            "zoneWide?": .boolean, "recordType?": .string, "firesOn?": firesOn, "firesOnce?": .boolean, "notificationInfo?": notificationInfo,
        ]))
    private static let deletedSubscription = Schema.titled(
        "DeletedSubscription", .answer(["subscriptionID": .string, "deleted": .constant(true)]))
    private static let subscriptionError = Schema.titled("SubscriptionError", .answer(["subscriptionID": .string], errorMembers))
    static let subscriptionsResponse = Schema.titled(
        "SubscriptionsResponse", .answer(["subscriptions": .list(.either([subscription, deletedSubscription, subscriptionError]))]))
    static let subscriptionsLookupRequest = Schema.titled(
        "SubscriptionsLookupRequest",
        .request(["subscriptions": .listOrOne(.request(["subscriptionID": .string])), "nacre?": requestDetails]))
    private static let subscriptionAsked = Schema.titled(
        "SubscriptionAsked",
        .request([
            "subscriptionID": .string, "subscriptionType?": .word(subscriptionTypes + ["database"]), "query?": query, "zoneID?": zoneIDAsked,
            "zoneWide?": .boolean, "recordType?": .string, "firesOn?": firesOn, "firesOnce?": .boolean, "notificationInfo?": notificationInfoAsked,
        ]))
    static let subscriptionsModifyRequest = Schema.titled(
        "SubscriptionsModifyRequest",
        .request([
            "operations": .list(.request(["operationType": .word(["create", "update", "delete"]), "subscription": subscriptionAsked])),
            "nacre?": requestDetails,
        ]))

    // MARK: Keys

    private static let forms = Schema.list(.base64)
    static let keysAppendRequest = Schema.titled(
        "KeysAppendRequest", .request(["statement": .base64, "wraps?": forms, "olderKey?": .base64, "nacre?": requestDetails]))
    static let keysAppendResponse = Schema.titled("KeysAppendResponse", .answer(["place": .integer]))
    static let keysLogRequest = Schema.titled(
        "KeysLogRequest", .request(["user?": .string, "after?": .integer, "treeSize?": .integer, "nacre?": requestDetails]))
    static let keysLogResponse = Schema.titled(
        "KeysLogResponse",
        .answer([
            "statements": forms, "wraps?": forms, "olderKeys?": forms, "moreComing": .boolean,
            "tree": .answer([
                "head": .base64, "serverKey": .base64, "index?": .integer, "inclusion?": forms, "consistency?": forms,
            ]),
        ]))
    static let keysScopesModifyRequest = Schema.titled(
        "KeysScopesModifyRequest",
        .request([
            "zoneID": zoneIDAsked, "manifest": .base64, "wraps?": forms, "olderKey?": .base64, "share?": .string,
            "links?": .list(.request(["participantID?": .string, "key": .base64, "secret": .base64])), "nacre?": requestDetails,
        ]))
    static let keysScopesJoinRequest = Schema.titled(
        "KeysScopesJoinRequest",
        .request(["zoneID": zoneIDAsked, "wrap": .base64, "joining": .base64, "nacre?": requestDetails]))
    static let keysScopesListRequest = Schema.titled(
        "KeysScopesListRequest",
        .request(["zoneID": zoneIDAsked, "before?": .integer, "share?": .string, "scope?": .base64, "nacre?": requestDetails]))
    static let keysScopesListResponse = Schema.titled(
        "KeysScopesListResponse",
        .answer([
            "manifests": forms, "wraps?": forms, "olderKeys?": forms, "moreComing": .boolean, "joinings?": forms,
            "links?": .list(.answer(["participantID?": .string, "key": .base64, "secret?": .base64])),
        ]))

    static let keysEnrolmentPostRequest = Schema.titled(
        "KeysEnrolmentPostRequest", .request(["message": .base64, "nacre?": requestDetails]))
    static let keysEnrolmentListRequest = Schema.titled("KeysEnrolmentListRequest", .request(["nacre?": requestDetails]))
    static let keysEnrolmentListResponse = Schema.titled(
        "KeysEnrolmentListResponse",
        .answer(["conversations": .list(.answer(["commitment": .base64, "answer?": .base64, "opening?": .base64]))]))

    // MARK: Push tokens

    private static let apnsEnvironment = Schema.words(of: APNsEnvironment.self)
    static let tokensCreateRequest = Schema.titled(
        "TokensCreateRequest", .request(["apnsEnvironment": apnsEnvironment, "clientId?": .string, "nacre?": requestDetails]))
    static let tokensCreateResponse = Schema.titled(
        "TokensCreateResponse", .answer(["apnsEnvironment": apnsEnvironment, "apnsToken": .string, "webcourierURL": .string]))
    static let tokensRegisterRequest = Schema.titled(
        "TokensRegisterRequest",
        .request(["apnsEnvironment": apnsEnvironment, "apnsToken": .string, "clientId?": .string, "nacre?": requestDetails]))

    static let webPushRegisterRequest = Schema.titled(
        "WebPushRegisterRequest",
        .request([
            "subscription": .either([
                .request(["endpoint": .string, "keys": .request(["p256dh": .string, "auth": .string])]), .null,
            ]), "clientId?": .string, "nacre?": requestDetails,
        ]))
    static let deviceNoteRequest = Schema.titled(
        "DeviceNoteRequest", .request(["heard?": .integer, "badge?": .integer, "clientId?": .string, "nacre?": requestDetails]))
    static let webPushKeyResponse = Schema.titled("WebPushKeyResponse", .answer(["applicationServerKey": .string]))

    private static let webhookChange = Schema.answer([
        "reason": .word(["created", "updated", "deleted"]), "recordName": .string, "recordType": .string, "recordChangeTag?": .string,
        "fields?": .map(.any),
    ])
    static let webhookDelivery = Schema.titled(
        "WebhookDelivery",
        .answer([
            "webhook": .string, "container": .string, "environment": .word(["development", "production"]), "database": .word(["public", "private"]),
            "zoneID": zoneID, "zoneInstance": .string, "cursor": .string, "reset?": .boolean, "lost?": .integer,
            "zoneDeleted?": .words(of: ZoneDeletionReason.self), "test?": .boolean, "moreComing": .boolean, "changes": .list(webhookChange),
        ]))

    // MARK: Users

    private static let nameComponents = Schema.answer(["givenName?": .string, "familyName?": .string])
    private static let lookupInfo = Schema.either([
        .answer(["emailAddress": .string]), .answer(["phoneNumber": .string]), .answer(["userRecordName": .string]),
        .answer(["nacre": .answer(["contactHash": .string])]),
    ])
    private static let identityMembers = Schema.members([
        "userRecordName": .string, "nameComponents?": nameComponents, "lookupInfo?": lookupInfo,
    ])
    static let userIdentity = Schema.titled("UserIdentity", .answer([:], identityMembers))
    static let userDictionary = Schema.titled(
        "UserDictionary", .answer(["firstName?": .string, "lastName?": .string, "emailAddress?": .string], identityMembers))
    static let usersDiscoverRequest = Schema.titled(
        "UsersDiscoverRequest",
        .request([
            "lookupInfos": .listOrOne(
                .request([
                    "emailAddress?": .string, "phoneNumber?": .string, "userRecordName?": .string, "nacre?": .request(["contactHash?": .string]),
                ])),
            "nacre?": requestDetails,
        ]))
    static let usersDiscoverResponse = Schema.titled("UsersDiscoverResponse", .answer(["users": .list(userIdentity)]))
    static let usersLookupRequest = Schema.titled(
        "UsersLookupRequest",
        .request(["users": .listOrOne(.request(["emailAddress?": .string, "userRecordName?": .string])), "nacre?": requestDetails]))
    static let usersLookupResponse = Schema.titled("UsersLookupResponse", .answer(["users": .list(userDictionary)]))
    static let usersPermissionRequest = Schema.titled(
        "UsersPermissionRequest", .request(["userDiscoverability": .words(of: Discoverability.self), "nacre?": requestDetails]))
    static let usersPermissionResponse = Schema.titled(
        "UsersPermissionResponse", .answer(["userDiscoverability": .words(of: Discoverability.self)]))
    static let webAuthTokenRequest = Schema.titled("WebAuthTokenRequest", .request(["apiToken": .string, "nacre?": requestDetails]))
    static let webAuthTokenResponse = Schema.titled("WebAuthTokenResponse", .answer(["webAuthToken": .string]))
    static let usersContactKeyResponse = Schema.titled("UsersContactKeyResponse", .answer(["contactKey": .base64]))
}
