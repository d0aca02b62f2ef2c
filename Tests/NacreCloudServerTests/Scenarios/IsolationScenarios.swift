/// Isolation of users: Ada has secrets, and Bob asks everywhere.
extension Scenario {
    static let isolation: [Scenario] = secrets + environments

    private static func keepsSecrets(_ steps: Step...) -> [Step] {
        let record = #""recordName":"a","recordType":"Diary","fields":{"text":{"value":"hush"}}"#
        let other = #""recordName":"b","recordType":"Diary","fields":{"text":{"value":"hush, too"}}"#
        let page = Step.post("private/records/query", .ada, Body.query("Diary", filters: [hush], more: #""resultsLimit":1"#)).gives()
        let change = Step.post("private/changes/database", .ada).gives().keeps("ada.feed", "syncToken")
        return [
            .makeWork(), .post("private/records/modify", .ada, Body.modify("create", record)).gives(),
            .post("private/records/modify", .ada, Body.modify("create", record, Body.inWork)).gives().keeps("ada.tag", "records[0].recordChangeTag"),
            .post("private/records/modify", .ada, Body.modify("create", other)).gives(), page.keeps("ada.marker", "continuationMarker"), change,
            .post("private/changes/zone", .ada, Body.feed("Work")).gives().keeps("ada.zone", "zones[0].syncToken"),
        ] + steps
    }

    private static func bob(_ name: String, _ steps: Step...) -> Scenario {
        var scenario = Scenario("Bob \(name)")
        scenario.steps = keepsSecrets() + steps.map { $0.lacks("hush", "Diary") }
        return scenario
    }

    private static let hush = Body.filter("text", "GREATER_THAN", #"{"value":"a"}"#)
    private static let diary = Body.query("Diary", filters: [hush])
    private static let adasWork = #""zoneID":{"zoneName":"Work","ownerRecordName":"<<ada.name>>"}"#

    private static let secrets: [Scenario] = [
        bob(
            "looks up Ada's records", .post("private/records/lookup", .bob, Body.lookup("a")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("private/records/lookup", .bob, Body.lookup("a", more: Body.inWork)).gives(404),
            .post("private/records/lookup", .bob, Body.lookup("a", more: adasWork)).refuses(
                400, "BAD_REQUEST", "PrivateDB can't be used to access another user's zone"),
            .post("shared/records/lookup", .bob, Body.lookup("a", more: adasWork)).gives(404),
            .post("public/records/lookup", .bob, Body.lookup("a")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("public/records/lookup", .bob, Body.lookup("a", more: adasWork)).gives(404)),
        bob(
            "queries for Ada's records",
            .post("private/records/query", .bob, diary).gives(200, ["records": .count(0), "continuationMarker": .absent]),
            .post("private/records/query", .bob, Body.query("Diary", filters: [hush], more: #""zoneWide":true"#)).gives(200, ["records": .count(0)]),
            .post("public/records/query", .bob, diary).gives(200, ["records": .count(0)]),
            .post("private/records/query", .bob, Body.query("Diary", filters: [hush], more: Body.inWork)).gives(404),
            .post("private/records/query", .bob, Body.query("Diary", filters: [hush], more: adasWork)).gives(400),
            .post("shared/records/query", .bob, Body.query("Diary", filters: [hush], more: adasWork)).gives(404),
            .post("private/records/query", .bob, Body.query("Diary", filters: [hush], more: #""continuationMarker":"<<ada.marker>>""#))
                .gives(400)),
        bob(
            "changes Ada's records",
            .post("private/records/modify", .bob, Body.modify("forceDelete", #""recordName":"a""#, adasWork)).gives(400),
            .post("shared/records/modify", .bob, Body.modify("forceDelete", #""recordName":"a""#, adasWork)).gives(404),
            .post("private/records/modify", .bob, Body.modify("update", #""recordName":"a","recordChangeTag":"<<ada.tag>>""#, Body.inWork)).gives(
                404),
            .post("private/records/modify", .bob, Body.modify("delete", #""recordName":"a","recordChangeTag":"<<ada.tag>>""#))
                .gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("private/records/modify", .bob, Body.modify("forceDelete", #""recordName":"a""#)).gives(200, ["records[0].deleted": true])),
        bob(
            "lists Ada's zones", .get("private/zones/list", .bob).lacks("Work").gives(200, ["zones": .count(1)]),
            .get("shared/zones/list", .bob).lacks("Work").gives(200, ["zones": .count(0)]), .get("public/zones/list", .bob).lacks("Work").gives(),
            .post("private/zones/lookup", .bob, #"{"zones":[{"zoneName":"Work"}]}"#).gives(200, ["zones[0].serverErrorCode": "ZONE_NOT_FOUND"]),
            .post("private/zones/modify", .bob, Body.zones("delete", "Work")).gives(200, ["zones[0].serverErrorCode": "ZONE_NOT_FOUND"])),
        bob(
            "follows Ada's changes", .post("private/changes/database", .bob).lacks("Work").gives(200, ["zones": .count(0)]),
            .post("private/changes/database", .bob, #"{"syncToken":"<<ada.feed>>"}"#).gives(400),
            .post("private/changes/zone", .bob, #"{"zones":[{\#(adasWork)}]}"#).gives(
                200, ["zones[0].serverErrorCode": "BAD_REQUEST", "zones[0].records": .absent]),
            .post("private/changes/zone", .bob, Body.feed("Work", token: "<<ada.zone>>")).gives(200, ["zones[0].serverErrorCode": "ZONE_NOT_FOUND"]),
            .post("private/zones/changes", .bob).lacks("Work").gives(200, ["zones": .count(0)]),
            .post("private/zones/changes", .bob, #"{"metaSyncToken":"<<ada.feed>>"}"#).gives(400),
            .post("private/records/changes", .bob, #"{\#(adasWork)}"#).gives(400),
            .post("private/records/changes", .bob, #"{\#(Body.inWork),"syncToken":"<<ada.zone>>"}"#).gives(404),
            .makeWork(.bob),
            .post("private/changes/zone", .bob, Body.feed("Work", token: "<<ada.zone>>")).gives(200, ["zones[0].reason": "change token expired"]),
            .post("private/changes/zone", .bob, Body.feed("Work")).gives(200, ["zones[0].records": .count(0)]),
            .post("private/records/lookup", .bob, Body.lookup("a", more: Body.inWork)).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        bob("is who he is", .get("private/users/caller", .bob).lacks("<<ada.name>>").gives(200, ["userRecordName": "<<bob.name>>"])),
        bob(
            "repeats Ada's operation",
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("n"), #""nacre":{"operationID":"op"}"#)).detailed.gives(),
            .post("private/records/modify", .device("bob"), Body.modify("create", Body.note("n"), #""nacre":{"operationID":"op"}"#)).detailed.lacks(
                "<<ada.name>>"
            )
            .gives(200, ["records[0].created.userRecordName": "<<bob.name>>"])),
    ]

    private static let environments: [Scenario] = [
        Scenario(
            "what is in development is not in production", .makeWork(), .makeNote("hush"), .makeNote("hush", .ada, in: "public"),
            .get("/database/1/iCloud.test.scenes/production/private/zones/list", .ada).lacks("Work").gives(),
            .post("/database/1/iCloud.test.scenes/production/private/records/lookup", .ada, Body.lookup("hush")).gives(
                200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("/database/1/iCloud.test.scenes/production/public/records/lookup", .ada, Body.lookup("hush")).gives(
                200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        Scenario(
            "what is in one container is not in another", .makeNote("hush", .ada, in: "public"),
            .post("/database/1/iCloud.test.other/development/public/records/lookup", .world, Body.lookup("hush")).query([
                "ckAPIToken": "<<api.other>>"
            ])
            .gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
    ]
}
