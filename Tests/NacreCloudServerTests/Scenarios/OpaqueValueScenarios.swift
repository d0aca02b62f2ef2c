/// Tokens and markers: opaque, valid base64 for every decoder, and expired if they are of an earlier version.
extension Scenario {
    static let opaqueValues: [Scenario] = everyEndpoint + older

    private static func current(_ step: Step) -> Step { step.query(["getCurrentSyncToken": "true"]) }
    private static func notes(_ more: String) -> String {
        Body.query("Note", filters: [Body.filter("title", "BEGINS_WITH", #"{"value":"T"}"#)], more: more)
    }
    private static let notes = notes(#""resultsLimit":1"#)

    private static let makeNotes: [Step] = [
        .makeWork(), .post("private/records/modify", .ada, Body.modify((0..<3).map { ("create", Body.note("n\($0)", "T\($0)")) })).gives(),
        .makeNote("w", .ada, in: "private", Body.inWork), .index("Note", "title"),
    ]

    private static let everyEndpoint: [Scenario] = [
        // Every answer of every scenario is checked for valid base64 in these values.
        Scenario(
            "every endpoint that gives a token or a marker",
            steps: makeNotes + [
                .get("private/zones/list", .ada).gives(200, ["zones[1].syncToken": .some]).answers(header: "X-Apple-CloudKit-Web-Auth-Token", ""),
                .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"Work"}]}"#).gives(200, ["zones[0].syncToken": .some]),
                .post("private/zones/modify", .ada, Body.zones("create", "Work")).gives(200, ["zones[0].syncToken": .some]),
                .post("private/zones/changes", .ada).gives(200, ["zones[0].syncToken": .some, "metaSyncToken": .some]),
                .post("private/changes/database", .ada).gives(200, ["syncToken": .some]),
                .post("private/changes/zone", .ada, Body.feed("Work")).gives(200, ["zones[0].syncToken": .some]),
                .post("private/records/changes", .ada, "{\(Body.inWork)}").gives(200, ["syncToken": .some]),
                .post("private/records/query", .ada, notes).gives(200, ["continuationMarker": .some]),
                current(.post("private/records/query", .ada, notes(Body.inWork))).gives(200, ["syncToken": .some]),
                current(.post("private/records/lookup", .ada, Body.lookup("w", more: Body.inWork))).gives(200, ["syncToken": .some]),
                current(.post("private/records/modify", .ada, Body.modify("forceUpdate", Body.note("w"), Body.inWork)))
                    .gives(200, ["syncToken": .some]),
                .post(
                    "/account/1/sign-in", .nobody,
                    #"{"email":"ada@example.com","password":"\#(TestServer.password)","apiToken":"<<api>>","#
                        + #""container":"iCloud.test.scenes","environment":"development"}"#
                ).secret.gives(200, ["token": .some]),
                .post(
                    "/account/1/sign-in", .nobody,
                    #"{"email":"ada@example.com","password":"\#(TestServer.password)","apiToken":"<<api>>","kind":"account","#
                        + #""container":"iCloud.test.scenes","environment":"development"}"#
                ).secret.gives(200, ["token": .some]),
            ])
    ]

    private static let expired = "change token expired"

    private static let older: [Scenario] = [
        Scenario(
            "a token of an earlier version is expired, wherever it is sent",
            steps: makeNotes + [
                .post("private/changes/database", .ada).gives().keeps("database", "syncToken"),
                .post("private/changes/zone", .ada, Body.feed("Work")).gives().keeps("zone", "zones[0].syncToken"), .keepOlderText("database"),
                .keepOlderText("zone"),
                .post("private/changes/database", .ada, #"{"syncToken":"<<older.database>>"}"#).lacks("zones").refuses(400, "BAD_REQUEST", expired),
                .post("private/zones/changes", .ada, #"{"metaSyncToken":"<<older.database>>"}"#).lacks("zones").refuses(400, "BAD_REQUEST", expired),
                .post("private/changes/zone", .ada, Body.feed("Work", token: "<<older.zone>>")).lacks("Unknown", "INTERNAL")
                    .gives(
                        200, ["zones[0].serverErrorCode": "BAD_REQUEST", "zones[0].reason": .equals(.string(expired)), "zones[0].records": .absent]),
                .post("private/records/changes", .ada, #"{"syncToken":"<<older.zone>>",\#(Body.inWork)}"#).refuses(400, "BAD_REQUEST", expired),
                .post(
                    "private/changes/zone", .device("ada"),
                    #"{"zones":[{"zoneID":{"zoneName":"Work"},"syncToken":"<<older.zone>>"}],\#(Body.details)}"#
                ).detailed.gives(200, ["zones[0].nacre.code": 21]),
                .post("private/changes/zone", .ada, Body.feed("Work", token: "<<zone>>")).gives(200, ["zones[0].records": .count(0)]),
                .post("private/changes/zone", .ada, Body.feed("Work", token: "1.AAAA"))
                    .gives(200, ["zones[0].reason": "Unknown sync continuation type"]),
            ]),
        Scenario(
            "a marker of an earlier version is none",
            steps: makeNotes + [
                .post("private/records/query", .ada, notes).gives().keeps("marker", "continuationMarker"), .keepOlderText("marker"),
                .post("private/records/query", .ada, notes(#""resultsLimit":1,"continuationMarker":"<<older.marker>>""#)).lacks("records")
                    .refuses(400, "BAD_REQUEST", "Unknown sync continuation type"),
                .post("private/records/query", .ada, notes(#""resultsLimit":1,"continuationMarker":"<<marker>>""#)).gives(
                    200, ["records": .count(1)]),
            ]),
        Scenario(
            "a web auth token of an earlier version asks for a new sign-in, and an account token stays good", .keepOlderText("ada"),
            .keepOlderText("ada.device"),
            .get("private/zones/list", .world).query(["ckWebAuthToken": "<<older.ada>>"]).lacks("zones")
                .gives(421, ["serverErrorCode": "AUTHENTICATION_REQUIRED", "redirectURL": .some]),
            .get("private/zones/list", .nobody).header("Authorization", "Bearer <<older.ada.device>>").gives(200, ["zones": .count(1)])),
        Scenario(
            "a web auth token may be escaped in the query, or not", .get("private/zones/list", .ada).gives(),
            .get("private/zones/list", .world).query(["ckWebAuthToken": "<<ada.escaped>>"]).gives(200, ["zones": .count(1)])),
    ]
}
