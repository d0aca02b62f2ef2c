/// Everything that `records/modify` and `records/lookup` refuse.
extension Scenario {
    static let recordErrors: [Scenario] = versions + references + malformed + limits + places

    private static let modifyPath = "private/records/modify"

    private static func item(_ name: String, _ step: Step...) -> Scenario {
        var scenario = Scenario(name)
        scenario.steps = step
        return scenario
    }

    /// Returns one operation that fails, in a request that succeeds.
    private static func refusal(_ name: String, _ body: String, _ code: String, _ reason: String, after steps: Step...) -> Scenario {
        var scenario = Scenario(name)
        let last = Step.post(modifyPath, .ada, body).gives(
            200,
            [
                "records": .count(1), "records[0].serverErrorCode": .equals(.string(code)), "records[0].reason": .equals(.string(reason)),
                "records[0].fields": .absent,
            ])
        scenario.steps = steps + [last]
        return scenario
    }

    private static func badRequest(_ name: String, _ path: String, _ body: String, _ reason: String, as sender: Sender = .ada) -> Scenario {
        let last = Step.post(path, sender, body).refuses(400, "BAD_REQUEST", reason)
        if case .device = sender { return Scenario(name, last.detailed) }
        return Scenario(name, last)
    }

    private static let versions: [Scenario] = [
        refusal("create over a record", Body.modify("create", Body.note("a")), "CONFLICT", "record to insert already exists", after: .makeNote("a")),
        refusal(
            "update with an old tag", Body.modify("update", Body.note("a", "Two", #""recordChangeTag":"old""#)), "CONFLICT",
            "client oplock error updating record", after: .makeNote("a")),
        refusal("update without a tag", Body.modify("update", Body.note("a")), "BAD_REQUEST", "missing required field", after: .makeNote("a")),
        refusal("replace without a tag", Body.modify("replace", Body.note("a")), "BAD_REQUEST", "missing required field", after: .makeNote("a")),
        refusal(
            "forceUpdate of what is not there without a type", Body.modify("forceUpdate", #""recordName":"a""#), "BAD_REQUEST",
            "missing required field"),
        refusal(
            "forceReplace of what is not there without a type", Body.modify("forceReplace", #""recordName":"a""#), "BAD_REQUEST",
            "missing required field"),
        refusal(
            "update of what is not there", Body.modify("update", Body.note("a", "x", #""recordChangeTag":"1""#)), "NOT_FOUND", "Record not found"),
        refusal(
            "replace with an old tag", Body.modify("replace", Body.note("a", "Two", #""recordChangeTag":"old""#)), "CONFLICT",
            "client oplock error updating record", after: .makeNote("a")),
        refusal(
            "replace of what is not there", Body.modify("replace", Body.note("a", "x", #""recordChangeTag":"1""#)), "NOT_FOUND", "Record not found"),
        refusal(
            "delete with an old tag", Body.modify("delete", #""recordName":"a","recordChangeTag":"old""#), "CONFLICT",
            "client oplock error updating record", after: .makeNote("a")),
        refusal("delete of what is not there", Body.modify("delete", #""recordName":"a","recordChangeTag":"1""#), "NOT_FOUND", "Record not found"),
        refusal("create without a type", Body.modify("create", #""recordName":"a""#), "BAD_REQUEST", "missing required field"),
        refusal("update without a name", Body.modify("update", #""recordType":"Note""#), "BAD_REQUEST", "missing required field"),
        refusal("delete without a name", Body.modify("forceDelete", ""), "BAD_REQUEST", "missing required field"),
        refusal(
            "a record's type changed", Body.modify("forceUpdate", #""recordName":"a","recordType":"Task""#), "BAD_REQUEST",
            "record type cannot be changed", after: .makeNote("a")),
        refusal(
            "a type that begins with a digit", Body.modify("create", #""recordName":"a","recordType":"1x""#), "NOT_FOUND",
            "Did not find record type: 1x"),
        refusal(
            "a user made by a user", Body.modify("create", #""recordName":"a","recordType":"Users""#), "ACCESS_DENIED",
            "CREATE operation not permitted"),
        refusal(
            "a share of the default zone", Body.modify("create", #""recordName":"cloudkit.zoneshare","recordType":"cloudkit.share""#), "BAD_REQUEST",
            "the default zone cannot be shared"),
        refusal("a name with an underscore first", Body.modify("create", Body.note("_a")), "BAD_REQUEST", "invalid name"),
        refusal("a name of 256 characters", Body.modify("create", Body.note(String(repeating: "n", count: 256))), "BAD_REQUEST", "invalid name"),
        refusal("a name that is not ASCII", Body.modify("create", Body.note("ä")), "BAD_REQUEST", "invalid name"),
    ]

    private static let references: [Scenario] = [
        refusal(
            "a parent that does not exist", Body.modify("create", Body.note("a", "x", #""parent":{"recordName":"none"}"#)),
            "VALIDATING_REFERENCE_ERROR", "parent record does not exist"),
        refusal(
            "a reference that deletes",
            Body.modify("create", #""recordName":"a","recordType":"N","fields":{"r":{"value":{"recordName":"b","action":"DELETE_SELF"}}}"#),
            "VALIDATING_REFERENCE_ERROR", "referenced record does not exist"),
        refusal(
            "a reference that validates",
            Body.modify("create", #""recordName":"a","recordType":"N","fields":{"r":{"value":{"recordName":"b","action":"VALIDATE"}}}"#),
            "VALIDATING_REFERENCE_ERROR", "referenced record does not exist"),
        refusal(
            "a reference into another zone",
            Body.modify(
                "create", #""recordName":"a","recordType":"N","fields":{"r":{"value":{"recordName":"b","action":"NONE","zoneID":{"zoneName":"X"}}}}"#),
            "BAD_REQUEST", "references across zones are not allowed"),
        refusal(
            "an asset that nobody uploaded",
            Body.modify(
                "create", #""recordName":"a","recordType":"N","fields":{"f":{"value":{"fileChecksum":"x","size":1,"receipt":"r"},"type":"ASSETID"}}"#),
            "BAD_REQUEST", "invalid receipt"),
        Scenario(
            "a parent deleted without its child", .makeNote("root"),
            .post(modifyPath, .ada, Body.modify("create", Body.note("child", "C", #""parent":{"recordName":"root"}"#)))
                .gives(200, ["records[0].parent.recordName": "root"]),
            .post(modifyPath, .ada, Body.modify("forceDelete", #""recordName":"root""#))
                .gives(
                    200,
                    [
                        "records[0].serverErrorCode": "VALIDATING_REFERENCE_ERROR",
                        "records[0].reason": "Record delete would violate validating reference ([root]), rejecting update",
                    ])),
        Scenario(
            "a record deleted to which another refers with VALIDATE", .makeNote("root"),
            .post(
                modifyPath, .ada,
                Body.modify("create", #""recordName":"v","recordType":"V","fields":{"r":{"value":{"recordName":"root","action":"VALIDATE"}}}"#)
            )
            .gives(200, ["records[0].recordName": "v"]),
            .post(modifyPath, .ada, Body.modify("forceDelete", #""recordName":"root""#))
                .gives(
                    200,
                    [
                        "records[0].serverErrorCode": "VALIDATING_REFERENCE_ERROR",
                        "records[0].reason": "Record delete would violate validating reference ([root]), rejecting update",
                    ])),
        Scenario(
            "a record that goes with the one it refers to", .makeNote("root"),
            .post(
                modifyPath, .ada,
                Body.modify("create", #""recordName":"d","recordType":"D","fields":{"r":{"value":{"recordName":"root","action":"DELETE_SELF"}}}"#)
            )
            .gives(200, ["records[0].recordName": "d"]),
            .post(modifyPath, .ada, Body.modify("forceDelete", #""recordName":"root""#)).gives(200, ["records[0].deleted": true]),
            .post(modifyPath, .ada, Body.modify("delete", #""recordName":"d""#))
                .gives(200, ["records[0].serverErrorCode": "NOT_FOUND", "records[0].reason": "Record not found"])),
        refusal(
            "a moment with a fraction of a millisecond",
            Body.modify("create", #""recordName":"a","recordType":"N","fields":{"t":{"value":1.5,"type":"TIMESTAMP"}}"#), "BAD_REQUEST",
            "Invalid value, expected type TIMESTAMP."),
        refusal(
            "a field with a strange name", Body.modify("create", #""recordName":"a","recordType":"N","fields":{"a b":{"value":1}}"#), "BAD_REQUEST",
            "invalid field name"),
    ]

    private static let malformed: [Scenario] = [
        badRequest("modify without a body", modifyPath, "", "badRequestException: unexpected input at [line: 1, column: 1]"),
        badRequest("modify with bad JSON", modifyPath, #"{"operations":["#, "badRequestException: unexpected input at [line: 1, column: 16]"),
        badRequest("modify with an array", modifyPath, "[]", "badRequestException: unexpected input at [line: 1, column: 1]"),
        badRequest("modify without operations", modifyPath, "{}", "badRequestException: unexpected input at [line: 1, column: 1]"),
        badRequest(
            "modify with an unknown operation", modifyPath, Body.modify("force_update", Body.note("a")),
            "badRequestException: unexpected input at [line: 1, column: 33]"),
        badRequest(
            "modify with one record twice", modifyPath, Body.modify([("forceUpdate", Body.note("a")), ("forceDelete", #""recordName":"a""#)]),
            "only one operation per item is allowed in a request"),
        badRequest(
            "an empty operation ID", modifyPath, Body.modify("create", Body.note("a"), #""nacre":{"operationID":""}"#), "invalid operation ID"),
        badRequest("lookup with bad JSON", "private/records/lookup", "{", "badRequestException: unexpected input at [line: 1, column: 2]"),
        badRequest("lookup without records", "private/records/lookup", "{}", "badRequestException: unexpected input at [line: 1, column: 1]"),
        Scenario(
            "the framework is told the place of a mistake",
            .post(modifyPath, .device("ada"), #"{"operations":[{"operationType":1}]}"#).detailed
                .gives(400, ["serverErrorCode": "BAD_REQUEST", "nacre.code": 12, "nacre.field": "operations[0].operationType"])),
    ]

    private static let limits: [Scenario] = [
        badRequest(
            "201 records from the web", modifyPath, Body.notes(201),
            "Your request contains 201 items which is more than the maximum number of items in a single request (200)"),
        Scenario("200 records from the web", .post(modifyPath, .ada, Body.notes(200)).gives(200, ["records": .count(200)])),
        badRequest(
            "401 records from the framework", modifyPath, Body.notes(401),
            "Your request contains 401 items which is more than the maximum number of items in a single request (400)", as: .device("ada")),
        Scenario("400 records from the framework", .post(modifyPath, .device("ada"), Body.notes(400)).gives(200, ["records": .count(400)])),
        badRequest(
            "lookup of 201 from the web", "private/records/lookup", Body.lookup(count: 201),
            "Your request contains 201 items which is more than the maximum number of items in a single request (200)"),
        badRequest(
            "lookup of 401 from the framework", "private/records/lookup", Body.lookup(count: 401),
            "Your request contains 401 items which is more than the maximum number of items in a single request (400)", as: .device("ada")),
        refusal("a record of more than a megabyte", Body.notes(1, titleBytes: 1_000_001), "BAD_REQUEST", "record size exceeds the limit"),
        badRequest(
            "more than two megabytes from the framework", modifyPath, Body.notes(3, titleBytes: 700_000), "request size exceeds the limit",
            as: .device("ada")),
        Scenario(
            "more than two megabytes from the web", .post(modifyPath, .ada, Body.notes(3, titleBytes: 700_000)).gives(200, ["records": .count(3)])),
        Scenario(
            "a body of more than eight megabytes", .post(modifyPath, .ada, Body.tooLarge).refuses(413, "BAD_REQUEST", "request body is too large")),
    ]

    private static let places: [Scenario] = [
        Scenario(
            "modify in a zone that does not exist",
            .post(modifyPath, .ada, Body.modify("create", Body.note("a"), Body.inWork)).refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
        Scenario(
            "lookup in a zone that does not exist",
            .post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork)).refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
        Scenario(
            "modify in the shared database, which has no zones yet",
            .post("shared/records/modify", .ada, Body.modify("create", Body.note("a"))).refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
        Scenario(
            "lookup in the shared database",
            .post("shared/records/lookup", .ada, Body.lookup("a")).refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
        Scenario(
            "the world writes into the public database",
            .post("public/records/modify", .world, Body.modify("create", Body.note("a")))
                .refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
        Scenario(
            "another's record of the public database", .makeNote("a", .ada, in: "public"),
            .post("public/records/modify", .bob, Body.modify("forceUpdate", Body.note("a", "Bob's")))
                .gives(200, ["records[0].serverErrorCode": "ACCESS_DENIED", "records[0].reason": "WRITE operation not permitted"]),
            .post("public/records/modify", .bob, Body.modify("forceDelete", #""recordName":"a""#))
                .gives(200, ["records[0].serverErrorCode": "ACCESS_DENIED"]),
            .post("public/records/modify", .bob, Body.modify("delete", #""recordName":"a","recordChangeTag":"<<tag>>""#))
                .gives(200, ["records[0].serverErrorCode": "ACCESS_DENIED"]),
            .post("public/records/lookup", .world, Body.lookup("a")).gives(200, ["records[0].fields.title.value": "One"])),
        Scenario(
            "a type that production does not have",
            .post("/database/1/iCloud.test.scenes/production/private/records/modify", .ada, Body.modify("create", Body.note("a")))
                .gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "Cannot create new type Note in production schema"])),
        Scenario(
            "a record that names another zone than its request", .makeWork(),
            .post(modifyPath, .ada, Body.modify("create", Body.note("a", "x", #""zoneID":{"zoneName":"Home"}"#), Body.inWork))
                .gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "the record's zone is not the request's"])),
    ]
}
