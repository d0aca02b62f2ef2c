/// Zones of references in answers, and their spellings in requests.
extension Scenario {
    static let answeredReferences: [Scenario] = everywhere + inPublic + spellings + zoneErrors

    private static let target = #"{"recordName":"a","action":"NONE"}"#

    /// Returns the members of a record with three references.
    private static func linked(_ name: String, _ target: String = target, parent: String = #"{"recordName":"a"}"#) -> String {
        #""recordName":"\#(name)","recordType":"Node","fields":{"n":{"value":1},"one":{"value":\#(target)},"#
            + #""many":{"value":[\#(target),\#(target)],"type":"REFERENCE_LIST"}},"parent":\#(parent)"#
    }

    private static let node = #""recordName":"a","recordType":"Node","fields":{"n":{"value":0}}"#

    /// Returns the expected zone of the references of a record in an answer. The parent's is always the record's.
    private static func zones(_ record: String, _ zone: String, owner: String, type: String) -> [String: Expected] {
        var values: [String: Expected] = ["\(record).parent.recordName": "a", "\(record).parent.zoneID": .absent]
        for reference in ["fields.one.value", "fields.many.value[0]", "fields.many.value[1]"] {
            values["\(record).\(reference).recordName"] = "a"
            values["\(record).\(reference).zoneID"] = .count(3)
            values["\(record).\(reference).zoneID.zoneName"] = .equals(.string(zone))
            values["\(record).\(reference).zoneID.ownerRecordName"] = .equals(.string(owner))
            values["\(record).\(reference).zoneID.zoneType"] = .equals(.string(type))
        }
        return values
    }

    private static func inWork(_ record: String) -> [String: Expected] {
        zones(record, "Work", owner: "<<ada.name>>", type: "REGULAR_CUSTOM_ZONE")
    }

    private static func save(_ type: String, _ record: String, _ more: String = Body.inWork) -> Step {
        .post("private/records/modify", .ada, Body.modify(type, record, more))
    }

    private static let everywhere: [Scenario] = [
        Scenario(
            "every answer that shows a record shows the zones of its references", .makeWork(), save("create", node).gives(),
            save("create", linked("b")).gives(200, inWork("records[0]")).gives(200, ["records[0].zoneID": .absent]).keeps(
                "tag", "records[0].recordChangeTag"),
            .post("private/records/lookup", .ada, Body.lookup("b", more: Body.inWork)).gives(200, inWork("records[0]")),
            .post("private/changes/zone", .ada, Body.feed("Work")).gives(200, inWork("zones[0].records[1]")),
            .post("private/records/changes", .ada, "{\(Body.inWork)}").gives(200, inWork("records[1]")), .index("Node", "n"),
            .post("private/records/query", .ada, Body.query("Node", filters: [Body.filter("n", "EQUALS", #"{"value":1}"#)], more: Body.inWork))
                .gives(200, inWork("records[0]")),
            .post("private/records/modify", .device("ada"), Body.modify("create", linked("b"), Body.inWork + "," + Body.details)).detailed
                .gives(200, inWork("records[0].nacre.serverRecord")).gives(200, ["records[0].nacre.serverRecord.zoneID.zoneName": "Work"]),
            .post(
                "private/records/modify", .device("ada"),
                Body.modify("update", linked("b") + #","recordChangeTag":"x""#, Body.inWork + "," + Body.details)
            )
            .detailed.gives(200, inWork("records[0].nacre.serverRecord")),
            .post("private/records/lookup", .device("ada"), Body.lookup("b", more: Body.inWork + "," + Body.details)).detailed
                .gives(200, inWork("records[0]"))),
        Scenario(
            "a retry is answered with them too", .makeWork(), save("create", node).gives(),
            save("create", linked("b"), Body.inWork + #","nacre":{"operationID":"op"}"#).gives(200, inWork("records[0]")),
            save("create", linked("b"), Body.inWork + #","nacre":{"operationID":"op"}"#).gives(200, inWork("records[0]"))),
        Scenario(
            "the default zone is a zone too", save("create", node, "").gives(),
            save("create", linked("b"), "").gives(200, zones("records[0]", "_defaultZone", owner: "<<ada.name>>", type: "DEFAULT_ZONE"))),
    ]

    private static func ofEverybody(_ record: String) -> [String: Expected] {
        zones(record, "_defaultZone", owner: "_defaultOwner", type: "DEFAULT_ZONE")
    }

    private static let inPublic: [Scenario] = [
        Scenario(
            "the public database's zone has an owner for who decodes one, and is nobody's",
            .post("public/records/modify", .ada, Body.modify([("create", node), ("create", linked("b"))])).gives(200, ofEverybody("records[1]")),
            .post("public/records/lookup", .world, Body.lookup("b")).lacks("<<ada>>").gives(200, ofEverybody("records[0]"))
                .gives(200, ["records[0].zoneID.ownerRecordName": "_defaultOwner"]),
            .get("public/zones/list", .world).gives(
                200, ["zones[0].zoneID.ownerRecordName": "_defaultOwner", "zones[0].zoneID.zoneType": "DEFAULT_ZONE"]),
            .post("public/zones/lookup", .world, #"{"zones":[{"zoneName":"_defaultZone","ownerRecordName":"_defaultOwner"},{"zoneName":"Work"}]}"#)
                .gives(
                    200,
                    [
                        "zones[0].zoneID.ownerRecordName": "_defaultOwner", "zones[0].serverErrorCode": .absent,
                        "zones[1].serverErrorCode": "ZONE_NOT_FOUND", "zones[1].zoneID.ownerRecordName": "_defaultOwner",
                    ]),
            .post(
                "public/records/lookup", .bob,
                Body.lookup("b", more: #""zoneID":{"zoneName":"_defaultZone","ownerRecordName":"<<bob.name>>"}"#)
            ).gives(200, ofEverybody("records[0]")),
            .post(
                "public/records/lookup", .bob,
                Body.lookup("b", more: #""zoneID":{"zoneName":"_defaultZone","ownerRecordName":"<<ada.name>>"}"#)
            ).refuses(404, "ZONE_NOT_FOUND", "Zone does not exist"))
    ]

    private static func spelled(_ zone: String) -> String { #"{"recordName":"a","action":"NONE","zoneID":\#(zone)}"# }

    private static func accepts(_ zone: String, in place: String = Body.inWork, as shown: [String: Expected]) -> [Step] {
        [
            save("forceUpdate", linked("b", spelled(zone), parent: #"{"recordName":"a","zoneID":\#(zone)}"#), place).gives(200, shown),
            .post("private/records/lookup", .ada, Body.lookup("b", more: place)).gives(200, shown),
        ]
    }

    private static func refuses(_ zone: String, _ database: String = "private", in place: String = Body.inWork) -> Step {
        .post("\(database)/records/modify", .ada, Body.modify("forceUpdate", linked("c", spelled(zone)), place)).gives(
            200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "references across zones are not allowed"])
    }

    private static let spellings: [Scenario] = [
        Scenario(
            "the record's own zone is the same as none, however it is spelled",
            steps: [.makeWork(), save("create", node).gives(), save("create", node, "").gives()]
                + accepts(#"{"zoneName":"Work"}"#, as: inWork("records[0]"))
                + accepts(#"{"zoneName":"Work","ownerRecordName":"_defaultOwner"}"#, as: inWork("records[0]"))
                + accepts(#"{"zoneName":"Work","ownerRecordName":"__defaultOwner__"}"#, as: inWork("records[0]"))
                + accepts(#"{"zoneName":"Work","ownerRecordName":"<<ada.name>>","zoneType":"REGULAR_CUSTOM_ZONE"}"#, as: inWork("records[0]"))
                + accepts(
                    #"{"zoneName":"_defaultZone"}"#, in: #""zoneID":{"zoneName":"_defaultZone","ownerRecordName":"<<ada.name>>"}"#,
                    as: zones("records[0]", "_defaultZone", owner: "<<ada.name>>", type: "DEFAULT_ZONE"))
                + [
                    refuses(#"{"zoneName":"Home"}"#), refuses(#"{"zoneName":"_defaultZone"}"#),
                    refuses(#"{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}"#),
                ]),
        Scenario(
            "in the public database the owner is everybody or oneself",
            .post("public/records/modify", .ada, Body.modify("create", node)).gives(),
            .post(
                "public/records/modify", .ada,
                Body.modify("create", linked("b", spelled(#"{"zoneName":"_defaultZone","ownerRecordName":"_defaultOwner"}"#)))
            )
            .gives(200, ofEverybody("records[0]")),
            .post(
                "public/records/modify", .ada,
                Body.modify("create", linked("c", spelled(#"{"zoneName":"_defaultZone","ownerRecordName":"<<ada.name>>"}"#)))
            )
            .gives(200, ofEverybody("records[0]")),
            refuses(#"{"zoneName":"_defaultZone","ownerRecordName":"<<bob.name>>"}"#, "public", in: "")),
        Scenario(
            "a reference without an action is one with NONE", .makeWork(), save("create", node).gives(),
            save("create", linked("b", #"{"recordName":"a"}"#)).gives(
                200,
                [
                    "records[0].fields.one.value.action": "NONE", "records[0].fields.many.value[1].action": "NONE",
                    "records[0].serverErrorCode": .absent,
                ]),
            save("create", linked("c", #"{"recordName":"a","action":null}"#)).gives(200, ["records[0].fields.one.value.action": "NONE"]),
            save("forceDelete", #""recordName":"b""#).gives(200, ["records[0].deleted": true])),
    ]

    private static let zoneErrors: [Scenario] = [
        Scenario(
            "an error about a zone names it with its owner",
            .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"None"}]}"#)
                .gives(200, ["zones[0].zoneID.ownerRecordName": "<<ada.name>>", "zones[0].serverErrorCode": "ZONE_NOT_FOUND"]),
            .post("private/zones/modify", .ada, Body.zones("delete", "None"))
                .gives(200, ["zones[0].zoneID.ownerRecordName": "<<ada.name>>", "zones[0].serverErrorCode": "ZONE_NOT_FOUND"]),
            .post("private/changes/zone", .ada, Body.feed("None"))
                .gives(200, ["zones[0].zoneID.ownerRecordName": "<<ada.name>>", "zones[0].serverErrorCode": "ZONE_NOT_FOUND"]),
            .post("private/zones/lookup", .ada, #"{"zones":[{"zoneName":"None","ownerRecordName":"<<bob.name>>"}]}"#)
                .gives(200, ["zones[0].zoneID.ownerRecordName": "<<bob.name>>", "zones[0].serverErrorCode": "BAD_REQUEST"]))
    ]
}
