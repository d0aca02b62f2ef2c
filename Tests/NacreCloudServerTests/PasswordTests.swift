import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of a new password: by the old one, and by an administrator's code.
@Suite(.timeLimit(.minutes(5))) struct PasswordTests {
    private static let next = "a better horse"
    private static let old = TestServer.password

    private static func change(_ more: String = "", password: String = old, next: String = next) -> String {
        #"{"email":"ada@example.com","password":"\#(password)","newPassword":"\#(next)"\#(more)}"#
    }

    private static func reset(_ code: String, email: String = "ada@example.com", next: String = next) -> String {
        #"{"email":"\#(email)","code":"\#(code)","newPassword":"\#(next)"}"#
    }

    private func code(_ scene: AdministeredServer, _ email: String = "ada@example.com") async throws -> String {
        let made = await scene.administrate("POST", "/admin/1/users/reset-password", #"{"email":"\#(email)"}"#)
        #expect(made.status == 201)
        return try #require(made.json?["code"]?.text)
    }

    private func expectRefused(_ answer: Answer, _ label: String = "") {
        #expect(
            answer.status == 401 && answer.json?["serverErrorCode"]?.text == "AUTHENTICATION_FAILED"
                && answer.json?["reason"]?.text == "wrong e-mail address or code", "\(label) \(answer.text)")
    }

    @Test func `a new password ends all that the old one began`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.deviceStatus() == 200)
        #expect(await scene.sessionStatus() == 200)
        let changed = await scene.post("change-password", Self.change())
        #expect(changed.status == 200 && changed.json?["count"] == .number(6), "\(changed.text)")
        #expect(await scene.deviceStatus() == 401)
        #expect(await scene.sessionStatus() == 421)
        #expect(await scene.deviceStatus("bob") == 200)
        #expect(await scene.signIn(Self.old).status == 401)
        #expect(await scene.signIn(Self.next).status == 200)
        #expect(!scene.server.log.texts.contains { $0.contains(Self.next) || $0.contains(Self.old) || $0.contains("ada@example.com") })
    }

    @Test func `a new password is in the log at notice, with the account and no address`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.post("change-password", Self.change()).status == 200)
        #expect(await scene.post("reset-password", Self.reset(try await code(scene), next: "a third horse")).status == 200)
        let lines = scene.server.log.objects("A password was changed")
        #expect(lines.count == 2 && lines.allSatisfy { $0["level"]?.text == "notice" })
        #expect(lines.allSatisfy { $0["user"]?.text == scene.server.names["ada.account"] })
        #expect(!scene.server.log.texts.contains { $0.contains("ada@example.com") || $0.contains("horse") })
    }

    /// Returns the path and query of an administrator's link.
    private func link(_ scene: AdministeredServer) async throws -> String {
        let made = await scene.administrate("POST", "/admin/1/users/reset-password", #"{"email":"ada@example.com"}"#)
        let url = try #require(made.json?["url"]?.text)
        try #require(url.hasPrefix("http://127.0.0.1/new-password?link="))
        return String(url.dropFirst("http://127.0.0.1".count))
    }

    @Test func `an administrator's link opens a page that sets the password once and ends all ways in, without mail`() async throws {
        let scene = try await AdministeredServer()
        var browser = TestBrowser(scene.server)
        let link = try await link(scene)
        for _ in 0..<2 {
            let page = await browser.go(link)
            #expect(page.status == 200 && page.text.contains("Set the password") && page.text.contains("All of this ends"), "\(page.text)")
            #expect(!page.text.contains("name=\"keep\""))
        }
        #expect(await scene.deviceStatus() == 200)
        let form = browser
        #expect(await browser.post(form.hidden.merging(["password": "short"]) { $1 }, path: "/new-password").status == 400)
        #expect(await browser.post(form.hidden.merging(["password": Self.next]) { $1 }, path: "/new-password").status == 200)
        #expect(await scene.deviceStatus() == 401)
        #expect(await scene.signIn(Self.next).status == 200)
        let again = await browser.post(form.hidden.merging(["password": "a third horse"]) { $1 }, path: "/new-password")
        #expect(again.status == 401 && again.text.contains("This link is over"))
        #expect(await browser.go(link).status == 401)
        #expect(!scene.server.log.texts.contains { $0.contains("ada@example.com") || $0.contains("horse") })
    }

    @Test func `an administrator's link ends with its hour, with another one, and with the account`() async throws {
        let scene = try await AdministeredServer()
        var browser = TestBrowser(scene.server)
        let first = try await link(scene)
        let second = try await link(scene)
        #expect(await browser.go(first).status == 401)
        #expect(await browser.go(second).status == 200)
        scene.server.clock.advance(Limits.passwordResetSeconds)
        #expect(await browser.go(second).status == 401)
        let third = try await link(scene)
        #expect(await scene.administrate("POST", "/admin/1/users/delete", #"{"email":"ada@example.com"}"#).status == 200)
        #expect(await browser.go(third).status == 401)
    }

    @Test func `the sign-in that asks for a new password stays, and devices where she says so`() async throws {
        let scene = try await AdministeredServer()
        let device = ["Authorization": "Bearer \(scene.server.names["ada.device"] ?? "")"]
        #expect(await scene.post("change-password", Self.change(), headers: device).json?["count"] == .number(5))
        #expect(await scene.deviceStatus() == 200)
        let kept = await scene.post("change-password", Self.change(#","keepsDevices":true"#, password: Self.next, next: "a third horse"))
        #expect(kept.json?["count"] == .number(0))
        #expect(await scene.deviceStatus() == 200)
        #expect(await scene.sessionStatus() == 421)
    }

    @Test func `a password is not changed without the old one, nor with another's token, nor to one that is none`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.post("change-password", Self.change(password: "wrong password")).status == 401)
        let bobs = ["Authorization": "Bearer \(scene.server.names["bob.device"] ?? "")"]
        let other = await scene.post("change-password", Self.change(), headers: bobs)
        #expect(other.status == 400 && other.json?["reason"]?.text == "the token is of another account")
        #expect(await scene.post("change-password", Self.change(), headers: ["Authorization": "Bearer wrong"]).status == 401)
        #expect(await scene.post("change-password", Self.change(next: "short")).status == 400)
        #expect(await scene.post("change-password", Self.change(next: String(repeating: "p", count: 1025))).status == 400)
        #expect(await scene.deviceStatus() == 200)
        #expect(await scene.signIn(Self.old).status == 200)
    }

    @Test func `a code of an administrator's sets a new password once, and ends all sessions and devices`() async throws {
        let scene = try await AdministeredServer()
        let code = try await code(scene)
        #expect(code.count == 32 && !scene.server.log.texts.contains { $0.contains(code) })
        #expect(await scene.signIn(Self.old).status == 200, "a code alone changes nothing")
        #expect(await scene.deviceStatus() == 200)
        let reset = await scene.post("reset-password", Self.reset(code))
        #expect(reset.status == 200 && reset.json?["count"] == .number(7), "\(reset.text)")
        #expect(await scene.deviceStatus() == 401)
        #expect(await scene.sessionStatus() == 421)
        #expect(await scene.signIn(Self.old).status == 401)
        #expect(await scene.signIn(Self.next).status == 200)
        expectRefused(await scene.post("reset-password", Self.reset(code, next: "thieves' horse")), "again")
        #expect(await scene.signIn(Self.next).status == 200)
    }

    @Test func `what opens nothing is refused in one way, known address or not`() async throws {
        let scene = try await AdministeredServer()
        let first = try await code(scene)
        let second = try await code(scene)
        expectRefused(await scene.post("reset-password", Self.reset(first)), "replaced")
        expectRefused(await scene.post("reset-password", Self.reset(second, email: "bob@example.com")), "another's")
        expectRefused(await scene.post("reset-password", Self.reset(second, email: "eve@example.com")), "unknown")
        expectRefused(await scene.post("reset-password", Self.reset("")), "empty")
        expectRefused(await scene.post("reset-password", Self.reset(second.uppercased() + " ")), "misspelt")
        #expect(await scene.post("reset-password", Self.reset(second, next: "short")).json?["reason"]?.text == "password is too short")
        scene.server.clock.advance(3600)
        expectRefused(await scene.post("reset-password", Self.reset(second)), "too old")
        let third = try await code(scene)
        #expect(await scene.post("change-password", Self.change()).status == 200)
        expectRefused(await scene.post("reset-password", Self.reset(third)), "after a change of the password")
        let unknown = await scene.administrate("POST", "/admin/1/users/reset-password", #"{"email":"eve@example.com"}"#)
        #expect(unknown.status == 404 && unknown.json?["field"]?.text == "email")
    }

    @Test func `of many that use one code at once, one sets the password`() async throws {
        let scene = try await AdministeredServer()
        let code = try await code(scene)
        let statuses = await withTaskGroup(of: Int.self) { group in
            for number in 0..<4 { group.addTask { await scene.post("reset-password", Self.reset(code, next: "horse number \(number)")).status } }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
    }

    @Test func `who guesses codes is paused as one who guesses passwords, and hears the same of an unknown address`() async throws {
        for email in ["ada@example.com", "eve@example.com"] {
            let scene = try await AdministeredServer()
            for _ in 0..<Limits.wrongPasswordsPerAccount { expectRefused(await scene.post("reset-password", Self.reset("00", email: email))) }
            let paused = await scene.post("reset-password", Self.reset("00", email: email))
            #expect(paused.status == 429 && paused.header("Retry-After") == "1")
            #expect(await scene.signIn(email: email).status == 429)
        }
    }
}
