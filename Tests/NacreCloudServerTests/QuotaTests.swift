import Foundation
import NacreCloudContainer
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of quotas of users and containers: the operator's settings and views, and users' refusals and views.
@Suite(.timeLimit(.minutes(5))) struct QuotaTests {
    private static let place = "container=\(TestServer.container)&environment=development"

    private func set(_ scene: AdministeredServer, _ more: String, container: String = TestServer.container) async -> Answer {
        await scene.administrate(
            "POST", "/admin/1/quotas/change", #"{"container":"\#(container)","environment":"development",\#(more)}"#)
    }

    private func modify(
        _ scene: AdministeredServer, _ user: String, _ type: String, _ name: String, bytes: Int, in database: String = "private"
    ) async throws -> JSON? {
        let note = Body.note(name, String(repeating: "x", count: bytes))
        let body = Body.modify(type, type == "forceDelete" ? #""recordName":"\#(name)""# : note)
        try await scene.server.prepareTypes(for: body, in: TestServer.container)
        let answer = await scene.server.respond(
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/\(database)/records/modify",
                headers: ["Authorization": "Bearer \(scene.server.names[user + ".device"] ?? "")"], body: Array(body.utf8)))
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json?.at("records[0]")
    }

    private func usage(_ scene: AdministeredServer, _ more: String = "") async -> Answer {
        await scene.administrate("GET", "/admin/1/usage?\(Self.place)\(more)")
    }

    private func ownUsage(_ scene: AdministeredServer, _ user: String) async -> Answer {
        await scene.post("usage", "{}", headers: ["Authorization": "Bearer \(scene.server.names[user + ".device"] ?? "")"])
    }

    @Test func `a save beyond the quota is refused with the code of the wire, and a deletion makes room`() async throws {
        let scene = try await AdministeredServer()
        let set = await set(scene, #""userBytes":3000"#)
        #expect(set.status == 200 && set.json?["userBytes"] == .number(3000) && set.json?["isUserBytesOwn"] == .bool(true), "\(set.text)")
        #expect(set.json?["publicBytes"] == .number(0) && set.json?["isPublicBytesOwn"] == .bool(false))
        #expect(try await modify(scene, "ada", "create", "a", bytes: 2000)?["serverErrorCode"] == nil)
        let refused = try await modify(scene, "ada", "create", "b", bytes: 2000)
        #expect(refused?["serverErrorCode"] == .string("QUOTA_EXCEEDED") && refused?["reason"] == .string("Quota exceeded"))
        #expect(refused?["recordName"] == .string("b") && refused?["fields"] == nil)
        // Another user has his own quota, and the public database has another.
        #expect(try await modify(scene, "bob", "create", "b", bytes: 2000)?["serverErrorCode"] == nil)
        #expect(try await modify(scene, "ada", "create", "b", bytes: 5000, in: "public")?["serverErrorCode"] == nil)
        #expect(try await modify(scene, "ada", "forceUpdate", "a", bytes: 1500)?["serverErrorCode"] == nil)
        #expect(try await modify(scene, "ada", "forceDelete", "a", bytes: 0)?["deleted"] == .bool(true))
        #expect(try await modify(scene, "ada", "create", "b", bytes: 2000)?["serverErrorCode"] == nil)
        #expect(await self.set(scene, #""resetsUserBytes":true"#).json?["isUserBytesOwn"] == .bool(false))
        #expect(try await modify(scene, "ada", "create", "c", bytes: 20_000)?["serverErrorCode"] == nil)
    }

    @Test func `an administrator hears what an account holds in every place, and of no other account`() async throws {
        let scene = try await AdministeredServer()
        _ = await set(scene, #""userBytes":100000"#)
        #expect(try await modify(scene, "ada", "create", "a", bytes: 2000)?["serverErrorCode"] == nil)
        func held(_ email: String) async -> Answer { await scene.administrate("GET", "/admin/1/users/usage?email=\(email)") }
        let answer = await held("ada@example.com")
        let places = try JSONDecoder().decode(AccountMessages.AccountUsage.self, from: Data(answer.text.utf8)).databases
        let here = try #require(places.first { $0.container == TestServer.container && $0.environment == "development" })
        #expect(here.bytes > 2000 && here.bytes < 4000 && here.limit == 100_000, "\(answer.text)")
        #expect(places.allSatisfy { $0 == here || $0.bytes < 1000 }, "\(answer.text)")
        #expect(await held("bob@example.com").json?["databases"]?.count ?? 0 > 0)
        #expect(await held("eve@example.com").status == 404)
    }

    @Test func `a user hears of what is his own, with a token of its place alone`() async throws {
        let scene = try await AdministeredServer()
        _ = await set(scene, #""userBytes":100000"#)
        let before = await ownUsage(scene, "ada")
        _ = try await modify(scene, "ada", "create", "a", bytes: 2000)
        _ = try await modify(scene, "bob", "create", "b", bytes: 7000)
        let after = await ownUsage(scene, "ada")
        #expect(after.status == 200 && after.json?["databases"]?.count == 1, "\(after.text)")
        let line = after.json?.at("databases[0]")
        #expect(line?["container"] == .string(TestServer.container) && line?["environment"] == .string("development"))
        #expect(line?["limit"] == .number(100_000))
        guard case .number(let bytes)? = line?["bytes"], case .number(let old)? = before.json?.at("databases[0].bytes") else {
            Issue.record("no bytes: \(after.text)")
            return
        }
        #expect((2000...2400).contains(bytes - old), "her note and nobody else's")
        #expect(!after.text.contains("bob") && !after.text.contains(scene.server.names["bob.name"] ?? ""))
        let all = await scene.post("usage", #"{"email":"ada@example.com","password":"\#(TestServer.password)"}"#)
        #expect(all.json?["databases"]?.count == 2 && all.json?.at("databases[1].limit") == nil, "\(all.text)")
        for (body, headers, status) in [
            ("{}", [:], 401), ("{}", ["Authorization": "Bearer wrong"], 401), (#"{"email":"ada@example.com"}"#, [:], 400),
            (#"{"email":"ada@example.com","password":"wrong"}"#, [:], 401), (#"{"email":"eve@example.com","password":"wrong"}"#, [:], 401),
        ] as [(String, [String: String], Int)] {
            let refused = await scene.post("usage", body, headers: headers)
            #expect(refused.status == status && !refused.text.contains("bytes"), "\(refused.text)")
        }
    }

    @Test func `the operator sees the public database and each user, page by page or one`() async throws {
        let scene = try await AdministeredServer()
        _ = await set(scene, #""userBytes":50000,"publicBytes":60000"#)
        _ = try await modify(scene, "ada", "create", "a", bytes: 2000)
        _ = try await modify(scene, "bob", "create", "p", bytes: 3000, in: "public")
        let all = await usage(scene)
        #expect(all.status == 200 && all.json?["users"]?.count == 2 && all.json?["next"] == nil, "\(all.text)")
        #expect(all.json?.at("public.limit") == .number(60_000) && all.json?.at("users[0].limit") == .number(50_000))
        #expect(!all.text.contains("example.com") && !all.text.contains("xxx"))
        let name = try #require(scene.server.names["ada.name"])
        for user in [name, "ada@example.com"] {
            let one = await usage(scene, "&user=\(user)")
            #expect(one.json?["users"]?.count == 1 && one.json?.at("users[0].user") == .string(name) && one.json?["public"] == nil, "\(one.text)")
            #expect(all.text.contains(#""bytes":\#(Int(Self.number(one, "users[0].bytes")))"#))
        }
        let nobody = await usage(scene, "&user=_nobody")
        #expect(nobody.status == 404 && nobody.json?["field"]?.text == "user" && !nobody.text.contains("bytes"), "\(nobody.text)")
        let quotas = await scene.administrate("GET", "/admin/1/quotas?\(Self.place)")
        #expect(quotas.json?["userBytes"] == .number(50_000) && quotas.json?["isPublicBytesOwn"] == .bool(true), "\(quotas.text)")
    }

    private static func number(_ answer: Answer, _ path: String) -> Double {
        if case .number(let number)? = answer.json?.at(path) { number } else { -1 }
    }

    @Test func `what an administrator asks in vain is told with the field and what to do`() async throws {
        let scene = try await AdministeredServer()
        for (answer, status, field) in [
            (await scene.administrate("GET", "/admin/1/usage?environment=development"), 400, "container"),
            (await scene.administrate("GET", "/admin/1/usage?container=\(TestServer.container)"), 400, "environment"),
            (await scene.administrate("GET", "/admin/1/usage?container=iCloud.none&environment=development"), 404, "container"),
            (await usage(scene, "&after=x"), 400, "after"), (await usage(scene, "&user=eve@example.com"), 404, "user"),
            (
                await scene.administrate("GET", "/admin/1/usage?container=\(TestServer.otherContainer)&environment=production&user=ada@example.com"),
                404, "user"
            ),
            (await scene.administrate("GET", "/admin/1/quotas?container=iCloud.none&environment=development"), 404, "container"),
            (await set(scene, #""userBytes":-1"#), 400, "userBytes"), (await set(scene, #""publicBytes":5000000000000000"#), 400, "publicBytes"),
            (await set(scene, #""publicBytes":"1G""#), 400, "publicBytes"),
            (await set(scene, #""userBytes":1,"resetsUserBytes":true"#), 400, "userBytes"),
            (await set(scene, #""userBytes":1"#, container: "iCloud.none"), 404, "container"),
        ] {
            #expect(answer.status == status && answer.json?["field"]?.text == field && answer.json?["remedy"] != nil, "\(answer.text)")
        }
    }
}
