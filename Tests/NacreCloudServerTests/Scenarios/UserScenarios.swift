import NacreCloudContainer

/// User records, and saves that may add types.
extension Scenario {
    static let users: [Scenario] = userRecords + typesOfWebClients + strangers

    private static let ada = #""recordName":"<<ada.name>>""#
    private static let color = #""fields":{"color":{"value":"blue","type":"STRING"}}"#

    /// Expects a refusal of one record, and no other members of it.
    private static func refuses(_ path: String, _ sender: Sender, _ body: String, _ code: String, _ reason: String) -> Step {
        .post(path, sender, body).gives(
            200,
            [
                "records": .count(1), "records[0].serverErrorCode": .equals(.string(code)), "records[0].reason": .equals(.string(reason)),
                "records[0].fields": .absent, "records[0].recordType": .absent, "records[0].recordChangeTag": .absent,
            ]
        ).lacks("created", "deviceID")
    }

    private static func read(_ database: String, _ sender: Sender, color: Expected) -> Step {
        .post("\(database)/records/lookup", sender, Body.lookup("<<ada.name>>")).gives(
            200,
            [
                "records": .count(1), "records[0].recordName": "<<ada.name>>", "records[0].recordType": "Users",
                "records[0].created.userRecordName": "<<ada.name>>", "records[0].modified.userRecordName": "<<ada.name>>",
                "records[0].created.deviceID": "iCloud",
                "records[0].deleted": false, "records[0].fields.color.value": color, "records[0].fields.roles": .absent,
                "records[0].serverErrorCode": .absent,
            ]
        ).lacks("ada@example.com", "<<bob.name>>")
    }

    private static let userRecords: [Scenario] = [
        Scenario(
            "a user has a record in the public and in the private database, without doing anything for it", preparesTypes: false,
            .get("public/users/caller", .ada).gives(200, ["userRecordName": "<<ada.name>>"]),
            read("public", .ada, color: .absent), read("private", .ada, color: .absent), read("public", .bob, color: .absent),
            read("public", .world, color: .absent),
            .post("private/records/lookup", .bob, Body.lookup("<<ada.name>>")).gives(
                200, ["records[0].serverErrorCode": "NOT_FOUND", "records[0].reason": "Record not found", "records[0].fields": .absent]),
            .post("private/changes/database", .ada).gives(200, ["zones": .count(0)]).lacks("Users", "<<ada.name>>")),
        Scenario(
            "a user's public record is its user's to change, and everybody's to read", preparesTypes: false,
            .post("public/records/modify", .device("ada"), Body.modify("forceUpdate", "\(ada),\(color)")).gives(
                200, ["records[0].fields.color.value": "blue", "records[0].recordType": "Users"]),
            read("public", .bob, color: "blue"), read("public", .world, color: "blue"), read("private", .ada, color: .absent),
            refuses(
                "public/records/modify", .bob, Body.modify("forceUpdate", "\(ada),\(color)"), "ACCESS_DENIED", "WRITE operation not permitted"),
            refuses("public/records/modify", .bob, Body.modify("forceDelete", ada), "ACCESS_DENIED", "WRITE operation not permitted"),
            .post("public/records/modify", .world, Body.modify("forceUpdate", "\(ada),\(color)")).gives(
                421, ["serverErrorCode": "AUTHENTICATION_REQUIRED"]),
            // An answered record can be sent back, and conflicts when it is old.
            .post("public/records/lookup", .ada, Body.lookup("<<ada.name>>")).keeps("old", "records[0].recordChangeTag"),
            .post("public/records/modify", .ada, Body.modify("replace", #"\#(ada),"recordType":"Users","recordChangeTag":"<<old>>",\#(color)"#))
                .gives(200, ["records[0].fields.color.value": "blue", "records[0].recordChangeTag": .not("<<old>>")]),
            .post("public/records/modify", .ada, Body.modify("update", #"\#(ada),"recordChangeTag":"<<old>>",\#(color)"#)).gives(
                200, ["records[0].serverErrorCode": "CONFLICT"])),
        Scenario(
            "user records are not made, deleted or queried, and roles not taken", preparesTypes: false,
            refuses(
                "public/records/modify", .ada, Body.modify("create", #""recordName":"u","recordType":"Users""#), "ACCESS_DENIED",
                "CREATE operation not permitted"),
            refuses(
                "public/records/modify", .ada, Body.modify("create", #""recordName":"_u","recordType":"Users""#), "ACCESS_DENIED",
                "CREATE operation not permitted"),
            refuses("public/records/modify", .ada, Body.modify("create", #""recordName":"_u","recordType":"Note""#), "BAD_REQUEST", "invalid name"),
            refuses(
                "private/records/modify", .device("ada"), Body.modify("create", #"\#(ada),"recordType":"Users""#), "CONFLICT",
                "record to insert already exists"),
            refuses("private/records/modify", .ada, Body.modify("forceDelete", ada), "ACCESS_DENIED", "user records cannot be deleted"),
            refuses("public/records/modify", .ada, Body.modify("delete", ada), "ACCESS_DENIED", "user records cannot be deleted"),
            refuses(
                "public/records/modify", .ada, Body.modify("forceUpdate", #"\#(ada),"fields":{"roles":{"value":[1],"type":"INT64_LIST"}}"#),
                "ACCESS_DENIED", "field 'roles' of a user record cannot be changed"),
            .post("public/records/query", .ada, Body.query("Users")).refuses(400, "BAD_REQUEST", "Can't query system types"),
            read("public", .ada, color: .absent), read("private", .ada, color: .absent)),
        Scenario(
            "records refer to users, and name them as parents", preparesTypes: false,
            .post(
                "public/records/modify", .device("bob"),
                Body.modify(
                    "create",
                    #""recordName":"fan","recordType":"Fan","fields":{"of":{"value":{"recordName":"<<ada.name>>","action":"NONE"},"type":"REFERENCE"}}"#
                )
            ).gives(200, ["records[0].fields.of.value.recordName": "<<ada.name>>"]),
            .post(
                "private/records/modify", .device("ada"),
                Body.modify("create", #""recordName":"child","recordType":"Fan","parent":{"recordName":"<<ada.name>>"}"#)
            ).gives(200, ["records[0].parent.recordName": "<<ada.name>>", "records[0].serverErrorCode": .absent])),
    ]

    private static func pointing(_ name: String, _ action: String) -> String {
        Body.modify(
            "create",
            #""recordName":"\#(name)","recordType":"Link","fields":{"to":{"value":{"recordName":"post","action":"\#(action)"},"type":"REFERENCE"}}"#)
    }

    /// Two users in the public database: records of Bob that refer to Ada's record.
    private static let strangers: [Scenario] = [
        Scenario(
            "a stranger's child and a stranger's hold cost the owner nothing", .makeNote("post", .ada, in: "public"),
            .post("public/records/modify", .bob, Body.modify("create", Body.note("child", "x", #""parent":{"recordName":"post"}"#))).gives(
                200, ["records[0].parent.recordName": "post", "records[0].serverErrorCode": .absent]),
            .post("public/records/modify", .bob, pointing("judge", "VALIDATE")).gives(200, ["records[0].serverErrorCode": .absent]),
            .post("public/records/modify", .bob, pointing("comment", "DELETE_SELF")).gives(200, ["records[0].serverErrorCode": .absent]),
            .post("public/records/modify", .ada, Body.modify("update", #""recordName":"post","recordChangeTag":"<<tag>>""#)).gives(
                200, ["records[0].serverErrorCode": .absent, "records[0].recordChangeTag": .not("<<tag>>")]),
            .post("public/records/modify", .ada, Body.modify("forceDelete", #""recordName":"post""#)).gives(
                200, ["records[0].deleted": true, "records[0].serverErrorCode": .absent]
            ).lacks("child", "judge", "comment"),
            .post("public/records/lookup", .ada, Body.lookup("post", "comment", "child", "judge")).gives(
                200,
                [
                    "records[0].serverErrorCode": "NOT_FOUND", "records[1].serverErrorCode": "NOT_FOUND", "records[2].parent.recordName": "post",
                    "records[3].fields.to.value.recordName": "post", "records[3].fields.to.value.action": "VALIDATE",
                ]
            ).keeps("judge", "records[3].recordChangeTag"),
            // An answered reference can be saved again; a new reference to a deleted record cannot.
            .post(
                "public/records/modify", .bob,
                Body.modify(
                    "replace",
                    #""recordName":"judge","recordChangeTag":"<<judge>>","fields":{"to":{"value":{"recordName":"post","action":"VALIDATE"},"type":"REFERENCE"}}"#
                )
            ).gives(200, ["records[0].serverErrorCode": .absent, "records[0].fields.to.value.recordName": "post"]),
            .post("public/records/modify", .bob, pointing("late", "VALIDATE")).gives(
                200, ["records[0].serverErrorCode": "VALIDATING_REFERENCE_ERROR", "records[0].fields": .absent])),
        Scenario(
            "one's own child and one's own hold are as in a private database", .makeNote("post", .ada, in: "public"),
            .post("public/records/modify", .ada, Body.modify("create", Body.note("child", "x", #""parent":{"recordName":"post"}"#))).gives(
                200, ["records[0].serverErrorCode": .absent]),
            .post("public/records/modify", .ada, Body.modify("update", #""recordName":"post","recordChangeTag":"<<tag>>""#)).gives(
                200, ["records[0].serverErrorCode": "CONFLICT"]),
            .post("public/records/modify", .ada, Body.modify("forceDelete", #""recordName":"post""#)).gives(
                200,
                [
                    "records[0].serverErrorCode": "VALIDATING_REFERENCE_ERROR",
                    "records[0].reason": "Record delete would violate validating reference ([post]), rejecting update",
                ])),
    ]

    private static func save(_ name: String, _ type: String, _ fields: String) -> String {
        Body.modify("create", #""recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields)}"#)
    }

    private static let shown =
        #""text":{"value":"x"},"whole":{"value":1},"half":{"value":0.5},"place":{"value":{"latitude":1,"longitude":2}},"#
        + #""link":{"value":{"recordName":"x","action":"NONE"}},"list":{"value":["x"]}"#

    private static let typesOfWebClients: [Scenario] = [
        Scenario(
            "web clients make no types and no fields", preparesTypes: false,
            refuses(
                "private/records/modify", .ada, save("a", "Note", #""n":{"value":1,"type":"INT64"}"#), "NOT_FOUND", "Did not find record type: Note"),
            .post(
                "private/records/modify", .device("ada"),
                save("a", "Note", #""n":{"value":1}"#)
            ).gives(200, ["records[0].serverErrorCode": .absent]),
            .post("private/records/modify", .ada, save("b", "Note", #""n":{"value":2}"#)).gives(200, ["records[0].fields.n.value": 2]),
            refuses(
                "private/records/modify", .ada, save("c", "Note", #""n":{"value":2},"m":{"value":1,"type":"INT64"}"#), "BAD_REQUEST",
                "Field m not found in Note"),
            .post("private/records/modify", .ada, Body.modify("forceUpdate", #""recordName":"b","fields":{"m":{"value":null}}"#)).gives(
                200, ["records[0].serverErrorCode": .absent, "records[0].fields.m": .absent]),
            .post("private/records/lookup", .ada, Body.lookup("c")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
        Scenario(
            "where web clients may make types, a new field has the type that its value says or shows, and the answer tells it",
            preparesTypes: false, .justInTime(.all),
            .post("private/records/modify", .ada, save("a", "Note", #""at":{"value":1000,"type":"TIMESTAMP"},\#(shown)"#)).gives(
                200,
                [
                    "records[0].fields.at.type": "TIMESTAMP", "records[0].fields.text.type": "STRING", "records[0].fields.whole.type": "INT64",
                    "records[0].fields.half.type": "DOUBLE", "records[0].fields.place.type": "LOCATION", "records[0].fields.link.type": "REFERENCE",
                    "records[0].fields.list.type": "STRING_LIST",
                ]),
            .post("private/records/modify", .ada, save("z", "Note", #""at":{"value":2000}"#)).gives(
                200,
                [
                    "records[0].reason": "invalid attempt to set value type INT64 for field 'at' for type 'Note', defined to be: TIMESTAMP"
                ]),
            // An existing type needs no permission.
            .post("private/records/modify", .ada, save("b", "Note", "")).gives(200, ["records[0].serverErrorCode": .absent]),
            .justInTime(.native),
            refuses(
                "private/records/modify", .ada, save("c", "Note", #""more":{"value":1,"type":"INT64"}"#), "BAD_REQUEST",
                "Field more not found in Note")
        ),
        Scenario(
            "the remedy is told to who asks for details", preparesTypes: false,
            .post(
                "private/records/modify", .ada,
                Body.modify("create", #""recordName":"a","recordType":"Note""#, Body.details)
            ).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]).detailed.contains("--just-in-time all").lacks("Note.swift")),
    ]
}
