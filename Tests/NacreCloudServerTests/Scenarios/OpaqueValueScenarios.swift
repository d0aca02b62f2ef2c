/// Tokens and markers: opaque, and valid base64 for every decoder.
extension Scenario {
    static let opaqueValues: [Scenario] = everyEndpoint + texts

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

    private static let texts: [Scenario] = [
        Scenario(
            "a web auth token may be escaped in the query, or not", .get("private/zones/list", .ada).gives(),
            .get("private/zones/list", .world).query(["ckWebAuthToken": "<<ada.escaped>>"]).gives(200, ["zones": .count(1)]))
    ]
}
