/// References with effects: cascades, prevented deletions, and targets that a save needs.
extension Scenario {
    static let referenceRules: [Scenario] = cascades + validations + missingTargets + tooMany

    private static let path = "private/records/modify"

    private static func node(_ name: String, _ links: String..., more: String = "") -> String {
        #""recordName":"\#(name)","recordType":"Node","fields":{\#((#""n":{"value":1}"#) + links.map { "," + $0 }.joined())}\#(more)"#
    }

    private static func link(_ field: String, _ target: String, _ action: String) -> String {
        #""\#(field)":{"value":{"recordName":"\#(target)","action":"\#(action)"}}"#
    }

    private static func save(_ nodes: String...) -> Step {
        var values: [String: Expected] = ["records": .count(nodes.count)]
        for index in nodes.indices { values["records[\(index)].serverErrorCode"] = .absent }
        return .post(path, .ada, Body.modify(nodes.map { ("create", $0) }, Body.inWork)).gives(200, values)
    }

    /// Deletes records successfully; the answer has only the named ones.
    private static func delete(_ names: String...) -> Step {
        var values: [String: Expected] = ["records": .count(names.count)]
        for (index, name) in names.enumerated() {
            values["records[\(index)].deleted"] = true
            values["records[\(index)].recordName"] = .equals(.string(name))
        }
        return .post(path, .ada, Body.modify(names.map { ("forceDelete", #""recordName":"\#($0)""#) }, Body.inWork)).gives(200, values)
    }

    private static func gone(_ names: String...) -> Step { lookup(names) { ["\($0).serverErrorCode": "NOT_FOUND"] } }
    private static func there(_ names: String...) -> Step { lookup(names) { ["\($0).serverErrorCode": .absent] } }

    private static func lookup(_ names: [String], _ expected: (String) -> [String: Expected]) -> Step {
        let items = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
        let values = names.indices.map { expected("records[\($0)]") }.reduce(into: [:]) { all, one in all.merge(one) { $1 } }
        return .post("private/records/lookup", .ada, #"{"records":[\#(items)],\#(Body.inWork)}"#).gives(200, values)
    }

    private static let cascades: [Scenario] = [
        Scenario(
            "a chain goes with its root, whatever is deleted first, and the feed tells of each", .makeWork(),
            save(node("c", link("up", "b", "DELETE_SELF")), node("b", link("up", "a", "DELETE_SELF")), node("a"), node("other")),
            .post("private/changes/zone", .ada, Body.feed("Work")).gives(200, ["zones[0].records": .count(4)]).keeps("before", "zones[0].syncToken"),
            delete("a"), gone("a", "b", "c"), there("other"),
            .post("private/changes/zone", .ada, Body.feed("Work", token: "<<before>>")).gives(
                200,
                [
                    "zones[0].records": .count(3), "zones[0].records[0].deleted": true, "zones[0].records[1].deleted": true,
                    "zones[0].records[2].deleted": true, "zones[0].records[2].recordType": .absent, "zones[0].records[0].fields": .absent,
                ]),
            .post("private/changes/zone", .ada, Body.feed("Work")).gives(200, ["zones[0].records": .count(1)])),
        Scenario(
            "a circle goes as a whole", .makeWork(),
            save(node("a", link("next", "b", "DELETE_SELF")), node("b", link("next", "a", "DELETE_SELF"))), delete("b"), gone("a", "b")),
        Scenario(
            "a record that refers to itself goes alone", .makeWork(), save(node("a", link("me", "a", "DELETE_SELF")), node("b")), delete("a"),
            gone("a"),
            there("b")),
        Scenario(
            "any of several targets is enough, alone or in a list", .makeWork(), save(node("a"), node("b"), node("c")),
            save(
                node("one", link("x", "a", "DELETE_SELF"), link("y", "b", "DELETE_SELF")),
                node(
                    "list",
                    #""z":{"value":[{"recordName":"c","action":"DELETE_SELF"},{"recordName":"b","action":"DELETE_SELF"}],"type":"REFERENCE_LIST"}"#)),
            delete("b"), gone("b", "one", "list"), there("a", "c")),
        Scenario(
            "what refers with NONE stays, and dangles", .makeWork(), save(node("a"), node("b", link("to", "a", "NONE"))), delete("a"), gone("a"),
            .post("private/records/lookup", .ada, Body.lookup("b", more: Body.inWork)).gives(
                200, ["records[0].fields.to.value.recordName": "a", "records[0].fields.to.value.action": "NONE"])),
        Scenario(
            "a record that refers no longer is spared", .makeWork(), save(node("a"), node("b", link("to", "a", "DELETE_SELF"))),
            .post(path, .ada, Body.modify("forceUpdate", #""recordName":"b","fields":{"to":null}"#, Body.inWork)).gives(), delete("a"), gone("a"),
            there("b")),
        Scenario(
            "a record that lets go in the batch that deletes its target is spared", .makeWork(),
            save(node("a"), node("b", link("to", "a", "DELETE_SELF"))),
            .post(
                path, .ada,
                Body.modify([("forceDelete", #""recordName":"a""#), ("forceUpdate", #""recordName":"b","fields":{"to":null}"#)], Body.inWork)
            ).gives(200, ["records[0].deleted": true, "records[1].serverErrorCode": .absent]), gone("a"), there("b")),
        Scenario(
            "default zones and the public database cascade too",
            .post("public/records/modify", .ada, Body.modify([("create", node("a")), ("create", node("b", link("to", "a", "DELETE_SELF")))])).gives(),
            .post("public/records/modify", .ada, Body.modify("forceDelete", #""recordName":"a""#)).gives(200, ["records": .count(1)]),
            .post("public/records/lookup", .world, Body.lookup("b")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"])),
    ]

    private static func held(_ name: String, by other: String, at index: Int = 0) -> [String: Expected] {
        [
            "records[\(index)].recordName": .equals(.string(name)), "records[\(index)].serverErrorCode": "VALIDATING_REFERENCE_ERROR",
            "records[\(index)].reason": .equals(.string("Record delete would violate validating reference ([\(other)]), rejecting update")),
            "records[\(index)].deleted": .absent,
        ]
    }

    private static func deleting(_ name: String) -> Step { .post(path, .ada, Body.modify("forceDelete", #""recordName":"\#(name)""#, Body.inWork)) }

    private static let validations: [Scenario] = [
        Scenario(
            "a validating reference holds its target", .makeWork(), save(node("a"), node("b", link("to", "a", "VALIDATE"))),
            deleting("a").gives(200, held("a", by: "a")), there("a", "b"), delete("b", "a"), gone("a", "b")),
        Scenario(
            "a parent link holds the parent", .makeWork(), save(node("a"), node("b", more: #","parent":{"recordName":"a"}"#)),
            deleting("a").gives(200, held("a", by: "a")), there("a", "b"), delete("a", "b"), gone("a", "b")),
        Scenario(
            "a cascade that is held back is refused at its root, and nothing of it is done", .makeWork(),
            save(node("a"), node("b", link("up", "a", "DELETE_SELF")), node("guard", link("to", "b", "VALIDATE"))),
            deleting("a").gives(200, held("a", by: "b")), there("a", "b", "guard"), delete("guard"), delete("a"), gone("a", "b")),
        Scenario(
            "the framework is told CloudKit's own codes", .makeWork(), save(node("a"), node("b", link("to", "a", "VALIDATE"))),
            .post(path, .device("ada"), Body.modify("forceDelete", #""recordName":"a""#, Body.inWork + "," + Body.details)).detailed
                .gives(200, ["records[0].nacre.code": 31])),
    ]

    private static func missing(_ name: String, _ record: String, _ reason: String) -> Scenario {
        Scenario(
            name, .makeWork(),
            .post(path, .ada, Body.modify("create", record, Body.inWork)).gives(
                200,
                [
                    "records[0].recordName": "b", "records[0].serverErrorCode": "VALIDATING_REFERENCE_ERROR",
                    "records[0].reason": .equals(.string(reason)), "records[0].fields": .absent,
                ]), gone("b"))
    }

    private static let missingTargets: [Scenario] = [
        missing("DELETE_SELF to what is not there", node("b", link("to", "a", "DELETE_SELF")), "referenced record does not exist"),
        missing("VALIDATE to what is not there", node("b", link("to", "a", "VALIDATE")), "referenced record does not exist"),
        missing("a parent that is not there", node("b", more: #","parent":{"recordName":"a"}"#), "parent record does not exist"),
        Scenario("NONE to what is not there", .makeWork(), save(node("b", link("to", "a", "NONE"))), there("b")),
        Scenario(
            "targets that come with the batch, in any order", .makeWork(),
            save(node("b", link("to", "a", "VALIDATE")), node("c", link("to", "a", "DELETE_SELF")), node("a")), there("a", "b", "c")),
        Scenario(
            "a target that the batch deletes", .makeWork(), save(node("a")),
            .post(
                path, .ada,
                Body.modify(
                    [("forceDelete", #""recordName":"a""#), ("create", node("b", link("to", "a", "DELETE_SELF")))], Body.inWork + #","atomic":false"#)
            ).gives(200, ["records[1].serverErrorCode": "VALIDATING_REFERENCE_ERROR"]), gone("b")),
        Scenario(
            "a reference into another zone", .makeWork(),
            .post(
                path, .ada,
                Body.modify(
                    "create", node("b", #""to":{"value":{"recordName":"a","action":"DELETE_SELF","zoneID":{"zoneName":"Home"}}}"#), Body.inWork)
            ).gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].reason": "references across zones are not allowed"])),
    ]

    private static func holders(_ numbers: Range<Int>) -> Step {
        let operations = numbers.map { ("create", node("h\($0)", link("to", "a", "DELETE_SELF"))) }
        return .post(path, .ada, Body.modify(operations, Body.inWork)).lacks("serverErrorCode").gives(200, ["records": .count(numbers.count)])
    }

    private static let tooMany: [Scenario] = [
        Scenario(
            "750 records may go with one, and no more", .makeWork(), save(node("a")), holders(0..<200), holders(200..<400), holders(400..<600),
            holders(600..<750),
            .post(path, .ada, Body.modify("create", node("b", link("to", "a", "DELETE_SELF")), Body.inWork)).gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST",
                    "records[0].reason": "Limit exceeded for number of owning references to single record",
                ]), gone("b"),
            .post(path, .device("ada"), Body.modify("create", node("b", link("to", "a", "DELETE_SELF")), Body.inWork + "," + Body.details)).detailed
                .gives(200, ["records[0].nacre.code": 27, "records[0].nacre.internalCode": 2023]),
            delete("h0"), save(node("b", link("to", "a", "DELETE_SELF"))), delete("a"), gone("a", "b", "h1", "h749"))
    ]
}
