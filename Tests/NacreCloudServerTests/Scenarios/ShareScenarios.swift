/// Sharing on the wire. CloudKit: Web Services Reference, "Sharing".
extension Scenario {
    private static let adasWork = #""zoneID":{"zoneName":"Work","ownerRecordName":"<<ada.name>>"}"#
    private static let share = #""recordName":"cloudkit.zoneshare","recordType":"cloudkit.share""#
    private static let bobInvited =
        #""participants":[{"type":"USER","permission":"READ_ONLY","acceptanceStatus":"PENDING","userIdentity":{"lookupInfo":{"userRecordName":"<<bob.name>>"}}}]"#

    private static func asked(_ guid: String) -> String { #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true}]}"# }

    private static func shares(_ more: String) -> [Step] {
        [
            .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork),
            .post("private/records/modify", .ada, Body.modify("create", "\(share),\(more)", Body.inWork)).gives().keeps(
                "guid", "records[0].shortGUID"),
        ]
    }

    private static func refusedAlike(_ path: String, _ guid: String) -> Step {
        .post(path, .bob, asked(guid)).lacks("<<ada.name>>", "Work").gives(
            200,
            [
                "results": .count(1), "results[0].shortGUID.value": Expected(stringLiteral: guid), "results[0].serverErrorCode": "ACCESS_DENIED",
                "results[0].reason": "there is no such share for this user",
            ])
    }

    static let shares: [Scenario] = [
        Scenario(
            "a zone is shared with a user, who resolves, accepts, reads, and leaves",
            steps: shares(#""publicPermission":"NONE",\#(bobInvited),"fields":{"cloudkit.title":{"value":"Our work","type":"STRING"}}"#) + [
                .post("private/records/lookup", .ada, Body.lookup("cloudkit.zoneshare", more: Body.inWork)).gives(
                    200,
                    [
                        "records[0].recordType": "cloudkit.share", "records[0].publicPermission": "NONE", "records[0].participants": .count(2),
                        "records[0].owner.userIdentity.userRecordName": "<<ada.name>>", "records[0].owner.type": "OWNER",
                        "records[0].currentUserParticipant.type": "OWNER", "records[0].participants[1].acceptanceStatus": "INVITED",
                        "records[0].participants[1].userIdentity.userRecordName": "<<bob.name>>", "records[0].participants[1].participantId": .some,
                    ]),
                .get("shared/zones/list", .bob).gives(200, ["zones": .count(0)]),
                .post("public/records/resolve", .bob, asked("<<guid>>")).gives(
                    200,
                    [
                        "results[0].containerIdentifier": .some, "results[0].databaseScope": "SHARED", "results[0].environment": "development",
                        "results[0].zoneID.ownerRecordName": "<<ada.name>>", "results[0].share.shortGUID": "<<guid>>",
                        "results[0].ownerIdentity.userRecordName": "<<ada.name>>",
                        "results[0].participantPermission": "READ_ONLY", "results[0].participantStatus": "INVITED",
                        "results[0].participantType": "USER",
                        "results[0].rootRecordName": .absent,
                    ]),
                .post("public/records/accept", .bob, asked("<<guid>>")).gives(200, ["results[0].participantStatus": "ACCEPTED"]),
                .get("shared/zones/list", .bob).gives(
                    200,
                    [
                        "zones": .count(1), "zones[0].zoneID.zoneName": "Work", "zones[0].zoneID.ownerRecordName": "<<ada.name>>",
                        "zones[0].syncToken": .some,
                    ]),
                .post("shared/changes/database", .bob, "{}").gives(200, ["zones[0].zoneID.ownerRecordName": "<<ada.name>>"]),
                .post("shared/changes/zone", .bob, #"{"zones":[{\#(adasWork)}]}"#).gives(200, ["zones[0].records": .count(2)]),
                .post("shared/records/changes", .bob, "{\(adasWork)}").gives(200, ["records": .count(2)]),
                .post("shared/records/lookup", .bob, Body.lookup("a", more: adasWork)).gives(200, ["records[0].recordName": "a"]),
                .post("shared/records/modify", .bob, Body.modify("forceUpdate", Body.note("a"), adasWork))
                    .gives(200, ["records[0].serverErrorCode": "ACCESS_DENIED", "records[0].reason": "WRITE operation not permitted"]),
                .post("private/records/lookup", .bob, Body.lookup("a", more: adasWork)).gives(400),
                .post("shared/zones/modify", .bob, Body.zones("delete", "Work")).gives(400),
                .post("shared/records/modify", .bob, Body.modify("delete", #""recordName":"cloudkit.zoneshare""#, adasWork))
                    .gives(200, ["records[0].deleted": true]),
                .get("shared/zones/list", .bob).gives(200, ["zones": .count(0)]),
                .post("shared/records/lookup", .bob, Body.lookup("a", more: adasWork)).gives(404),
            ]),
        Scenario(
            "unknown, malformed, private and ended short GUIDs are answered alike",
            steps: shares(#""publicPermission":"NONE""#)
                + ["public/records/resolve", "public/records/accept"].flatMap { path in
                    [refusedAlike(path, "<<guid>>"), refusedAlike(path, "AAAAAAAAAAAAAAAAAAAAAA"), refusedAlike(path, "no guid")]
                } + [
                    .post("private/records/modify", .ada, Body.modify("forceDelete", #""recordName":"cloudkit.zoneshare""#, Body.inWork)).gives(),
                    refusedAlike("public/records/resolve", "<<guid>>"),
                ]),
        Scenario(
            "an open share is joined by its URL",
            steps: shares(#""publicPermission":"READ_WRITE""#) + [
                .post("public/records/accept", .bob, asked("<<guid>>")).gives(200, ["results[0].participantType": "PUBLIC_USER"]),
                .post("shared/records/modify", .bob, Body.modify("create", Body.note("b"), adasWork))
                    .gives(200, ["records[0].created.userRecordName": "<<bob.name>>"]),
                .post("private/records/lookup", .ada, Body.lookup("b", more: Body.inWork)).gives(
                    200, ["records[0].modified.userRecordName": "<<bob.name>>"]),
            ]),
        Scenario(
            "a record is shared with what hangs on it, and nothing else of its zone is",
            steps: [
                .makeWork(), .makeNote("a", .ada, in: "private", Body.inWork), .makeNote("b", .ada, in: "private", Body.inWork),
                .post("private/records/modify", .ada, Body.modify("create", Body.note("leaf") + #","parent":{"recordName":"a"}"#, Body.inWork))
                    .gives(),
                .post(
                    "private/records/modify", .ada,
                    Body.modify(
                        "create",
                        #""recordName":"s","recordType":"cloudkit.share","forRecord":{"recordName":"a","recordChangeTag":"1"},\#(bobInvited)"#,
                        Body.inWork)
                ).gives(200, ["records[0].shortGUID": .some]).keeps("guid", "records[0].shortGUID"),
                .post("private/records/lookup", .ada, Body.lookup("a", more: Body.inWork)).gives(200, ["records[0].share.recordName": "s"]),
                .post("public/records/resolve", .bob, asked("<<guid>>")).lacks("leaf").gives(
                    200, ["results[0].rootRecordName": "a", "results[0].rootRecord.recordName": "a", "results[0].participantStatus": "INVITED"]),
                .post("public/records/accept", .bob, asked("<<guid>>")).gives(200, ["results[0].participantStatus": "ACCEPTED"]),
                .post("shared/changes/zone", .bob, #"{"zones":[{\#(adasWork)}]}"#).gives(200, ["zones[0].records": .count(3)]),
                .post("shared/records/lookup", .bob, Body.lookup("leaf", more: adasWork)).gives(
                    200, ["records[0].recordName": "leaf", "records[0].parent.recordName": "a"]),
                .post("shared/records/lookup", .bob, Body.lookup("b", more: adasWork)).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
                .post(
                    "private/records/modify", .ada,
                    Body.modify("create", #""recordType":"cloudkit.share","forRecord":{"recordName":"none","recordChangeTag":"1"}"#, Body.inWork)
                ).gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "Cannot share - no such record exists to share"]),
            ]),
        Scenario(
            "too many URLs are refused, and none",
            steps: shares(#""publicPermission":"NONE""#) + [
                .post(
                    "private/records/modify", .ada,
                    Body.modify("create", #""recordType":"cloudkit.share","forRecord":{"recordName":"a","recordChangeTag":"1"}"#, Body.inWork)
                )
                .gives(
                    200,
                    [
                        "records[0].serverErrorCode": "BAD_REQUEST",
                        "records[0].reason": "a zone is shared as a whole, or records of it are",
                    ]),
                .post("public/records/resolve", .bob, "{\"shortGUIDs\":[\((0...50).map { "{\"value\":\"\($0)\"}" }.joined(separator: ","))]}").gives(
                    400),
                .post("private/records/resolve", .bob, asked("<<guid>>")).gives(400),
            ]),
    ]
}
