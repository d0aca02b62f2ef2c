import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// Descriptions of CloudKit Web Services' endpoints for `/openapi.json`.
extension API {
    static let descriptions: [EndpointDescription] =
        ofRecords + ofZones + ofChanges + ofAssets + ofSubscriptions + ofNotifications + ofWebhooks + ofUsers + ofKeys

    private static let root = "/database/1/:container/:environment/:database/"

    private static func post(
        _ path: String, _ group: String, _ summary: String, _ body: Schema?, _ answer: Schema, example: StaticString? = nil,
        by credentials: [[AskingCredential]] = AskingCredential.user, query: [EndpointDescription.QueryValue] = [], mayConflict: Bool = false
    ) -> EndpointDescription {
        EndpointDescription(
            method: .post, pattern: root + path, summary: summary, group: group, credentials: credentials, query: query, body: body,
            example: example, answers: [.init(status: 200, schema: answer)], errors: errors + (mayConflict ? [409] : []))
    }

    private static func get(
        _ path: String, _ group: String, _ summary: String, _ answer: Schema, by credentials: [[AskingCredential]] = AskingCredential.user
    ) -> EndpointDescription {
        EndpointDescription(
            method: .get, pattern: root + path, summary: summary, group: group, credentials: credentials,
            answers: [.init(status: 200, schema: answer)], errors: errors)
    }

    /// 403: the host is not served. Errors of single records or zones are items of an answer with status 200.
    static let errors = [400, 401, 403, 404, 421, 429]
    private static let currentSyncToken: [EndpointDescription.QueryValue] = [.optional("getCurrentSyncToken", .word(["true", "True", "false"]))]

    private static let ofRecords = [
        post(
            "records/modify", "Records", "Saves and deletes records.", CloudKitSchemas.recordsModifyRequest, CloudKitSchemas.recordsResponse,
            example:
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"hello","recordType":"Note","fields":{"text":{"value":"Hello","type":"STRING"}}}}]}"#,
            by: AskingCredential.user + [[.keyID, .signedDate, .signature]], query: currentSyncToken),
        post(
            "records/lookup", "Records", "Reads records by their names.", CloudKitSchemas.recordsLookupRequest, CloudKitSchemas.recordsResponse,
            example: #"{"records":[{"recordName":"hello"}]}"#, by: AskingCredential.anyone, query: currentSyncToken),
        post(
            "records/query", "Records", "Finds records of a type.", CloudKitSchemas.recordsQueryRequest, CloudKitSchemas.recordsQueryResponse,
            example: #"{"query":{"recordType":"Note"},"resultsLimit":20}"#, by: AskingCredential.anyone, query: currentSyncToken),
        post(
            "records/changes", "Records", "A page of what changed in a zone; changes/zone has replaced it.", CloudKitSchemas.recordsChangesRequest,
            CloudKitSchemas.recordsChangesResponse, example: #"{"zoneID":{"zoneName":"Notes"}}"#),
        post(
            "records/resolve", "Sharing", "What shares are to the caller, by their short GUIDs.", CloudKitSchemas.sharesRequest,
            CloudKitSchemas.sharesResponse, example: #"{"shortGUIDs":[{"value":"0000000000000000000000"}]}"#),
        post(
            "records/accept", "Sharing", "Has the caller take part in shares, by their short GUIDs.", CloudKitSchemas.sharesRequest,
            CloudKitSchemas.sharesResponse, example: #"{"shortGUIDs":[{"value":"0000000000000000000000"}]}"#),
        post(
            "records/request-access", "Sharing", "Asks owners of shares to let the caller take part.", CloudKitSchemas.sharesRequest,
            CloudKitSchemas.accessRequestsResponse, example: #"{"shortGUIDs":[{"value":"0000000000000000000000"}]}"#),
        post(
            "records/share-page", "Sharing", "The URL of a page on which the caller manages a share.", CloudKitSchemas.sharePageRequest,
            CloudKitSchemas.sharePageResponse, example: #"{"zoneID":{"zoneName":"Notes"}}"#),
    ]

    private static let ofZones = [
        get("zones/list", "Zones", "All zones of a database.", CloudKitSchemas.zonesResponse, by: AskingCredential.anyone),
        post(
            "zones/list", "Zones", "All zones of a database.", CloudKitSchemas.zonesListRequest, CloudKitSchemas.zonesResponse, example: "{}",
            by: AskingCredential.anyone),
        post(
            "zones/lookup", "Zones", "Zones by their names.", CloudKitSchemas.zonesLookupRequest, CloudKitSchemas.zonesResponse,
            example: #"{"zones":[{"zoneName":"_defaultZone"}]}"#, by: AskingCredential.anyone),
        post(
            "zones/modify", "Zones", "Makes and deletes zones.", CloudKitSchemas.zonesModifyRequest, CloudKitSchemas.zonesResponse,
            example: #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}]}"#),
        post(
            "zones/changes", "Zones", "Zones that changed; changes/database has replaced it.", CloudKitSchemas.zonesChangesRequest,
            CloudKitSchemas.zonesChangesResponse, example: "{}"),
    ]

    private static let ofChanges = [
        post(
            "changes/database", "Changes", "Zones that changed since a token.", CloudKitSchemas.changesDatabaseRequest,
            CloudKitSchemas.changesDatabaseResponse, example: "{}"),
        post(
            "changes/zone", "Changes", "What changed in zones since their tokens.", CloudKitSchemas.changesZoneRequest,
            CloudKitSchemas.changesZoneResponse, example: #"{"zones":[{"zoneID":{"zoneName":"Notes"}}]}"#),
    ]

    private static let ofAssets = [
        post(
            "assets/upload", "Assets", "Gives places to send files to, for fields of records.", CloudKitSchemas.assetsUploadRequest,
            CloudKitSchemas.assetsUploadResponse, example: #"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#),
        post(
            "assets/rereference", "Assets", "Gives assets of records as other fields may have them.", CloudKitSchemas.assetsRereferenceRequest,
            CloudKitSchemas.assetsRereferenceResponse, example: #"{"assets":[{"recordName":"hello","fieldName":"picture"}]}"#),
        EndpointDescription(
            method: .post, pattern: AssetLinks.uploadPath + ":token",
            summary: "Takes a file, whose bytes are the body or the one part of a form. The URL is that of assets/upload.", group: "Assets",
            answers: [.init(status: 200, schema: CloudKitSchemas.assetUploadResponse)], errors: errors),
        EndpointDescription(
            method: .patch, pattern: AssetLinks.uploadPath + ":token",
            summary: "Takes a part of a file that was announced: its missing chunks, from Upload-Offset on.", group: "Assets",
            answers: [.init(status: 200, schema: CloudKitSchemas.assetUploadResponse), .init(status: 204)], errors: errors + [409]),
        EndpointDescription(
            method: .head, pattern: AssetLinks.uploadPath + ":token", summary: "How much of an announced file is there: Upload-Offset.",
            group: "Assets", answers: [.init(status: 204)], errors: errors),
        EndpointDescription(
            method: .get, pattern: AssetLinks.downloadPath + ":token/:name", summary: "Gives a file, or a range of it. The URL is a downloadURL.",
            group: "Assets",
            answers: [200, 206, 304, 416].map { .init(status: $0, type: "application/octet-stream") }, errors: errors),
    ]

    private static let ofSubscriptions: [EndpointDescription] = {
        let anyUser = AskingCredential.user + [[.keyID, .signedDate, .signature]]
        return [
            get("subscriptions/list", "Subscriptions", "All subscriptions of the caller.", CloudKitSchemas.subscriptionsResponse, by: anyUser),
            post("subscriptions/list", "Subscriptions", "All subscriptions of the caller.", nil, CloudKitSchemas.subscriptionsResponse, by: anyUser),
            post(
                "subscriptions/lookup", "Subscriptions", "Subscriptions by their IDs.", CloudKitSchemas.subscriptionsLookupRequest,
                CloudKitSchemas.subscriptionsResponse, example: #"{"subscriptions":[{"subscriptionID":"all notes"}]}"#, by: anyUser),
            post(
                "subscriptions/modify", "Subscriptions", "Saves and deletes subscriptions.", CloudKitSchemas.subscriptionsModifyRequest,
                CloudKitSchemas.subscriptionsResponse,
                example:
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all zones","subscriptionType":"zone","zoneWide":true}}]}"#,
                by: anyUser),
        ]
    }()

    private static let ofNotifications: [EndpointDescription] =
        ["device", "database"].flatMap { root in
            [
                ofTokens(
                    "/\(root)/1/:container/:environment/tokens/create", "Gives a push token, under which notifications wait.",
                    CloudKitSchemas.tokensCreateRequest, CloudKitSchemas.tokensCreateResponse, #"{"apnsEnvironment":"development"}"#),
                ofTokens(
                    "/\(root)/1/:container/:environment/tokens/register", "Has the user's notifications go to a push token.",
                    CloudKitSchemas.tokensRegisterRequest, .answer([:]), #"{"apnsEnvironment":"development","apnsToken":"00"}"#),
            ]
        } + [
            EndpointDescription(
                method: .get, pattern: webPushPath, summary: "The key that a page subscribes with at its browser's push service.",
                group: "Notifications", credentials: AskingCredential.user, answers: [.init(status: 200, schema: CloudKitSchemas.webPushKeyResponse)],
                errors: errors),
            ofTokens(
                webPushPath, "Has the user's notifications go to a browser's push service.", CloudKitSchemas.webPushRegisterRequest, .answer([:]),
                #"{"subscription":null}"#),
            EndpointDescription(
                method: .get, pattern: "/device/1/:container/:environment/notifications", summary: "The event stream of the caller's device.",
                group: "Notifications", credentials: AskingCredential.user, query: [.optional("clientId")],
                answers: [.init(status: 200, type: "text/event-stream")], errors: errors),
            ofTokens(
                "/device/1/:container/:environment/notifications", "Says which notifications the caller's device has, and what its badge shows.",
                CloudKitSchemas.deviceNoteRequest, .answer([:]), #"{"badge":0}"#),
            EndpointDescription(
                method: .get, pattern: courierPath, summary: "Waits for the next notification of a push token. The URL is a webcourierURL.",
                group: "Notifications", query: [.optional("tok"), .optional("ttl")], answers: [.init(status: 200)], errors: errors),
        ]

    private static let webPushPath = "/device/1/:container/:environment/tokens/web-push"

    private static func ofTokens(
        _ pattern: String, _ summary: String, _ body: Schema, _ answer: Schema, _ example: StaticString
    ) -> EndpointDescription {
        EndpointDescription(
            method: .post, pattern: pattern, summary: summary, group: "Notifications", credentials: AskingCredential.user, body: body,
            example: example, answers: [.init(status: 200, schema: answer)], errors: errors)
    }

    private static let ofWebhooks = [
        EndpointDescription(
            method: .get, pattern: webhookPath,
            summary: "The changes that a webhook is told of, behind a cursor. Its secret is the bearer token.", group: "Webhooks",
            query: [.optional("after"), .optional("wait")], answers: [.init(status: 200, schema: CloudKitSchemas.webhookDelivery)], errors: errors)
    ]

    private static let ofKeys = [
        post(
            "keys/append", "Keys", "Adds a signed statement to the caller's log of keys.", CloudKitSchemas.keysAppendRequest,
            CloudKitSchemas.keysAppendResponse, example: #"{"statement":"","wraps":[]}"#, mayConflict: true),
        post(
            "keys/log", "Keys", "The statements of a user's log of keys.", CloudKitSchemas.keysLogRequest, CloudKitSchemas.keysLogResponse,
            example: "{}"),
        post(
            "keys/scopes/modify", "Keys", "Adds a signed manifest to the scope of a zone.", CloudKitSchemas.keysScopesModifyRequest, .answer([:]),
            example: #"{"zoneID":{"zoneName":"Diary"},"manifest":"","wraps":[]}"#, mayConflict: true),
        post(
            "keys/scopes/list", "Keys", "The manifests of a zone's scope, and its sealed keys.", CloudKitSchemas.keysScopesListRequest,
            CloudKitSchemas.keysScopesListResponse, example: #"{"zoneID":{"zoneName":"Diary"}}"#),
        post(
            "keys/scopes/join", "Keys", "Keeps the key of a scope for a user who came by a link, and the word by which its owner knows the user.",
            CloudKitSchemas.keysScopesJoinRequest, .answer([:]),
            example: #"{"zoneID":{"zoneName":"Diary","ownerRecordName":"_ada"},"wrap":"","joining":""}"#, mayConflict: true),
        post(
            "keys/enrolment/post", "Keys", "Leaves a message of an enrolment for the other devices of the caller.",
            CloudKitSchemas.keysEnrolmentPostRequest, .answer([:]), example: #"{"message":""}"#, mayConflict: true),
        post(
            "keys/enrolment/list", "Keys", "The enrolments that the caller's devices have begun.", CloudKitSchemas.keysEnrolmentListRequest,
            CloudKitSchemas.keysEnrolmentListResponse, example: "{}"),
    ]

    private static let ofUsers = [
        get("users/caller", "Users", "Who asks.", CloudKitSchemas.userIdentity),
        get("users/current", "Users", "Who asks; users/caller has replaced it.", CloudKitSchemas.userDictionary),
        get("users/discover", "Users", "Users of the caller's address book, which is empty.", CloudKitSchemas.usersDiscoverResponse),
        post(
            "users/discover", "Users", "Users who have allowed to be found.", CloudKitSchemas.usersDiscoverRequest,
            CloudKitSchemas.usersDiscoverResponse, example: #"{"lookupInfos":[{"emailAddress":"ada@example.com"}]}"#),
        post(
            "users/lookup/email", "Users", "Users by e-mail address.", CloudKitSchemas.usersLookupRequest, CloudKitSchemas.usersLookupResponse,
            example: #"{"users":[{"emailAddress":"ada@example.com"}]}"#),
        post(
            "users/lookup/id", "Users", "Users by user record name.", CloudKitSchemas.usersLookupRequest, CloudKitSchemas.usersLookupResponse,
            example: #"{"users":[{"userRecordName":"_nobody"}]}"#),
        post(
            "users/lookup/contacts", "Users", "Users of the caller's address book, which is empty.", nil, CloudKitSchemas.usersLookupResponse),
        get("users/permission", "Users", "Whether others may find the caller.", CloudKitSchemas.usersPermissionResponse),
        post(
            "users/permission", "Users", "Says whether others may find the caller.", CloudKitSchemas.usersPermissionRequest,
            CloudKitSchemas.usersPermissionResponse, example: #"{"userDiscoverability":"GRANTED"}"#),
        get("users/contact-key", "Users", "The key by which e-mail addresses are hashed.", CloudKitSchemas.usersContactKeyResponse),
        post(
            "users/web-auth-token", "Users", "A web auth token for the user of a device, beside an API token of the container.",
            CloudKitSchemas.webAuthTokenRequest, CloudKitSchemas.webAuthTokenResponse, example: #"{"apiToken":"0000"}"#),
    ]
}
