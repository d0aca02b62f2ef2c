import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of ended sessions and devices: for administrators, and for requests under way.
@Suite(.timeLimit(.minutes(5))) struct SessionTests {
    @Test func `an administrator lists what an account is signed in with, and what she ends is refused at once`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.deviceStatus() == 200)
        let listed = await scene.administrate("GET", "/admin/1/sessions?email=ADA@example.com")
        #expect(listed.status == 200 && listed.json?["sessions"]?.count == 6 && listed.json?["next"] == nil, "\(listed.text)")
        #expect(!listed.text.contains(scene.server.names["ada"] ?? "") && !listed.text.contains(scene.server.names["ada.device"] ?? ""))
        let id = try #require(scene.server.names["ada.device.id"])
        let ended = await scene.administrate("POST", "/admin/1/sessions/revoke", #"{"email":"ada@example.com","id":"\#(id)"}"#)
        #expect(ended.status == 200 && ended.json?["count"] == .number(1))
        #expect(await scene.deviceStatus() == 401)
        let all = await scene.administrate("POST", "/admin/1/sessions/revoke", #"{"email":"ada@example.com","all":true}"#)
        #expect(all.json?["count"] == .number(5))
        #expect(await scene.administrate("GET", "/admin/1/sessions?email=ada@example.com").json?["sessions"]?.count == 0)
        #expect(await scene.administrate("GET", "/admin/1/sessions?email=bob@example.com").json?["sessions"]?.count == 6)
    }

    @Test func `what an administrator asks in vain is told with the field and what to do`() async throws {
        let scene = try await AdministeredServer()
        let bobs = scene.server.names["bob.id"] ?? ""
        for (method, target, body, status, field) in [
            ("GET", "/admin/1/sessions", "", 400, "email"), ("GET", "/admin/1/sessions?email=eve@example.com", "", 404, "email"),
            ("GET", "/admin/1/sessions?email=ada@example.com&after=x", "", 400, "after"),
            ("POST", "/admin/1/sessions/revoke", #"{"email":"eve@example.com","all":true}"#, 404, "email"),
            ("POST", "/admin/1/sessions/revoke", #"{"email":"ada@example.com"}"#, 400, "id"),
            ("POST", "/admin/1/sessions/revoke", #"{"email":"ada@example.com","id":"x","all":true}"#, 400, "id"),
            ("POST", "/admin/1/sessions/revoke", #"{"email":"ada@example.com","id":"\#(bobs)"}"#, 404, "id"),
        ] {
            let answer = await scene.administrate(method, target, body)
            #expect(
                answer.status == status && answer.json?["field"]?.text == field && answer.json?["remedy"] != nil, "\(target) \(body) \(answer.text)")
        }
    }

    @Test func `an administrator acts as a user in one container's development, for an hour, and it is noted`() async throws {
        let scene = try await AdministeredServer()
        let path = "/admin/1/users/sign-in"
        let asked = #"{"email":"ada@example.com","container":"\#(TestServer.container)""#
        let production = await scene.administrate("POST", path, asked + #","environment":"production"}"#)
        #expect(production.status == 403 && production.json?["field"]?.text == "environment", "\(production.text)")
        #expect(await scene.administrate("POST", path, asked + "}", ["Idempotency-Key": "k"]).status == 400)
        #expect(await scene.administrate("GET", "/admin/1/sessions?email=ada@example.com").json?["sessions"]?.count == 6)

        let acting = await scene.administrate("POST", path, asked + "}")
        #expect(acting.status == 201, "\(acting.text)")
        let device = ["Authorization": "Bearer \(acting.json?["token"]?.text ?? "")"]
        #expect(acting.json?["userRecordName"]?.text == scene.server.names["ada.name"])
        func caller(_ place: String, _ headers: [String: String] = device, _ query: String = "") async -> Int {
            await scene.server.respond(Question(method: "GET", target: "/database/1/\(place)/public/users/caller\(query)", headers: headers)).status
        }
        let development = "\(TestServer.container)/development"
        #expect(await caller(development) == 200)
        #expect(await caller("\(TestServer.container)/production") == 401)
        #expect(await caller("\(TestServer.otherContainer)/development") == 401)

        // A session that the device asks for in the last minute ends with it.
        scene.server.clock.advance(Limits.actingSeconds - 60)
        let api = scene.server.names["api"] ?? ""
        let session = await scene.server.respond(
            Question(
                method: "POST", target: "/database/1/\(development)/private/users/web-auth-token", headers: device,
                body: Array(#"{"apiToken":"\#(api)"}"#.utf8)))
        let token = try #require(session.json?["webAuthToken"]?.text, "\(session.text)")
        let query = "?ckAPIToken=\(api)&ckWebAuthToken=\(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        #expect(await caller(development, [:], query) == 200)
        scene.server.clock.advance(60)
        #expect(await caller(development) == 401)
        #expect(await caller(development, [:], query) == 421)
        let log = await scene.administrate("GET", "/admin/1/audit")
        #expect(log.json?.at("entries[0].subject.email")?.text == "ada@example.com" && log.json?.at("entries[0].status") == .number(201))
        #expect(!log.text.contains(token) && !log.text.contains(acting.json?["token"]?.text ?? "-"))
    }

    @Test func `a device that another process ends is refused five seconds later at most, in the middle of a request too`() async throws {
        let scene = try await AdministeredServer()
        let (authenticator, clock) = (scene.server.authenticator, scene.server.clock)
        let request = scene.question().inProcess
        let known = try await authenticator.identify(request, container: TestServer.container, environment: .development)
        func stillMay() async throws {
            try await authenticator.requireStill(known, request, container: TestServer.container, environment: .development)
        }
        clock.advance(4)
        try await scene.server.revokeElsewhere("ada")
        try await stillMay()
        #expect(await scene.deviceStatus() == 200)
        clock.advance(1)
        await #expect(throws: ServerError.authenticationFailed) { try await stillMay() }
        #expect(await scene.deviceStatus() == 401)
    }

    @Test func `who waits for a change with a device that has ended hears of none`() async throws {
        let scene = try await AdministeredServer()
        let server = scene.server
        let port = try await server.startListening()
        let device = ["Authorization": "Bearer \(server.names["ada.device"] ?? "")"]
        func post(_ path: String, _ body: String, _ headers: [String: String]) async throws -> Answer {
            let target = "/database/1/\(TestServer.container)/development/\(path)"
            return try await ask(Question(method: "POST", target: target, headers: headers, body: Array(body.utf8)), port: port)
        }
        let token = try #require(try await post("private/changes/database", "{}", device).json?.at("syncToken")?.text)
        async let answer = post("private/changes/database", #"{"syncToken":"\#(token)","nacre":{"waitSeconds":30}}"#, device)
        await server.clock.sleeps(TestServer.sleepers + 1)
        try await server.revokeElsewhere("ada")
        server.clock.advance(5)
        let session = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada.escaped"] ?? "")"
        let saved = try await post("private/zones/modify?\(session)", Body.zones("create", "Work"), [:])
        #expect(saved.status == 200, "\(saved.text)")
        let heard = try await answer
        #expect(heard.status == 401 && !heard.text.contains("Work"), "\(heard.text)")
        await server.server.shutdown()
    }

    @Test func `what is read while it ends is not remembered`() async throws {
        let remembered = Remembered<String, Int>()
        let now = Timestamp(secondsSince2001: 0)
        let first = try await remembered.value("a", at: now) { () -> Int? in
            remembered.forget { $0 == 7 }
            return 7
        }
        #expect(first == 7)
        #expect(try await remembered.value("a", at: now) { nil } == nil)
        #expect(try await remembered.value("b", at: now) { 7 } == 7)
        #expect(try await remembered.value("c", at: now) { 8 } == 8)
        remembered.forget { $0 == 7 }
        #expect(try await remembered.value("b", at: now) { nil } == nil)
        #expect(try await remembered.value("c", at: now) { nil } == 8)
    }
}
