/// Successful `records/query`: each comparator, sorts, pages, zones.
extension Scenario {
    static let queries: [Scenario] = comparators + systemFields + sorts + pages + queryZones + queryShapes

    private static func finding(_ names: [String], _ body: String, _ sender: Sender = .ada) -> Step {
        var values: [String: Expected] = ["records": .count(names.count), "serverErrorCode": .absent]
        for (index, name) in names.enumerated() { values["records[\(index)].recordName"] = .equals(.string(name)) }
        return .post("private/records/query", sender, body).gives(200, values)
    }

    /// Returns a query with one filter, and the names of the stars that pass.
    private static func filter(_ filter: String, finds names: String...) -> Scenario {
        Scenario("a query for \(filter)", .makeStars, finding(names, Body.query("Star", filters: [filter])))
    }

    private static func with(_ field: String, _ comparator: String, _ value: String, _ more: String = "") -> String {
        Body.filter(field, comparator, value, more)
    }

    private static let here = #"{"value":{"latitude":48.0,"longitude":11.0},"type":"LOCATION"}"#

    private static let comparators: [Scenario] = [
        filter(with("size", "EQUALS", #"{"value":2}"#), finds: "b"),
        filter(with("size", "NOT_EQUALS", #"{"value":2}"#), finds: "a", "c", "d"),
        filter(with("mass", "NOT_EQUALS", #"{"value":2,"type":"DOUBLE"}"#), finds: "a", "c"),
        filter(with("size", "LESS_THAN", #"{"value":2}"#), finds: "a"),
        filter(with("size", "LESS_THAN_OR_EQUALS", #"{"value":2}"#), finds: "a", "b"),
        filter(with("size", "GREATER_THAN", #"{"value":2}"#), finds: "c", "d"),
        filter(with("size", "GREATER_THAN_OR_EQUALS", #"{"value":2}"#), finds: "b", "c", "d"),
        filter(with("mass", "GREATER_THAN", #"{"value":1.75}"#), finds: "b", "c"),
        filter(with("seen", "EQUALS", #"{"value":1002,"type":"TIMESTAMP"}"#), finds: "b"),
        filter(with("seen", "LESS_THAN", #"{"value":"1002","type":"TIMESTAMP"}"#), finds: "a"),
        filter(with("name", "EQUALS", #"{"value":"Beta Orionis"}"#), finds: "b"),
        filter(with("name", "EQUALS", #"{"value":"Gamma \u00c1lpha"}"#), finds: "c"),
        filter(with("name", "GREATER_THAN", #"{"value":"B"}"#), finds: "b", "c"),
        filter(with("name", "BEGINS_WITH", #"{"value":"Al"}"#), finds: "a"),
        filter(with("name", "BEGINS_WITH", #"{"value":"al"}"#)),
        filter(with("name", "NOT_BEGINS_WITH", #"{"value":"Al"}"#), finds: "b", "c"),
        filter(with("size", "IN", #"{"value":[1,3,9],"type":"INT64_LIST"}"#), finds: "a", "c"),
        filter(with("size", "IN", #"{"value":[],"type":"INT64_LIST"}"#)),
        filter(with("size", "NOT_IN", #"{"value":["1","3"],"type":"INT64_LIST"}"#), finds: "b", "d"),
        filter(with("name", "IN", #"{"value":["Beta Orionis","x"],"type":"STRING_LIST"}"#), finds: "b"),
        filter(with("tags", "LIST_CONTAINS", #"{"value":"near"}"#), finds: "a"),
        filter(with("tags", "NOT_LIST_CONTAINS", #"{"value":"near"}"#), finds: "b", "c"),
        filter(with("tags", "LIST_NOT_CONTAINS", #"{"value":"near"}"#), finds: "b", "c"),
        filter(with("tags", "LIST_CONTAINS_ANY", #"{"value":["far","near"]}"#), finds: "a", "b"),
        filter(with("tags", "NOT_LIST_CONTAINS_ANY", #"{"value":["far","x"],"type":"STRING_LIST"}"#), finds: "a", "c"),
        filter(with("tags", "LIST_NOT_CONTAINS_ANY", #"{"value":["far","x"],"type":"STRING_LIST"}"#), finds: "a", "c"),
        filter(with("tags", "LIST_CONTAINS_ALL", #"{"value":["double","near"],"type":"STRING_LIST"}"#), finds: "a"),
        filter(with("tags", "NOT_LIST_CONTAINS_ALL", #"{"value":["double","near"],"type":"STRING_LIST"}"#), finds: "b", "c"),
        filter(with("tags", "LIST_MEMBER_BEGINS_WITH", #"{"value":"ne"}"#), finds: "a"),
        filter(with("tags", "NOT_LIST_MEMBER_BEGINS_WITH", #"{"value":"ne"}"#), finds: "b", "c"),
        filter(with("name", "CONTAINS_ALL_TOKENS", #"{"value":"alpha gamma"}"#), finds: "c"),
        filter(with("name", "CONTAINS_ANY_TOKENS", #"{"value":"beta ALPHA"}"#), finds: "a", "b", "c"),
        filter(#"{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"alpha double"}}"#, finds: "a"),
        filter(#"{"comparator":"CONTAINS_ANY_TOKENS","fieldValue":{"value":"far centauri"}}"#, finds: "a", "b"),
        filter(with("place", "NEAR", here, #""distance":1000"#), finds: "a"),
        filter(with("place", "NEAR", here, #""distance":20000"#), finds: "a", "b"),
        filter(with("home", "EQUALS", #"{"value":{"recordName":"hub"}}"#), finds: "a", "b", "c"),
        filter(with("home", "EQUALS", #"{"value":{"recordName":"hub","action":"DELETE_SELF"},"type":"REFERENCE"}"#), finds: "a", "b", "c"),
        Scenario(
            "all filters of a query must hold", .makeStars,
            finding(
                ["b"],
                Body.query(
                    "Star", filters: [with("size", "GREATER_THAN", #"{"value":1}"#), with("tags", "LIST_CONTAINS_ANY", #"{"value":["far","near"]}"#)])
            ),
            finding([], Body.query("Star", filters: [with("size", "EQUALS", #"{"value":1}"#), with("size", "EQUALS", #"{"value":2}"#)]))),
        Scenario(
            "a query sees what was just saved, changed and deleted", .makeStars,
            .post("private/records/modify", .ada, Body.modify("forceUpdate", #""recordName":"d","fields":{"size":{"value":2}}"#)).gives(),
            finding(["b", "d"], Body.query("Star", filters: [with("size", "EQUALS", #"{"value":2}"#)])),
            .post("private/records/modify", .ada, Body.modify("forceDelete", #""recordName":"b""#)).gives(),
            finding(["d"], Body.query("Star", filters: [with("size", "EQUALS", #"{"value":2}"#)])),
            .post("private/records/modify", .ada, Body.modify("forceUpdate", #""recordName":"d","fields":{"size":null}"#)).gives(),
            finding([], Body.query("Star", filters: [with("size", "EQUALS", #"{"value":2}"#)]))),
    ]

    private static let systemFields: [Scenario] = [
        Scenario(
            "all records of a type, once their names are queryable", .makeStars, .index("Star", "recordName"),
            finding(["a", "b", "c", "d"], Body.query("Star"))),
        Scenario(
            "records by name, as a reference and in lists", .makeStars, .index("Star", "recordName"),
            finding(["b"], Body.query("Star", filters: [Body.system("recordName", "EQUALS", #"{"value":{"recordName":"b"}}"#)])),
            finding(["b"], Body.query("Star", filters: [with("___recordID", "EQUALS", #"{"value":{"recordName":"b"}}"#)])),
            finding(
                ["a", "c"],
                Body.query(
                    "Star",
                    filters: [Body.system("recordName", "IN", #"{"value":[{"recordName":"a"},{"recordName":"c"}],"type":"REFERENCE_LIST"}"#)]))),
        Scenario(
            "records by who made them, and when", .makeStars, .later(10), .makeStar("late"),
            .index("Star", "createdTimestamp", "___modTime", "createdUserRecordName", "modifiedUserRecordName"),
            finding(
                ["late"],
                Body.query("Star", filters: [Body.system("createdTimestamp", "GREATER_THAN", #"{"value":1778307201000,"type":"TIMESTAMP"}"#)])),
            finding(
                ["a", "b", "c", "d"],
                Body.query("Star", filters: [with("___modTime", "LESS_THAN", #"{"value":1778307201000,"type":"TIMESTAMP"}"#)])),
            finding(
                ["a", "b", "c", "d", "late"],
                Body.query("Star", filters: [Body.system("createdUserRecordName", "EQUALS", #"{"value":{"recordName":"<<ada.name>>"}}"#)])),
            finding(
                [], Body.query("Star", filters: [Body.system("modifiedUserRecordName", "EQUALS", #"{"value":{"recordName":"<<bob.name>>"}}"#)])),
            finding(
                ["late", "a", "b", "c", "d"],
                Body.query(
                    "Star", filters: [Body.system("createdUserRecordName", "EQUALS", #"{"value":{"recordName":"<<ada.name>>"}}"#)],
                    sorts: [#"{"systemFieldName":"createdTimestamp","ascending":false}"#, #"{"fieldName":"size"}"#]))),
        Scenario(
            "records by their parent", .makeStars,
            .post("private/records/modify", .ada, Body.modify("create", #""recordName":"m","recordType":"Star","parent":{"recordName":"a"}"#))
                .gives(),
            .index("Star", "parent"),
            finding(["m"], Body.query("Star", filters: [Body.system("parent", "EQUALS", #"{"value":{"recordName":"a"}}"#)]))),
    ]

    private static let all = with("size", "GREATER_THAN", #"{"value":0}"#)

    private static func sort(_ name: String, _ sorts: String..., finds names: String...) -> Scenario {
        Scenario("a query sorted by \(name)", .makeStars, finding(names, Body.query("Star", filters: [all], sorts: sorts)))
    }

    private static let sorts: [Scenario] = [
        sort("a number", #"{"fieldName":"size"}"#, finds: "a", "b", "c", "d"),
        sort("a number, downwards", #"{"fieldName":"size","ascending":false}"#, finds: "d", "c", "b", "a"),
        sort("text, where a record without one comes first", #"{"fieldName":"name","ascending":true}"#, finds: "d", "a", "b", "c"),
        sort("text, downwards, where a record without one comes last", #"{"fieldName":"name","ascending":false}"#, finds: "c", "b", "a", "d"),
        sort(
            "distance", #"{"fieldName":"place","relativeLocation":{"value":{"latitude":61,"longitude":11},"type":"LOCATION"}}"#,
            #"{"fieldName":"size"}"#, finds: "c", "b", "a", "d"),
        Scenario(
            "a query sorted by two fields", .makeStars, .makeStar("e", size: 2), .makeStar("f", size: 1),
            finding(
                ["e", "b", "f", "a"],
                Body.query(
                    "Star", filters: [with("size", "LESS_THAN", #"{"value":3}"#)],
                    sorts: [#"{"fieldName":"size","ascending":false}"#, #"{"fieldName":"name"}"#]))),
    ]

    private static let two = #""resultsLimit":2"#
    private static let bySize = #"{"fieldName":"size"}"#

    private static let pages: [Scenario] = [
        Scenario(
            "a query comes in pages, and the last one has no marker", .makeStars,
            finding(["a", "b"], Body.query("Star", filters: [all], sorts: [bySize], more: two)).keeps("marker", "continuationMarker"),
            finding(["c", "d"], Body.query("Star", filters: [all], sorts: [bySize], more: two + #","continuationMarker":"<<marker>>""#))
                .gives(200, ["continuationMarker": .absent]),
            finding(["a", "b", "c", "d"], Body.query("Star", filters: [all], sorts: [bySize], more: #""resultsLimit":4"#))
                .gives(200, ["continuationMarker": .absent]),
            finding(["a", "b", "c", "d"], Body.query("Star", filters: [all], sorts: [bySize], more: #""resultsLimit":1000"#))
                .gives(200, ["continuationMarker": .absent])),
        Scenario(
            "what matches throughout shows once, whatever else goes", .makeStars,
            finding(["a", "b"], Body.query("Star", filters: [all], sorts: [bySize], more: two)).keeps("marker", "continuationMarker"),
            .post("private/records/modify", .ada, Body.modify([("forceDelete", #""recordName":"a""#), ("forceDelete", #""recordName":"c""#)]))
                .gives(),
            .makeStar("z", size: 9),
            finding(["d", "z"], Body.query("Star", filters: [all], sorts: [bySize], more: two + #","continuationMarker":"<<marker>>""#))),
        Scenario(
            "a marker and the zone's token in one answer", .makeWork(),
            .post(
                "private/records/modify", .ada,
                Body.modify(
                    [
                        ("create", #""recordName":"a","recordType":"Star","fields":{"size":{"value":1}}"#),
                        ("create", #""recordName":"b","recordType":"Star","fields":{"size":{"value":2}}"#),
                    ], Body.inWork)
            ).gives(),
            .post("private/records/query", .ada, Body.query("Star", filters: [all], more: #""resultsLimit":1,"# + Body.inWork))
                .query(["getCurrentSyncToken": "true"]).gives(200, ["continuationMarker": .some, "syncToken": .some, "records": .count(1)])
                .keeps("token", "syncToken"),
            .post("private/changes/zone", .ada, Body.feed("Work"))
                .gives(200, ["zones[0].syncToken": "<<token>>"]),
            .post("private/records/query", .ada, Body.query("Star", filters: [all], more: Body.inWork)).gives(200, ["syncToken": .absent]),
            .post("private/records/query", .ada, Body.query("Star", filters: [all])).query(["getCurrentSyncToken": "true"])
                .gives(200, ["records": .count(0), "syncToken": .absent])),
    ]

    private static func save(_ name: String, in zone: String) -> Step {
        .post(
            "private/records/modify", .ada,
            Body.modify(
                "create", #""recordName":"\#(name)","recordType":"Star","fields":{"size":{"value":1}}"#, #""zoneID":{"zoneName":"\#(zone)"}"#)
        ).gives(200, ["records[0].serverErrorCode": .absent])
    }

    private static let queryZones: [Scenario] = [
        Scenario(
            "a query asks the default zone, one zone, or all of them", .makeWork(), save("a", in: "_defaultZone"), save("b", in: "Work"),
            finding(["a"], Body.query("Star", filters: [all])).gives(200, ["records[0].zoneID.zoneName": "_defaultZone"]),
            finding(["a"], Body.query("Star", filters: [all], more: #""zoneWide":false"#)),
            finding(["b"], Body.query("Star", filters: [all], more: Body.inWork))
                .gives(200, ["records[0].zoneID.zoneName": "Work", "records[0].zoneID.ownerRecordName": "<<ada.name>>"]),
            finding(["a", "b"], Body.query("Star", filters: [all], more: #""zoneWide":true"#))
                .gives(200, ["records[0].zoneID.zoneName": "_defaultZone", "records[1].zoneID.zoneName": "Work"]),
            finding(["b"], Body.query("Star", filters: [all], more: #""zoneWide":true,"# + Body.inWork))),
        Scenario(
            "a query of all zones comes in pages", .makeWork(), save("a", in: "_defaultZone"), save("a", in: "Work"), save("b", in: "Work"),
            finding(["a"], Body.query("Star", filters: [all], more: #""zoneWide":true,"resultsLimit":1"#)).keeps("one", "continuationMarker"),
            finding(["a"], Body.query("Star", filters: [all], more: #""zoneWide":true,"resultsLimit":1,"continuationMarker":"<<one>>""#))
                .keeps("two", "continuationMarker"),
            finding(["b"], Body.query("Star", filters: [all], more: #""zoneWide":true,"resultsLimit":1,"continuationMarker":"<<two>>""#))
                .gives(200, ["continuationMarker": .absent])),
        Scenario(
            "the world queries the public database", .makeNote("a", .ada, in: "public"),
            .post("public/records/query", .world, Body.query("Note", filters: [with("title", "EQUALS", #"{"value":"One"}"#)]))
                .gives(200, ["records": .count(1), "records[0].recordName": "a", "records[0].fields.title.value": "One"])),
    ]

    private static let queryShapes: [Scenario] = [
        Scenario(
            "a query answers whole records, as a lookup does", .makeStars,
            .post("private/records/query", .ada, Body.query("Star", filters: [with("size", "EQUALS", #"{"value":1}"#)])).gives(
                200,
                [
                    "records[0].recordType": "Star", "records[0].recordChangeTag": .some, "records[0].deleted": false,
                    "records[0].pluginFields": .count(0), "records[0].created.userRecordName": "<<ada.name>>", "records[0].fields.size.value": 1,
                    "records[0].fields.size.type": "INT64", "records[0].zoneID.zoneName": "_defaultZone",
                    "records[0].zoneID.ownerRecordName": "<<ada.name>>", "continuationMarker": .absent, "syncToken": .absent,
                ])),
        Scenario(
            "desiredKeys and numbersAsStrings of a query", .makeStars,
            .post(
                "private/records/query", .ada,
                Body.query(
                    "Star", filters: [with("size", "EQUALS", #"{"value":1}"#)], more: #""desiredKeys":["mass","mass"],"numbersAsStrings":true"#)
            ).gives(200, ["records[0].fields": .count(1), "records[0].fields.mass.value": "1.5"]),
            .post("private/records/query", .ada, Body.query("Star", filters: [with("size", "EQUALS", #"{"value":1}"#)], more: #""desiredKeys":[]"#))
                .gives(200, ["records[0].fields": .count(0)]),
            .post("private/records/query", .ada, Body.query("Star", filters: [with("size", "EQUALS", #"{"value":1}"#)], more: #""desiredKeys":null"#))
                .gives(200, ["records[0].fields": .count(8)])),
        Scenario(
            "one filter and one sort in place of arrays", .makeStars,
            finding(
                ["c", "b"],
                #"{"query":{"recordType":"Star","filterBy":\#(with("tags", "NOT_LIST_CONTAINS", #"{"value":"near"}"#)),"sortBy":{"fieldName":"size","ascending":false}}}"#
            )),
        Scenario(
            "details of a query's records for who asks, and for nobody else", .makeStars,
            .post("private/records/query", .device("ada"), Body.query("Star", filters: [all], more: Body.details)).detailed
                .gives(200, ["records[0].nacre.created": 800_000_000]),
            .post("private/records/query", .ada, Body.query("Star", filters: [all])).gives(200, ["records[0].nacre": .absent])),
    ]
}
