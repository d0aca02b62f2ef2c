/// `changes/database` and `changes/zone`, where they answer at once.
extension Scenario {
    static let changes: [Scenario] = databaseFeed + zoneFeed + badTokens + feedsRefused

    private static let database = "private/changes/database"
    private static let zone = "private/changes/zone"

    private static let databaseFeed: [Scenario] = [
        Scenario(
            "the feed of a database tells which zones changed since a token",
            .post(database, .ada).gives(200, ["zones": .count(0), "moreComing": false]).keeps("t0", "syncToken"), .makeWork(),
            .post(database, .ada, #"{"syncToken":"<<t0>>"}"#).gives(
                200,
                [
                    "zones": .count(1), "zones[0].zoneID.zoneName": "Work", "zones[0].zoneID.ownerRecordName": "<<ada.name>>", "moreComing": false,
                ]
            ).keeps("t1", "syncToken"),
            .post(database, .ada, #"{"syncToken":"<<t1>>"}"#).gives(200, ["zones": .count(0), "syncToken": "<<t1>>"]),
            .makeNote("a", .ada, in: "private", Body.inWork),
            .post(database, .ada, #"{"syncToken":"<<t1>>"}"#).gives(200, ["zones": .count(1), "zones[0].deleted": .absent]).keeps("t2", "syncToken"),
            .post("private/zones/modify", .ada, Body.zones("delete", "Work")).gives(),
            .post(database, .ada, #"{"syncToken":"<<t2>>"}"#).gives(200, ["zones": .count(1), "zones[0].deleted": true]),
            .post(database, .ada, #"{"syncToken":"<<t2>>",\#(Body.details)}"#).detailed.gives(200, ["zones[0].nacre.reason": "DELETED"]),
            .post(database, .ada).gives(200, ["zones": .count(0)])),
        Scenario(
            "the feed of a database comes in pages", .post("private/zones/modify", .ada, Body.zones(count: 3)).gives(),
            .post(database, .ada, #"{"resultsLimit":2}"#).gives(200, ["zones": .count(2), "moreComing": true]).keeps("page", "syncToken"),
            .post(database, .ada, #"{"resultsLimit":2,"syncToken":"<<page>>"}"#).gives(200, ["zones": .count(1), "moreComing": false])),
        Scenario("the empty token is none", .makeWork(), .post(database, .ada, #"{"syncToken":""}"#).gives(200, ["zones": .count(1)])),
        Scenario(
            "records of the default zone are in no feed", .makeNote("a"), .post(database, .ada).gives(200, ["zones": .count(0)])),
        Scenario("the shared database's feed is empty", .post("shared/changes/database", .ada).gives(200, ["zones": .count(0), "syncToken": .some])),
    ]

    private static let zoneFeed: [Scenario] = [
        Scenario(
            "the feed of a zone tells what changed since a token", .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post(zone, .ada, Body.feed("Work")).gives(
                200,
                [
                    "zones": .count(1), "zones[0].zoneID.zoneName": "Work", "zones[0].records": .count(1),
                    "zones[0].records[0].fields.title.value": "One", "zones[0].records[0].zoneID.zoneName": "Work", "zones[0].moreComing": false,
                ]
            ).keeps("t1", "zones[0].syncToken"),
            .post("private/records/modify", .ada, Body.modify("forceDelete", #""recordName":"a""#, Body.inWork)).gives(),
            .post(zone, .ada, Body.feed("Work", token: "<<t1>>")).gives(
                200,
                [
                    "zones[0].records": .count(1), "zones[0].records[0].recordName": "a", "zones[0].records[0].deleted": true,
                    "zones[0].records[0].recordType": .absent, "zones[0].records[0].fields": .absent,
                ]),
            .post(zone, .ada, Body.feed("Work")).gives(200, ["zones[0].records": .count(0)])),
        Scenario(
            "the feed of a zone comes in pages, never in the middle of a commit", .makeWork(),
            .makeNote("a", .ada, in: "private", Body.inWork), .makeNote("b", .ada, in: "private", Body.inWork),
            .makeNote("c", .ada, in: "private", Body.inWork),
            .post(zone, .ada, Body.feed("Work", more: #""resultsLimit":2"#))
                .gives(200, ["zones[0].records": .count(2), "zones[0].moreComing": true]).keeps("page", "zones[0].syncToken"),
            .post(zone, .ada, Body.feed("Work", token: "<<page>>", more: #""resultsLimit":2"#))
                .gives(200, ["zones[0].records": .count(1), "zones[0].records[0].recordName": "c", "zones[0].moreComing": false])),
        Scenario(
            "a zone's options stand over the request's", .makeWork(),
            .post(
                "private/records/modify", .ada,
                Body.modify(
                    [("create", #""recordName":"a","recordType":"N","fields":{"x":{"value":1},"y":{"value":2}}"#), ("create", Body.note("b"))],
                    Body.inWork)
            )
            .gives(),
            .post(
                zone, .ada,
                #"{"zones":[{"zoneID":{"zoneName":"Work"},"desiredKeys":["y"],"desiredRecordTypes":["N"]}],"desiredKeys":["x"],"numbersAsStrings":true}"#
            )
            .gives(200, ["zones[0].records": .count(1), "zones[0].records[0].fields": .count(1), "zones[0].records[0].fields.y.value": "2"])),
        Scenario(
            "each zone of a request has its own result",
            .makeWork(),
            .post(zone, .ada, #"{"zones":[{"zoneID":{"zoneName":"Home"}},{"zoneID":{"zoneName":"Work"}},{"zoneID":{"zoneName":"_defaultZone"}}]}"#)
                .gives(
                    200,
                    [
                        "zones[0].serverErrorCode": "ZONE_NOT_FOUND", "zones[1].records": .count(0), "zones[2].serverErrorCode": "BAD_REQUEST",
                        "zones[2].reason": "cannot get changes in default zone",
                    ])),
        Scenario(
            "one zone's numbers are strings where another's are not", .makeWork(),
            .post("private/zones/modify", .ada, Body.zones("create", "Home")).gives(),
            .post(
                "private/records/modify", .ada, Body.modify("create", #""recordName":"a","recordType":"N","fields":{"x":{"value":1}}"#, Body.inWork)
            ).gives(),
            .post(
                "private/records/modify", .ada,
                Body.modify("create", #""recordName":"a","recordType":"N","fields":{"x":{"value":1}}"#, #""zoneID":{"zoneName":"Home"}"#)
            ).gives(),
            .post(zone, .ada, #"{"zones":[{"zoneID":{"zoneName":"Work"},"numberAsStrings":true},{"zoneID":{"zoneName":"Home"}}]}"#)
                .gives(200, ["zones[0].records[0].fields.x.value": "1", "zones[1].records[0].fields.x.value": 1])),
        Scenario(
            "the framework's own mark on a zone comes back with its feed", .makeWork(),
            .post(
                "private/records/modify", .device("ada"),
                Body.modify("create", Body.note("a"), Body.inWork + #","nacre":{"details":true,"clientChangeToken":"AQID"}"#)
            ).detailed.gives(),
            .post(zone, .device("ada"), #"{"zones":[{"zoneID":{"zoneName":"Work"}}],\#(Body.details)}"#).detailed
                .gives(200, ["zones[0].nacre.clientChangeToken": "AQID"]),
            .post(zone, .ada, Body.feed("Work")).lacks("AQID").gives()),
    ]

    private static let unknown = "Unknown sync continuation type"

    private static let badTokens: [Scenario] = [
        Scenario(
            "tokens that are none", .makeWork(),
            .post(database, .ada, #"{"syncToken":"nonsense"}"#).refuses(400, "BAD_REQUEST", unknown),
            .post(database, .ada, #"{"syncToken":"<<api>>"}"#).refuses(400, "BAD_REQUEST", unknown),
            .post(database, .ada, #"{"syncToken":"<<ada>>"}"#).refuses(400, "BAD_REQUEST", unknown),
            .post(database, .ada, #"{"syncToken":"\#(String(repeating: "x", count: 5000))"}"#).refuses(400, "BAD_REQUEST", unknown),
            .post(zone, .ada, Body.feed("Work", token: "nonsense"))
                .gives(200, ["zones[0].serverErrorCode": "BAD_REQUEST", "zones[0].reason": .equals(.string(unknown))])),
        Scenario(
            "a zone's token is none of a database, and the other way round", .makeWork(),
            .post(database, .ada).gives().keeps("database", "syncToken"),
            .post(zone, .ada, Body.feed("Work")).gives().keeps("zone", "zones[0].syncToken"),
            .post(database, .ada, #"{"syncToken":"<<zone>>"}"#).refuses(400, "BAD_REQUEST", unknown),
            .post(zone, .ada, Body.feed("Work", token: "<<database>>")).gives(200, ["zones[0].reason": .equals(.string(unknown))])),
        Scenario(
            "the token of a zone that was deleted and made again is expired", .makeWork(),
            .post(zone, .ada, Body.feed("Work")).gives().keeps("old", "zones[0].syncToken"),
            .post("private/zones/modify", .ada, Body.zones("delete", "Work")).gives(), .makeWork(),
            .post(zone, .ada, Body.feed("Work", token: "<<old>>"))
                .gives(200, ["zones[0].serverErrorCode": "BAD_REQUEST", "zones[0].reason": "change token expired"]),
            .post(zone, .device("ada"), #"{"zones":[{"zoneID":{"zoneName":"Work"},"syncToken":"<<old>>"}],\#(Body.details)}"#).detailed
                .gives(200, ["zones[0].nacre.code": 21, "zones[0].nacre.internalCode": 2036])),
        Scenario(
            "the token of another zone", .makeWork(), .post("private/zones/modify", .ada, Body.zones("create", "Home")).gives(),
            .post(zone, .ada, Body.feed("Home")).gives().keeps("home", "zones[0].syncToken"),
            .post(zone, .ada, Body.feed("Work", token: "<<home>>")).gives(200, ["zones[0].reason": "change token expired"])),
        Scenario(
            "another user's tokens", .makeWork(.ada), .makeWork(.bob),
            .post(database, .ada).gives().keeps("database", "syncToken"),
            .post(zone, .ada, Body.feed("Work")).gives().keeps("zone", "zones[0].syncToken"),
            .post(database, .bob, #"{"syncToken":"<<database>>"}"#).refuses(400, "BAD_REQUEST", "change token expired"),
            .post(zone, .bob, Body.feed("Work", token: "<<zone>>")).gives(200, ["zones[0].reason": "change token expired"])),
        Scenario(
            "tokens of another environment", .makeWork(),
            .post(database, .ada).gives().keeps("database", "syncToken"),
            .post("/database/1/iCloud.test.scenes/production/private/changes/database", .ada, #"{"syncToken":"<<database>>"}"#)
                .refuses(400, "BAD_REQUEST", "change token expired")),
    ]

    private static let feedsRefused: [Scenario] = [
        Scenario(
            "feeds of the public database",
            .post("public/changes/database", .ada).refuses(400, "BAD_REQUEST", "endpoint not applicable in the database type 'publicdb'"),
            .post("public/changes/zone", .ada, Body.feed("Work")).refuses(
                400, "BAD_REQUEST", "endpoint not applicable in the database type 'publicdb'"),
            .post("public/changes/zone", .world, Body.feed("Work")).refuses(
                400, "BAD_REQUEST", "endpoint not applicable in the database type 'publicdb'")),
        Scenario(
            "feeds without a user",
            .post(database, .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .post(zone, .world, Body.feed("Work")).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .post("shared/changes/database", .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
        Scenario(
            "bad JSON",
            .post(database, .ada, "").refuses(400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 1]"),
            .post(database, .ada, #"{"syncToken":1}"#).refuses(400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 14]"),
            .post(zone, .ada, "{}").refuses(400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 1]"),
            .post(zone, .ada, #"{"zones":[{}]}"#).refuses(400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 11]")),
        Scenario(
            "limits that are none", .makeWork(), .post(database, .ada, #"{"resultsLimit":-1}"#).refuses(400, "BAD_REQUEST", "invalid results limit"),
            .post(zone, .ada, Body.feed("Work", more: #""resultsLimit":-1"#)).gives(200, ["zones[0].reason": "invalid results limit"])),
        Scenario(
            "too many zones",
            .post(zone, .ada, Body.zoneNames(count: 201)).refuses(
                400, "BAD_REQUEST", "Your request contains 201 items which is more than the maximum number of items in a single request (200)")),
        Scenario(
            "a feed in reverse", .makeWork(),
            .post(zone, .ada, Body.feed("Work", more: #""reverse":true"#))
                .gives(
                    200,
                    [
                        "zones[0].serverErrorCode": "BAD_REQUEST",
                        "zones[0].reason": "reading changes in reverse is not supported by this version of the server",
                    ])),
        Scenario(
            "another user's zone", .makeWork(.bob), .makeNote("secret", .bob, in: "private", Body.inWork),
            .post(zone, .ada, #"{"zones":[{"zoneID":{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}}]}"#).lacks("secret")
                .gives(200, ["zones[0].serverErrorCode": "BAD_REQUEST", "zones[0].reason": "PrivateDB can't be used to access another user's zone"]),
            .post("shared/changes/zone", .ada, #"{"zones":[{"zoneID":{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}}]}"#).lacks("secret")
                .gives(200, ["zones[0].serverErrorCode": "ZONE_NOT_FOUND"])),
    ]
}
