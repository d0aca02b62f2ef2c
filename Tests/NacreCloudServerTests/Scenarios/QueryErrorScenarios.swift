import NacreCloudContainer

/// Everything that `records/query` refuses, with CloudKit's texts.
extension Scenario {
    static let queryErrors: [Scenario] = unindexed + unfit + markers + misplaced + badQueries + building

    private static let path = "private/records/query"

    /// Returns a query over the stars that is refused as a whole, and shows none of them.
    private static func refusal(_ name: String, _ body: String, _ reason: String, after steps: Step...) -> Scenario {
        var scenario = Scenario(name)
        scenario.steps =
            [.makeStars] + steps + [
                .post(path, .ada, body).lacks("records", "Centauri", "continuationMarker").refuses(400, "BAD_REQUEST", reason)
            ]
        return scenario
    }

    private static func query(_ field: String, _ comparator: String, _ value: String, _ more: String = "") -> String {
        Body.query("Star", filters: [Body.filter(field, comparator, value, more)])
    }

    private static func sorted(_ sort: String) -> String { Body.query("Star", filters: [bySize], sorts: [sort]) }

    private static let bySize = Body.filter("size", "GREATER_THAN", #"{"value":0}"#)
    private static let one = #"{"value":1}"#
    private static let moment = #"{"value":1000,"type":"TIMESTAMP"}"#
    private static let link = #"{"value":{"recordName":"a"}}"#
    private static let place = #"{"value":{"latitude":48,"longitude":11}}"#

    private static let unindexed: [Scenario] = [
        refusal("all records of a type whose names are not queryable", Body.query("Star"), "Field 'recordName' is not marked queryable"),
        refusal(
            "records by name where names are not queryable",
            Body.query("Star", filters: [Body.system("recordName", "EQUALS", link)]), "Field 'recordName' is not marked queryable"),
        refusal(
            "all records, sorted, where names are sortable alone", Body.query("Star", sorts: [#"{"systemFieldName":"recordName"}"#]),
            "Field 'recordName' is not marked queryable", after: .index("Star", "recordName", options: .sortable)),
        refusal(
            "a filter on a field without an index", query("size", "EQUALS", one), "Field 'size' is not marked queryable",
            after: .index("Star", "size", options: [])),
        refusal(
            "a filter on a field that is sortable alone", query("size", "EQUALS", one), "Field 'size' is not marked queryable",
            after: .index("Star", "size", options: .sortable)),
        refusal(
            "a filter on the moment of a record's making", query("___createTime", "LESS_THAN", moment),
            "Field '___createTime' is not marked queryable"),
        refusal(
            "a filter on the maker of a record", Body.query("Star", filters: [Body.system("createdUserRecordName", "EQUALS", link)]),
            "Field '___createdBy' is not marked queryable"),
        refusal(
            "a sort by a field that is queryable alone", sorted(#"{"fieldName":"tags"}"#), "Field 'tags' is not marked sortable"),
        refusal(
            "a sort by a field without an index", sorted(#"{"fieldName":"mass"}"#), "Field 'mass' is not marked sortable",
            after: .index("Star", "mass", options: .queryable)),
        refusal(
            "a sort by the moment of a record's making", sorted(#"{"systemFieldName":"createdTimestamp"}"#),
            "Field '___createTime' is not marked sortable"),
        refusal(
            "a sort by the moment of a record's last change", sorted(#"{"fieldName":"___modTime","ascending":false}"#),
            "Field '___modTime' is not marked sortable"),
        refusal(
            "a search in a field without words", query("name", "CONTAINS_ALL_TOKENS", #"{"value":"alpha"}"#),
            "Field 'name' is not marked searchable", after: .index("Star", "name")),
        Scenario(
            "a type without any index",
            .post(
                "private/records/modify", .ada,
                Body.modify("create", #""recordName":"a","recordType":"Bare","fields":{"raw":{"value":["AQ=="],"type":"BYTES_LIST"}}"#)
            ).gives(200, ["records[0].serverErrorCode": .absent]),
            .post(path, .ada, Body.query("Bare")).lacks("records").refuses(400, "BAD_REQUEST", "Type is not marked indexable: Bare"),
            .post(path, .device("ada"), Body.query("Bare", more: Body.details)).detailed.gives(400, ["nacre.code": 12, "nacre.internalCode": 2015])),
    ]

    private static let manyValues = (0..<251).map(String.init).joined(separator: ",")

    private static func fit(_ field: String, _ type: String, _ value: String, _ given: String, comparator: String = "EQUALS") -> Scenario {
        refusal(
            "a filter on a \(type) with a \(given), by \(comparator)", query(field, comparator, value),
            "Field '\(field)' has a value type of \(type) and cannot be queried using filter value type \(given)")
    }

    private static let unfit: [Scenario] = [
        refusal("a filter on a field that nobody knows", query("colour", "EQUALS", one), "Unknown field 'colour'"),
        refusal("a sort by a field that nobody knows", sorted(#"{"fieldName":"colour"}"#), "Unknown field 'colour'"),
        refusal("a search in a field that nobody knows", query("colour", "CONTAINS_ANY_TOKENS", #"{"value":"x"}"#), "Unknown field 'colour'"),
        refusal(
            "a system field by the web's name where a field is named", query("createdTimestamp", "LESS_THAN", moment),
            "Unknown field 'createdTimestamp'"),
        refusal("a system field that nobody knows", query("___colour", "EQUALS", one), "Unknown field '___colour'"),
        fit("home", "REFERENCE", #"{"value":"hub"}"#, "STRING"),
        fit("name", "STRING", one, "INT64"),
        fit("size", "INT64", #"{"value":"1"}"#, "STRING"),
        fit("seen", "TIMESTAMP", #"{"value":"x"}"#, "STRING"),
        fit("name", "STRING", #"{"value":[1],"type":"INT64_LIST"}"#, "INT64_LIST", comparator: "IN"),
        Scenario(
            "a type that nobody knows",
            .post(path, .ada, Body.query("Planet", filters: [bySize])).lacks("records")
                .refuses(404, "NOT_FOUND", "Did not find record type: Planet"),
            .post(path, .device("ada"), Body.query("Planet", more: Body.details)).detailed
                .gives(404, ["nacre.code": 11, "nacre.internalCode": 2003])),
        refusal(
            "251 values in a list", query("size", "IN", #"{"value":[\#(manyValues)],"type":"INT64_LIST"}"#),
            "Query filter exceeds the limit of values: 250 for container 'iCloud.test.scenes'"),
        Scenario(
            "250 values in a list, and the code of 251", .makeStars,
            .post(path, .ada, query("size", "IN", #"{"value":[\#(manyValues.dropLast(4))],"type":"INT64_LIST"}"#)).gives(200, ["records": .count(4)]),
            .post(
                path, .device("ada"),
                Body.query("Star", filters: [Body.filter("size", "IN", #"{"value":[\#(manyValues)],"type":"INT64_LIST"}"#)], more: Body.details)
            ).detailed.gives(400, ["nacre.code": 27, "nacre.internalCode": 2023])),
        Scenario(
            "a filter on an encrypted field", .makeScope(),
            .post(
                "private/records/modify", .device("ada"),
                Body.modify(
                    "create",
                    #""recordName":"a","recordType":"Diary","fields":{"n":{"value":1},"secret":\#(Body.sealed())},"#
                        + Body.manifest(["secret": [1, 2]])
                )
            ).detailed.gives(200, ["records[0].serverErrorCode": .absent]),
            .post(path, .ada, Body.query("Diary", filters: [Body.filter("secret", "EQUALS", #"{"value":"x"}"#)])).lacks("AQI", "records")
                .refuses(
                    400, "BAD_REQUEST", "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS")),
    ]

    private static let pageOfOne = #""resultsLimit":1"#

    private static func marked(_ marker: String, _ type: String = "Star", _ filter: String = bySize, more: String = "") -> String {
        Body.query(type, filters: [filter], more: pageOfOne + #","continuationMarker":"\#(marker)""# + more)
    }

    private static let otherMarker = "Invalid continuation format"
    private static let unknownMarker = "Unknown sync continuation type"

    private static let firstPage: Step = .post(path, .ada, Body.query("Star", filters: [bySize], more: pageOfOne))
        .gives(200, ["records": .count(1)]).keeps("marker", "continuationMarker")

    private static func refuses(_ body: String, _ sender: Sender = .ada, at path: String = "private/records/query") -> Step {
        .post(path, sender, body).lacks("records").gives(400, ["serverErrorCode": "BAD_REQUEST", "reason": .some])
    }

    private static let markers: [Scenario] = [
        Scenario(
            "a marker that is none", .makeStars, .post(path, .ada, marked("nonsense")).lacks("records").refuses(400, "BAD_REQUEST", unknownMarker)),
        Scenario(
            "a token of a feed for a marker", .makeWork(), .makeStars,
            .post("private/changes/zone", .ada, Body.feed("Work")).gives().keeps("zone", "zones[0].syncToken"),
            .post(path, .ada, marked("<<zone>>")).lacks("records").refuses(400, "BAD_REQUEST", unknownMarker),
            firstPage,
            .post("private/changes/zone", .ada, Body.feed("Work", token: "<<marker>>"))
                .gives(200, ["zones[0].reason": .equals(.string(unknownMarker))])),
        Scenario(
            "a marker with another query", .makeStars, firstPage,
            .post(path, .ada, marked("<<marker>>", "Star", Body.filter("size", "GREATER_THAN", #"{"value":1}"#))).lacks("records")
                .refuses(400, "BAD_REQUEST", otherMarker)),
        Scenario(
            "a marker with another sort", .makeStars, firstPage,
            refuses(Body.query("Star", filters: [bySize], sorts: [#"{"fieldName":"size"}"#], more: #""continuationMarker":"<<marker>>""#))),
        Scenario(
            "a marker in another zone", .makeWork(), .makeStars, firstPage, refuses(marked("<<marker>>", more: "," + Body.inWork)),
            refuses(marked("<<marker>>", more: #","zoneWide":true"#))),
        Scenario("another user's marker", .makeStars, firstPage, refuses(marked("<<marker>>"), .bob)),
        Scenario("a marker in another database", .makeStars, firstPage, refuses(marked("<<marker>>"), at: "public/records/query")),
    ]

    private static let titled = Body.filter("title", "EQUALS", #"{"value":"One"}"#)
    private static let notes = Body.query("Note", filters: [titled])

    private static let misplaced: [Scenario] = [
        Scenario(
            "a query without a user", .post(path, .world, notes).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .post("shared/records/query", .world, notes).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")),
        Scenario(
            "a query of a zone that does not exist", .makeNote("a"),
            .post(path, .ada, Body.query("Note", filters: [titled], more: Body.inWork)).lacks("records")
                .refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
        Scenario(
            "a query of another user's zone", .makeWork(.bob), .makeNote("secret", .bob, in: "private", Body.inWork),
            .post(
                path, .ada,
                Body.query(
                    "Note", filters: [titled],
                    more: #""zoneID":{"zoneName":"Work","ownerRecordName":"<<bob.name>>"}"#)
            ).lacks("secret").refuses(400, "BAD_REQUEST", "PrivateDB can't be used to access another user's zone"),
            .post(path, .ada, Body.query("Note", filters: [titled], more: #""zoneWide":true"#))
                .lacks("secret").gives(200, ["records": .count(0)])),
        Scenario(
            "a query of users",
            .post("public/records/query", .ada, Body.query("Users")).lacks("records", "<<bob.name>>")
                .refuses(400, "BAD_REQUEST", "Can't query system types")),
        Scenario(
            "a query of the shared database that names no zone", .makeNote("a"),
            .post("shared/records/query", .ada, notes).lacks("records").refuses(400, "BAD_REQUEST", "missing required field"),
            .post("shared/records/query", .ada, Body.query("Note", filters: [titled], more: Body.inWork))
                .refuses(404, "ZONE_NOT_FOUND", "Zone does not exist")),
    ]

    private static let sentence = "badRequestException: unexpected input at [line: 1, column: "
    private static let unexpected = "BadRequestException: Unexpected input"

    /// Returns a query with a comparator that a type does not support.
    private static func unsuited(_ field: String, _ type: String, _ comparator: String, _ value: String, _ more: String = "") -> Scenario {
        refusal(
            "\(comparator) of a \(type)", query(field, comparator, value, more),
            "Field '\(field)' has a value type of \(type) and cannot be queried using filter type \(comparator)")
    }

    private static let badQueries: [Scenario] = [
        refusal("no body", "", sentence + "1]"),
        refusal("no query", "{}", sentence + "1]"),
        refusal("a query without a type", #"{"query":{}}"#, sentence + "10]"),
        refusal("a comparator that nobody knows", query("size", "SIMILAR", one), sentence + "76]"),
        refusal("a comparator in small letters", query("size", "equals", one), sentence + "76]"),
        refusal("a filter without a field", Body.query("Star", filters: [#"{"comparator":"EQUALS","fieldValue":\#(one)}"#]), sentence + "43]"),
        refusal("a filter without a value", Body.query("Star", filters: [#"{"fieldName":"size","comparator":"EQUALS"}"#]), sentence + "43]"),
        refusal("IN without a list", query("size", "IN", #"{"value":1,"type":"INT64"}"#), unexpected),
        refusal("IN with a list that says no type", query("size", "IN", #"{"value":[1]}"#), unexpected),
        refusal("NOT_IN with a list that says no type", query("size", "NOT_IN", #"{"value":[1]}"#), unexpected),
        refusal("LIST_CONTAINS_ANY without a list", query("tags", "LIST_CONTAINS_ANY", #"{"value":"near"}"#), unexpected),
        refusal("LIST_CONTAINS_ALL without a list", query("tags", "LIST_CONTAINS_ALL", #"{"value":"near"}"#), unexpected),
        refusal(
            "a date with a fraction in a filter", query("seen", "EQUALS", #"{"value":1.5,"type":"TIMESTAMP"}"#),
            "Invalid value, expected type TIMESTAMP."),
        refusal("a limit that is none", Body.query("Star", filters: [bySize], more: #""resultsLimit":-1"#), "invalid results limit"),
        refusal("NEAR without a distance", query("place", "NEAR", place), "missing required field"),
        refusal("NEAR within less than nothing", query("place", "NEAR", place, #""distance":-1"#), "invalid distance"),
        unsuited("size", "INT64", "BEGINS_WITH", #"{"value":"x"}"#), unsuited("place", "LOCATION", "LESS_THAN", place),
        unsuited("size", "INT64", "NEAR", place, #""distance":5"#), unsuited("size", "INT64", "LIST_CONTAINS", one),
        unsuited("tags", "STRING_LIST", "EQUALS", #"{"value":"near"}"#),
        unsuited("tags", "STRING_LIST", "IN", #"{"value":["near"],"type":"STRING_LIST"}"#),
        refusal(
            "a search in what has no words", query("size", "CONTAINS_ALL_TOKENS", #"{"value":"x"}"#), "Field 'size' is not marked searchable"),
        fit("name", "STRING", one, "INT64", comparator: "CONTAINS_ALL_TOKENS"),
        refusal(
            "a search in all fields of a type that has none to search",
            Body.query("Star", filters: [#"{"comparator":"CONTAINS_ANY_TOKENS","fieldValue":{"value":"alpha"}}"#]),
            "No field of type 'Star' is marked searchable", after: .index("Star", "name"), .index("Star", "tags", options: .queryable)),
        refusal(
            "a sort by distance of what is not a location", sorted(#"{"fieldName":"size","relativeLocation":{"latitude":1,"longitude":2}}"#),
            "Field 'size' has a value type of INT64"),
        refusal(
            "51 filters", Body.query("Star", filters: Array(repeating: bySize, count: 51)),
            "Your request contains 51 items which is more than the maximum number of items in a single request (50)"),
        refusal(
            "11 sorts", Body.query("Star", filters: [bySize], sorts: (0..<11).map { #"{"fieldName":"f\#($0)"}"# }),
            "Your request contains 11 items which is more than the maximum number of items in a single request (10)"),
        Scenario(
            "the framework is told the place of a mistake", .makeStars,
            .post(path, .device("ada"), query("size", "SIMILAR", one)).detailed
                .gives(400, ["nacre.code": 12, "nacre.field": "query.filterBy[0].comparator"])),
    ]

    private static let heaviest = Body.filter("mass", "EQUALS", #"{"value":2.5}"#)
    private static let heavy = Body.query("Star", filters: [heaviest])

    private static let building: [Scenario] = [
        Scenario(
            "an index that is being built: few records are found without it", .makeStars, .index("Star", "mass", options: []),
            .index("Star", "mass", builds: false), .post(path, .ada, heavy).gives(200, ["records": .count(1), "records[0].recordName": "c"])),
        Scenario(
            "a page that looked at as much as it may has a marker, though more records would have room", queryScanRows: 2, .makeStars,
            .index("Star", "name", options: .sortable),
            .post(path, .ada, Body.query("Star", filters: [bySize, light], sorts: [#"{"fieldName":"name"}"#]))
                .gives(200, ["continuationMarker": .some])),
    ]

    private static let light = Body.filter("mass", "LESS_THAN", #"{"value":3.5}"#)
}
