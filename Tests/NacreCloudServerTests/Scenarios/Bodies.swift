import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto

/// Bodies of requests that many scenarios send.
enum Body {
    /// Returns a `records/modify` with one operation: `record` has the members of the record, `more` those beside
    /// `operations`.
    static func modify(_ type: String, _ record: String, _ more: String = "") -> String {
        modify([(type, record)], more)
    }

    static func modify(_ operations: [(type: String, record: String)], _ more: String = "") -> String {
        let items = operations.map { #"{"operationType":"\#($0.type)","record":{\#($0.record)}}"# }.joined(separator: ",")
        return #"{"operations":[\#(items)]\#(more.isEmpty ? "" : "," + more)}"#
    }

    /// Returns the members of a note.
    static func note(_ name: String, _ title: String = "One", _ more: String = "") -> String {
        #""recordName":"\#(name)","recordType":"Note","fields":{"title":{"value":"\#(title)"}}\#(more.isEmpty ? "" : "," + more)"#
    }

    /// Returns the member of a record with its encrypted values that has their manifest.
    static func manifest(in zone: String = ZoneID.defaultZoneName, parent: String = "", _ values: [String: [UInt8]]) -> String {
        let bytes = ManifestBytes(in: zone, stamp: 1, parent: parent, values).written { SHA256.digest($0) }
        return #""nacre":{"manifest":"\#(Base64.encode(bytes))"}"#
    }

    /// Returns an encrypted value of the bytes 1 and 2.
    static func sealed(in zone: String = ZoneID.defaultZoneName) -> String {
        #"{"value":"AQI=","type":"STRING","isEncrypted":true,"nacre":{"keyID":"\#(ManifestBytes.keyID(in: zone))"}}"#
    }

    static func lookup(_ names: String..., more: String = "") -> String {
        let items = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
        return #"{"records":[\#(items)]\#(more.isEmpty ? "" : "," + more)}"#
    }

    static func zones(_ type: String, _ names: String...) -> String {
        let items = names.map { #"{"operationType":"\#(type)","zone":{"zoneID":{"zoneName":"\#($0)"}}}"# }.joined(separator: ",")
        return #"{"operations":[\#(items)]}"#
    }

    static func feed(_ zone: String, token: String? = nil, more: String = "") -> String {
        let token = token.map { #","syncToken":"\#($0)""# } ?? ""
        return #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}\#(token)\#(more.isEmpty ? "" : "," + more)}]}"#
    }

    /// Returns a `records/query`; filters and sorts are JSON.
    static func query(_ type: String, filters: [String] = [], sorts: [String] = [], more: String = "") -> String {
        let query = [
            #""recordType":"\#(type)""#, filters.isEmpty ? nil : #""filterBy":[\#(filters.joined(separator: ","))]"#,
            sorts.isEmpty ? nil : #""sortBy":[\#(sorts.joined(separator: ","))]"#,
        ]
        return #"{"query":{\#(query.compactMap(\.self).joined(separator: ","))}\#(more.isEmpty ? "" : "," + more)}"#
    }

    static func filter(_ field: String, _ comparator: String, _ value: String, _ more: String = "") -> String {
        #"{"fieldName":"\#(field)","comparator":"\#(comparator)","fieldValue":\#(value)\#(more.isEmpty ? "" : "," + more)}"#
    }

    /// Returns a filter on a system field by the web's name.
    static func system(_ field: String, _ comparator: String, _ value: String) -> String {
        #"{"systemFieldName":"\#(field)","comparator":"\#(comparator)","fieldValue":\#(value)}"#
    }

    /// Returns the members of a star, which has a field of nearly every type that can be queried.
    static func star(
        _ name: String, _ title: String, size: Int, mass: Double, at place: (latitude: Double, longitude: Double), tags: [String]
    ) -> String {
        let list = tags.map { #""\#($0)""# }.joined(separator: ",")
        return #""recordName":"\#(name)","recordType":"Star","fields":{"name":{"value":"\#(title)"},"size":{"value":\#(size)},"#
            + #""mass":{"value":\#(mass),"type":"DOUBLE"},"seen":{"value":\#(1000 + size),"type":"TIMESTAMP"},"#
            + #""place":{"value":{"latitude":\#(place.latitude),"longitude":\#(place.longitude)}},"tags":{"value":[\#(list)],"type":"STRING_LIST"},"#
            + #""home":{"value":{"recordName":"hub","action":"NONE"}},"raw":{"value":"AQI=","type":"BYTES"}}"#
    }

    static let inWork = #""zoneID":{"zoneName":"Work"}"#
    static let details = #""nacre":{"details":true}"#
    /// A body one byte longer than the limit.
    static let tooLarge = #"{"operations":[],"x":""# + String(repeating: "x", count: 8 * 1024 * 1024) + #""}"#

    /// Returns a request with `count` notes with titles of `titleBytes` bytes.
    static func notes(_ count: Int, titleBytes: Int = 1) -> String {
        let title = String(repeating: "x", count: titleBytes)
        return modify((0..<count).map { ("create", note("n\($0)", title)) })
    }

    static func lookup(count: Int) -> String {
        #"{"records":[\#((0..<count).map { #"{"recordName":"n\#($0)"}"# }.joined(separator: ","))]}"#
    }

    static func zones(count: Int) -> String {
        let items = (0..<count).map { #"{"operationType":"create","zone":{"zoneID":{"zoneName":"z\#($0)"}}}"# }
        return #"{"operations":[\#(items.joined(separator: ","))]}"#
    }

    static func zoneNames(count: Int) -> String {
        #"{"zones":[\#((0..<count).map { #"{"zoneID":{"zoneName":"z\#($0)"}}"# }.joined(separator: ","))]}"#
    }
}

extension Step {
    /// Makes the zone Work of a sender's private database.
    static func makeWork(_ sender: Sender = .ada) -> Step {
        .post("private/zones/modify", sender, Body.zones("create", "Work")).gives(200, ["zones[0].serverErrorCode": .absent])
    }

    /// Makes four stars, of which `d` has hardly a field.
    static let makeStars: Step = .post(
        "private/records/modify", .ada,
        Body.modify([
            ("create", Body.star("a", "Alpha Centauri", size: 1, mass: 1.5, at: (48.0, 11.0), tags: ["near", "double"])),
            ("create", Body.star("b", "Beta Orionis", size: 2, mass: 2.0, at: (48.1, 11.0), tags: ["far"])),
            ("create", Body.star("c", "Gamma Álpha", size: 3, mass: 2.5, at: (60.0, 11.0), tags: [])),
            ("create", #""recordName":"d","recordType":"Star","fields":{"size":{"value":4}}"#),
        ])
    ).gives(200, ["records": .count(4), "records[3].serverErrorCode": .absent])

    /// Saves a star with a size only.
    static func makeStar(_ name: String, size: Int = 5) -> Step {
        .post(
            "private/records/modify", .ada,
            Body.modify("create", #""recordName":"\#(name)","recordType":"Star","fields":{"size":{"value":\#(size)}}"#)
        ).gives(200, ["records[0].serverErrorCode": .absent])
    }

    /// Saves a new note, and keeps its tag as `tag`.
    static func makeNote(_ name: String, _ sender: Sender = .ada, in database: String = "private", _ more: String = "") -> Step {
        .post("\(database)/records/modify", sender, Body.modify("create", Body.note(name), more))
            .gives(200, ["records[0].recordName": .equals(.string(name)), "records[0].serverErrorCode": .absent])
            .keeps("tag", "records[0].recordChangeTag")
    }
}
