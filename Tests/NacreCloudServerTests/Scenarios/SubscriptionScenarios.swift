/// `subscriptions/list`, `lookup`, `modify`, and push tokens.
extension Scenario {
    private static func operation(_ type: String, _ subscription: String) -> String {
        "{\"operationType\":\"\(type)\",\"subscription\":{\(subscription)}}"
    }

    private static func operations(_ operations: String...) -> String { "{\"operations\":[\(operations.joined(separator: ","))]}" }

    private static let query =
        #""subscriptionID":"red","subscriptionType":"query","query":{"recordType":"Note","filterBy":[{"fieldName":"text","comparator":"EQUALS","fieldValue":{"value":"red","type":"STRING"}}]},"firesOn":["create","delete"],"notificationInfo":{"alertBody":"Red!","additionalFields":["text"]}"#
    private static let everything = #""subscriptionID":"all","subscriptionType":"zone","zoneWide":true"#
    private static let ofWork = #""subscriptionID":"work","subscriptionType":"zone","zoneID":{"zoneName":"Work"}"#
    private static let note = Step.post(
        "public/records/modify", .ada, Body.modify("create", #""recordName":"n","recordType":"Note","fields":{"text":{"value":"a","type":"STRING"}}"#)
    )

    private static let wrongFilter = #"{"fieldName":"nothing","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}"#

    private static func refusal(_ subscription: String, in scope: String = "private", _ code: String, _ reason: String) -> Step {
        .post("\(scope)/subscriptions/modify", .ada, operations(operation("create", subscription))).gives(
            200,
            [
                "subscriptions": .count(1), "subscriptions[0].serverErrorCode": .equals(.string(code)),
                "subscriptions[0].reason": .equals(.string(reason)),
            ])
    }

    static let subscriptions: [Scenario] = [
        Scenario(
            "subscriptions are saved, listed, looked up and deleted, and are their user's own", .makeWork(), note,
            .post(
                "private/subscriptions/modify", .ada,
                operations(operation("create", query), operation("create", everything), operation("create", ofWork))
            )
            .gives(
                200,
                [
                    "subscriptions": .count(3), "subscriptions[0].subscriptionID": "red", "subscriptions[0].subscriptionType": "query",
                    "subscriptions[0].query.filterBy[0].comparator": "EQUALS", "subscriptions[0].firesOn[1]": "delete",
                    "subscriptions[0].zoneWide": true, "subscriptions[0].notificationInfo.alertBody": "Red!",
                    "subscriptions[1].subscriptionType": "zone", "subscriptions[1].zoneWide": true,
                    "subscriptions[2].zoneID.ownerRecordName": "<<ada.name>>",
                ]),
            .get("private/subscriptions/list", .ada).gives(200, ["subscriptions": .count(3), "subscriptions[0].subscriptionID": "all"]),
            .post("private/subscriptions/list", .ada, "{}").gives(200, ["subscriptions": .count(3)]),
            .get("public/subscriptions/list", .ada).gives(200, ["subscriptions": .count(0)]),
            .get("private/subscriptions/list", .bob).lacks("red").gives(200, ["subscriptions": .count(0)]),
            .post("private/subscriptions/lookup", .ada, #"{"subscriptions":[{"subscriptionID":"red"},{"subscriptionID":"blue"}]}"#).gives(
                200,
                [
                    "subscriptions[0].query.recordType": "Note", "subscriptions[1].serverErrorCode": "NOT_FOUND",
                    "subscriptions[1].subscriptionID": "blue", "subscriptions[1].reason": "Subscription not found",
                ]),
            .post("private/subscriptions/modify", .ada, operations(operation("delete", #""subscriptionID":"red""#))).gives(
                200, ["subscriptions[0].deleted": true, "subscriptions[0].subscriptionID": "red"]),
            .get("private/subscriptions/list", .ada).lacks("red").gives(200, ["subscriptions": .count(2)])),
        Scenario(
            "a subscription that is saved again is the same, and errors are of their items", note,
            .post("private/subscriptions/modify", .ada, operations(operation("create", query))).gives(
                200, ["subscriptions[0].subscriptionID": "red"]),
            .post("private/subscriptions/modify", .ada, operations(operation("create", query), operation("create", ofWork))).gives(
                200, ["subscriptions[0].serverErrorCode": .absent, "subscriptions[1].serverErrorCode": "ZONE_NOT_FOUND"]),
            .post("shared/subscriptions/modify", .ada, operations(operation("create", query))).gives(
                200, ["subscriptions[0].serverErrorCode": "BAD_REQUEST"]),
            .post("public/subscriptions/modify", .ada, operations(operation("create", everything))).gives(
                200,
                [
                    "subscriptions[0].serverErrorCode": "BAD_REQUEST",
                    "subscriptions[0].reason": "database subscriptions are not supported in the public database",
                ]),
            .get("private/subscriptions/list", .ada).gives(200, ["subscriptions": .count(1)])),
        Scenario(
            "what is wrong with a subscription is its own error, and nothing of it is saved", note,
            refusal(
                #""subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Note","filterBy":[\#(wrongFilter)]},"firesOn":["create"]"#,
                "BAD_REQUEST", "Unknown field 'nothing'"),
            refusal(
                #""subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Users"},"firesOn":["create"]"#, "BAD_REQUEST",
                "Can't query system types"),
            refusal(
                #""subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Unknown"},"firesOn":["create"]"#, "NOT_FOUND",
                "Did not find record type: Unknown"),
            refusal(
                #""subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"zoneID":{"zoneName":"Work"}"#,
                "ZONE_NOT_FOUND", "Zone does not exist"),
            refusal(ofWork, "ZONE_NOT_FOUND", "Zone does not exist"),
            refusal(query.replacing("\"red\",\"subscriptionType", with: "\"\",\"subscriptionType"), "BAD_REQUEST", "missing required field"),
            refusal(query.replacing("[\"create\",\"delete\"]", with: "[]"), "BAD_REQUEST", "a query subscription fires on nothing"),
            refusal(query, in: "shared", "BAD_REQUEST", "query subscriptions are not supported in the shared database"),
            refusal(ofWork, in: "public", "BAD_REQUEST", "zone subscriptions are not supported in the public database"),
            .get("private/subscriptions/list", .ada).gives(200, ["subscriptions": .count(0)]),
            .get("shared/subscriptions/list", .ada).gives(200, ["subscriptions": .count(0)])),
        Scenario(
            "a push token is made for who is signed in, under both paths, and registered",
            .post("/device/1/iCloud.test.scenes/development/tokens/create", .ada, #"{"apnsEnvironment":"development","clientId":"tab"}"#).gives(
                200, ["apnsEnvironment": "development", "apnsToken": .some, "webcourierURL": .some]
            ).keeps("token", "apnsToken"),
            .post(
                "/device/1/iCloud.test.scenes/development/tokens/register", .ada, #"{"apnsEnvironment":"development","apnsToken":"<<token>>"}"#
            ).gives(200, [:]),
            .post(
                "/database/1/iCloud.test.scenes/development/tokens/register", .bob, #"{"apnsEnvironment":"development","apnsToken":"<<token>>"}"#
            ).refuses(404, "NOT_FOUND", "there is no such push token"),
            .post("/database/1/iCloud.test.scenes/development/tokens/create", .ada, #"{"apnsEnvironment":"production"}"#).gives(
                200, ["apnsEnvironment": "production", "apnsToken": .some]),
            .post("/device/1/iCloud.test.scenes/development/tokens/create", .world, #"{"apnsEnvironment":"development"}"#).gives(421, [:]),
            .post("/device/1/iCloud.test.scenes/development/tokens/register", .ada, #"{"apnsEnvironment":"development","apnsToken":"0011"}"#).refuses(
                400, "BAD_REQUEST", "invalid push token"),
            .post(
                "/device/1/iCloud.test.scenes/development/tokens/register", .ada,
                #"{"apnsEnvironment":"development","apnsToken":"\#(String(repeating: "0011", count: 16))"}"#
            ).refuses(400, "BAD_REQUEST", "push token is not of this server"),
            .get("/push/1/aps", .nobody).query(["tok": "0011"]).refuses(404, "NOT_FOUND", "there is no such push token")),
    ]
}
