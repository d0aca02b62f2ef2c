import NacreCloudAccounts
import Testing

@testable import NacreCloudServer

/// Tests of the shares that an administrator makes as their owner, and of questions about shared databases.
struct AdministeredShareTests {
    private static let place = #""container":"\#(TestServer.container)","environment":"development""#

    /// A server on which Ada has the zone `Work` with two notes, of which one hangs on the other.
    private static func scene() async throws -> AdministeredServer {
        let scene = try await AdministeredServer()
        let text = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (title STRING QUERYABLE);"
        let body = #"{"container":"\#(TestServer.container)","text":"\#(text)","isDryRun":false}"#
        #expect(await scene.administrate("POST", "/admin/1/schema/import", body).status == 200)
        let bob = #"{"email":"bob@example.com","newEmail":"bob@example.com"}"#
        #expect(await scene.administrate("POST", "/admin/1/users/change-email", bob).status == 200, "the address is verified")
        _ = try await app(scene, as: "ada", "private/zones/modify", Body.zones("create", "Work"))
        _ = try await app(scene, as: "ada", "private/records/modify", Body.modify("create", Body.note("a"), Body.inWork))
        let leaf = Body.note("leaf") + #","parent":{"recordName":"a"}"#
        _ = try await app(scene, as: "ada", "private/records/modify", Body.modify("create", leaf, Body.inWork))
        return scene
    }

    /// Sends a request as a web app of a user.
    private static func app(_ scene: AdministeredServer, as user: String, _ path: String, _ body: String) async throws -> JSON {
        let session = "ckAPIToken=\(scene.server.names["api"] ?? "")&ckWebAuthToken=\(scene.server.names[user + ".escaped"] ?? "")"
        let target = "/database/1/\(TestServer.container)/development/\(path)?\(session)"
        let answer = await scene.server.respond(Question(method: "POST", target: target, body: Array(body.utf8)))
        #expect(answer.status == 200 && answer.json?.at("records[0].serverErrorCode") == nil, "\(path): \(answer.text)")
        return try #require(answer.json)
    }

    private static func share(
        _ scene: AdministeredServer, _ more: String, of user: String = "ada@example.com", zone: String = "Work"
    ) async -> Answer {
        await scene.administrate("POST", "/admin/1/shares/create", #"{\#(place),"user":"\#(user)","zone":"\#(zone)"\#(more)}"#)
    }

    @Test func `an administrator shares a record as its owner, and a person who is invited takes part`() async throws {
        let scene = try await Self.scene()
        let made = await Self.share(scene, #","record":"a","title":"Trip","participants":["bob@example.com"],"permission":"READ_WRITE""#)
        #expect(made.status == 201 && made.json?["participants"] == .number(2) && made.json?["root"]?.text == "a", "\(made.text)")
        let guid = String(try #require(made.json?["url"]?.text?.split(separator: "/").last))
        let seen = try await Self.app(scene, as: "bob", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        #expect(seen.at("results[0].participantStatus")?.text == "ACCEPTED", "\(seen)")
        #expect(seen.at("results[0].participantPermission")?.text == "READ_WRITE")
        #expect(seen.at("results[0].share.fields")?["cloudkit.title"]?["value"]?.text == "Trip")
        #expect(seen.at("results[0].ownerIdentity.userRecordName")?.text == scene.server.names["ada.name"])
        let audit = await scene.administrate("GET", "/admin/1/audit").text
        #expect(audit.contains("POST /admin/1/shares/create") && audit.contains("bob@example.com") && !audit.contains("Trip"), "\(audit)")
    }

    @Test func `an administrator makes a zone of a user, once, in development alone`() async throws {
        let scene = try await AdministeredServer()
        _ = await scene.administrate("POST", "/admin/1/users", #"{"email":"eve@example.com","password":"a secret of eve's"}"#)
        func make(_ environment: String, _ user: String, _ zone: String) async -> Answer {
            let place = #""container":"\#(TestServer.container)","environment":"\#(environment)""#
            return await scene.administrate("POST", "/admin/1/zones/create", #"{\#(place),"user":"\#(user)","zone":"\#(zone)"}"#)
        }
        // Eve has opened no app yet.
        for _ in 1...2 { #expect(await make("development", "eve@example.com", "Trips").status == 201) }
        #expect(await make("development", "_nobody", "Trips").status == 404)
        #expect(await make("development", "ada@example.com", "").status == 400)
        let refused = await make("production", "ada@example.com", "Trips")
        #expect(refused.status == 403 && refused.json?["field"]?.text == "environment", "\(refused.text)")
        let ofEve = #"{\#(Self.place),"database":"private","user":"eve@example.com","request":"{}"}"#
        let listed = await scene.administrate("POST", "/admin/1/zones/list", ofEve)
        #expect(listed.text.contains("Trips"), "\(listed.text)")
        let page = try await ConsoleTests.ConsolePage(scene, as: .developer)
        #expect(await page.ask("POST", "zones/create", #"{\#(Self.place),"user":"ada@example.com","zone":"More"}"#).status == 403)
    }

    @Test func `a share of a zone is made for the people who have its URL`() async throws {
        let scene = try await Self.scene()
        let made = await Self.share(scene, #","publicPermission":"READ_ONLY""#)
        #expect(made.status == 201 && made.json?["share"]?.text == "cloudkit.zoneshare" && made.json?["root"] == nil, "\(made.text)")
        #expect(await Self.share(scene, "").status == 409, "a zone has one share")
    }

    @Test(arguments: [#","record":"none""#, #","permission":"NONE""#, #","publicPermission":"ALL""#])
    func `a share that its owner could not make is refused`(_ more: String) async throws {
        let answer = await Self.share(try await Self.scene(), more)
        #expect(answer.status == 400, "\(answer.text)")
    }

    @Test func `a zone that cannot be shared is refused, and so are one and a user that are not there`() async throws {
        let scene = try await Self.scene()
        #expect(await Self.share(scene, "", zone: "_defaultZone").status == 400)
        #expect(await Self.share(scene, "", zone: "Nowhere").status == 404)
        #expect(await Self.share(scene, "", of: "eve@example.com").status == 404)
    }

    @Test func `an administrator shares nothing of production, and a developer nothing at all`() async throws {
        let scene = try await Self.scene()
        let place = #""container":"\#(TestServer.container)","environment":"production""#
        let refused = await scene.administrate("POST", "/admin/1/shares/create", #"{\#(place),"user":"ada@example.com","zone":"Work"}"#)
        #expect(refused.status == 403 && refused.json?["field"]?.text == "environment", "\(refused.text)")
        let audit = await scene.administrate("GET", "/admin/1/audit").text
        #expect(audit.contains("POST /admin/1/shares/create"))
        let shares = [
            #""recordName":"cloudkit.zoneshare","recordType":"cloudkit.share""#,
            #""recordName":"n","recordType":"Note","parent":{"recordName":"below a shared root"}"#,
        ]
        for record in shares {
            let save = Body.modify("create", record, Body.inWork)
            let escaped = save.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
            let saved = await scene.administrate(
                "POST", "/admin/1/records/modify", #"{\#(place),"database":"private","user":"ada@example.com","request":"\#(escaped)"}"#)
            #expect(saved.status == 403 && saved.json?["field"]?.text == "environment", "\(saved.text)")
        }
        let page = try await ConsoleTests.ConsolePage(scene, as: .developer)
        #expect(await page.ask("POST", "shares/create", #"{\#(Self.place),"user":"ada@example.com","zone":"Work"}"#).status == 403)
    }

    @Test func `an administrator learns why a participant is told of a shared record, or is not`() async throws {
        let scene = try await Self.scene()
        let made = await Self.share(scene, #","record":"a","participants":["bob@example.com"]"#)
        let guid = String(try #require(made.json?["url"]?.text?.split(separator: "/").last, "\(made.text)"))
        let subscription = #"{"subscriptionID":"all","subscriptionType":"database"}"#
        let saved = try await Self.app(
            scene, as: "bob", "shared/subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
        #expect(saved.at("subscriptions[0].serverErrorCode") == nil, "\(saved)")
        func why(_ record: String, _ more: String = #","owner":"ada@example.com""#) async -> Answer {
            await scene.administrate(
                "POST", "/admin/1/subscriptions/why",
                #"{\#(Self.place),"database":"shared","user":"bob@example.com","zone":"Work","record":"\#(record)","subscription":"all"\#(more)}"#)
        }
        let invited = await why("leaf")
        #expect(invited.json?["fires"] == .bool(false) && invited.text.contains(#""name":"shared""#), "\(invited.text)")
        _ = try await Self.app(scene, as: "bob", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        let told = await why("leaf")
        #expect(told.json?["fires"] == .bool(true) && told.text.contains("it hangs on a"), "\(told.text)")
        _ = try await Self.app(scene, as: "ada", "private/records/modify", Body.modify("create", Body.note("alone"), Body.inWork))
        let alone = await why("alone")
        #expect(alone.json?["fires"] == .bool(false) && alone.text.contains("takes part in no share"), "\(alone.text)")
        let nobody = await why("leaf", "")
        #expect(nobody.status == 400 && nobody.json?["field"]?.text == "owner", "\(nobody.text)")
    }
}
