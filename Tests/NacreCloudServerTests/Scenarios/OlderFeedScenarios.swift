/// `records/changes`, `zones/changes` and `getCurrentSyncToken`, for older clients.
extension Scenario {
    static let olderFeeds: [Scenario] = recordsChanges + recordsChangesRefused + zonesChanges + currentSyncTokens

    private static let recordsPath = "private/records/changes"
    private static let zonesPath = "private/zones/changes"
    private static let unknown = "Unknown sync continuation type"
    private static let expired = "change token expired"
    private static let sentence = "badRequestException: unexpected input at [line: 1, column: "

    private static func feed(_ zone: String, _ more: String = "") -> String {
        #"{"zoneID":{"zoneName":"\#(zone)"}\#(more.isEmpty ? "" : "," + more)}"#
    }

    private static let recordsChanges: [Scenario] = [
        Scenario(
            "records/changes tells what changed in a zone since a token", .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post(recordsPath, .ada, feed("Work")).lacks("zones").gives(
                200,
                [
                    "records": .count(1), "records[0].recordName": "a", "records[0].fields.title.value": "One", "moreComing": false,
                    "reverse": false, "records[0].zoneID.zoneName": "Work", "records[0].zoneID.ownerRecordName": "<<ada.name>>",
                ]
            ).keeps("t1", "syncToken"),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"<<t1>>""#)).gives(200, ["records": .count(0), "syncToken": "<<t1>>"]),
            .post("private/records/modify", .ada, Body.modify("forceDelete", #""recordName":"a""#, Body.inWork)).gives(),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"<<t1>>""#)).gives(
                200,
                [
                    "records": .count(1), "records[0].recordName": "a", "records[0].deleted": true, "records[0].recordType": .absent,
                    "records[0].fields": .absent,
                ]),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"""#)).gives(200, ["records": .count(0)])),
        Scenario(
            "records/changes and changes/zone take each other's tokens", .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post(recordsPath, .ada, feed("Work")).gives().keeps("old", "syncToken"),
            .post("private/changes/zone", .ada, Body.feed("Work"))
                .gives(200, ["zones[0].syncToken": "<<old>>"]).keeps("new", "zones[0].syncToken"),
            .post("private/changes/zone", .ada, Body.feed("Work", token: "<<old>>")).gives(200, ["zones[0].records": .count(0)]),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"<<new>>""#)).gives(200, ["records": .count(0)])),
        Scenario(
            "records/changes comes in pages, with the keys and types asked for", .makeWork(),
            .post(
                "private/records/modify", .ada,
                Body.modify("create", #""recordName":"a","recordType":"N","fields":{"x":{"value":1},"y":{"value":2}}"#, Body.inWork)
            ).gives(), .makeNote("b", .ada, in: "private", Body.inWork),
            .post(recordsPath, .ada, feed("Work", #""resultsLimit":1,"desiredKeys":["y","y"],"numbersAsStrings":true"#)).gives(
                200,
                [
                    "records": .count(1), "records[0].fields": .count(1), "records[0].fields.y.value": "2", "moreComing": true,
                ]
            ).keeps("page", "syncToken"),
            .post(recordsPath, .ada, feed("Work", #""resultsLimit":1,"syncToken":"<<page>>","desiredRecordTypes":["N"]"#))
                .gives(200, ["records": .count(0), "moreComing": false]),
            .post(recordsPath, .ada, feed("Work", #""desiredKeys":[],"desiredRecordTypes":["Note"]"#))
                .gives(200, ["records": .count(1), "records[0].recordName": "b", "records[0].fields": .count(0)])),
        Scenario(
            "records/changes shows details to who asks, and to nobody else", .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post(recordsPath, .device("ada"), feed("Work", Body.details)).detailed.gives(200, ["records[0].nacre.created": .some]),
            .post(recordsPath, .ada, feed("Work")).gives(200, ["records[0].nacre": .absent])),
    ]

    private static let recordsChangesRefused: [Scenario] = [
        Scenario(
            "records/changes of the default zone is refused as a whole",
            .post(recordsPath, .ada, feed("_defaultZone")).lacks("records", "syncToken")
                .refuses(400, "BAD_REQUEST", "cannot get changes in default zone")),
        Scenario(
            "records/changes of a zone that does not exist",
            .post(recordsPath, .ada, feed("Work")).lacks("records").refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
        Scenario(
            "records/changes with tokens that are none", .makeWork(), .post("private/changes/database", .ada).gives().keeps("database", "syncToken"),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"nonsense""#)).lacks("records").refuses(400, "BAD_REQUEST", unknown),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"<<database>>""#)).refuses(400, "BAD_REQUEST", unknown),
            .post(recordsPath, .ada, feed("Work")).gives().keeps("gone", "syncToken"),
            .post("private/zones/modify", .ada, Body.zones("delete", "Work")).gives(), .makeWork(),
            .post(recordsPath, .ada, feed("Work", #""syncToken":"<<gone>>""#)).refuses(400, "BAD_REQUEST", expired)),
        Scenario(
            "records/changes where there is no feed",
            .post("public/records/changes", .ada, feed("Work")).refuses(
                400, "BAD_REQUEST", "endpoint not applicable in the database type 'publicdb'"),
            .post(recordsPath, .world, feed("Work")).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
        Scenario(
            "records/changes that is malformed", .makeWork(), .post(recordsPath, .ada, "{}").refuses(400, "BAD_REQUEST", sentence + "1]"),
            .post(recordsPath, .ada, #"{"zoneID":"Work"}"#).refuses(400, "BAD_REQUEST", sentence + "11]"),
            .post(recordsPath, .ada, feed("Work", #""resultsLimit":-1"#)).refuses(400, "BAD_REQUEST", "invalid results limit"),
            .post(recordsPath, .ada, feed("Work", #""reverse":true"#))
                .refuses(400, "BAD_REQUEST", "reading changes in reverse is not supported by this version of the server")),
        Scenario(
            "records/changes of another user's zone", .makeWork(.bob), .makeNote("secret", .bob, in: "private", Body.inWork),
            .post(recordsPath, .ada, #"{"zoneID":{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}}"#).lacks("secret")
                .refuses(400, "BAD_REQUEST", "PrivateDB can't be used to access another user's zone")),
    ]

    private static let zonesChanges: [Scenario] = [
        Scenario(
            "zones/changes tells which zones changed since a token, in three members", .makeWork(),
            .post(zonesPath, .ada).gives(
                200,
                [
                    "": .count(3), "zones": .count(1), "zones[0].zoneID.zoneName": "Work", "zones[0].zoneID.ownerRecordName": "<<ada.name>>",
                    "zones[0].syncToken": .some, "zones[0].atomic": true, "zones[0].deleted": .absent, "moreComing": false,
                ]
            ).keeps("t1", "metaSyncToken").keeps("zone", "zones[0].syncToken"),
            .post("private/changes/zone", .ada, Body.feed("Work", token: "<<zone>>"))
                .gives(200, ["zones[0].records": .count(0), "zones[0].syncToken": "<<zone>>"]),
            .post(zonesPath, .ada, #"{"metaSyncToken":"<<t1>>"}"#).gives(200, ["zones": .count(0), "metaSyncToken": "<<t1>>", "moreComing": false]),
            .makeNote("a", .ada, in: "private", Body.inWork),
            .post(zonesPath, .ada, #"{"metaSyncToken":"<<t1>>"}"#).gives(200, ["zones": .count(1), "zones[0].syncToken": .not("<<zone>>")]),
            .post("private/zones/modify", .ada, Body.zones("delete", "Work")).gives(),
            .post(zonesPath, .ada, #"{"metaSyncToken":"<<t1>>"}"#)
                .gives(200, ["zones": .count(1), "zones[0].deleted": true, "zones[0].syncToken": .absent])),
        Scenario(
            "zones/changes ignores syncToken, and begins anew", .makeWork(), .post(zonesPath, .ada).gives().keeps("t1", "metaSyncToken"),
            .post(zonesPath, .ada, #"{"syncToken":"<<t1>>"}"#).gives(200, ["zones": .count(1), "metaSyncToken": "<<t1>>"]),
            .post(zonesPath, .ada, #"{"syncToken":"nonsense"}"#).gives(200, ["zones": .count(1)]),
            .post(zonesPath, .ada, #"{"metaSyncToken":""}"#).gives(200, ["zones": .count(1)])),
        Scenario(
            "zones/changes comes in pages", .post("private/zones/modify", .ada, Body.zones(count: 3)).gives(),
            .post(zonesPath, .ada, #"{"resultsLimit":2}"#).gives(200, ["zones": .count(2), "moreComing": true]).keeps("page", "metaSyncToken"),
            .post(zonesPath, .ada, #"{"resultsLimit":2,"metaSyncToken":"<<page>>"}"#).gives(200, ["zones": .count(1), "moreComing": false])),
        Scenario(
            "zones/changes and changes/database take each other's tokens", .makeWork(),
            .post(zonesPath, .ada).gives().keeps("old", "metaSyncToken"),
            .post("private/changes/database", .ada, #"{"syncToken":"<<old>>"}"#).gives(200, ["zones": .count(0), "syncToken": "<<old>>"])),
        Scenario(
            "what zones/changes refuses", .makeWork(),
            .post("private/changes/zone", .ada, Body.feed("Work")).gives().keeps("zone", "zones[0].syncToken"),
            .post(zonesPath, .ada, #"{"metaSyncToken":"nonsense"}"#).lacks("zones").refuses(400, "BAD_REQUEST", unknown),
            .post(zonesPath, .ada, #"{"metaSyncToken":"<<zone>>"}"#).refuses(400, "BAD_REQUEST", unknown),
            .post(zonesPath, .device("ada"), #"{"metaSyncToken":"nonsense",\#(Body.details)}"#).detailed.gives(400, ["nacre.field": "metaSyncToken"]),
            .post(zonesPath, .ada, #"{"resultsLimit":-1}"#).refuses(400, "BAD_REQUEST", "invalid results limit"),
            .post(zonesPath, .ada, #"{"metaSyncToken":1}"#).refuses(400, "BAD_REQUEST", sentence + "18]"),
            .post("public/zones/changes", .ada).refuses(400, "BAD_REQUEST", "endpoint not applicable in the database type 'publicdb'"),
            .post(zonesPath, .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
        Scenario("the shared database's zones/changes is empty", .post("shared/zones/changes", .ada).gives(200, ["zones": .count(0)])),
    ]

    private static func asking(_ step: Step) -> Step { step.query(["getCurrentSyncToken": "true"]) }

    private static let currentSyncTokens: [Scenario] = [
        Scenario(
            "getCurrentSyncToken gives the token that the zone's feed ends with", .makeWork(),
            asking(.post("private/records/modify", .ada, Body.modify("create", Body.note("a"), Body.inWork)))
                .gives(200, ["records": .count(1), "syncToken": .some]).keeps("saved", "syncToken"),
            .post("private/changes/zone", .ada, Body.feed("Work")).gives(200, ["zones[0].syncToken": "<<saved>>"]),
            asking(.post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork))).gives(200, ["syncToken": "<<saved>>"]),
            .post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork)).query(["getCurrentSyncToken": "True"])
                .gives(200, ["syncToken": "<<saved>>"]),
            .makeNote("b", .ada, in: "private", Body.inWork),
            .post("private/changes/zone", .ada, Body.feed("Work", token: "<<saved>>"))
                .gives(200, ["zones[0].records": .count(1), "zones[0].records[0].recordName": "b"])),
        Scenario(
            "who does not ask for the token gets none, and a zone without a feed has none", .makeWork(), .makeNote("a"),
            .makeNote("a", .ada, in: "private", Body.inWork),
            .post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork)).gives(200, ["syncToken": .absent]),
            .post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork)).query(["getCurrentSyncToken": "false"])
                .gives(200, ["syncToken": .absent]),
            asking(.post("private/records/lookup", .ada, Body.lookup("a"))).gives(200, ["records[0].recordName": "a", "syncToken": .absent]),
            asking(.post("public/records/lookup", .world, Body.lookup("a"))).gives(200, ["syncToken": .absent])),
        Scenario(
            "asking for the token does not change what is refused",
            asking(.post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork))).refuses(404, "ZONE_NOT_FOUND", "Zone does not exist"),
            asking(.post("private/records/modify", .ada, Body.modify("create", Body.note("a"), Body.inWork)))
                .refuses(404, "ZONE_NOT_FOUND", "Zone does not exist"),
            asking(.post("private/records/lookup", .world, Body.lookup("a"))).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
    ]
}
