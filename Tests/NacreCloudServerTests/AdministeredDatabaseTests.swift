import Foundation
import Testing

/// Tests of an administrator's requests to the databases of users.
struct AdministeredDatabaseTests {
    /// A server whose container has a type without an index.
    private static func scene() async throws -> AdministeredServer {
        let scene = try await AdministeredServer()
        let text = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (text STRING);"
        let body = #"{"container":"\#(TestServer.container)","text":"\#(text)","isDryRun":false}"#
        let imported = await scene.administrate("POST", "/admin/1/schema/import", body)
        #expect(imported.status == 200, "\(imported.text)")
        return scene
    }

    /// Sends a request of the Web Services API over the admin API.
    /// - Returns: the status, and the API's answer; the answer of the admin API where it refused.
    private static func ask(
        _ scene: AdministeredServer, _ path: String, _ database: String, _ user: String?, _ request: String
    ) async throws -> (status: Int, answer: JSON) {
        let escaped = request.replacingOccurrences(of: "\"", with: "\\\"")
        let place = #""container":"\#(TestServer.container)","environment":"development","database":"\#(database)""#
        let body = #"{\#(place)\#(user.map { #","user":"\#($0)""# } ?? ""),"request":"\#(escaped)"}"#
        let answer = await scene.administrate("POST", "/admin/1/\(path)", body)
        let json = try #require(answer.json)
        return (answer.status, try json["answer"]?.text.map { try JSON(Array($0.utf8)) } ?? json)
    }

    private static func create(_ name: String, _ zone: String) -> String {
        let record = #"{"recordName":"\#(name)","recordType":"Note","fields":{"text":{"value":"tea"}}}"#
        return #"{"operations":[{"operationType":"create","record":\#(record)}],"zoneID":{"zoneName":"\#(zone)"},"atomic":false}"#
    }

    @Test func `an administrator saves into a user's private database, and its feed and zones show it`() async throws {
        let scene = try await Self.scene()
        let ada = "ada@example.com"
        let made = try await Self.ask(scene, "records/modify", "private", ada, Self.create("one", "_defaultZone"))
        #expect(made.status == 200 && made.answer.at("records[0].recordName")?.text == "one")
        let again = try await Self.ask(scene, "records/modify", "private", ada, Self.create("one", "_defaultZone"))
        #expect(again.answer.at("records[0].serverErrorCode")?.text == "CONFLICT")
        let lost = try await Self.ask(scene, "zones/changes", "private", ada, #"{"zones":[{"zoneID":{"zoneName":"Nowhere"}}]}"#)
        #expect(lost.answer.at("zones[0].serverErrorCode")?.text == "ZONE_NOT_FOUND")
        let zones = try await Self.ask(scene, "zones/list", "private", ada, "{}")
        #expect(zones.answer.at("zones[0].zoneID.zoneName")?.text == "_defaultZone")
        let bobs = try await Self.ask(scene, "records/lookup", "private", "bob@example.com", #"{"records":[{"recordName":"one"}]}"#)
        #expect(bobs.answer.at("records[0].serverErrorCode")?.text == "NOT_FOUND")
    }

    @Test func `a public record needs a user in whose name it is made`() async throws {
        let scene = try await Self.scene()
        let nobody = try await Self.ask(scene, "records/modify", "public", nil, Self.create("one", "_defaultZone"))
        #expect(nobody.status == 400 && nobody.answer["field"]?.text == "user", "\(nobody)")
        let ada = try await Self.ask(scene, "records/modify", "public", "ada@example.com", Self.create("one", "_defaultZone"))
        let maker = try #require(ada.answer.at("records[0].created.userRecordName")?.text, "\(ada)")
        let bob = try await Self.ask(scene, "records/modify", "public", "bob@example.com", Self.create("two", "_defaultZone"))
        #expect(maker.hasPrefix("_") && bob.answer.at("records[0].created.userRecordName")?.text != maker)
    }

    @Test func `an administrator lists a type by fields without an index, and an app does not`() async throws {
        let scene = try await Self.scene()
        _ = try await Self.ask(scene, "records/modify", "public", "ada@example.com", Self.create("one", "_defaultZone"))
        let query = #"{\"query\":{\"recordType\":\"Note\",\"sortBy\":[{\"fieldName\":\"___modTime\"}]}}"#
        let place = #""container":"\#(TestServer.container)","environment":"development","database":"public""#
        let asked = await scene.administrate("POST", "/admin/1/query/explain", #"{\#(place),"request":"\#(query)","showsRecords":true}"#)
        #expect(asked.status == 400, "\(asked.text)")
        let looked = await scene.administrate(
            "POST", "/admin/1/query/explain", #"{\#(place),"request":"\#(query)","showsRecords":true,"withoutIndexes":true}"#)
        #expect(looked.status == 200 && looked.json?["answer"]?.text?.contains(#""recordName":"one""#) == true, "\(looked.text)")
    }
}
