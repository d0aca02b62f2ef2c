/// Deleted records in feeds, and the size of their pages.
extension Scenario {
    static let deletions: [Scenario] = tombstones + chosenTypes + limits

    private static let zone = "private/changes/zone"
    private static let path = "private/records/modify"

    private static func modify(_ operations: (type: String, record: String)...) -> Step {
        .post(path, .ada, Body.modify(operations, Body.inWork)).gives(200, ["records": .count(operations.count)]).lacks("serverErrorCode")
    }

    private static func gone(_ name: String) -> (type: String, record: String) { ("forceDelete", #""recordName":"\#(name)""#) }
    private static func made(_ name: String, _ type: String) -> (type: String, record: String) {
        ("create", #""recordName":"\#(name)","recordType":"\#(type)","fields":{"x":{"value":1}}"#)
    }

    private static let tombstones: [Scenario] = [
        Scenario(
            "a deletion has no type, except for who asks for details", .makeWork(), modify(made("a", "Note")),
            .post(zone, .ada, Body.feed("Work")).gives().keeps("t", "zones[0].syncToken"), modify(gone("a")),
            .post(zone, .ada, Body.feed("Work", token: "<<t>>")).lacks("recordType", "Note", "recordChangeTag", "fields")
                .gives(200, ["zones[0].records[0]": .count(2), "zones[0].records[0].recordName": "a", "zones[0].records[0].deleted": true]),
            .post("private/records/changes", .ada, #"{\#(Body.inWork),"syncToken":"<<t>>"}"#).lacks("recordType", "Note")
                .gives(200, ["records[0]": .count(2), "records[0].deleted": true]),
            .post(zone, .device("ada"), #"{"zones":[{"zoneID":{"zoneName":"Work"},"syncToken":"<<t>>"}],\#(Body.details)}"#).detailed.gives(
                200, ["zones[0].records[0].nacre.recordType": "Note", "zones[0].records[0].recordType": .absent, "zones[0].records[0].deleted": true]),
            .post(zone, .device("ada"), Body.feed("Work", token: "<<t>>")).lacks("recordType", "Note").gives(200, ["zones[0].records": .count(1)]))
    ]

    private static func feed(_ type: String, token: String? = nil) -> Step {
        .post(zone, .ada, Body.feed("Work", token: token, more: #""desiredRecordTypes":["\#(type)"]"#))
    }

    private static let chosenTypes: [Scenario] = [
        Scenario(
            "a choice of types never hides a deletion", .makeWork(), modify(made("a", "Old"), made("b", "Other")),
            feed("Old").gives(200, ["zones[0].records": .count(1)]).keeps("t", "zones[0].syncToken"), modify(gone("a"), gone("b")),
            feed("Old", token: "<<t>>").lacks("recordType")
                .gives(200, ["zones[0].records": .count(2), "zones[0].records[0].deleted": true, "zones[0].records[1].deleted": true])),
        Scenario(
            "who wants one type hears that its record went, when the name was made again as another", .makeWork(),
            modify(made("n", "Old"), made("m", "New")), feed("Old").gives(200, ["zones[0].records": .count(1)]).keeps("t", "zones[0].syncToken"),
            modify(gone("n")), modify(made("n", "New")),
            feed("Old", token: "<<t>>").lacks("New", "fields", "recordType").gives(
                200, ["zones[0].records": .count(1), "zones[0].records[0].recordName": "n", "zones[0].records[0].deleted": true]
            ).keeps("t2", "zones[0].syncToken"),
            feed("New", token: "<<t>>").gives(
                200, ["zones[0].records": .count(1), "zones[0].records[0].recordType": "New", "zones[0].records[0].deleted": false]),
            feed("Other", token: "<<t>>").gives(200, ["zones[0].records": .count(0)]),
            // Repeated with a change of the new record, because the earlier readers are unknown; deletions before a
            // client's beginning are not.
            .post(path, .ada, Body.modify("forceUpdate", #""recordName":"n","fields":{"x":{"value":2}}"#, Body.inWork)).gives(),
            feed("Old", token: "<<t2>>").gives(200, ["zones[0].records": .count(1), "zones[0].records[0].deleted": true]),
            feed("Old").gives(200, ["zones[0].records": .count(0)]),
            feed("Old", token: "<<t>>").gives(200, ["zones[0].records": .count(1), "zones[0].records[0].deleted": true])),
        Scenario(
            "a name that had several types went for each of them", .makeWork(), modify(made("n", "A")),
            .post(zone, .ada, Body.feed("Work")).gives().keeps("t", "zones[0].syncToken"), modify(gone("n")), modify(made("n", "B")),
            modify(gone("n")),
            modify(made("n", "C")), feed("A", token: "<<t>>").gives(200, ["zones[0].records[0].deleted": true]),
            feed("B", token: "<<t>>").gives(200, ["zones[0].records[0].deleted": true]),
            feed("C", token: "<<t>>").gives(200, ["zones[0].records[0].deleted": false]), modify(gone("n")), modify(made("n", "A")),
            feed("A", token: "<<t>>").gives(200, ["zones[0].records": .count(1), "zones[0].records[0].deleted": false])),
    ]

    private static func page(_ limit: Int, after token: String?, _ count: Int, last: String, more: Bool, _ sender: Sender = .ada) -> Step {
        .post(zone, sender, Body.feed("Work", token: token, more: #""resultsLimit":\#(limit)"#)).gives(
            200,
            [
                "zones[0].records": .count(count), "zones[0].records[\(count - 1)].recordName": .equals(.string(last)),
                "zones[0].moreComing": .equals(.bool(more)),
            ]
        ).keeps("page", "zones[0].syncToken")
    }

    private static func older(_ limit: Int, after token: String?, _ count: Int, last: String, more: Bool) -> Step {
        let token = token.map { #","syncToken":"\#($0)""# } ?? ""
        return .post("private/records/changes", .ada, #"{\#(Body.inWork),"resultsLimit":\#(limit)\#(token)}"#).gives(
            200,
            ["records": .count(count), "records[\(count - 1)].recordName": .equals(.string(last)), "moreComing": .equals(.bool(more))]
        ).keeps("page", "syncToken")
    }

    private static let limits: [Scenario] = [
        Scenario(
            "web clients never get more than they asked for, in the middle of a commit if need be", .makeWork(),
            .post(path, .ada, Body.modify((10..<22).map { ("create", Body.note("n\($0)")) }, Body.inWork)).gives(),
            page(5, after: nil, 5, last: "n14", more: true), page(5, after: "<<page>>", 5, last: "n19", more: true),
            page(5, after: "<<page>>", 2, last: "n21", more: false), page(12, after: nil, 12, last: "n21", more: false),
            older(5, after: nil, 5, last: "n14", more: true), older(7, after: "<<page>>", 7, last: "n21", more: false)),
        Scenario(
            "200 is the most, though two commits have more", .makeWork(),
            .post(path, .ada, Body.modify((100..<296).map { ("create", Body.note("n\($0)")) }, Body.inWork)).gives(),
            .post(path, .ada, Body.modify((300..<496).map { ("create", Body.note("n\($0)")) }, Body.inWork)).gives(),
            page(200, after: nil, 200, last: "n303", more: true), page(200, after: "<<page>>", 192, last: "n495", more: false),
            page(1000, after: nil, 200, last: "n303", more: true)),
        Scenario(
            "a page in the middle of a commit says so to who asks for details, and to nobody else", .makeWork(),
            .post(path, .ada, Body.modify((10..<22).map { ("create", Body.note("n\($0)")) }, Body.inWork)).gives(),
            .post(zone, .ada, #"{"zones":[{"zoneID":{"zoneName":"Work"},"resultsLimit":5}],\#(Body.details)}"#).detailed
                .gives(200, ["zones[0].nacre.midCommit": true, "zones[0].records": .count(5)]),
            .post(zone, .ada, Body.feed("Work", more: #""resultsLimit":5"#)).lacks("midCommit").gives()),
        Scenario(
            "the framework's pages keep commits whole", .makeWork(),
            .post(path, .ada, Body.modify((10..<22).map { ("create", Body.note("n\($0)")) }, Body.inWork)).gives(),
            page(5, after: nil, 12, last: "n21", more: false, .device("ada"))),
    ]
}
