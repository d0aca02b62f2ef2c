/// A request that can be made with the values of an answer, as `links` of the documents. Programs that try an API
/// follow them from what they create to its uses.
struct EndpointLink: Sendable {
    var name: String
    /// `operationId` of the endpoint that is called.
    var operation: String
    /// Query values of the call, by name. Expressions are OpenAPI's: `$response.body#/token`.
    var query: [String: String] = [:]
    /// The body of the call, with expressions in it.
    var body: StaticString?

    /// Links by the `operationId` of the endpoint that answers.
    static let table: [String: [EndpointLink]] = [
        "postDatabaseRecordsModify": [
            EndpointLink(
                name: "lookup", operation: "postDatabaseRecordsLookup",
                body: #"{"records":[{"recordName":"$response.body#/records/0/recordName"}]}"#),
            EndpointLink(
                name: "update", operation: "postDatabaseRecordsModify",
                body:
                    #"{"operations":[{"operationType":"update","record":{"recordName":"$response.body#/records/0/recordName","recordType":"$response.body#/records/0/recordType","recordChangeTag":"$response.body#/records/0/recordChangeTag","fields":{}}}]}"#
            ),
            EndpointLink(
                name: "delete", operation: "postDatabaseRecordsModify",
                body: #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"$response.body#/records/0/recordName"}}]}"#),
        ],
        "postDatabaseZonesModify": [
            EndpointLink(
                name: "lookup", operation: "postDatabaseZonesLookup", body: #"{"zones":[{"zoneName":"$response.body#/zones/0/zoneID/zoneName"}]}"#),
            EndpointLink(
                name: "changes", operation: "postDatabaseChangesZone",
                body: #"{"zones":[{"zoneID":{"zoneName":"$response.body#/zones/0/zoneID/zoneName"}}]}"#),
            EndpointLink(
                name: "save", operation: "postDatabaseRecordsModify",
                body:
                    #"{"zoneID":{"zoneName":"$response.body#/zones/0/zoneID/zoneName"},"operations":[{"operationType":"forceUpdate","record":{"recordName":"linked","recordType":"Note","fields":{}}}]}"#
            ),
        ],
        "postDatabaseChangesZone": [
            EndpointLink(
                name: "goOn", operation: "postDatabaseChangesZone",
                body:
                    #"{"zones":[{"zoneID":{"zoneName":"$response.body#/zones/0/zoneID/zoneName"},"syncToken":"$response.body#/zones/0/syncToken"}]}"#)
        ],
        "postDatabaseChangesDatabase": [
            EndpointLink(name: "goOn", operation: "postDatabaseChangesDatabase", body: #"{"syncToken":"$response.body#/syncToken"}"#)
        ],
        "postAccountSignUp": [
            EndpointLink(
                name: "verify", operation: "postAccountVerifyEmail", body: #"{"email":"$response.body#/email","password":"$request.body#/password"}"#),
            EndpointLink(
                name: "passkeys", operation: "postAccountPasskeysList",
                body: #"{"email":"$response.body#/email","password":"$request.body#/password"}"#),
            EndpointLink(
                name: "delete", operation: "postAccountDelete", body: #"{"email":"$response.body#/email","password":"$request.body#/password"}"#),
        ],
        "postAdminUsers": [
            EndpointLink(name: "show", operation: "getAdminUsersShow", query: ["email": "$response.body#/email"]),
            EndpointLink(name: "sessions", operation: "getAdminSessions", query: ["email": "$response.body#/email"]),
            EndpointLink(name: "reset", operation: "postAdminUsersResetPassword", body: #"{"email":"$response.body#/email"}"#),
            EndpointLink(name: "delete", operation: "postAdminUsersDelete", body: #"{"email":"$response.body#/email"}"#),
        ],
        "postAdminTokens": [
            EndpointLink(name: "rotate", operation: "postAdminTokensRotate", body: #"{"id":"$response.body#/token"}"#),
            EndpointLink(name: "revoke", operation: "postAdminTokensRevoke", body: #"{"id":"$response.body#/token"}"#),
        ],
    ]
}
