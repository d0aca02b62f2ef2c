import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests that any answered record can be saved back by its reader: only the tag and the date change.
@Suite struct SavedBackTests {
    /// A database, one of its zones, and its form in requests.
    private struct Place: Sendable, CustomTestStringConvertible {
        var database: String
        var zone: String
        var member: String { zone.isEmpty ? "" : #","zoneID":{"zoneName":"\#(zone)"}"# }
        var zoneName: String { zone.isEmpty ? ZoneID.defaultZoneName : zone }
        var hasFeed: Bool { zone == "Work" }
        var testDescription: String { "\(database) \(zone)" }
    }

    private struct Credential: Sendable, CustomTestStringConvertible {
        var isDevice: Bool
        var more: String
        var testDescription: String { (isDevice ? "device" : "web") + more }
    }

    private static let places = [Place(database: "private", zone: "Work"), Place(database: "private", zone: ""), Place(database: "public", zone: "")]
    private static let credentials = [
        Credential(isDevice: false, more: ""), Credential(isDevice: false, more: #","numbersAsStrings":true"#),
        Credential(isDevice: false, more: #","nacre":{"details":true}"#), Credential(isDevice: true, more: ""),
        Credential(isDevice: true, more: #","nacre":{"details":true}"#),
    ]

    /// A server with a user and a place.
    private struct Notifier {
        let server: TestServer
        let place: Place
        var port: Int?

        func post(_ path: String, _ body: String, isDevice: Bool) async throws -> Answer {
            let root = "/database/1/\(TestServer.container)/development/\(place.database)/\(path)"
            var question = Question(method: "POST", target: root, body: Array(body.utf8))
            if isDevice {
                question.headers["Authorization"] = "Bearer \(server.names["ada.device"] ?? "")"
            } else {
                question.target += "?ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada.escaped"] ?? "")"
            }
            let answer = if let port { try await ask(question, port: port) } else { await server.respond(question) }
            #expect(answer.status == 200, "\(path): \(answer.text.prefix(500))")
            return answer
        }

        /// Returns the record as the framework sees it, without the parts that a save changes.
        func state(of name: String) async throws -> JSON {
            let body = #"{"records":[{"recordName":"\#(name)"}],"nacre":{"details":true}\#(place.member)}"#
            let answer = try await post("records/lookup", body, isDevice: true)
            guard case .object(var members)? = answer.json?.at("records[0]") else { throw POSIXFault(call: "lookup", code: 0) }
            members["recordChangeTag"] = nil
            members["modified"] = nil
            if case .object(var details)? = members["nacre"] {
                details["modified"] = nil
                members["nacre"] = .object(details)
            }
            return .object(members)
        }
    }

    /// Returns a record with a value of every type; some have more than web clients see.
    private static func record(_ random: inout SeededRandom, in place: Place) -> String {
        func number(_ range: ClosedRange<Double>) -> Double { .random(in: range, using: &random) }
        func moment() -> (milliseconds: Int64, seconds: Double) {
            let seconds = number(-1e9...1e9)
            return (Int64(((seconds + 978_307_200) * 1000).rounded()), seconds)
        }
        let (one, two, three) = (moment(), moment(), moment())
        let name = ["é\u{301}x", "", "\\u0000\\n", "日本🐚"].randomElement(using: &random) ?? ""
        let link = #"{"recordName":"target","action":"\#(["NONE", "VALIDATE", "DELETE_SELF"].randomElement(using: &random) ?? "NONE")"}"#
        let sealed = #""sealed":\#(Body.sealed(in: place.zoneName)),"#
        return #""recordName":"r","recordType":"Everything","fields":{"string":{"value":"\#(name)","type":"STRING"},"#
            + #""integer":{"value":\#(Int64.random(in: .min ... .max, using: &random)),"type":"INT64"},"#
            + #""double":{"value":\#(number(-1e12...1e12)),"type":"DOUBLE"},"whole":{"value":-0.0,"type":"DOUBLE"},"#
            + #""moment":{"value":\#(one.milliseconds),"type":"TIMESTAMP","nacre":{"seconds":\#(one.seconds)}},"#
            + #""moments":{"value":[\#(one.milliseconds),\#(two.milliseconds)],"type":"TIMESTAMP_LIST","#
            + #""nacre":{"seconds":[\#(one.seconds),\#(two.seconds)]}},"#
            + #""place":{"value":{"latitude":\#(number(-90...90)),"longitude":\#(number(-180...180)),"altitude":1,"timestamp":\#(three.milliseconds)},"#
            + #""type":"LOCATION","nacre":{"seconds":\#(three.seconds)}},"#
            + #""places":{"value":[{"latitude":1.5,"longitude":2,"timestamp":\#(two.milliseconds)},{"latitude":1,"longitude":2}],"type":"LOCATION_LIST","#
            + #""nacre":{"seconds":[\#(two.seconds),null]}},"#
            + #""bytes":{"value":"AP8=","type":"BYTES"},"byteses":{"value":["","AP8="],"type":"BYTES_LIST"},"#
            + #""link":{"value":\#(link),"type":"REFERENCE"},"links":{"value":[\#(link),\#(link)],"type":"REFERENCE_LIST"},"#
            + (place.database == "private" ? sealed : "")
            + #""strings":{"value":[],"type":"STRING_LIST"},"integers":{"value":[\#(Int64.max),-1],"type":"INT64_LIST"},"#
            + #""doubles":{"value":[\#(number(0...1)),1e300],"type":"DOUBLE_LIST"}},"parent":{"recordName":"target"}"#
            + (place.database == "private" ? "," + Body.manifest(in: place.zoneName, parent: "target", ["sealed": [1, 2]]) : "")
    }

    @Test(arguments: places, credentials)
    private func `what was answered is saved back, and nothing changes`(_ place: Place, _ credential: Credential) async throws {
        let seeds = LongSearch.isWhole ? Array(1...6) : [HistorySeed.value]
        for seed in seeds { try await saveBack(seed, place, credential, overSocket: seed == seeds[0]) }
    }

    private func saveBack(_ seed: UInt64, _ place: Place, _ credential: Credential, overSocket: Bool) async throws {
        var random = SeededRandom(seed: seed)
        var teller = Notifier(server: try await TestServer(), place: place)
        if overSocket { teller.port = try await teller.server.startListening() }
        if place.hasFeed {
            _ = try await teller.post(
                "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Work"}}}]}"#, isDevice: true)
        }
        if place.database == "private" { try await teller.server.makeScope(of: "ada", in: place.zoneName) }
        // An empty list makes no field.
        _ = try await teller.server.cloud.schemas.setIndexes(
            nil, of: "Everything", field: "strings", as: .stringList, in: TestServer.container)
        let target = #"{"operationType":"create","record":{"recordName":"target","recordType":"Target","fields":{}}}"#
        let made = #"{"operationType":"create","record":{\#(Self.record(&random, in: place))}}"#
        let first = try await teller.post(
            "records/modify", #"{"operations":[\#(target),\#(made)],"nacre":{"details":true}\#(place.member)}"#, isDevice: true)
        #expect(!first.text.contains("serverErrorCode"), "\(first.text)")
        _ = try await teller.server.cloud.schemas.setIndexes(
            [.queryable], of: "Everything", field: "whole", isNow: true, in: TestServer.container)
        while try await teller.server.cloud.runDueTasks().taken > 0 {}
        let before = try await teller.state(of: "r")
        let more = credential.more + place.member
        var asked = [
            ("records/lookup", #"{"records":[{"recordName":"r"}]\#(more)}"#),
            (
                "records/query",
                #"{"query":{"recordType":"Everything","filterBy":{"fieldName":"whole","comparator":"EQUALS","fieldValue":{"value":0.0}}}\#(more)}"#
            ),
            ("records/modify", #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"r","fields":{}}}]\#(more)}"#),
        ]
        if place.hasFeed {
            asked.append(("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Work"}}]\#(credential.more)}"#))
            asked.append(("records/changes", #"{"resultsLimit":10\#(more)}"#))
        }
        for (path, body) in asked {
            for type in ["update", "replace", "forceUpdate", "forceReplace"] {
                let answer = try await teller.post(path, body, isDevice: credential.isDevice)
                let record = try #require(RawRecords.in(answer.text).first { $0.contains(#""recordType":"Everything""#) }, "\(path): \(answer.text)")
                let save = #"{"operations":[{"operationType":"\#(type)","record":\#(record)}]\#(more)}"#
                let saved = try await teller.post("records/modify", save, isDevice: credential.isDevice)
                #expect(!saved.text.contains("serverErrorCode"), "\(path), \(type): \(saved.text)")
                #expect(try await teller.state(of: "r") == before, "\(path), \(type), seed \(seed)")
            }
        }
        await teller.server.server.shutdown(grace: .zero)
    }

    @Test func `who may only read is asked to sign in, and not told that the record was wrong`() async throws {
        let server = try await TestServer()
        let teller = Notifier(server: server, place: Self.places[2])
        var random = SeededRandom(seed: 1)
        let target = #"{"operationType":"create","record":{"recordName":"target","recordType":"Target","fields":{}}}"#
        let made = #"{"operationType":"create","record":{\#(Self.record(&random, in: teller.place))}}"#
        _ = try await teller.post("records/modify", #"{"operations":[\#(target),\#(made)]}"#, isDevice: true)
        let root = "/database/1/\(TestServer.container)/development/public/records/"
        func world(_ path: String, _ body: String) async -> Answer {
            await server.respond(Question(method: "POST", target: "\(root)\(path)?ckAPIToken=\(server.names["api"] ?? "")", body: Array(body.utf8)))
        }
        let seen = await world("lookup", #"{"records":[{"recordName":"r"}]}"#)
        let record = try #require(RawRecords.in(seen.text).first)
        let save = await world("modify", #"{"operations":[{"operationType":"update","record":\#(record)}]}"#)
        #expect(save.status == 421 && save.json?["serverErrorCode"] == .string("AUTHENTICATION_REQUIRED"))
    }
}

/// The records of an answer as unchanged text, with their numbers: kept by a client that does not decode them.
private enum RawRecords {
    static func `in`(_ text: String) -> [String] {
        guard let start = text.range(of: #""records":["#) else { return [] }
        var records: [String] = []
        var record = ""
        var depth = 0
        var isInString = false
        var isEscaped = false
        for character in text.unicodeScalars[start.upperBound...] {
            if depth == 0, character == "]" { break }
            if isInString {
                isInString = isEscaped || character != "\""
                isEscaped = !isEscaped && character == "\\"
            } else if character == "\"" {
                isInString = true
            } else if character == "{" || character == "[" {
                depth += 1
            } else if character == "}" || character == "]" {
                depth -= 1
            }
            if depth > 0 || character == "}" { record.unicodeScalars.append(character) }
            if depth == 0, character == "}" {
                records.append(record)
                record = ""
            }
        }
        return records
    }
}
