import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of sharing in the form of CloudKit's Web Services Reference.
@Suite(.timeLimit(.minutes(5))) struct WebSharingTests {
    private static let zone = #""zoneID":{"zoneName":"Trip"}"#

    /// Makes Ada's zone with the record `root` and its child `child`.
    private func server() async throws -> TestServer {
        let server = try await TestServer()
        try await server.ask("ada", "private/zones/modify", Body.zones("create", "Trip"))
        try await server.ask("ada", "private/records/modify", Body.modify("create", Body.note("root"), Self.zone))
        try await server.ask(
            "ada", "private/records/modify", Body.modify("create", Body.note("child") + #","parent":{"recordName":"root"}"#, Self.zone))
        return server
    }

    /// Saves a share of the root.
    private func share(_ server: TestServer, type: String = "cloudkit.share", _ more: String = "") async throws -> JSON {
        let record = #""recordName":"s","recordType":"\#(type)","forRecord":{"recordName":"root","recordChangeTag":"1"}\#(more)"#
        return try await server.ask("ada", "private/records/modify", Body.modify("create", record, Self.zone))
    }

    private func participant(_ name: String, _ acceptance: String, _ more: String = "") -> String {
        #"{"type":"USER","permission":"READ_ONLY","acceptanceStatus":"\#(acceptance)","userIdentity":{"lookupInfo":{"userRecordName":"\#(name)"}}\#(more)}"#
    }

    @Test func `a share answers the members of CloudKit's reference, and its root names it`() async throws {
        let server = try await server()
        let bob = server.names["bob.name"] ?? ""
        let saved = try await share(server, #","participants":[\#(participant(bob, "INVITED"))]"#)
        for member in ["shortGUID", "publicPermission", "participants", "owner", "currentUserParticipant"] {
            #expect(saved.at("records[0].\(member)") != nil, "\(member)")
        }
        #expect(saved.at("records[0].publicPermission")?.text == "NONE" && saved.at("records[0].owner.type")?.text == "OWNER")
        for member in ["participantId", "userIdentity", "permission", "type", "acceptanceStatus"] {
            #expect(saved.at("records[0].participants[1].\(member)") != nil, "\(member)")
        }
        #expect(saved.at("records[0].participants[1].userIdentity.lookupInfo.userRecordName")?.text == bob)
        let root = try await server.ask("ada", "private/records/lookup", Body.lookup("root", more: Self.zone))
        #expect(root.at("records[0].share.recordName")?.text == "s" && root.at("records[0].participants") == nil)
    }

    @Test func `a short GUID that a save asks for leads nowhere until the record is shared, and then to its share`() async throws {
        let server = try await server()
        func save(_ record: String, _ more: String, as user: String = "ada") async throws -> String? {
            let asked = #"\#(record),"createShortGUID":true"#
            return try await server.ask(user, "private/records/modify", Body.modify("forceUpdate", asked, more)).at("records[0].shortGUID")?.text
        }
        func resolve(_ guid: String) async throws -> JSON {
            try await server.ask("ada", "public/records/resolve", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        }
        let repeated = Self.zone + #","nacre":{"operationID":"op"}"#
        let guid = try #require(try await save(Body.note("root"), repeated))
        #expect(try await save(Body.note("root"), repeated) == guid)
        #expect(try await resolve(guid).at("results[0].serverErrorCode")?.text == "ACCESS_DENIED")
        let other = try #require(try await save(Body.note("child"), Self.zone))
        #expect(other != guid)
        #expect(try await save(Body.note("root"), "") == nil, "the default zone has no shares")
        let shared = try await share(server)
        #expect(shared.at("records[0].shortGUID")?.text == guid)
        #expect(try await resolve(guid).at("results[0].rootRecordName")?.text == "root")
    }

    @Test func `a share has its type by one spelling alone`() async throws {
        let server = try await server()
        #expect(try await share(server, type: "cloudKit.share").at("records[0].serverErrorCode")?.text == "BAD_REQUEST")
        let none = try await server.ask("ada", "private/records/lookup", Body.lookup("root", more: Self.zone))
        #expect(none.at("records[0].share") == nil)
        #expect(try await share(server).at("records[0].recordType")?.text == "cloudkit.share")
    }

    @Test func `the system fields of a share have CloudKit's types`() async throws {
        let server = try await server()
        for wrong in [#""cloudkit.title":{"value":1}"#, #""cloudkit.type":{"value":1}"#, #""cloudkit.thumbnailImageData":{"value":1}"#] {
            #expect(try await share(server, #","fields":{\#(wrong)}"#).at("records[0].serverErrorCode")?.text == "BAD_REQUEST", "\(wrong)")
        }
        let fields = #""cloudkit.title":{"value":"Trip"},"cloudkit.type":{"value":"t"},"cloudkit.thumbnailImageData":{"value":"AQI=","type":"BYTES"}"#
        let saved = try await share(server, #","fields":{\#(fields)}"#)
        let types = try ["title", "type", "thumbnailImageData"].map { name in
            try #require(saved.at("records[0].fields")?["cloudkit.\(name)"]?["type"]?.text)
        }
        #expect(types == ["STRING", "STRING", "BYTES"])
    }

    @Test func `a participant is invited by both words, and what else a client sends back of one is passed over`() async throws {
        let server = try await server()
        let bob = server.names["bob.name"] ?? ""
        let extras =
            #","customRole":"x","isApprovedRequester":false,"orgUser":false,"publicKeyVersion":1,"outOfNetworkKeyType":0,"protectionInfo":{"bytes":"AQ=="}"#
        let saved = try await share(server, #","participants":[\#(participant(bob, "PENDING", extras)),\#(participant("_new", "INVITED"))]"#)
        #expect(saved.at("records[0].participants")?.count == 3)
        for index in 1...2 { #expect(saved.at("records[0].participants[\(index)].acceptanceStatus")?.text == "INVITED") }
        for extra in ["customRole", "orgUser", "protectionInfo"] { #expect(saved.at("records[0].participants[1].\(extra)") == nil, "\(extra)") }
        let tag = try #require(saved.at("records[0].recordChangeTag")?.text)
        let removed = #""recordName":"s","recordType":"cloudkit.share","recordChangeTag":"\#(tag)","participants":[\#(participant(bob, "REMOVED"))]"#
        let left = try await server.ask("ada", "private/records/modify", Body.modify("update", removed, Self.zone))
        #expect(left.at("records[0].participants")?.count == 1, "\(left)")
    }

    @Test func `each short GUID has its result or its error, in the order asked`() async throws {
        let server = try await server()
        let bob = server.names["bob.name"] ?? ""
        let saved = try await share(server, #","participants":[\#(participant(bob, "INVITED"))]"#)
        let guid = try #require(saved.at("records[0].shortGUID")?.text)
        let asked =
            #"{"shortGUIDs":[{"value":"none"},{"value":"\#(guid)","shouldFetchRootRecord":true,"rootRecordDesiredKeys":[]}]}"#
        let plain = #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#
        for path in ["resolve", "accept"] {
            let answer = try await server.ask("bob", "public/records/\(path)", asked)
            #expect(answer["results"]?.count == 2)
            #expect(answer.at("results[0].shortGUID.value")?.text == "none" && answer.at("results[0].serverErrorCode")?.text == "ACCESS_DENIED")
            #expect(answer.at("results[0].reason") != nil && answer.at("results[0].share") == nil)
            for member in [
                "containerIdentifier", "databaseScope", "environment", "zoneID", "rootRecordName", "rootRecord", "share", "ownerIdentity",
                "participantPermission", "participantStatus", "participantType",
            ] {
                #expect(answer.at("results[1].\(member)") != nil, "\(path) \(member)")
            }
            #expect(answer.at("results[1].rootRecord.fields")?.count == 0, "\(path)")
            let bare = try await server.ask("bob", "public/records/\(path)", plain)
            #expect(bare.at("results[0].rootRecordName")?.text == "root" && bare.at("results[0].rootRecord") == nil)
        }
        let zones = try await server.ask("bob", "shared/zones/list", "{}")
        #expect(zones.at("zones[0].zoneID.ownerRecordName")?.text == server.names["ada.name"])
    }
}
