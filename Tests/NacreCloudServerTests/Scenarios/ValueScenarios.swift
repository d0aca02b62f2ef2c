/// Values through the server: every type, every form that clients send, and the answers.
extension Scenario {
    static let values: [Scenario] = types + inference + numbers + keys + forms + mistyped

    private static let modifyPath = "private/records/modify"

    private static func save(_ fields: String, _ more: String = "") -> Step {
        .post(modifyPath, .ada, Body.modify("create", #""recordName":"a","recordType":"V","fields":{\#(fields)}"#, more))
    }

    private static func lookup(_ more: String = "") -> Step { .post("private/records/lookup", .ada, Body.lookup("a", more: more)) }

    /// Returns a scenario that saves a field `f` with one value and looks it up, with the expected values under `f`.
    private static func value(_ name: String, _ sent: String, _ expected: [String: Expected]) -> Scenario {
        var values: [String: Expected] = ["records[0].serverErrorCode": .absent]
        for (path, wanted) in expected { values["records[0].fields.f" + path] = wanted }
        return Scenario(
            "a value of \(name)", save(#""g":{"value":1},"f":\#(sent)"#).gives(200, values),
            lookup().gives(200, values))
    }

    private static let types: [Scenario] =
        [
            value("STRING", #"{"value":"text","type":"STRING"}"#, [".value": "text", ".type": "STRING"]),
            value("STRING, empty", #"{"value":"","type":"STRING"}"#, [".value": "", ".type": "STRING"]),
            value(
                "STRING with all that Unicode and JSON have", #"{"value":"\u0000\u001f\"\\\/é e\u0301 語 \ud83d\ude00 👩‍👩‍👧 \u2028","type":"STRING"}"#,
                [".value": "\u{0}\u{1F}\"\\/é e\u{301} 語 😀 👩‍👩‍👧 \u{2028}"]),
            value("INT64", #"{"value":-5,"type":"INT64"}"#, [".value": -5, ".type": "INT64"]),
            value("DOUBLE that looks whole", #"{"value":5,"type":"DOUBLE"}"#, [".value": 5, ".type": "DOUBLE"]),
            value("DOUBLE", #"{"value":0.1,"type":"DOUBLE"}"#, [".value": 0.1, ".type": "DOUBLE"]),
            value("TIMESTAMP", #"{"value":1678307200123,"type":"TIMESTAMP"}"#, [".value": 1_678_307_200_123, ".type": "TIMESTAMP"]),
            value(
                "TIMESTAMP before our era's computers", #"{"value":-62135769600000,"type":"TIMESTAMP"}"#,
                [".value": -62_135_769_600_000, ".type": "TIMESTAMP"]),
            value("BYTES", #"{"value":"+\/8=","type":"BYTES"}"#, [".value": "+/8=", ".type": "BYTES"]),
            value("BYTES, none", #"{"value":"","type":"BYTES"}"#, [".value": "", ".type": "BYTES"]),
            value(
                "LOCATION",
                #"{"value":{"latitude":48.5,"longitude":-2,"horizontalAccuracy":1,"verticalAccuracy":2,"altitude":3,"speed":4,"course":5,"timestamp":1678307200123},"type":"LOCATION"}"#,
                [
                    ".value.latitude": 48.5, ".value.longitude": -2, ".value.horizontalAccuracy": 1, ".value.verticalAccuracy": 2,
                    ".value.altitude": 3,
                    ".value.speed": 4, ".value.course": 5, ".value.timestamp": 1_678_307_200_123, ".type": "LOCATION",
                ]),
            value(
                "REFERENCE", #"{"value":{"recordName":"x","action":"NONE"},"type":"REFERENCE"}"#,
                [".value.recordName": "x", ".value.action": "NONE", ".type": "REFERENCE"]),
            value(
                "STRING_LIST", #"{"value":["b","","a","b"],"type":"STRING_LIST"}"#,
                [".value": .equals(.array([.string("b"), .string(""), .string("a"), .string("b")])), ".type": "STRING_LIST"]),
            value(
                "INT64_LIST", #"{"value":[2,1],"type":"INT64_LIST"}"#, [".value": .equals(.array([.number(2), .number(1)])), ".type": "INT64_LIST"]),
            value(
                "DOUBLE_LIST", #"{"value":[1,0.5],"type":"DOUBLE_LIST"}"#,
                [".value": .equals(.array([.number(1), .number(0.5)])), ".type": "DOUBLE_LIST"]),
            value(
                "TIMESTAMP_LIST", #"{"value":[1678307200123,0],"type":"TIMESTAMP_LIST"}"#,
                [".value": .equals(.array([.number(1_678_307_200_123), .number(0)])), ".type": "TIMESTAMP_LIST"]),
            value(
                "BYTES_LIST", #"{"value":["","AQ=="],"type":"BYTES_LIST"}"#,
                [".value": .equals(.array([.string(""), .string("AQ==")])), ".type": "BYTES_LIST"]),
            value(
                "LOCATION_LIST", #"{"value":[{"latitude":1,"longitude":2}],"type":"LOCATION_LIST"}"#,
                [".value": .count(1), ".value[0].longitude": 2, ".type": "LOCATION_LIST"]),
            value(
                "REFERENCE_LIST", #"{"value":[{"recordName":"x","action":"NONE"}],"type":"REFERENCE_LIST"}"#,
                [".value": .count(1), ".value[0].recordName": "x", ".type": "REFERENCE_LIST"]),
        ]
        + ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "BYTES", "LOCATION", "REFERENCE"].map {
            value("\($0)_LIST, empty", #"{"value":[],"type":"\#($0)_LIST"}"#, [".value": .count(0), ".type": .equals(.string("\($0)_LIST"))])
        }

    private static let inference: [Scenario] = [
        value("no type that is text", #"{"value":"AQI="}"#, [".value": "AQI=", ".type": "STRING"]),
        value("no type that is whole", #"{"value":5}"#, [".value": 5, ".type": "INT64"]),
        value("no type that has a fraction", #"{"value":5.0}"#, [".value": 5, ".type": "DOUBLE"]),
        value("no type that is true", #"{"value":true}"#, [".value": 1, ".type": "INT64"]),
        value("type BOOLEAN", #"{"value":false,"type":"BOOLEAN"}"#, [".value": 0, ".type": "INT64"]),
        value("no type that is a place", #"{"value":{"longitude":2,"latitude":1}}"#, [".value.latitude": 1, ".type": "LOCATION"]),
        value("no type that is a link", #"{"value":{"action":"NONE","recordName":"x"}}"#, [".value.recordName": "x", ".type": "REFERENCE"]),
        value("no type that is a list of text", #"{"value":["a"]}"#, [".value": .count(1), ".type": "STRING_LIST"]),
        value("no type that is a list of whole numbers", #"{"value":[1,2]}"#, [".value": .count(2), ".type": "INT64_LIST"]),
        value("no type that is a list of numbers", #"{"value":[1.5,2]}"#, [".value": .count(2), ".type": "DOUBLE_LIST"]),
        value("no type that is a list of places", #"{"value":[{"latitude":1,"longitude":2}]}"#, [".type": "LOCATION_LIST"]),
        value("no type that is a list of links", #"{"value":[{"recordName":"x","action":"NONE"}]}"#, [".type": "REFERENCE_LIST"]),
        value("UNKNOWN_LIST with an element", #"{"value":["a"],"type":"UNKNOWN_LIST"}"#, [".type": "STRING_LIST"]),
        Scenario(
            "an empty list without a type takes that of its field",
            save(#""f":{"value":["a"]}"#).gives(200, ["records[0].fields.f.value": .count(1)]),
            .post(modifyPath, .ada, Body.modify("forceUpdate", #""recordName":"a","recordType":"V","fields":{"f":{"value":[]}}"#))
                .gives(200, ["records[0].fields.f.value": .count(0), "records[0].fields.f.type": "STRING_LIST"]),
            lookup().gives(200, ["records[0].fields.f.value": .count(0), "records[0].fields.f.type": "STRING_LIST"])),
        Scenario(
            "an empty list of a field that nobody knows",
            save(#""f":{"value":[]}"#).gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].fields": .absent])),
    ]

    private static let numbers: [Scenario] = [
        Scenario(
            "numbersAsStrings, in both its spellings, makes strings of numbers and dates alone",
            save(
                #""i":{"value":9223372036854775807},"d":{"value":5,"type":"DOUBLE"},"t":{"value":1678307200123,"type":"TIMESTAMP"},"#
                    + #""il":{"value":[1]},"dl":{"value":[0.5]},"tl":{"value":[1],"type":"TIMESTAMP_LIST"},"s":{"value":"x"},"#
                    + #""l":{"value":{"latitude":1,"longitude":2}}"#, #""numbersAsStrings":true"#
            ).gives(200, ["records[0].fields.i.value": "9223372036854775807"]),
            stringified(#""numbersAsStrings":true"#), stringified(#""numberAsStrings":true"#),
            lookup(#""numbersAsStrings":false"#).contains(#""value":9223372036854775807"#).gives(200, ["records[0].fields.d.value": 5]),
            lookup(#""numbersAsStrings":null"#).gives(200, ["records[0].fields.d.value": 5])),
        Scenario(
            "integers of 64 bits keep every digit, and doubles every bit",
            save(#""least":{"value":-9223372036854775808},"odd":{"value":"9007199254740993","type":"INT64"},"d":{"value":0.30000000000000004}"#)
                .gives(),
            lookup().contains(#""value":-9223372036854775808"#, #""value":9007199254740993"#, #""value":0.30000000000000004"#).gives()),
        Scenario(
            "what numbersAsStrings answered may be sent back",
            save(#""i":{"value":"-5","type":"INT64"},"d":{"value":"0.5","type":"DOUBLE"},"t":{"value":"1678307200123","type":"TIMESTAMP"}"#)
                .gives(200, ["records[0].fields.i.value": -5, "records[0].fields.d.value": 0.5, "records[0].fields.t.value": 1_678_307_200_123])),
    ]

    private static func stringified(_ more: String) -> Step {
        lookup(more).gives(
            200,
            [
                "records[0].fields.i.value": "9223372036854775807", "records[0].fields.d.value": "5.0", "records[0].fields.t.value": "1678307200123",
                "records[0].fields.il.value[0]": "1", "records[0].fields.dl.value[0]": "0.5", "records[0].fields.tl.value[0]": "1",
                "records[0].fields.s.value": "x", "records[0].fields.l.value.latitude": 1, "records[0].created.timestamp": 1_778_307_200_000,
            ])
    }

    private static let three = #""x":{"value":1},"y":{"value":2},"z":{"value":3}"#

    private static let keys: [Scenario] = [
        Scenario(
            "desiredKeys: null is all, none is none, twice is once, and strangers are nothing",
            save(three, #""desiredKeys":null"#)
                .gives(200, ["records[0].fields": .count(3)]),
            lookup(#""desiredKeys":null"#).gives(200, ["records[0].fields": .count(3)]),
            lookup(#""desiredKeys":[]"#).gives(200, ["records[0].fields": .count(0), "records[0].recordChangeTag": .some]),
            lookup(#""desiredKeys":["y","y","nobody","___createTime"]"#)
                .gives(200, ["records[0].fields": .count(1), "records[0].fields.y.value": 2])),
        Scenario(
            "desiredKeys of a record stand over the request's, null leaves them", save(three).gives(),
            .post("private/records/lookup", .ada, #"{"desiredKeys":["x"],"records":[{"recordName":"a","desiredKeys":["y","z"]}]}"#)
                .gives(200, ["records[0].fields": .count(2), "records[0].fields.x": .absent]),
            .post("private/records/lookup", .ada, #"{"desiredKeys":["x"],"records":[{"recordName":"a","desiredKeys":[]}]}"#)
                .gives(200, ["records[0].fields": .count(0)]),
            .post("private/records/lookup", .ada, #"{"desiredKeys":["x"],"records":[{"recordName":"a","desiredKeys":null}]}"#)
                .gives(200, ["records[0].fields": .count(1), "records[0].fields.x.value": 1])),
        Scenario(
            "a lookup that names a record twice", save(three).gives(),
            .post("private/records/lookup", .ada, #"{"records":[{"recordName":"a"},{"recordName":"a"}]}"#)
                .refuses(400, "BAD_REQUEST", "a name stands in 'records' more than once")),
        Scenario(
            "desiredKeys of an operation stand over the request's, null leaves them",
            .post(
                modifyPath, .ada,
                #"{"desiredKeys":["x","x"],"operations":["#
                    + #"{"operationType":"create","desiredKeys":["y"],"record":{"recordName":"a","recordType":"V","fields":{\#(three)}}},"#
                    + #"{"operationType":"create","desiredKeys":[],"record":{"recordName":"b","recordType":"V","fields":{\#(three)}}},"#
                    + #"{"operationType":"create","desiredKeys":null,"record":{"recordName":"c","recordType":"V","fields":{\#(three)}}}]}"#
            ).gives(
                200,
                [
                    "records[0].fields": .count(1), "records[0].fields.y.value": 2, "records[1].fields": .count(0),
                    "records[2].fields": .count(1), "records[2].fields.x.value": 1,
                ])),
    ]

    private static func change(_ type: String, _ fields: String) -> Step {
        .post(modifyPath, .ada, Body.modify(type, #""recordName":"a","recordType":"V","recordChangeTag":"<<tag>>","fields":{\#(fields)}"#))
    }

    private static let forms: [Scenario] = [
        Scenario(
            "a field is cleared by null, by a null value, and by no value", save(three).gives().keeps("tag", "records[0].recordChangeTag"),
            change("update", #""x":null,"y":{"value":null},"z":{"type":"INT64"}"#).gives(200, ["records[0].fields": .count(0)])),
        Scenario(
            "a field cleared in a forceUpdate, and left out of a replace", save(three).gives(),
            change("forceUpdate", #""x":{"value":null,"type":"INT64"}"#).gives(200, ["records[0].fields": .count(2), "records[0].fields.x": .absent])
                .keeps("tag", "records[0].recordChangeTag"),
            change("replace", #""z":{"value":4}"#).gives(200, ["records[0].fields": .count(1), "records[0].fields.z.value": 4]),
            lookup().gives(200, ["records[0].fields": .count(1)])),
        Scenario(
            "null clears what was never there", save(#""x":null,"y":{"value":1}"#).gives(200, ["records[0].fields": .count(1)])),
        Scenario(
            "what an answer has may be sent back in a request", save(three).gives().keeps("tag", "records[0].recordChangeTag"),
            .post(
                modifyPath, .ada,
                Body.modify(
                    "update",
                    #""recordName":"a","recordType":"V","recordChangeTag":"<<tag>>","pluginFields":{},"deleted":false,"zoneType":"DEFAULT_ZONE","#
                        + #""created":{"timestamp":1,"userRecordName":"_x","deviceID":"2"},"modified":{"timestamp":1,"userRecordName":"_x"},"#
                        + #""zoneID":{"zoneName":"_defaultZone","ownerRecordName":"<<ada.name>>","zoneType":"DEFAULT_ZONE"},"share":null,"#
                        + #""stableUrl":{"routingKey":"x"},"shortGUID":"g","fields":{"x":{"value":9,"type":"INT64","later":[1]}}"#,
                    #""remapEnums":true,"later":{}"#)
            ).gives(
                200,
                [
                    "records[0].fields.x.value": 9, "records[0].fields": .count(3), "records[0].created.timestamp": 1_778_307_200_000,
                    "records[0].created.userRecordName": "<<ada.name>>", "records[0].pluginFields": .count(0), "records[0].deleted": false,
                ])),
        Scenario(
            "a lookup takes one object in place of an array", save(three).gives(),
            .post("private/records/lookup", .ada, #"{"records":{"recordName":"a","desiredKeys":["x"]}}"#)
                .gives(200, ["records": .count(1), "records[0].fields": .count(1)])),
        Scenario(
            "a reader of details gets moments to the last bit, and dates from frameworks keep them",
            .post(
                modifyPath, .device("ada"),
                Body.modify(
                    "create",
                    #""recordName":"a","recordType":"V","fields":{"f":{"value":1678307200123,"type":"TIMESTAMP","nacre":{"seconds":700000000.123456}}}"#,
                    Body.details)
            ).detailed.gives(200, ["records[0].fields.f.nacre.seconds": 700_000_000.123456]),
            .post("private/records/lookup", .device("ada"), Body.lookup("a", more: Body.details)).detailed
                .gives(200, ["records[0].fields.f.nacre.seconds": 700_000_000.123456]),
            lookup().gives(200, ["records[0].fields.f.value": 1_678_307_200_123, "records[0].fields.f": .count(2)])),
    ]

    private static func mistake(_ name: String, _ sent: String, _ reason: String) -> Scenario {
        Scenario(
            name,
            .post(
                modifyPath, .ada,
                Body.modify([
                    ("create", #""recordName":"a","recordType":"V","fields":{"f":\#(sent)}"#), ("create", #""recordName":"b","recordType":"V""#),
                ])
            ).gives(
                200,
                [
                    "records[0].recordName": "a", "records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": .equals(.string(reason)),
                    "records[0].fields": .absent, "records[0].recordType": .absent, "records[1].serverErrorCode": .absent,
                ]),
            lookup().gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]))
    }

    private static let mistyped: [Scenario] = [
        mistake("a date with a fraction", #"{"value":1.5,"type":"TIMESTAMP"}"#, "Invalid value, expected type TIMESTAMP."),
        mistake(
            "a place whose time has a fraction", #"{"value":{"latitude":1,"longitude":2,"timestamp":1.5},"type":"LOCATION"}"#,
            "Invalid value, expected type TIMESTAMP."),
        mistake("a place without longitude", #"{"value":{"latitude":1},"type":"LOCATION"}"#, "Invalid value, expected type LOCATION."),
        mistake("text for a number", #"{"value":"x","type":"INT64"}"#, "Invalid value, expected type INT64."),
        mistake("a number beyond 64 bits", #"{"value":9223372036854775808}"#, "Invalid value, expected type INT64."),
        mistake("a link without a name", #"{"value":{"action":"NONE"},"type":"REFERENCE"}"#, "Invalid value, expected type REFERENCE."),
        mistake("bytes that are not base64", #"{"value":"?","type":"BYTES"}"#, "Invalid value, expected type BYTES."),
        mistake("a list of two types", #"{"value":["a",1]}"#, "Invalid value, expected type STRING."),
        mistake("an object of no type", #"{"value":{"x":1}}"#, "Invalid value, its type is neither given nor plain."),
        mistake("a number that is none", #"{"value":"NaN","type":"DOUBLE"}"#, "numbers must be finite"),
        Scenario(
            "a type that nobody knows fails the request",
            .post(modifyPath, .ada, Body.modify("create", #""recordName":"a","recordType":"V","fields":{"f":{"value":1,"type":"NUMBER"}}"#))
                .lacks("records").gives(
                    400, ["serverErrorCode": "BAD_REQUEST", "reason": .prefix("badRequestException: unexpected input at [line: 1, ")])),
        Scenario(
            "an encrypted value in the public database",
            .post(
                "public/records/modify", .ada,
                Body.modify(
                    "create",
                    #""recordName":"a","recordType":"V","fields":{"f":{"value":"AQI=","type":"STRING","isEncrypted":true,"nacre":{"keyID":"k"}}}"#)
            ).gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "encrypted fields are not supported in the public database",
                ])),
    ]
}
