import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of accounts that an attacker has prepared or taken, and that their owners recover by mail or by a code.
@Suite(.timeLimit(.minutes(5))) struct RecoveryTests {
    private func withMail(_ body: (TestServer, MailSink, inout TestBrowser) async throws -> Void) async throws {
        let sink = try MailSink()
        defer { sink.close() }
        let mail = try #require(MailConfiguration(url: "smtp://127.0.0.1:\(sink.port)", password: nil, from: "nacre@cloud.example"))
        let server = try await TestServer(opensSignUp: true, publicURL: "https://cloud.example", mail: mail)
        var browser = TestBrowser(server, host: "cloud.example", scheme: "https")
        try await body(server, sink, &browser)
    }

    private func deliver(_ server: TestServer) async throws {
        while try await server.cloud.runDueTasks().taken > 0 {}
    }

    private func ask(_ server: TestServer, _ path: String, _ members: [String: String]) async throws -> Answer {
        await server.respond(Question(method: "POST", target: "/account/1/\(path)", body: Array(try JSONEncoder().encode(members))))
    }

    private func account(_ server: TestServer, _ email: String) async throws -> AccountEntry {
        try #require(try await server.cloud.registry.account(email: email))
    }

    /// Signs a device of the account in with its password.
    private func addDevice(_ server: TestServer, _ email: String, name: String) async throws -> Answer {
        try await ask(
            server, "sign-in",
            [
                "email": email, "password": TestServer.password, "apiToken": server.names["api"] ?? "", "container": TestServer.container,
                "environment": "development", "kind": "account", "device": name,
            ])
    }

    private func authenticator() throws -> TestAuthenticator {
        var authenticator = try TestAuthenticator()
        (authenticator.host, authenticator.origin) = ("cloud.example", "https://cloud.example")
        return authenticator
    }

    /// Opens the link in the last mail for a new password, and returns the page.
    private func openLink(_ server: TestServer, _ sink: MailSink, _ email: String, _ browser: inout TestBrowser) async throws -> Answer {
        await browser.open()
        await browser.post(["email": email], path: "/forgotten-password")
        try await deliver(server)
        let mail = try #require(sink.mails.last { $0.text.contains("/new-password?link=") })
        return await browser.go("/new-password" + (mail.link ?? ""))
    }

    private func ways(_ server: TestServer, _ email: String) async throws -> WaysIn {
        try await server.cloud.registry.waysIn(of: try await account(server, email).id)
    }

    @Test func `an account that somebody prepared with another's address is the owner's alone once it is got back`() async throws {
        try await withMail { server, sink, browser in
            let email = "carol@example.com"
            #expect(try await ask(server, "sign-up", ["email": email, "password": TestServer.password]).status == 200)
            var attacker = TestBrowser(server, host: "cloud.example", scheme: "https")
            var passkey = try authenticator()
            passkey.user = try await account(server, email).id
            await attacker.open()
            await attacker.signIn(email)
            await attacker.send(["step": "passkeys"])
            #expect(await attacker.send(try passkey.creation(attacker.challenge)).status == 200)
            let device = try await addDevice(server, email, name: "attacker's")
            let bearer = ["Authorization": "Bearer \(device.json?["token"]?.text ?? "?")"]
            func isLetIn() async -> Bool {
                let target = "/database/1/\(TestServer.container)/development/private/users/caller"
                return await server.respond(Question(method: "GET", target: target, headers: bearer)).status == 200
            }
            #expect(await isLetIn())
            var entry = try await account(server, email)
            try await server.cloud.registry.sendPhoneCode(to: "+493012345", of: entry)
            entry = try await account(server, email)
            _ = try await server.cloud.registry.confirmPhone("+493012345", code: entry.phoneDigits ?? "", of: entry)
            // The owner's page.
            let page = try await openLink(server, sink, email, &browser)
            #expect(page.text.contains("attacker&#39;s") && page.text.contains("The passkey") && page.text.contains("A phone number"))
            #expect(!page.text.contains("name=\"keep\""), "nothing of it can stay")
            let id = try #require(try await ways(server, email).passkeys.first).id
            let fields = ["password": "another horse", "keep": "passkey \(id)"]
            let done = await browser.post(browser.hidden.merging(fields) { $1 }, path: "/new-password")
            #expect(done.status == 200)
            #expect(try await ways(server, email).isEmpty)
            let kept = try await account(server, email)
            #expect(kept.phone == nil && kept.isEmailVerified)
            #expect(await !isLetIn())
            await attacker.open()
            #expect(await attacker.send(try passkey.assertion(attacker.challenge)).status == 401)
            await browser.open()
            #expect(await browser.signIn(email, "another horse").text.contains("Allow access?"))
        }
    }

    @Test func `getting a verified account back ends all ways in but those that are marked`() async throws {
        try await withMail { server, sink, browser in
            let email = "ada@example.com"
            let ada = try await account(server, email)
            #expect(try await server.cloud.registry.verifyEmail(email, of: ada.id))
            #expect(try await addDevice(server, email, name: "<b>Phone</b>").status == 200)
            let phone = try #require(try await ways(server, email).signIns.first { $0.device == "<b>Phone</b>" })
            let page = try await openLink(server, sink, email, &browser)
            #expect(page.text.contains("&lt;b&gt;Phone&lt;/b&gt;") && page.text.contains("value=\"account \(phone.id)\""))
            #expect(page.text.matches(of: /name="keep"[^>]*checked/).isEmpty)
            await browser.post(browser.hidden.merging(["password": "another horse", "keep": "account \(phone.id)"]) { $1 }, path: "/new-password")
            #expect(try await ways(server, email).signIns.map(\.id) == [phone.id])
        }
    }

    @Test func `an administrator's code ends passkeys too`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        var passkey = try TestAuthenticator()
        #expect(try await browser.add(&passkey).status == 200)
        let code = try ResetCode.make()
        let ada = server.names["ada.account"] ?? ""
        _ = try await server.cloud.registry.openReset(of: ada, digest: ResetCode.digest(code))
        let answer = try await ask(server, "reset-password", ["email": "ada@example.com", "code": code, "newPassword": "another horse"])
        #expect(answer.status == 200)
        #expect(try await server.cloud.registry.waysIn(of: ada).isEmpty)
        await browser.open()
        #expect(await browser.send(try passkey.assertion(browser.challenge)).status == 401)
    }

    @Test func `each new way in is told to the verified address, and to no other`() async throws {
        try await withMail { server, sink, browser in
            let email = "ada@example.com"
            func told(_ expected: [Substring], _ step: () async throws -> Void) async throws {
                let known = sink.mails.count
                try await step()
                try await deliver(server)
                let subjects = sink.mails.dropFirst(known).flatMap { $0.text.matches(of: /Subject: ([^\r\n]*)/).map(\.1) }
                #expect(subjects == expected)
            }
            // The address is not verified.
            try await told([]) { _ = try await addDevice(server, email, name: "Phone") }
            #expect(try await server.cloud.registry.verifyEmail(email, of: try await account(server, email).id))
            try await told(["A new sign-in to your account at cloud.example"]) { _ = try await addDevice(server, email, name: "Tablet") }
            await browser.open()
            await browser.signIn(email, more: ["keep": "1"])
            try await told(["A new sign-in to your account at cloud.example"]) { await browser.send(["step": "allow"]) }
            var passkey = try authenticator()
            passkey.user = try await account(server, email).id
            await browser.open()
            await browser.signIn(email)
            // A session without "keep me signed in" ends by itself.
            let question = browser
            try await told([]) { await browser.send(["step": "allow"]) }
            browser = question
            await browser.open()
            await browser.signIn(email)
            await browser.send(["step": "passkeys"])
            let made = try passkey.creation(browser.challenge)
            try await told(["A new passkey for your account at cloud.example"]) { await browser.send(made) }
            try await told(["Another password for your account at cloud.example"]) {
                let change = ["email": email, "password": TestServer.password, "newPassword": "another horse"]
                let answer = try await ask(server, "change-password", change)
                #expect(answer.status == 200)
            }
            let mail = try #require(sink.mails.last)
            #expect(mail.to == "<ada@example.com>" && mail.text.contains("https://cloud.example/forgotten-password"))
            #expect(mail.text.matches(of: /https?:\/\//).count == 1 && !mail.text.contains("link="))
        }
    }
}
