import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of the page on which a user manages a share, in the frame of an app's page.
@Suite(.timeLimit(.minutes(5))) struct ManagedSharePageTests {
    static let app = "https://app.example"

    /// A server on which Ada has the zones `Trip`, with the record `a`, and `Other`.
    static func server() async throws -> TestServer {
        let server = try await TestServer(isVouched: true)
        try await server.ask("ada", "private/zones/modify", Body.zones("create", "Trip", "Other"))
        try await server.ask("ada", "private/records/modify", Body.modify("create", Body.note("a"), #""zoneID":{"zoneName":"Trip"}"#))
        return server
    }

    /// Asks for the page as a web app of a user.
    static func asked(
        _ server: TestServer, as user: String = "ada", in database: String = "private", zone: String = #"{"zoneName":"Trip"}"#, _ more: String = "",
        origin: String? = app
    ) async -> Answer {
        let session = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names[user + ".escaped"] ?? "")"
        let target = "/database/1/\(TestServer.container)/development/\(database)/records/share-page?\(session)"
        var headers = ["Host": "localhost"]
        if let origin { headers["Origin"] = origin }
        return await server.respond(Question(method: "POST", target: target, headers: headers, body: Array(#"{"zoneID":\#(zone)\#(more)}"#.utf8)))
    }

    /// The path of the page's URL with its grant.
    static func path(_ answer: Answer) throws -> String {
        let url = try #require(answer.json?["url"]?.text, "\(answer.text)")
        return String(url.dropFirst("http://localhost".count))
    }

    /// Opens the page for Ada.
    static func opened(_ server: TestServer, _ more: String = "") async throws -> TestBrowser {
        var browser = TestBrowser(server)
        #expect(try await browser.go(path(await asked(server, more))).status == 200)
        return browser
    }

    /// Sends one of the page's forms.
    @discardableResult
    static func send(_ step: String, _ fields: [String: String] = [:], in browser: inout TestBrowser, headers: [String: String?] = [:]) async
        -> Answer
    {
        let pass = browser.hidden["pass"] ?? ""
        return await browser.post(["pass": pass, "step": step].merging(fields) { $1 }, path: "/manage-share", headers: headers)
    }

    /// The share of a zone as its owner sees it; nil: the zone is not shared.
    static func share(_ server: TestServer, zone: String = "Trip") async throws -> JSON? {
        let more = #""zoneID":{"zoneName":"\#(zone)"},"nacre":{"details":true}"#
        let answer = try await server.ask("ada", "private/records/lookup", Body.lookup("cloudkit.zoneshare", more: more))
        return answer.at("records[0].shortGUID") == nil ? nil : answer.at("records[0]")
    }

    @Test func `a zone is shared, opened to everybody, closed and shared no more`() async throws {
        let server = try await Self.server()
        var browser = try await Self.opened(server, #","shareTitle":"Our <trip>","shareType":"com.example.trip""#)
        #expect(browser.shown?.text.contains("shared with nobody") == true && browser.shown?.text.contains("Our &lt;trip&gt;") == true)
        #expect(try await Self.share(server) == nil, "to open the page shares nothing")
        await Self.send("begin", ["permission": "NONE"], in: &browser)
        let made = try #require(try await Self.share(server))
        #expect(made["publicPermission"]?.text == "NONE" && made["fields"]?["cloudkit.title"]?["value"]?.text == "Our <trip>")
        #expect(made["fields"]?["cloudkit.type"]?["value"]?.text == "com.example.trip")
        let guid = try #require(made["shortGUID"]?.text)
        #expect(browser.shown?.text.contains("value=\"http://localhost/share/\(guid)\"") == true)
        for permission in ["READ_WRITE", "READ_ONLY", "NONE"] {
            await Self.send("open", ["permission": permission], in: &browser)
            #expect(try await Self.share(server)?["publicPermission"]?.text == permission)
        }
        await Self.send("stop", in: &browser)
        #expect(try await Self.share(server) == nil)
        #expect(browser.shown?.text.contains("shared with nobody any more") == true)
    }

    @Test func `people are invited by address, number and name, get other permissions, and are removed`() async throws {
        let server = try await Self.server()
        let bob = server.names["bob.name"] ?? ""
        var browser = try await Self.opened(server)
        await Self.send("begin", ["permission": "NONE"], in: &browser)
        for who in [" carol@example.com ", "+4915112345678", bob] {
            let page = await Self.send("invite", ["who": who, "permission": "READ_ONLY"], in: &browser)
            #expect(page.status == 200 && page.text.contains("The invitation is there"), "\(page.text)")
        }
        let all = try #require(try await Self.share(server))
        #expect(all.at("participants[1].userIdentity.lookupInfo.emailAddress")?.text == "carol@example.com")
        #expect(all.at("participants[2].userIdentity.lookupInfo.phoneNumber")?.text == "+4915112345678")
        let id = try #require(all.at("participants[3].participantId")?.text)
        await Self.send("permit", ["participant": id, "permission": "READ_WRITE"], in: &browser)
        #expect(try await Self.share(server)?.at("participants[3].permission")?.text == "READ_WRITE")
        let guid = try #require(all["shortGUID"]?.text)
        try await server.ask("bob", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        await Self.send("remove", ["participant": id], in: &browser)
        #expect(try await Self.share(server)?["participants"]?.count == 3)
        let again = await Self.send("remove", ["participant": id], in: &browser)
        #expect(again.status == 404 && again.text.contains("no such participant"))
        let own = await Self.send("remove", ["participant": "owner"], in: &browser)
        #expect(own.status == 404)
        let nobody = await Self.send("invite", ["who": "", "permission": "READ_ONLY"], in: &browser)
        #expect(nobody.status == 400 && nobody.text.contains("id=\"problem\""))
    }

    @Test func `people who have accepted stay when a share is closed again`() async throws {
        let server = try await Self.server()
        var browser = try await Self.opened(server)
        await Self.send("begin", ["permission": "NONE"], in: &browser)
        await Self.send("invite", ["who": server.names["bob.name"] ?? "", "permission": "READ_WRITE"], in: &browser)
        let guid = try #require(try await Self.share(server)?["shortGUID"]?.text)
        try await server.ask("bob", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        await Self.send("open", ["permission": "READ_ONLY"], in: &browser)
        await Self.send("open", ["permission": "NONE"], in: &browser)
        #expect(try await Self.share(server)?["participants"]?.count == 2)
        #expect(try await server.ask("bob", "shared/zones/list", "{}")["zones"]?.count == 1)
    }

    @Test func `a one-time link is made, shown with its secret, and withdrawn`() async throws {
        let server = try await Self.server()
        var browser = try await Self.opened(server)
        await Self.send("begin", ["permission": "NONE"], in: &browser)
        await Self.send("link", ["permission": "READ_WRITE"], in: &browser)
        let share = try #require(try await Self.share(server))
        let secret = try #require(share.at("participants[1].nacre.oneTimeSecret")?.text)
        let guid = try #require(share["shortGUID"]?.text)
        #expect(browser.shown?.text.contains("/share/\(guid)~\(secret)\"") == true)
        await Self.send("remove", ["participant": share.at("participants[1].participantId")?.text ?? ""], in: &browser)
        #expect(try await Self.share(server)?["participants"]?.count == 1)
        #expect(browser.shown?.text.contains(secret) == false)
    }

    @Test func `requests for access are taken, approved and denied`() async throws {
        let server = try await Self.server()
        var browser = try await Self.opened(server)
        await Self.send("begin", ["permission": "NONE"], in: &browser)
        await Self.send("requests", ["takes": "1"], in: &browser)
        let guid = try #require(try await Self.share(server)?["shortGUID"]?.text)
        let bob = server.names["bob.name"] ?? ""
        let asking = #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#
        for step in ["deny", "approve"] {
            try await server.ask("bob", "public/records/request-access", asking)
            #expect(try await Self.share(server)?.at("nacre.requesters[0].userRecordName")?.text == bob)
            let page = await Self.send(step, ["user": bob, "permission": "READ_ONLY"], in: &browser)
            #expect(page.status == 200 && !page.text.contains("asks for access"), "\(page.text)")
            #expect(try await Self.share(server)?.at("nacre.requesters[0]") == nil)
            #expect(try await Self.share(server)?["participants"]?.count == (step == "deny" ? 1 : 2))
        }
        #expect(await Self.send("approve", ["user": bob, "permission": "READ_ONLY"], in: &browser).status == 404)
        await Self.send("requests", ["takes": "0"], in: &browser)
        #expect(try await Self.share(server)?.at("nacre.allowsAccessRequests") == nil)
        #expect(try await server.ask("bob", "public/records/accept", asking).at("results[0].participantStatus")?.text == "ACCEPTED")
    }

    @Test func `a record is shared with what hangs on it, and the page then finds its share by the record and by itself`() async throws {
        let server = try await Self.server()
        var browser = try await Self.opened(server, #","recordName":"a""#)
        await Self.send("begin", ["permission": "READ_ONLY"], in: &browser)
        let root = try await server.ask("ada", "private/records/lookup", Body.lookup("a", more: #""zoneID":{"zoneName":"Trip"}"#))
        let share = try #require(root.at("records[0].share.recordName")?.text)
        #expect(try await Self.share(server) == nil)
        for name in ["a", share] {
            let again = try await Self.opened(server, #","recordName":"\#(name)""#)
            #expect(again.shown?.text.contains("/share/") == true, "\(name)")
        }
        #expect(await Self.asked(server, #","recordName":"nothing""#).status == 404)
        #expect(await Self.asked(server, zone: #"{"zoneName":"_defaultZone"}"#).status == 400)
    }

    @Test func `the page offers what the app names, and refuses the rest`() async throws {
        let server = try await Self.server()
        var browser = try await Self.opened(server, #","supportedAccess":["PRIVATE"],"supportedPermissions":["READ_ONLY"]"#)
        #expect(await Self.send("begin", ["permission": "READ_ONLY"], in: &browser).status == 400)
        #expect(await Self.send("begin", ["permission": "NONE"], in: &browser).status == 200)
        #expect(browser.shown?.text.contains("READ_WRITE") == false && browser.shown?.text.contains("everybody who has") == false)
        for (step, fields) in [("open", ["permission": "READ_ONLY"]), ("link", ["permission": "READ_WRITE"]), ("link", ["permission": "ALL"])] {
            #expect(await Self.send(step, fields, in: &browser).status == 400, "\(step) \(fields)")
        }
        #expect(try await Self.share(server)?["participants"]?.count == 1)
        var open = try await Self.opened(server, #","supportedAccess":["PUBLIC"]"#)
        #expect(await Self.send("invite", ["who": "carol@example.com", "permission": "READ_ONLY"], in: &open).status == 400)
        for wrong in [#""supportedAccess":["NOBODY"]"#, #""supportedPermissions":[]"#, #""supportedPermissions":["NONE"]"#] {
            #expect(await Self.asked(server, "," + wrong).status == 400, "\(wrong)")
        }
    }

    @Test func `the form that begins a share selects what the app offers`() async throws {
        for (offer, permission) in [
            (#""supportedAccess":["PUBLIC"]"#, "READ_ONLY"),
            (#""supportedAccess":["PUBLIC"],"supportedPermissions":["READ_WRITE"]"#, "READ_WRITE"),
            (#""supportedAccess":["PRIVATE","PUBLIC"]"#, "NONE"),
        ] {
            let server = try await Self.server()
            var browser = try await Self.opened(server, "," + offer)
            // A browser sends the first option where none has `selected`.
            let field = try #require(browser.shown?.text.components(separatedBy: "<select id=\"access\"").dropFirst().first)
            let options = try #require(field.components(separatedBy: "</select>").first).components(separatedBy: "<option value=\"").dropFirst()
            let selected = try #require((options.first { $0.contains(" selected") } ?? options.first)?.components(separatedBy: "\"").first)
            #expect(selected == permission, "\(offer)")
            #expect(await Self.send("begin", ["permission": selected], in: &browser).status == 200, "\(offer)")
            #expect(try await Self.share(server)?["publicPermission"]?.text == permission, "\(offer)")
        }
    }

    @Test func `a participant manages nothing, an administrator does, and a stranger is told that there is no zone`() async throws {
        let server = try await Self.server()
        let bob = server.names["bob.name"] ?? ""
        let zone = #"{"zoneName":"Trip","ownerRecordName":"\#(server.names["ada.name"] ?? "")"}"#
        var browser = try await Self.opened(server)
        await Self.send("begin", ["permission": "NONE"], in: &browser)
        #expect(await Self.asked(server, as: "bob", in: "shared", zone: zone).json?["serverErrorCode"]?.text == "ZONE_NOT_FOUND")
        await Self.send("invite", ["who": bob, "permission": "READ_WRITE"], in: &browser)
        let share = try #require(try await Self.share(server))
        let guid = try #require(share["shortGUID"]?.text)
        try await server.ask("bob", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        #expect(await Self.asked(server, as: "bob", in: "shared", zone: zone).json?["serverErrorCode"]?.text == "ACCESS_DENIED")

        let tag = try #require(try await Self.share(server)?["recordChangeTag"]?.text)
        let administrator = #"{"type":"ADMINISTRATOR","permission":"READ_WRITE","userIdentity":{"userRecordName":"\#(bob)"}}"#
        let record = #""recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","recordChangeTag":"\#(tag)""#
        let raised = #"\#(record),"participants":[\#(administrator)]"#
        try await server.ask("ada", "private/records/modify", Body.modify("update", raised, #""zoneID":{"zoneName":"Trip"}"#))
        let ofBob = await Self.asked(server, as: "bob", in: "shared", zone: zone)
        var his = TestBrowser(server)
        #expect(try await his.go(Self.path(ofBob)).status == 200)
        #expect(await Self.send("invite", ["who": "carol@example.com", "permission": "READ_ONLY"], in: &his).status == 200)
        #expect(his.shown?.text.contains("Stop sharing") == false)
        #expect(await Self.send("stop", in: &his).status == 403)
        #expect(try await Self.share(server)?["participants"]?.count == 3)
    }
}
