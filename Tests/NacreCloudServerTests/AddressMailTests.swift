import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of addresses that are verified by a link in a mail, with an SMTP server of the tests.
@Suite(.timeLimit(.minutes(5))) struct AddressMailTests {
    private static let signUp = #"{"email":"eve@example.com","password":"correct horse battery"}"#

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

    private func ask(_ server: TestServer, _ path: String, _ body: String) async -> Answer {
        await server.respond(Question(method: "POST", target: "/account/1/\(path)", body: Array(body.utf8)))
    }

    /// Returns the state of the account's address.
    private func state(_ server: TestServer, _ email: String, sends: Bool = false) async -> Answer {
        await ask(server, "verify-email", #"{"email":"\#(email)","password":"\#(TestServer.password)","sends":\#(sends)}"#)
    }

    private func isVerified(_ server: TestServer, _ email: String) async throws -> Bool {
        let answer = await state(server, email)
        let account = try #require(try await server.cloud.registry.account(email: email))
        #expect(answer.status == 200 && answer.json?["isVerified"] == .bool(account.isEmailVerified) && answer.json?["isSent"] == .bool(false))
        return account.isEmailVerified
    }

    @Test func `who signs up verifies the address by a link that asks first, and as often as it likes`() async throws {
        try await withMail { server, sink, browser in
            #expect(await ask(server, "sign-up", Self.signUp).status == 200)
            #expect(try await isVerified(server, "eve@example.com") == false)
            try await deliver(server)
            let mail = try #require(sink.mails.first)
            #expect(sink.mails.count == 1 && mail.to == "<eve@example.com>" && mail.text.contains("Subject: Is this your address at cloud.example?"))
            #expect(mail.text.matches(of: /https?:\/\//).count == 1 && mail.text.contains("https://cloud.example/verify-address?link="))
            let link = try #require(mail.link)
            // A mail scanner opens the link, many times.
            for _ in 0..<3 {
                let page = await browser.go("/verify-address" + link)
                #expect(page.status == 200 && page.text.contains("eve@example.com") && page.text.contains("It is my account"))
            }
            #expect(try await isVerified(server, "eve@example.com") == false)
            let form = browser
            // A reader of the mail who has not made the account cannot verify it for another user.
            for wrong in [[:], ["password": "a wrong one"]] as [[String: String]] {
                browser = form
                let refused = await browser.post(browser.hidden.merging(wrong) { $1 }, path: "/verify-address")
                #expect(refused.status == 401 && refused.text.contains("It is my account"))
                #expect(try await isVerified(server, "eve@example.com") == false)
            }
            for _ in 0..<2 {
                browser = form
                let done = await browser.post(browser.hidden.merging(["password": TestServer.password]) { $1 }, path: "/verify-address")
                #expect(done.status == 200 && done.text.contains("The address is verified"))
                #expect(try await isVerified(server, "eve@example.com"))
            }
            #expect(!server.log.texts.contains { $0.contains("eve@example.com") || $0.contains(link) })
            // The address is verified: no other mail is sent.
            #expect(await state(server, "eve@example.com", sends: true).json?["isSent"] == .bool(false))
            try await deliver(server)
            #expect(sink.mails.count == 1)
        }
    }

    @Test func `a share for an address that is not verified leads to the mail, and the mail to the share`() async throws {
        try await withMail { server, sink, browser in
            try await server.ask("ada", "private/zones/modify", Body.zones("create", "Trip"))
            let invited =
                #"{"type":"USER","permission":"READ_ONLY","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"emailAddress":"eve@example.com"}}}"#
            let shared = try await server.ask(
                "ada", "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","#
                    + #""participants":[\#(invited)]}}],"zoneID":{"zoneName":"Trip"}}"#)
            let guid = try #require(shared.at("records[0].shortGUID")?.text)
            _ = try await server.cloud.registry.createAccount(
                email: "eve@example.com", passwordHash: try await PasswordHasher(cost: .least).hash(TestServer.password))
            await browser.go("/sign-in?share=\(guid)")
            let refused = await browser.signIn("eve@example.com")
            #expect(refused.status == 403 && refused.text.contains("Send me the mail") && !refused.text.contains("people who run it"))
            let form = browser.hidden
            #expect(await browser.send(["step": "mail"]).text.contains("Look into your mail"))
            try await deliver(server)
            let link = try #require(sink.mails.first?.link)
            await browser.go("/verify-address" + link)
            let done = await browser.post(browser.hidden.merging(["password": TestServer.password]) { $1 }, path: "/verify-address")
            #expect(done.text.contains("The address is verified"))
            let sent = sink.mails.count
            #expect(await browser.post(form.merging(["step": "mail"]) { $1 }).text.contains("Your address is confirmed"))
            try await deliver(server)
            #expect(sink.mails.count == sent, "a verified address needs no mail")
            await browser.go("/sign-in?share=\(guid)")
            #expect(await browser.signIn("eve@example.com").text.contains("Accept"))
        }
    }

    @Test func `another address is not verified, and gets a link of its own`() async throws {
        try await withMail { server, sink, browser in
            _ = await ask(server, "sign-up", Self.signUp)
            try await deliver(server)
            let first = try #require(sink.mails.first?.link)
            await browser.go("/verify-address" + first)
            let form = browser
            let change = Self.signUp.dropLast() + #","newEmail":"eva@example.com"}"#
            #expect(await ask(server, "change-email", String(change)).status == 200)
            // The link of the address that the account has left.
            let late = await browser.post(form.hidden, path: "/verify-address")
            #expect(late.status == 401 && late.text.contains("This link is over"))
            #expect(try await isVerified(server, "eva@example.com") == false)
            try await deliver(server)
            let mail = try #require(sink.mails.last { $0.to == "<eva@example.com>" })
            await browser.go("/verify-address" + (mail.link ?? ""))
            #expect(await browser.post(browser.hidden.merging(["password": TestServer.password]) { $1 }, path: "/verify-address").status == 200)
            #expect(try await isVerified(server, "eva@example.com"))
            // Back to the first address: its earlier verification is void.
            let back = Self.signUp.replacing("eve@", with: "eva@").dropLast() + #","newEmail":"eve@example.com"}"#
            #expect(await ask(server, "change-email", String(back)).status == 200)
            #expect(try await isVerified(server, "eve@example.com") == false)
        }
    }

    @Test func `sign-up of an address that is taken leaves as much as one that is free, and tells nobody`() async throws {
        try await withMail { server, sink, browser in
            func signUp(_ email: String) async throws -> (Answer, waiting: Int) {
                let answer = await ask(server, "sign-up", Self.signUp.replacing("eve@example.com", with: email))
                return (answer, try await server.cloud.listTasks(after: nil).tasks.count { $0.task.key.kind == .sendLetter })
            }
            let (free, one) = try await signUp("eve@example.com")
            let (taken, two) = try await signUp("ada@example.com")
            #expect(free.status == taken.status && free.text.replacing("eve", with: "ada") == taken.text && one == 1 && two == 2)
            let ada = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
            #expect(try await server.cloud.registry.verifyEmail("ada@example.com", of: ada.id))
            try await deliver(server)
            // Ada's address was verified meanwhile, so she gets no mail.
            #expect(sink.mails.map(\.to) == ["<eve@example.com>"])
        }
    }

    @Test func `a link is over after a day and with the account, and no other seal opens`() async throws {
        try await withMail { server, sink, browser in
            let ada = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
            #expect(await state(server, "ada@example.com", sends: true).json?["isSent"] == .bool(true))
            await browser.open()
            await browser.post(["email": "ada@example.com"], path: "/forgotten-password")
            try await deliver(server)
            let verifies = try #require(sink.mails.first { $0.text.contains("verify-address") }?.link)
            let resets = try #require(sink.mails.first { $0.text.contains("new-password") }?.link)
            // Neither link works for the other purpose.
            #expect(await browser.go("/verify-address" + resets).status == 401)
            await browser.go("/new-password" + verifies)
            #expect(await browser.post(browser.hidden.merging(["password": "another horse"]) { $1 }, path: "/new-password").status == 401)
            for text in ["", "AAAA", server.names["ada"] ?? "", server.names["ada.device"] ?? ""] {
                #expect(await browser.post(["link": text], path: "/verify-address").status == 401, "\(text)")
            }
            await browser.go("/verify-address" + verifies)
            let form = browser
            // A form of another page does nothing.
            #expect(await browser.post(form.hidden, path: "/verify-address", headers: ["Origin": "https://evil.example"]).status == 403)
            #expect(await browser.post(form.hidden, path: "/verify-address", headers: ["Sec-Fetch-Site": "cross-site"]).status == 403)
            try await server.cloud.registry.deleteAccount(ada)
            #expect(await browser.post(form.hidden, path: "/verify-address").status == 401)
            server.clock.advance(Limits.addressLinkSeconds)
            #expect(await browser.go("/verify-address" + verifies).status == 401)
        }
    }

    @Test func `mails to an address are counted, whichever they are, and sign-up goes on without`() async throws {
        try await withMail { server, sink, browser in
            for _ in 0..<Limits.wrongPasswordsPerAccount {
                #expect(await state(server, "ada@example.com", sends: true).status == 200)
            }
            let paused = await state(server, "ada@example.com", sends: true)
            #expect(paused.status == 429 && paused.json?["retryAfter"] != nil)
            await browser.open()
            #expect(await browser.post(["email": "ada@example.com"], path: "/forgotten-password").status == 429)
            #expect(await ask(server, "sign-up", Self.signUp.replacing("eve@example.com", with: "ada@example.com")).status == 200)
            try await deliver(server)
            // Together they wait as one mail.
            #expect(sink.mails.count == 1)
        }
    }

    @Test func `without mail an account still tells, and a link is asked for in vain`() async throws {
        let server = try await TestServer(opensSignUp: true)
        #expect(await ask(server, "sign-up", Self.signUp).status == 200)
        #expect(try await isVerified(server, "eve@example.com") == false)
        let asked = await state(server, "eve@example.com", sends: true)
        #expect(asked.status == 400 && asked.json?["reason"]?.text == "this server sends no mail")
        #expect(await server.respond(Question(method: "GET", target: "/verify-address?link=AAAA")).status == 404)
        let stranger = #"{"email":"eve@example.com","password":"a wrong one"}"#
        let known = await ask(server, "verify-email", stranger)
        let unknown = await ask(server, "verify-email", stranger.replacing("eve", with: "nobody"))
        #expect(known.status == 401 && unknown.status == 401 && known.json?["reason"] == unknown.json?["reason"])
    }
}
