import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests of an administrator's requests to the databases of users.
struct AdministeredDatabaseTests {
    /// A server whose container has a type without an index.
    private static func scene() async throws -> AdministeredServer {
        let scene = try await AdministeredServer()
        let text = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (text STRING QUERYABLE, file ASSET);"
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

    /// Sends a request as a web app of a user.
    private static func app(_ scene: AdministeredServer, as user: String, _ path: String, _ body: String) async throws -> JSON {
        let session = "ckAPIToken=\(scene.server.names["api"] ?? "")&ckWebAuthToken=\(scene.server.names[user + ".escaped"] ?? "")"
        let target = "/database/1/\(TestServer.container)/development/\(path)?\(session)"
        let answer = await scene.server.respond(Question(method: "POST", target: target, body: Array(body.utf8)))
        #expect(answer.status == 200, "\(path): \(answer.text)")
        return try #require(answer.json)
    }

    @Test func `an administrator sees a shared database as its participant does`() async throws {
        let scene = try await Self.scene()
        let (adas, bobs) = (scene.server.names["ada.name"] ?? "", scene.server.names["bob.name"] ?? "")
        _ = try await Self.app(scene, as: "ada", "private/zones/modify", Body.zones("create", "Work"))
        _ = try await Self.app(scene, as: "ada", "private/records/modify", Self.create("one", "Work"))
        let bob =
            #"{"type":"USER","permission":"READ_ONLY","acceptanceStatus":"PENDING","userIdentity":{"lookupInfo":{"userRecordName":"\#(bobs)"}}}"#
        let share = #""recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","publicPermission":"NONE","participants":[\#(bob)]"#
        let shared = try await Self.app(scene, as: "ada", "private/records/modify", Body.modify("create", share, Body.inWork))
        let guid = try #require(shared.at("records[0].shortGUID")?.text, "\(shared)")
        _ = try await Self.app(scene, as: "bob", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)

        let zone = #""zoneID":{"zoneName":"Work","ownerRecordName":"\#(adas)"}"#
        let zones = try await Self.ask(scene, "zones/list", "shared", "bob@example.com", "{}")
        #expect(zones.answer.at("zones[0].zoneID.ownerRecordName")?.text == adas, "\(zones)")
        let found = try await Self.ask(scene, "records/lookup", "shared", "bob@example.com", #"{"records":[{"recordName":"one"}],\#(zone)}"#)
        #expect(found.answer.at("records[0].recordName")?.text == "one", "\(found)")
        let feed = try await Self.ask(scene, "zones/changes", "shared", "bob@example.com", "{\"zones\":[{\(zone)}]}")
        #expect(feed.answer.at("zones[0].records")?.count == 2, "\(feed)")
        let query = #"{"query":{"recordType":"Note"},\#(zone)}"#.replacingOccurrences(of: "\"", with: "\\\"")
        let place = #""container":"\#(TestServer.container)","environment":"development","database":"shared","user":"bob@example.com""#
        let asked = await scene.administrate("POST", "/admin/1/query/explain", #"{\#(place),"request":"\#(query)","withoutIndexes":true}"#)
        #expect(asked.status == 200, "\(asked.text)")
        // A participant who may only read changes nothing by an administrator either.
        let note = #""recordName":"one","recordType":"Note","fields":{"text":{"value":"coffee"}}"#
        let change = try await Self.ask(scene, "records/modify", "shared", "bob@example.com", Body.modify("forceUpdate", note, zone))
        #expect(change.answer.at("records[0].serverErrorCode")?.text == "ACCESS_DENIED", "\(change)")
        let stranger = try await Self.ask(scene, "zones/list", "shared", "ada@example.com", "{}")
        #expect(stranger.answer["zones"]?.count == 0, "\(stranger)")
    }

    @Test func `an administrator sees the predicate of a subscription, and the form of its notifications`() async throws {
        let scene = try await Self.scene()
        let filter = #"{"fieldName":"text","comparator":"BEGINS_WITH","fieldValue":{"value":"Gro","type":"STRING"}}"#
        let info = #"{"alertLocalizationKey":"NEW","alertLocalizationArgs":["text"],"shouldBadge":true,"additionalFields":["text"]}"#
        let query = #""subscriptionType":"query","query":{"recordType":"Note","filterBy":[\#(filter)]},"firesOn":["create"]"#
        let subscription = #"{"subscriptionID":"groceries",\#(query),"notificationInfo":\#(info)}"#
        let operation = #"{"operationType":"create","subscription":\#(subscription)}"#
        let saved = try await Self.app(scene, as: "ada", "private/subscriptions/modify", #"{"operations":[\#(operation)]}"#)
        #expect(saved.at("subscriptions[0].serverErrorCode") == nil, "\(saved)")
        let place = #""container":"\#(TestServer.container)","environment":"development","database":"private","user":"ada@example.com""#
        let listed = await scene.administrate("POST", "/admin/1/subscriptions/list", "{\(place)}").json
        let line = try #require(listed?.at("subscriptions[0]"))
        #expect(line["filter"]?.text == #"text BEGINSWITH "Gro""# && line["of"]?.text == "Note", "\(line)")
        #expect(line.at("notification.alert")?.text == "NEW(text)" && line.at("notification.badge") == .bool(true))
        #expect(line.at("notification.contentAvailable") == .bool(false) && line.at("notification.desiredKeys[0]")?.text == "text")
    }

    @Test func `an administrator sees how many public records a type has, and whether the count ended before the last`() async throws {
        let scene = try await Self.scene()
        for name in ["one", "two"] {
            _ = try await Self.ask(scene, "records/modify", "public", "ada@example.com", Self.create(name, "_defaultZone"))
        }
        _ = try await Self.ask(scene, "records/modify", "private", "ada@example.com", Self.create("three", "_defaultZone"))
        let place = "container=\(TestServer.container)&environment=development"
        let answer = await scene.administrate("GET", "/admin/1/schema/counts?\(place)")
        let counts = try JSONDecoder().decode(AdminMessages.RecordCounts.self, from: Data(answer.body))
        #expect(counts.isWhole && counts.types.first { $0.recordType == "Note" }?.records == 2, "\(counts)")
        let part = try await scene.server.cloud.recordCounts(of: TestServer.container, .development, scanning: 1)
        #expect(!part.isWhole && part.records.values.reduce(0, +) == 1)
    }

    // MARK: Files

    /// Sends a file for the field of a note over the admin API.
    /// - Returns: the dictionary that a save carries; the refusal otherwise.
    private static func upload(
        _ bytes: [UInt8], for record: String, _ database: String, _ user: String, _ scene: AdministeredServer, more: String = ""
    ) async -> (status: Int, text: String) {
        let query = "container=\(TestServer.container)&environment=development&database=\(database)&user=\(user)&record=\(record)"
        let headers = ["Authorization": "Bearer \(AdministeredServer.token)"]
        let target = "/admin/1/assets/upload?\(query)&recordType=Note&field=file\(more)"
        let answer = Answer(await scene.admin.respond(to: Question(method: "POST", target: target, headers: headers, body: bytes).inProcess))
        let sent = answer.json?["answer"]?.text ?? answer.text
        return (answer.status, answer.status == 200 ? String(sent.dropFirst(#"{"singleFile":"#.count).dropLast()) : sent)
    }

    private static func note(_ name: String, file: String) -> String {
        Body.modify("create", #""recordName":"\#(name)","recordType":"Note","fields":{"file":{"value":\#(file)}}"#)
    }

    /// Saves a file into a note of Ada's private database.
    private static func save(_ bytes: [UInt8], in record: String, _ scene: AdministeredServer) async throws {
        let sent = await upload(bytes, for: record, "private", "ada@example.com", scene)
        #expect(sent.status == 200, "\(sent)")
        let saved = try await ask(scene, "records/modify", "private", "ada@example.com", note(record, file: sent.text))
        #expect(saved.answer.at("records[0].recordName")?.text == record, "\(saved)")
    }

    /// Asks for the file of a note in a user's private database.
    private static func content(
        _ scene: AdministeredServer, _ record: String, of user: String = "ada@example.com", more: String = ""
    ) async throws -> (answer: Answer, bytes: [UInt8]) {
        let place = #""container":"\#(TestServer.container)","environment":"development","database":"private","user":"\#(user)""#
        let body = #"{\#(place),"record":"\#(record)","field":"file"\#(more)}"#
        let headers = ["Authorization": "Bearer \(AdministeredServer.token)"]
        let response = await scene.admin.respond(
            to: Question(method: "POST", target: "/admin/1/assets/content", headers: headers, body: Array(body.utf8)).inProcess)
        return (Answer(response), try await response.body.collect())
    }

    @Test func `an administrator reads the file of any record, as an image only if its bytes are one, and the audit log has it`() async throws {
        let scene = try await Self.scene()
        let image = [0x89] + Array("PNG\r\n".utf8) + [0x1a, 0x0a] + someBytes(300_000)
        let page = Array("<script>alert(1)</script>".utf8)
        try await Self.save(image, in: "image", scene)
        try await Self.save(page, in: "page", scene)
        let shown = try await Self.content(scene, "image")
        #expect(shown.answer.status == 200 && shown.bytes == image)
        #expect(shown.answer.header("Content-Type") == "image/png" && shown.answer.header("Content-Disposition") == nil)
        let saved = try await Self.content(scene, "page")
        #expect(saved.answer.status == 200 && saved.bytes == page)
        #expect(saved.answer.header("Content-Type") == "application/octet-stream" && saved.answer.header("Content-Disposition") == "attachment")
        for answer in [shown.answer, saved.answer] {
            #expect(answer.header("X-Content-Type-Options") == "nosniff" && answer.header("Cross-Origin-Resource-Policy") == "same-origin")
        }
        #expect(try await Self.content(scene, "nothing").answer.status == 404)
        #expect(try await Self.content(scene, "image", of: "bob@example.com").answer.status == 404)
        for index in ["1", "-1"] { #expect(try await Self.content(scene, "image", more: #","index":\#(index)"#).answer.status == 404) }
        let log = await scene.administrate("GET", "/admin/1/audit").json
        #expect(log?["entries"]?.count == 11, "the schema, two uploads and saves, and six looks")
        #expect(log?.at("entries[9].action")?.text == "POST /admin/1/assets/upload")
        #expect(log?.at("entries[9].subject.record")?.text == "image" && log?.at("entries[9].subject.field")?.text == "file")
        #expect(log?.at("entries[0].subject.record")?.text == "image" && log?.at("entries[0].subject.user")?.text == "ada@example.com")
    }

    @Test func `an administrator's file is for a save in the name of the same user, who exists, and for no other`() async throws {
        let scene = try await Self.scene()
        let sent = await Self.upload([1, 2, 3], for: "one", "public", "ada@example.com", scene)
        #expect(sent.status == 200, "\(sent)")
        let bobs = try await Self.ask(scene, "records/modify", "public", "bob@example.com", Self.note("one", file: sent.text))
        #expect(bobs.answer.at("records[0].reason")?.text == "receipt is for another field", "\(bobs)")
        let adas = try await Self.ask(scene, "records/modify", "public", "ada@example.com", Self.note("one", file: sent.text))
        #expect(adas.answer.at("records[0].fields.file.value.size") == .number(3), "\(adas)")
        #expect(await Self.upload([1], for: "two", "private", "_nobody", scene).status == 404)
        #expect(await Self.upload([1], for: "two", "private", "ada@example.com", scene, more: "&zone=Nowhere").status == 404)
    }

    @Test(arguments: [
        ("ffd8ffe0", ImageType?.some(.jpeg)), ("89504e470d0a1a0a", .png), ("474946383961", .gif), ("524946460000000057454250", .webp),
        ("89504e47", nil), ("5249464600000000415649", nil), ("3c737667", nil), ("", nil),
    ])
    func `an image is told by its first bytes`(_ digits: String, _ type: ImageType?) throws {
        #expect(ImageType(try #require(HexText.decode(digits))) == type)
    }
}
