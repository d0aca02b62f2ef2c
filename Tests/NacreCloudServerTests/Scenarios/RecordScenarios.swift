/// Successful `records/modify` and `records/lookup`.
extension Scenario {
    static let records: [Scenario] = saves + deletes + shapes + lookups

    private static let saves: [Scenario] = [
        Scenario(
            "create makes a record, and lookup finds it",
            .post("private/records/modify", .ada, Body.modify("create", Body.note("a")))
                .gives(
                    200,
                    [
                        "records": .count(1), "records[0].recordName": "a", "records[0].recordType": "Note", "records[0].deleted": false,
                        "records[0].fields.title.value": "One", "records[0].fields.title.type": "STRING", "records[0].recordChangeTag": .some,
                        "records[0].created.userRecordName": "<<ada.name>>", "records[0].created.timestamp": 1_778_307_200_000,
                        "records[0].zoneID": .absent, "records[0].pluginFields": .count(0),
                    ]
                ).keeps("tag", "records[0].recordChangeTag"),
            .post("private/records/lookup", .ada, Body.lookup("a"))
                .gives(
                    200,
                    [
                        "records[0].fields.title.value": "One", "records[0].recordChangeTag": "<<tag>>",
                        "records[0].zoneID.zoneName": "_defaultZone", "records[0].zoneID.ownerRecordName": "<<ada.name>>",
                    ])),
        Scenario(
            "create without a name is given one",
            .post("private/records/modify", .ada, #"{"operations":[{"operationType":"create","record":{"recordType":"Note"}}]}"#)
                .gives(200, ["records[0].recordName": .some, "records[0].fields": .count(0)]).keeps("name", "records[0].recordName"),
            .post("private/records/lookup", .ada, Body.lookup("<<name>>")).gives(200, ["records[0].recordType": "Note"])),
        Scenario(
            "update with the tag changes what it names and keeps the rest", .makeNote("a"),
            .post(
                "private/records/modify", .ada, Body.modify("update", #""recordName":"a","recordChangeTag":"<<tag>>","fields":{"stars":{"value":3}}"#)
            )
            .gives(
                200,
                [
                    "records[0].fields.title.value": "One", "records[0].fields.stars.value": 3, "records[0].fields.stars.type": "INT64",
                    "records[0].recordChangeTag": .not("<<tag>>"),
                ])),
        Scenario(
            "update clears a field whose value is null", .makeNote("a"),
            .post("private/records/modify", .ada, Body.modify("update", #""recordName":"a","recordChangeTag":"<<tag>>","fields":{"title":null}"#))
                .gives(200, ["records[0].fields": .count(0)])),
        Scenario(
            "forceUpdate needs no tag, and makes what is missing",
            .post("private/records/modify", .ada, Body.modify("forceUpdate", Body.note("a"))).gives(200, ["records[0].fields.title.value": "One"]),
            .post("private/records/modify", .ada, Body.modify("forceUpdate", #""recordName":"a","fields":{"stars":{"value":1}}"#))
                .gives(200, ["records[0].fields.title.value": "One", "records[0].fields.stars.value": 1])),
        Scenario(
            "replace with the tag leaves nothing of what was there", .makeNote("a"),
            .post(
                "private/records/modify", .ada,
                Body.modify("replace", #""recordName":"a","recordChangeTag":"<<tag>>","fields":{"stars":{"value":1}}"#)
            )
            .gives(200, ["records[0].fields": .count(1), "records[0].fields.stars.value": 1])),
        Scenario(
            "forceReplace needs no tag, and makes what is missing", .makeNote("a"),
            .post(
                "private/records/modify", .ada,
                Body.modify([
                    ("forceReplace", #""recordName":"a","recordType":"Note","fields":{"stars":{"value":1}}"#), ("forceReplace", Body.note("b")),
                ])
            )
            .gives(200, ["records[0].fields": .count(1), "records[1].fields.title.value": "One"])),
        Scenario(
            "times of a record rise with the clock", .makeNote("a"), .later(90),
            .post("private/records/modify", .ada, Body.modify("forceUpdate", #""recordName":"a","fields":{"title":{"value":"Two"}}"#))
                .gives(200, ["records[0].created.timestamp": 1_778_307_200_000, "records[0].modified.timestamp": 1_778_307_290_000])),
        Scenario(
            "a user writes into the public database, and the world reads it", .makeNote("a", .ada, in: "public"),
            .post("public/records/lookup", .world, Body.lookup("a"))
                .gives(200, ["records[0].fields.title.value": "One", "records[0].created.userRecordName": "<<ada.name>>"]),
            .post("public/records/modify", .ada, Body.modify("delete", #""recordName":"a","recordChangeTag":"<<tag>>""#))
                .gives(200, ["records[0].deleted": true])),
    ]

    private static let deletes: [Scenario] = [
        Scenario(
            "delete with the tag deletes", .makeNote("a"),
            .post("private/records/modify", .ada, Body.modify("delete", #""recordName":"a","recordChangeTag":"<<tag>>""#))
                .gives(200, ["records[0].deleted": true, "records[0].recordName": "a", "records[0].fields": .absent]),
            .post("private/records/lookup", .ada, Body.lookup("a")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        Scenario(
            "delete without a tag deletes", .makeNote("a"),
            .post("private/records/modify", .ada, Body.modify("delete", #""recordName":"a""#)).gives(200, ["records[0].deleted": true])),
        Scenario(
            "forceDelete of what is not there succeeds",
            .post("private/records/modify", .ada, Body.modify("forceDelete", #""recordName":"a""#)).gives(200, ["records[0].deleted": true])),
        Scenario(
            "a record deleted and made again has another tag", .makeNote("a"),
            .post("private/records/modify", .ada, Body.modify("forceDelete", #""recordName":"a""#)).gives(),
            .post("private/records/modify", .ada, Body.modify("create", Body.note("a"))).gives(200, ["records[0].recordChangeTag": .not("<<tag>>")])),
        Scenario(
            "a parent and its child are saved in one batch, and deleted in one", .makeWork(),
            .post(
                "private/records/modify", .ada,
                Body.modify([("create", Body.note("child", "C", #""parent":{"recordName":"root"}"#)), ("create", Body.note("root"))], Body.inWork)
            )
            .gives(200, ["records[0].parent.recordName": "root", "records[1].recordName": "root"]),
            .post(
                "private/records/modify", .ada,
                Body.modify([("forceDelete", #""recordName":"root""#), ("forceDelete", #""recordName":"child""#)], Body.inWork)
            )
            .gives(200, ["records[0].deleted": true, "records[1].deleted": true])),
    ]

    private static let shapes: [Scenario] = [
        Scenario(
            "desiredKeys of the request, and of an operation over them",
            .post(
                "private/records/modify", .ada,
                #"{"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"N","fields":{"x":{"value":1},"y":{"value":2}}}},"#
                    + #"{"operationType":"create","desiredKeys":["y"],"record":{"recordName":"b","recordType":"N","fields":{"x":{"value":1},"y":{"value":2}}}},"#
                    + #"{"operationType":"create","desiredKeys":[],"record":{"recordName":"c","recordType":"N","fields":{"x":{"value":1}}}}],"desiredKeys":["x"]}"#
            )
            .gives(
                200,
                [
                    "records[0].fields": .count(1), "records[0].fields.x.value": 1, "records[1].fields": .count(1),
                    "records[1].fields.y.value": 2, "records[2].fields": .count(0),
                ]),
            .post("private/records/lookup", .ada, #"{"records":[{"recordName":"a","desiredKeys":["y"]},{"recordName":"b"}],"desiredKeys":["x"]}"#)
                .gives(
                    200,
                    ["records[0].fields.y.value": 2, "records[0].fields.x": .absent, "records[1].fields.x.value": 1, "records[1].fields.y": .absent])),
        Scenario(
            "numbersAsStrings makes strings of numbers, in modify and in lookup",
            .post(
                "private/records/modify", .ada,
                Body.modify(
                    "create", #""recordName":"a","recordType":"N","fields":{"i":{"value":9007199254740993},"d":{"value":0.5}}"#,
                    #""numbersAsStrings":true"#)
            )
            .gives(200, ["records[0].fields.i.value": "9007199254740993", "records[0].fields.d.value": "0.5"]),
            .post("private/records/lookup", .ada, Body.lookup("a")).contains("9007199254740993").gives(200, ["records[0].fields.d.value": 0.5]),
            .post("private/records/lookup", .ada, Body.lookup("a", more: #""numbersAsStrings":true"#))
                .gives(200, ["records[0].fields.i.value": "9007199254740993"])),
        Scenario(
            "a client that asks for details gets exact times and codes, and no other does", .makeNote("a"),
            .post("private/records/modify", .ada, Body.modify("forceUpdate", Body.note("a"), Body.details)).detailed
                .gives(200, ["records[0].nacre.created": 800_000_000, "records[0].nacre.modified": 800_000_000.001]),
            .post("private/records/modify", .ada, Body.modify("create", Body.note("a"), Body.details)).detailed
                .gives(
                    200,
                    [
                        "records[0].serverErrorCode": "CONFLICT", "records[0].nacre.code": 14, "records[0].nacre.internalCode": 2004,
                        "records[0].nacre.serverRecord.fields.title.value": "One",
                    ]),
            .post("private/records/modify", .ada, Body.modify("create", Body.note("a"))).lacks("2004", "serverRecord", "remedy")
                .gives(200, ["records[0].serverErrorCode": "CONFLICT"]),
            .post("private/records/lookup", .device("ada"), Body.lookup("a", "b", more: Body.details)).detailed
                .gives(200, ["records[0].nacre.created": 800_000_000, "records[1].nacre.code": 11])),
        Scenario(
            "a batch of a default zone saves what it can", .makeNote("a"),
            .post("private/records/modify", .ada, Body.modify([("create", Body.note("a")), ("create", Body.note("b"))]))
                .gives(200, ["records[0].serverErrorCode": "CONFLICT", "records[1].recordName": "b", "records[1].serverErrorCode": .absent]),
            .post("private/records/lookup", .ada, Body.lookup("b")).gives(200, ["records[0].fields.title.value": "One"])),
        Scenario(
            "a batch of a custom zone falls as a whole", .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post("private/records/modify", .ada, Body.modify([("create", Body.note("a")), ("create", Body.note("b"))], Body.inWork))
                .gives(200, ["records[0].serverErrorCode": "CONFLICT", "records[1].serverErrorCode": "ATOMIC_ERROR"]),
            .post("private/records/lookup", .ada, Body.lookup("b", more: Body.inWork)).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        Scenario(
            "a batch of a custom zone that is not atomic saves what it can", .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post(
                "private/records/modify", .ada,
                Body.modify([("create", Body.note("a")), ("create", Body.note("b"))], Body.inWork + #","atomic":false"#)
            )
            .gives(200, ["records[0].serverErrorCode": "CONFLICT", "records[1].recordName": "b"]),
            .post("private/records/lookup", .ada, Body.lookup("b", more: Body.inWork)).gives(200, ["records[0].fields.title.value": "One"])),
        Scenario(
            "an operation with an ID is done once, whoever asks again",
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .gives(200, ["records[0].recordName": "a"]).keeps("tag", "records[0].recordChangeTag"),
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .gives(200, ["records[0].recordChangeTag": "<<tag>>", "records[0].serverErrorCode": .absent]),
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("b"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .refuses(400, "BAD_REQUEST", "operation ID was used for another request"),
            .post("private/records/lookup", .ada, Body.lookup("b")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        Scenario(
            "a repetition that is older than every kept result is told so, and not done",
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"details":true,"operationID":"op-1"}"#))
                .detailed
                .header("X-Nacre-Operation-Age", "691200").refuses(400, "BAD_REQUEST", "whether this operation was applied is not known any more")
                .gives(400, ["nacre.code": 34, "nacre.field": "nacre.operationID"]),
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .header("X-Nacre-Operation-Age", "soon").refuses(400, "BAD_REQUEST", "invalid age of an operation"),
            .post("private/records/lookup", .ada, Body.lookup("a")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .header("X-Nacre-Operation-Age", "12.250").gives(200, ["records[0].recordName": "a"]),
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .header("X-Nacre-Operation-Age", "13").gives(200, ["records[0].serverErrorCode": .absent])),
        Scenario(
            "one user's operation ID says nothing to another in the public database",
            .post("public/records/modify", .device("ada"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .gives(200, ["records[0].recordName": "a"]),
            .post("public/records/modify", .device("bob"), Body.modify("create", Body.note("a"), #""nacre":{"operationID":"op-1"}"#)).detailed
                .gives(200, ["records[0].serverErrorCode": "CONFLICT", "records[0].reason": "record to insert already exists"])),
    ]

    private static let lookups: [Scenario] = [
        Scenario(
            "lookup answers in the order asked, with an error for each that is missing", .makeNote("a"), .makeNote("b"),
            .post("private/records/lookup", .ada, Body.lookup("b", "x", "a"))
                .gives(
                    200,
                    [
                        "records": .count(3), "records[0].recordName": "b", "records[1].recordName": "x", "records[1].serverErrorCode": "NOT_FOUND",
                        "records[1].reason": "Record not found", "records[2].recordName": "a",
                    ])),
        Scenario(
            "query parameters that browsers add are ignored", .makeNote("a"),
            .post("private/records/lookup", .ada, Body.lookup("a"))
                .query(["ckjsBuildVersion": "2310", "remapEnums": "True", "clientId": "x", "dsid": ""]).gives(200, ["records[0].recordName": "a"])),
        Scenario(
            "the content type of a request does not matter", .makeNote("a"),
            .post("private/records/lookup", .ada, Body.lookup("a")).header("Content-Type", "text/plain").gives(200, ["records[0].recordName": "a"])),
    ]
}
