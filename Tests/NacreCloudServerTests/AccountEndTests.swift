import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of new addresses, and of the end of an account, for users and administrators.
@Suite(.timeLimit(.minutes(5))) struct AccountEndTests {
    private static let password = TestServer.password

    private static func change(_ email: String, password: String = password) -> String {
        #"{"email":"ada@example.com","password":"\#(password)","newEmail":"\#(email)"}"#
    }

    private static func deletion(password: String = password) -> String { #"{"email":"ada@example.com","password":"\#(password)"}"# }

    @Test func `a new address needs the password, and the old one is none from then on`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.post("change-email", Self.change("lovelace@example.com", password: "wrong password")).status == 401)
        let none = await scene.post("change-email", Self.change("lovelace"))
        #expect(none.status == 400 && none.json?["reason"]?.text == "invalid e-mail address")
        let taken = await scene.post("change-email", Self.change("BOB@example.com"))
        #expect(taken.status == 409 && taken.json?["serverErrorCode"]?.text == "EXISTS")
        let changed = await scene.post("change-email", Self.change("Lovelace@example.com"))
        #expect(changed.status == 200 && changed.json?["email"]?.text == "lovelace@example.com", "\(changed.text)")
        #expect(await scene.signIn().status == 401)
        #expect(await scene.signIn(email: "lovelace@example.com").status == 200)
        #expect(await scene.deviceStatus() == 200)
        #expect(await scene.sessionStatus() == 200)
    }

    @Test func `an account is deleted by its password alone, and nothing of it is let in from then on`() async throws {
        let scene = try await AdministeredServer()
        #expect(await scene.post("delete", Self.deletion(password: "wrong password")).status == 401)
        #expect(await scene.deviceStatus() == 200)
        #expect(await scene.sessionStatus() == 200)
        let deleted = await scene.post("delete", Self.deletion())
        #expect(deleted.status == 200 && deleted.json?["email"]?.text == "ada@example.com")
        #expect(await scene.deviceStatus() == 401)
        #expect(await scene.sessionStatus() == 421)
        #expect(await scene.signIn().status == 401)
        #expect(await scene.post("delete", Self.deletion()).status == 401)
        #expect(await scene.post("sessions/list", Self.deletion()).status == 401)
        #expect(await scene.deviceStatus("bob") == 200)
        #expect(!scene.server.log.texts.contains { $0.contains("ada@example.com") })
    }

    @Test func `an administrator lists, shows and deletes accounts`() async throws {
        let scene = try await AdministeredServer()
        let listed = await scene.administrate("GET", "/admin/1/users")
        #expect(listed.json?["users"]?.count == 2 && listed.json?["next"] == nil)
        #expect(listed.text.contains("ada@example.com") && !listed.text.contains("argon") && !listed.text.contains("passwordHash"))
        let shown = await scene.administrate("GET", "/admin/1/users/show?email=ada@example.com")
        #expect(shown.json?["places"]?.count == 2 && shown.json?["sessions"] == .number(4) && shown.json?["devices"] == .number(2), "\(shown.text)")
        #expect(shown.text.contains(scene.server.names["ada.name"] ?? "?") && !shown.text.contains(scene.server.names["bob.name"] ?? "?"))
        let deleted = await scene.administrate("POST", "/admin/1/users/delete", #"{"email":"ada@example.com"}"#)
        #expect(deleted.status == 200)
        #expect(await scene.deviceStatus() == 401)
        #expect(await scene.administrate("GET", "/admin/1/users").text.contains(#""isDeleted":true"#))
        scene.server.clock.advance(Limits.accountDeletionSeconds)
        while try await scene.server.cloud.runDueTasks().taken > 0 {}
        #expect(await scene.administrate("GET", "/admin/1/users").json?["users"]?.count == 1)
        let name = scene.server.names["ada.name"] ?? ""
        let target = DatabaseTarget(container: TestServer.container, environment: .development, scope: .public)
        let found = try await scene.server.cloud.lookupRecords(
            RecordsLookupRequest(records: [.init(recordName: name)]), in: target, by: .administrator)
        #expect(found.records.allSatisfy { if case .record = $0 { false } else { true } })
    }

    @Test func `what an administrator asks in vain is told with the field and what to do`() async throws {
        let scene = try await AdministeredServer()
        for (method, target, body, status, field) in [
            ("GET", "/admin/1/users?after=x", "", 400, "after"), ("GET", "/admin/1/users/show", "", 400, "email"),
            ("GET", "/admin/1/users/show?email=eve@example.com", "", 404, "email"),
            ("POST", "/admin/1/users/delete", #"{"email":"eve@example.com"}"#, 404, "email"),
            ("POST", "/admin/1/users/delete", "{}", 400, "email"),
        ] {
            let answer = await scene.administrate(method, target, body)
            #expect(answer.status == status && answer.json?["field"]?.text == field, "\(target) \(answer.text)")
        }
    }
}
