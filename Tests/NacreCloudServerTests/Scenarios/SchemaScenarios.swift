/// Saves and the schema: types and fields that saves add in development, and production, which has only deployed
/// ones.
extension Scenario {
    static let schemas: [Scenario] = wrongTypes + encrypted + production

    private static let development = "private/records/modify"
    private static let inProduction = "/database/1/iCloud.test.scenes/production/private/records/modify"

    private static func task(_ name: String, _ fields: String) -> String {
        #""recordName":"\#(name)","recordType":"Task","fields":{\#(fields)}"#
    }

    private static func save(_ name: String, _ fields: String, _ more: String = "", at path: String = development) -> Step {
        .post(path, .ada, Body.modify("create", task(name, fields) + more)).gives(200, ["records[0].serverErrorCode": .absent])
    }

    /// Expects a refusal of one record of a batch without effect, while the other is saved.
    private static func refuses(_ fields: String, _ reason: String, at path: String = development, other: String = #""other":{"value":1}"#) -> [Step]
    {
        [
            .post(path, .ada, Body.modify([("create", task("bad", fields)), ("create", task("good", other))])).gives(
                200,
                [
                    "records": .count(2), "records[0].recordName": "bad", "records[0].serverErrorCode": "BAD_REQUEST",
                    "records[0].reason": .equals(.string(reason)), "records[0].fields": .absent, "records[0].recordType": .absent,
                    "records[0].uuid": .absent, "records[1].recordName": "good", "records[1].serverErrorCode": .absent,
                ]),
            .post(path.replacing("modify", with: "lookup"), .ada, Body.lookup("bad")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
        ]
    }

    private static func story(_ name: String, _ first: [Step], _ rest: [Step]) -> Scenario {
        var scenario = Scenario(name)
        scenario.steps = first + rest
        return scenario
    }

    private static func mismatch(_ declared: String, _ first: String, _ given: String, _ second: String) -> Scenario {
        story(
            "a \(given) for a field that is a \(declared)", [save("a", #""f":\#(first)"#)],
            refuses(
                #""f":\#(second)"#, "invalid attempt to set value type \(given) for field 'f' for type 'Task', defined to be: \(declared)"))
    }

    private static let link = #"{"value":{"recordName":"x","action":"NONE"}}"#

    private static let wrongTypes: [Scenario] = [
        mismatch("REFERENCE", link, "STRING", #"{"value":"x"}"#),
        mismatch("STRING", #"{"value":"x"}"#, "INT64", #"{"value":1}"#),
        mismatch("INT64", #"{"value":1}"#, "STRING", #"{"value":"1"}"#),
        mismatch("INT64", #"{"value":1}"#, "DOUBLE", #"{"value":1.5}"#),
        mismatch("STRING_LIST", #"{"value":["x"]}"#, "STRING", #"{"value":"x"}"#),
        mismatch("STRING_LIST", #"{"value":["x"]}"#, "INT64_LIST", #"{"value":[1]}"#),
        mismatch("BYTES", #"{"value":"AQ==","type":"BYTES"}"#, "LOCATION", #"{"value":{"latitude":1,"longitude":2}}"#),
        Scenario(
            "a type is defined by whoever saves first, for all databases of the environment", save("a", #""f":{"value":1}"#),
            .post("public/records/modify", .bob, Body.modify("create", task("b", #""f":{"value":"x"}"#))).gives(
                200,
                [
                    "records[0].reason": "invalid attempt to set value type STRING for field 'f' for type 'Task', defined to be: INT64"
                ])),
        Scenario(
            "two records of one batch that disagree: the first defines the field",
            .post(development, .ada, Body.modify([("create", task("a", #""f":{"value":1}"#)), ("create", task("b", #""f":{"value":"x"}"#))])).gives(
                200,
                [
                    "records[0].fields.f.type": "INT64",
                    "records[1].reason": "invalid attempt to set value type STRING for field 'f' for type 'Task', defined to be: INT64",
                ])),
        Scenario(
            "a batch of a custom zone falls with the record that does not fit", .makeWork(), save("a", #""f":{"value":1}"#),
            .post(
                development, .ada,
                Body.modify([("create", task("b", #""f":{"value":"x"}"#)), ("create", task("c", #""f":{"value":2}"#))], Body.inWork)
            ).gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[1].serverErrorCode": "ATOMIC_ERROR"]),
            .post("private/records/lookup", .ada, Body.lookup("c", more: Body.inWork)).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        Scenario(
            "a whole number fits a field of doubles, and a double without fraction one of whole numbers",
            save("a", #""d":{"value":1.5},"i":{"value":1}"#), save("b", #""d":{"value":2},"i":{"value":2.0}"#),
            .post("private/records/lookup", .ada, Body.lookup("b")).gives(
                200,
                [
                    "records[0].fields.d.type": "DOUBLE", "records[0].fields.d.value": 2, "records[0].fields.i.type": "INT64",
                    "records[0].fields.i.value": 2,
                ])),
        Scenario(
            "the framework is told the field and CloudKit's own codes", save("a", #""f":{"value":1}"#),
            .post(development, .device("ada"), Body.modify("create", task("b", #""f":{"value":"x"}"#), Body.details)).detailed.gives(
                200, ["records[0].nacre.code": 12, "records[0].nacre.internalCode": 2006, "records[0].nacre.field": "f"])),
    ]

    private static let sealed = #""f":\#(Body.sealed())"#

    private static let encrypted: [Scenario] = [
        story(
            "an encrypted value for a plain field", [save("a", #""f":{"value":"x"}"#)],
            refuses(sealed, "Attempt to save encrypted data in non encrypted field type")),
        story(
            "a plain value for an encrypted field", [.makeScope(), save("a", sealed, "," + Body.manifest(["f": [1, 2]]))],
            refuses(
                #""f":{"value":"x"}"#, "invalid attempt to set value type STRING for field 'f' for type 'Task', defined to be: ENCRYPTED_STRING")),
        Scenario(
            "an encrypted value in the public database",
            .post("public/records/modify", .ada, Body.modify("create", task("a", sealed))).lacks("AQI=").gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "encrypted fields are not supported in the public database",
                ])),
    ]

    private static let production: [Scenario] = [
        story(
            "a new field in production", [save("a", #""f":{"value":1},"other":{"value":1}"#), .deploy],
            refuses(#""g":{"value":1}"#, "Cannot create or modify field 'g' in record 'Task' in production schema", at: inProduction)),
        Scenario(
            "a new type in production", save("a", #""f":{"value":1}"#),
            .post(inProduction, .ada, Body.modify("create", task("a", #""f":{"value":1}"#))).gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "Cannot create new type Task in production schema",
                    "records[0].fields": .absent,
                ]),
            .deploy, save("a", #""f":{"value":1}"#, at: inProduction),
            .post(inProduction, .device("ada"), Body.modify("create", #""recordName":"b","recordType":"Plan""#, Body.details)).detailed.gives(
                200,
                [
                    "records[0].reason": "Cannot create new type Plan in production schema", "records[0].nacre.code": 12,
                    "records[0].nacre.internalCode": 2006,
                ])),
        story(
            "a wrong type in production",
            [save("a", #""f":{"value":1},"other":{"value":1}"#), .deploy, save("a", #""f":{"value":1}"#, at: inProduction)],
            refuses(
                #""f":{"value":"x"}"#, "invalid attempt to set value type STRING for field 'f' for type 'Task', defined to be: INT64",
                at: inProduction)),
    ]
}
