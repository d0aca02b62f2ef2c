/// The answers of each endpoint to another user who sends Ada's values: her zone's name and owner, sync tokens,
/// marker, change tag, and user record name.
///
/// A line is an endpoint and its answer, in the form of a cell of `AuthorisationTable`; `bodies` has the requests. No
/// answer may have a secret.
enum SecondUserTable {
    struct Row: Sendable {
        var method: String
        var path: String
        var body: String
        var outcome: String
    }

    /// The rows; `<<…>>` stands for a value of Ada's own answers.
    static let rows: [Row] =
        [
            ("records/modify", Body.modify("update", #""recordName":"note","recordChangeTag":"<<tag>>""#), "200:NOT_FOUND"),
            ("records/modify", Body.modify("delete", #""recordName":"note","recordChangeTag":"<<tag>>""#), "200:NOT_FOUND"),
            ("records/modify", Body.modify("forceDelete", #""recordName":"note""#, #"\#(adasCellar)"#), "400"),
            ("records/modify", Body.modify("create", #""recordType":"Note","parent":{"recordName":"note"}"#), "200:VALIDATING_REFERENCE_ERROR"),
            ("records/lookup", Body.lookup("note"), "200:NOT_FOUND"), ("records/lookup", Body.lookup("note", more: adasCellar), "400"),
            ("records/lookup", Body.lookup("<<name>>"), "200:NOT_FOUND"), ("records/query", query(""), "200"),
            ("records/query", query(#""continuationMarker":"<<marker>>""#), "400"), ("records/query", query(adasCellar), "400"),
            ("records/query", query(#""zoneWide":true"#), "200"), ("records/changes", #"{\#(adasCellar)}"#, "400"),
            ("records/changes", #"{\#(inCellar),"syncToken":"<<zoneToken>>"}"#, "404:ZONE_NOT_FOUND"),
            ("zones/list", "{}", "200"), ("zones/lookup", #"{"zones":[{"zoneName":"Cellar"}]}"#, "200:ZONE_NOT_FOUND"),
            ("zones/lookup", #"{"zones":[{"zoneName":"Cellar","ownerRecordName":"<<name>>"}]}"#, "200:BAD_REQUEST"),
            ("zones/modify", Body.zones("delete", "Cellar"), "200:ZONE_NOT_FOUND"), ("zones/changes", "{}", "200"),
            ("zones/changes", #"{"metaSyncToken":"<<databaseToken>>"}"#, "400"), ("changes/database", "{}", "200"),
            ("changes/database", #"{"syncToken":"<<databaseToken>>"}"#, "400"), ("changes/database", #"{"syncToken":"<<zoneToken>>"}"#, "400"),
            ("changes/zone", #"{"zones":[{\#(adasCellar)}]}"#, "200:BAD_REQUEST"),
            ("changes/zone", #"{"zones":[{\#(inCellar),"syncToken":"<<zoneToken>>"}]}"#, "200:ZONE_NOT_FOUND"),
            ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"syncToken":"<<zoneToken>>"}]}"#, "200:BAD_REQUEST"),
            ("subscriptions/list", "{}", "200"), ("subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"adas"}]}"#, "200:NOT_FOUND"),
            ("subscriptions/modify", subscription(#""operationType":"delete""#, ""), "200:NOT_FOUND"),
            ("subscriptions/modify", subscription(#""operationType":"create""#, #","subscriptionType":"zone",\#(inCellar)"#), "200:ZONE_NOT_FOUND"),
            ("subscriptions/modify", subscription(#""operationType":"create""#, #","subscriptionType":"zone",\#(adasCellar)"#), "200:BAD_REQUEST"),
            ("keys/append", "{}", "400"), ("keys/log", #"{"user":"<<name>>"}"#, "200"),
            ("keys/scopes/modify", "{}", "400"), ("keys/scopes/list", #"{\#(adasCellar)}"#, "400"),
            ("keys/scopes/list", #"{\#(inCellar)}"#, "404:ZONE_NOT_FOUND"), ("keys/scopes/join", "{}", "400"),
            ("keys/enrolment/post", "{}", "400"), ("keys/enrolment/list", "{}", "200"),
            ("users/discover", #"{"lookupInfos":[{"userRecordName":"<<name>>"}]}"#, "400"),
            ("users/lookup/email", #"{"users":[{"emailAddress":"ada@example.com"}]}"#, "400"),
            ("users/lookup/id", #"{"users":[{"userRecordName":"<<name>>"}]}"#, "400"), ("users/lookup/contacts", "{}", "400"),
            ("users/permission", #"{"userDiscoverability":"GRANTED"}"#, "400"), ("users/web-auth-token", "{}", "400"),
            ("records/resolve", #"{"shortGUIDs":[{"value":"<<tag>>"}]}"#, "400"), ("records/accept", #"{"shortGUIDs":[{"value":"<<tag>>"}]}"#, "400"),
            ("records/request-access", #"{"shortGUIDs":[{"value":"<<tag>>"}]}"#, "400"),
            ("records/share-page", #"{\#(inCellar)}"#, "404:ZONE_NOT_FOUND"), ("records/share-page", #"{\#(adasCellar)}"#, "400"),
            ("assets/upload", #"{"tokens":[{"recordName":"note","recordType":"Note","fieldName":"image"}],\#(inCellar)}"#, "404:ZONE_NOT_FOUND"),
            ("assets/upload", #"{"tokens":[{"recordName":"note","recordType":"Note","fieldName":"image"}],\#(adasCellar)}"#, "400"),
            ("assets/rereference", #"{"assets":[{"recordName":"note","fieldName":"text"}]}"#, "404"),
            ("assets/rereference", #"{"assets":[{"recordName":"note","fieldName":"text"}],\#(adasCellar)}"#, "400"),
        ].map { Row(method: "POST", path: $0.0, body: $0.1, outcome: $0.2) }
        + [
            ("zones/list", "200"), ("subscriptions/list", "200"), ("users/caller", "200"), ("users/current", "200"), ("users/discover", "400"),
            ("users/permission", "400"),
            ("users/contact-key", "400"),
        ].map { Row(method: "GET", path: $0.0, body: "", outcome: $0.1) }

    private static func subscription(_ operation: String, _ more: String) -> String {
        "{\"operations\":[{\(operation),\"subscription\":{\"subscriptionID\":\"adas\"\(more)}}]}"
    }

    private static let inCellar = #""zoneID":{"zoneName":"Cellar"}"#
    private static let adasCellar = #""zoneID":{"zoneName":"Cellar","ownerRecordName":"<<name>>"}"#

    private static func query(_ more: String) -> String {
        Body.query("Note", filters: [Body.filter("text", "GREATER_THAN", #"{"value":"a"}"#)], more: more)
    }
}

/// The permissions of a custom role, a creator, any user, an API token and two keys for the records of a type, by the
/// type's grants.
///
/// A line is a type, a request, and a cell each for an API token, a user who made the record, another with the role
/// Team, a server-to-server key without a role, one with Team, and an administrator's. Cells of `query` are counts of
/// records.
enum PublicRoleTable {
    static let columns = ["world", "creator", "team", "key", "teamKey", "administrator"]

    /// grants[type]: CREATE for all signed-in users lets a creator exist.
    static let grants = [
        "Closed": "GRANT READ, CREATE, WRITE TO Nobody", "Reading": "GRANT READ TO Team",
        "Writing": #"GRANT WRITE TO Team, GRANT READ TO "_creator""#,
        "Creating": #"GRANT CREATE TO Team, GRANT READ TO "_world""#, "Own": #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#,
        "Open": #"GRANT READ TO "_world", GRANT WRITE TO "_icloud""#,
    ]

    //        type      asked    world  creator  team  key  teamKey  administrator
    static let text = """
        Closed    lookup   200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Closed    query    0  0  0  0  0  1
        Closed    create   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Closed    update   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Closed    delete   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Reading   lookup   200:ACCESS_DENIED  200:ACCESS_DENIED  200  200:ACCESS_DENIED  200  200
        Reading   query    0  0  1  0  1  1
        Reading   create   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Reading   update   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Reading   delete   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Writing   lookup   200:ACCESS_DENIED  200  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Writing   query    0  1  0  0  0  1
        Writing   create   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Writing   update   421  200:ACCESS_DENIED  200  200:ACCESS_DENIED  200  200
        Writing   delete   421  200:ACCESS_DENIED  200  200:ACCESS_DENIED  200  200
        Creating  lookup   200  200  200  200  200  200
        Creating  query    1  1  1  1  1  1
        Creating  create   421  200:ACCESS_DENIED  200  200:ACCESS_DENIED  200  200
        Creating  update   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Creating  delete   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Own       lookup   200:ACCESS_DENIED  200  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Own       query    0  1  0  0  0  1
        Own       create   421  200  200  200  200  200
        Own       update   421  200  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Own       delete   421  200  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Open      lookup   200  200  200  200  200  200
        Open      query    1  1  1  1  1  1
        Open      create   421  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200:ACCESS_DENIED  200
        Open      update   421  200  200  200  200  200
        Open      delete   421  200  200  200  200  200
        """
}
