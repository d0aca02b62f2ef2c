import NacreCloudContainer

/// Security roles of the public database for web clients.
extension Scenario {
    static let roles: [Scenario] = [
        Scenario(
            "who may not read a record hears nothing of it, until a role lets them", preparesTypes: false,
            .importSchema(diary(#"GRANT READ TO Team, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)),
            .post("public/records/modify", .ada, Body.modify("create", secret("d"))).gives(200, ["records[0].fields.text.value": "hush"]),
            denied("public/records/lookup", .bob, Body.lookup("d"), "READ"), denied("public/records/lookup", .world, Body.lookup("d"), "READ"),
            found(.bob, 0), found(.world, 0), found(.ada, 1),
            denied("public/records/modify", .bob, Body.modify("create", secret("d")), nil),
            denied("public/records/modify", .bob, Body.modify("update", #"\#(secret("d")),"recordChangeTag":"0""#), "WRITE"),
            denied("public/records/modify", .bob, Body.modify("forceDelete", #""recordName":"d""#), "WRITE"),
            .post("public/records/modify", .bob, Body.modify("create", #""recordName":"n","recordType":"Note","fields":{"link":\#(link("d"))}"#))
                .gives(
                    200,
                    [
                        "records[0].serverErrorCode": "VALIDATING_REFERENCE_ERROR", "records[0].reason": "referenced record does not exist",
                    ]),
            .assign("Team", to: "bob"), found(.bob, 1),
            .post("public/records/lookup", .bob, Body.lookup("d")).gives(200, ["records[0].fields.text.value": "hush"]),
            denied("public/records/modify", .bob, Body.modify("forceDelete", #""recordName":"d""#), "WRITE"),
            .post("public/records/modify", .bob, Body.modify("create", secret("d"))).gives(200, ["records[0].serverErrorCode": "CONFLICT"]),
            .revoke("Team", from: "bob"), found(.bob, 0), denied("public/records/lookup", .bob, Body.lookup("d"), "READ")),
        Scenario(
            "records are made and changed by those to whom it is granted", preparesTypes: false,
            .importSchema(diary(#"GRANT READ TO "_world", GRANT CREATE, WRITE TO Team"#)),
            denied("public/records/modify", .ada, Body.modify("create", secret("d")), "CREATE"),
            denied("public/records/modify", .ada, Body.modify("forceUpdate", secret("d")), "CREATE"),
            .post("public/records/modify", .world, Body.modify("create", secret("d"))).gives(421, ["serverErrorCode": "AUTHENTICATION_REQUIRED"]),
            .assign("Team", to: "ada"),
            .post("public/records/modify", .ada, Body.modify("create", secret("d"))).gives(200, ["records[0].fields.text.value": "hush"]),
            denied("public/records/modify", .bob, Body.modify("forceUpdate", secret("d")), "WRITE"), .assign("Team", to: "bob"),
            .post("public/records/modify", .bob, Body.modify("forceUpdate", secret("d"))).gives(
                200, ["records[0].created.userRecordName": "<<ada.name>>", "records[0].modified.userRecordName": "<<bob.name>>"]),
            .revoke("Team", from: "ada"), denied("public/records/modify", .ada, Body.modify("forceDelete", #""recordName":"d""#), "WRITE"),
            found(.world, 1)),
        Scenario(
            "private databases have no roles", preparesTypes: false, .importSchema(diary("GRANT READ TO Team")),
            .post("private/records/modify", .ada, Body.modify("create", secret("d"))).gives(200, ["records[0].fields.text.value": "hush"]),
            .post("private/records/lookup", .ada, Body.lookup("d")).gives(200, ["records[0].fields.text.value": "hush"])),
    ]

    private static func diary(_ grants: String) -> String {
        """
        DEFINE SCHEMA CREATE ROLE Team; RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (link REFERENCE);
        RECORD TYPE Diary ("___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE, \(grants));
        """
    }

    private static func secret(_ name: String) -> String {
        #""recordName":"\#(name)","recordType":"Diary","fields":{"text":{"value":"hush"}}"#
    }

    private static func link(_ name: String) -> String {
        #"{"value":{"recordName":"\#(name)","action":"VALIDATE"},"type":"REFERENCE"}"#
    }

    /// Expects a refusal.
    /// - Parameter permission: nil: it is a conflict, which names the record and shows nothing of it.
    private static func denied(_ path: String, _ sender: Sender, _ body: String, _ permission: String?) -> Step {
        .post(path, sender, body).gives(
            200,
            [
                "records": .count(1), "records[0].serverErrorCode": permission == nil ? "CONFLICT" : "ACCESS_DENIED",
                "records[0].reason": .equals(.string(permission.map { "\($0) operation not permitted" } ?? "record to insert already exists")),
                "records[0].fields": .absent, "records[0].recordType": .absent, "records[0].recordChangeTag": .absent,
            ]
        ).lacks("created", "hush", "<<ada.name>>")
    }

    /// Expects queries with a page of one to find `count` records without a marker.
    private static func found(_ sender: Sender, _ count: Int) -> Step {
        .post(
            "public/records/query", sender,
            Body.query("Diary", filters: [Body.filter("text", "EQUALS", #"{"value":"hush"}"#)], more: #""resultsLimit":1"#)
        ).gives(200, ["records": .count(count), "continuationMarker": .absent])
    }
}
