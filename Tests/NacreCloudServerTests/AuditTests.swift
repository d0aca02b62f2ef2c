import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudServer

struct AuditTests {
    private func log(of scene: AdministeredServer) async throws -> [AdminMessages.AuditLine] {
        let answer = await scene.administrate("GET", "/admin/1/audit")
        #expect(answer.status == 200)
        return try JSONDecoder().decode(AdminMessages.AuditLog.self, from: Data(answer.body)).entries.reversed()
    }

    @Test func `what administrators change is noted with whom it names and how it ended, and no secret`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.administrate("POST", "/admin/1/containers", #"{"name":"iCloud.com.example.new"}"#).status == 201)
        #expect(await scene.administrate("POST", "/admin/1/users", #"{"email":"eve@example.com","password":"a secret of eve's"}"#).status == 201)
        #expect(await scene.administrate("POST", "/admin/1/users", #"{"email":"eve@example.com","password":"a secret of eve's"}"#).status == 409)
        let token =
            #"{"container":"\#(TestServer.container)","environment":"development","kind":"api","name":"a\nb","origins":["https://app.example"]}"#
        #expect(await scene.administrate("POST", "/admin/1/tokens", token).status == 201)
        let quotas = #"{"container":"\#(TestServer.container)","environment":"development","userBytes":1000}"#
        #expect(await scene.administrate("POST", "/admin/1/quotas/change", quotas).status == 200)
        let explained = #"{"container":"\#(TestServer.container)","environment":"development","database":"public","request":"{}"}"#
        _ = await scene.administrate("POST", "/admin/1/query/explain", explained)
        let lines = try await log(of: scene)
        #expect(lines.map(\.number) == [1, 2, 3, 4, 5, 6])
        #expect(lines[3].subject["origins"] == "https://app.example" && lines[3].subject["name"] == "ab", "a name stays on its line")
        #expect(lines[4].subject["userBytes"] == "1000")
        #expect(
            lines.prefix(3).map { [$0.action, "\($0.subject)", "\($0.status ?? 0)"] } == [
                ["POST /admin/1/containers", #"["name": "iCloud.com.example.new"]"#, "201"],
                ["POST /admin/1/users", #"["email": "eve@example.com"]"#, "201"], ["POST /admin/1/users", #"["email": "eve@example.com"]"#, "409"],
            ])
        #expect(lines.last?.action == "POST /admin/1/query/explain" && lines.last?.subject["database"] == "public")
        #expect(Set(lines.map(\.requestID)).count == 6)
        #expect(await !scene.administrate("GET", "/admin/1/audit").text.contains("secret"))
    }

    @Test func `each look into a private database is noted, whoever's it is and whatever it finds`() async throws {
        let scene = try await AdministeredServer()
        let place = #""container":"\#(TestServer.container)","environment":"development""#
        let looks = [
            ("query/explain", #"{\#(place),"database":"private","user":"ada@example.com","request":"{}"}"#),
            ("records/lookup", #"{\#(place),"database":"private","user":"ada@example.com","request":"{}"}"#),
            ("records/modify", #"{\#(place),"database":"private","user":"ada@example.com","request":"{}"}"#),
            ("zones/list", #"{\#(place),"database":"private","user":"ada@example.com","request":"{}"}"#),
            ("zones/changes", #"{\#(place),"database":"private","user":"ada@example.com","request":"{}"}"#),
            ("subscriptions/list", #"{\#(place),"database":"private","user":"ada@example.com"}"#),
            ("subscriptions/why", #"{\#(place),"database":"private","user":"ada@example.com","subscription":"s","record":"a"}"#),
            ("shares/list", #"{\#(place),"user":"ada@example.com"}"#),
            ("shares/who", #"{\#(place),"user":"ada@example.com","zone":"Trip","record":"a"}"#),
            ("zones/create", #"{\#(place),"user":"ada@example.com","zone":"Trip"}"#),
            ("zones/resync", #"{\#(place),"user":"ada@example.com","zone":"Trip"}"#),
            ("users/resync", #"{\#(place),"user":"ada@example.com"}"#),
            ("shares/create", #"{\#(place),"user":"ada@example.com","zone":"Trip","record":"a"}"#),
            ("shares/manage", #"{\#(place),"user":"ada@example.com","zone":"Trip"}"#),
        ]
        for (path, body) in looks { _ = await scene.administrate("POST", "/admin/1/\(path)", body) }
        let lines = try await log(of: scene)
        #expect(lines.map(\.action) == looks.map { "POST /admin/1/\($0.0)" })
        #expect(lines.allSatisfy { $0.subject["user"] == "ada@example.com" && $0.subject["container"] == TestServer.container })
    }

    @Test func `what only reads, what cannot be read and what nobody may ask is not noted`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.administrate("GET", "/admin/1/users").status == 200)
        let question = #"{"container":"\#(TestServer.container)","environment":"development","text":"DEFINE SCHEMA"}"#
        _ = await scene.administrate("POST", "/admin/1/schema/diff", question)
        #expect(await scene.administrate("POST", "/admin/1/users", "no JSON").status == 400)
        #expect(await scene.administrate("POST", "/admin/1/nothing", "{}").status == 404)
        #expect(try await log(of: scene).isEmpty)
        #expect(await scene.administrate("GET", "/admin/1/audit?after=x").status == 400)
    }

    @Test func `a member that stands twice in a body is noted with the value that takes effect`() async throws {
        let scene = try await AdministeredServer()
        let twice = #"{"name":"iCloud.com.example.first","name":"iCloud.com.example.second","n\u0061me":"iCloud.com.example.third"}"#
        let made = await scene.administrate("POST", "/admin/1/containers", twice)
        let name = try #require(made.json?["name"]?.text, "\(made.text)")
        #expect(try await log(of: scene).map(\.subject) == [["name": name]])
    }

    @Test func `one author adds so many entries in an hour, and the holder of the folder is not kept from any`() async throws {
        let scene = try await AdministeredServer()
        let token = try await scene.managementToken(of: TestServer.container)
        let (path, body) = ("/admin/1/schema/undo", #"{"container":"\#(TestServer.container)","isDryRun":true}"#)
        var last = await scene.administrate("POST", path, body, by: token)
        for _ in 1...Limits.auditEntriesPerHour { last = await scene.administrate("POST", path, body, by: token) }
        #expect(last.status == 429 && last.header("Retry-After") == "1", "\(last.text)")
        #expect(await scene.administrate("POST", path, body).status != 429)
        #expect(try await scene.server.cloud.registry.auditLog(after: nil).page.first?.number == Int64(Limits.auditEntriesPerHour) + 2)
        scene.server.clock.advance(10)
        #expect(await scene.administrate("POST", path, body, by: token).status != 429)
        #expect(await scene.administrate("POST", path, body, by: token).status == 429)
        let hours = Int(ConsoleSignIns.sessionSeconds / 3600) + 1
        #expect(hours * Limits.auditEntriesPerHour < Limits.auditEntriesKept / 2)
    }

    @Test func `a look gives an account no name in a container, and a change does`() async throws {
        let scene = try await AdministeredServer()
        _ = await scene.administrate("POST", "/admin/1/users", #"{"email":"eve@example.com","password":"a secret of eve's"}"#)
        let place = #""container":"\#(TestServer.container)","environment":"development","user":"eve@example.com""#
        let looks = [
            ("query/explain", #"{\#(place),"database":"private","request":"{}"}"#),
            ("records/lookup", #"{\#(place),"database":"private","request":"{}"}"#),
            ("zones/list", #"{\#(place),"database":"private","request":"{}"}"#),
            ("subscriptions/list", #"{\#(place),"database":"private"}"#), ("shares/list", "{\(place)}"),
            ("roles/why", #"{\#(place),"operation":"CREATE","recordType":"Note"}"#),
        ]
        for (path, body) in looks {
            let answer = await scene.administrate("POST", "/admin/1/\(path)", body)
            #expect(answer.status == 404 && answer.json?["field"]?.text == "user", "\(path): \(answer.text)")
        }
        func places() async -> Int? { await scene.administrate("GET", "/admin/1/users/show?email=eve@example.com").json?["places"]?.count }
        #expect(await places() == 0)
        _ = await scene.administrate("POST", "/admin/1/records/modify", #"{\#(place),"database":"private","request":"{\"operations\":[]}"}"#)
        #expect(await places() == 1)
    }

    @Test func `the settings of a container are looked at without a note of a change, and by its name alone`() async throws {
        let scene = try await AdministeredServer(isEmulator: true)
        let sharing = #"{"name":"\#(TestServer.container)","app":"com.example.notes://share","appName":"Notes"}"#
        #expect(await scene.administrate("POST", "/admin/1/containers/sharing", sharing).status == 200)
        #expect(
            await scene.administrate("POST", "/admin/1/containers/change", #"{"name":"\#(TestServer.container)","justInTime":"all"}"#).status == 200)
        let line = await scene.administrate("GET", "/admin/1/containers?name=\(TestServer.container)").json
        #expect(line?["containers"]?.count == 1 && line?.at("containers[0].justInTime")?.text == "all")
        #expect(line?.at("containers[0].sharing.app")?.text == "com.example.notes://share" && line?.at("containers[0].sharing.fallback") == nil)
        #expect(await scene.administrate("GET", "/admin/1/containers?name=iCloud.com.example.none").status == 404)
        let all = await scene.administrate("GET", "/admin/1/containers").json
        #expect(all?["containers"]?.count == 2 && all?.at("containers[0].justInTime") == nil)
        #expect(await scene.administrate("GET", "/admin/1/server").json?["isEmulator"] == .bool(true))
        #expect(try await log(of: scene).count == 2)
    }

    /// Fails the next write after `begin`.
    private final class FailsOnce: LayeredStore {
        let below: any Store = MemoryStore()
        private let fails = Locked(false)

        func begin() { fails.withLock { $0 = true } }

        func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
            let failsNow = fails.withLock { fails in
                defer { fails = false }
                return fails
            }
            if failsNow { throw StoreError(.full, "A planted failure") }
            return try await below.write(body)
        }
    }

    @Test func `what cannot be noted is not done`() async throws {
        let store = FailsOnce()
        let scene = try await AdministeredServer(over: store)
        store.begin()
        #expect(await scene.administrate("POST", "/admin/1/containers", #"{"name":"iCloud.com.example.new"}"#).status == 503)
        #expect(try await scene.server.cloud.registry.container("iCloud.com.example.new") == nil)
        #expect(await scene.administrate("POST", "/admin/1/containers", #"{"name":"iCloud.com.example.new"}"#).status == 201)
        #expect(try await log(of: scene).map(\.status) == [201])
    }
}
