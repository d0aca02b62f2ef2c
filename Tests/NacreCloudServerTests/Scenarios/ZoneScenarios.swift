/// `zones/list`, `zones/lookup` and `zones/modify`.
extension Scenario {
    static let zones: [Scenario] = zonesDone + zonesRefused

    private static let zonesDone: [Scenario] = [
        Scenario(
            "a zone is made, listed, looked up and deleted",
            .post("private/zones/modify", .ada, Body.zones("create", "Work")).gives(
                200,
                [
                    "zones": .count(1), "zones[0].zoneID.zoneName": "Work", "zones[0].zoneID.ownerRecordName": "<<ada.name>>",
                    "zones[0].zoneID.zoneType": "REGULAR_CUSTOM_ZONE", "zones[0].atomic": true, "zones[0].syncToken": .some,
                ]),
            .get("private/zones/list", .ada).gives(
                200,
                [
                    "zones": .count(2), "zones[0].zoneID.zoneName": "_defaultZone", "zones[0].zoneID.zoneType": "DEFAULT_ZONE",
                    "zones[0].atomic": false, "zones[0].syncToken": .absent, "zones[1].zoneID.zoneName": "Work",
                ]),
            .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"Work"},{"zoneID":{"zoneName":"Home"}},{"zoneName":"_defaultZone"}]}"#)
                .gives(
                    200,
                    [
                        "zones[0].zoneID.zoneName": "Work", "zones[0].syncToken": .some, "zones[1].serverErrorCode": "ZONE_NOT_FOUND",
                        "zones[1].reason": "Zone does not exist", "zones[2].zoneID.zoneName": "_defaultZone",
                    ]),
            .post("private/zones/modify", .ada, Body.zones("delete", "Work")).gives(200, ["zones[0].deleted": true, "zones[0].syncToken": .absent]),
            .get("private/zones/list", .ada).lacks("Work").gives(200, ["zones": .count(1)])),
        Scenario(
            "zones/list takes POST too", .makeWork(),
            .post("private/zones/list", .ada, "{}").gives(200, ["zones": .count(2)]),
            .post("private/zones/list", .ada, "").gives(200, ["zones": .count(2)])),
        Scenario("making a zone that is there succeeds", .makeWork(), .makeWork(), .get("private/zones/list", .ada).gives(200, ["zones": .count(2)])),
        Scenario(
            "the default zone is always there",
            .post("private/zones/modify", .ada, Body.zones("create", "_defaultZone"))
                .gives(200, ["zones[0].serverErrorCode": .absent, "zones[0].atomic": false, "zones[0].syncToken": .absent])),
        Scenario(
            "the public database has its default zone, for the world",
            .get("public/zones/list", .world)
                .gives(200, ["zones": .count(1), "zones[0].zoneID.zoneName": "_defaultZone", "zones[0].zoneID.ownerRecordName": "_defaultOwner"]),
            .post("public/zones/lookup", .world, Body.zoneNames(count: 1)).gives(200, ["zones[0].serverErrorCode": "ZONE_NOT_FOUND"])),
        Scenario(
            "the shared database has no zones yet", .get("shared/zones/list", .ada).gives(200, ["zones": .count(0)]),
            .post("shared/zones/lookup", .ada, #"{"zones":[{"zoneName":"_defaultZone"}]}"#).gives(200, ["zones[0].serverErrorCode": "ZONE_NOT_FOUND"])
        ),
        Scenario(
            "an owner's alias stands for the caller", .makeWork(),
            .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"Work","ownerRecordName":"_defaultOwner"}]}"#)
                .gives(200, ["zones[0].syncToken": .some]),
            .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"Work","ownerRecordName":"<<ada.name>>"}]}"#)
                .gives(200, ["zones[0].syncToken": .some])),
        Scenario(
            "a zone deleted and made again is empty, and begins above the old one's tags", .makeWork(),
            .makeNote("a", .ada, in: "private", Body.inWork),
            .post("private/zones/modify", .ada, Body.zones("delete", "Work")).gives(), .makeWork(),
            .post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork)).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("private/records/modify", .ada, Body.modify("create", Body.note("a"), Body.inWork)).gives(
                200, ["records[0].recordChangeTag": .not("<<tag>>")])),
    ]

    private static let zonesRefused: [Scenario] = [
        Scenario(
            "zones of the public database",
            .post("public/zones/modify", .ada, Body.zones("create", "Work"))
                .refuses(400, "BAD_REQUEST", "endpoint not applicable in the database type 'publicdb'")),
        Scenario(
            "zones of the shared database",
            .post("shared/zones/modify", .ada, Body.zones("create", "Work"))
                .refuses(400, "BAD_REQUEST", "endpoint not applicable in the database type 'shareddb'")),
        Scenario(
            "deleting what is not there, and what cannot be deleted",
            .post("private/zones/modify", .ada, Body.zones("delete", "Work", "_defaultZone"))
                .gives(
                    200,
                    [
                        "zones[0].serverErrorCode": "ZONE_NOT_FOUND", "zones[1].serverErrorCode": "BAD_REQUEST",
                        "zones[1].reason": "cannot delete the default zone",
                    ])),
        Scenario(
            "names that are none",
            .post("private/zones/modify", .ada, Body.zones("create", "", "_x", "Küche"))
                .gives(200, ["zones[0].reason": "invalid name", "zones[1].reason": "invalid name", "zones[2].reason": "invalid name"])),
        Scenario(
            "another user's zone", .makeWork(.bob),
            .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}]}"#)
                .gives(200, ["zones[0].serverErrorCode": "BAD_REQUEST", "zones[0].reason": "PrivateDB can't be used to access another user's zone"]),
            .post(
                "private/zones/modify", .ada,
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}}}]}"#
            )
            .gives(200, ["zones[0].serverErrorCode": "BAD_REQUEST"]),
            .get("private/zones/list", .bob).gives(200, ["zones": .count(2)])),
        Scenario(
            "one zone twice",
            .post("private/zones/modify", .ada, Body.zones("create", "Work", "Work"))
                .refuses(400, "BAD_REQUEST", "only one operation per item is allowed in a request")),
        Scenario(
            "an unknown operation",
            .post("private/zones/modify", .ada, Body.zones("update", "Work"))
                .refuses(400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 33]")),
        Scenario(
            "a zone without a name",
            .post("private/zones/modify", .ada, #"{"operations":[{"operationType":"create","zone":{"zoneID":{}}}]}"#)
                .refuses(400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 59]")),
        Scenario(
            "bad JSON",
            .post("private/zones/modify", .ada, "nonsense").refuses(
                400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 1]"),
            .post("private/zones/lookup", .ada, #"{"zones":{}}"#).refuses(
                400, "BAD_REQUEST", "badRequestException: unexpected input at [line: 1, column: 10]")),
        Scenario(
            "201 zones",
            .post("private/zones/modify", .ada, Body.zones(count: 201)).refuses(
                400, "BAD_REQUEST", "Your request contains 201 items which is more than the maximum number of items in a single request (200)"),
            .post("private/zones/lookup", .ada, Body.zoneNames(count: 201)).refuses(
                400, "BAD_REQUEST", "Your request contains 201 items which is more than the maximum number of items in a single request (200)"),
            .post("private/zones/modify", .ada, Body.zones(count: 200)).gives(200, ["zones": .count(200)])),
        Scenario(
            "zones without a user",
            .get("private/zones/list", .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .get("shared/zones/list", .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .post("private/zones/modify", .world, Body.zones("create", "Work")).refuses(
                421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .post("private/zones/lookup", .world, Body.zoneNames(count: 1)).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
    ]
}
