import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import NacreHTTPClient
import Testing

@testable import NacreCloudServer

/// Tests of a forgotten password with a link in a mail, with an SMTP server of the tests.
@Suite(.timeLimit(.minutes(5))) struct MailTests {
    /// Runs a server at `https://cloud.example` that sends mail, with the receiving SMTP server.
    private func withMail(_ body: (TestServer, MailSink, inout TestBrowser) async throws -> Void)
        async throws
    {
        let sink = try MailSink()
        defer { sink.close() }
        let mail = try #require(
            MailConfiguration(
                url: "smtp://127.0.0.1:\(sink.port)", password: nil, from: "nacre@cloud.example"))
        let server = try await TestServer(publicURL: "https://cloud.example", mail: mail)
        var browser = TestBrowser(server, host: "cloud.example", scheme: "https")
        try await body(server, sink, &browser)
    }

    @Test func `an administrator tries the mail server, once a minute, and hears what it says`() async throws {
        let sink = try MailSink()
        defer { sink.close() }
        let mail = try #require(MailConfiguration(url: "smtp://127.0.0.1:\(sink.port)", password: nil, from: "nacre@cloud.example"))
        let scene = try await AdministeredServer(mail: mail)
        let shown = await scene.administrate("GET", "/admin/1/mail").json
        #expect(shown?["from"]?.text == "nacre@cloud.example" && shown?["server"]?.text == "smtp://127.0.0.1:\(sink.port)")
        let (path, asked) = ("/admin/1/mail/test", #"{"to":"ops@example.com"}"#)
        #expect(await scene.administrate("POST", path, #"{"to":"ops"}"#).json?["field"]?.text == "to")
        let sent = await scene.administrate("POST", path, asked)
        #expect(sent.status == 200 && sent.json?["isTaken"] == .bool(true), "\(sent.text)")
        #expect(sink.mails.map(\.to) == ["<ops@example.com>"])
        let again = await scene.administrate("POST", path, asked)
        #expect(again.status == 429 && again.header("Retry-After") == "60" && sink.mails.count == 1)
        scene.server.clock.advance(MailTrials.pauseSeconds)
        #expect(await scene.administrate("POST", path, asked).status == 200)
        #expect(await scene.administrate("GET", "/admin/1/audit").json?.at("entries[0].subject.to")?.text == "ops@example.com")
        let silent = try await AdministeredServer()
        #expect(await silent.administrate("GET", "/admin/1/mail").json?["from"] == nil)
        #expect(await silent.administrate("POST", path, asked).status == 400)
    }

    private func waiting(_ server: TestServer) async throws -> Int {
        try await server.cloud.listTasks(after: nil).tasks.count { $0.task.key.kind == .sendLetter }
    }

    private func deliver(_ server: TestServer) async throws {
        while try await server.cloud.runDueTasks().taken > 0 {}
    }

    @Test
    func
        `who has forgotten the password sets another one by a link, once, and is signed out everywhere`()
        async throws
    {
        try await withMail { server, sink, browser in
            #expect(await browser.open().text.contains("href=\"forgotten-password\""))
            #expect(await browser.go("/forgotten-password").text.contains("Send the mail"))
            let sent = await browser.post(["email": "ADA@example.com"], path: "/forgotten-password")
            #expect(sent.status == 200 && sent.text.contains("If there is an account"))
            #expect(sink.mails.isEmpty)
            try await deliver(server)
            let mail = try #require(sink.mails.first)
            #expect(
                sink.mails.count == 1 && mail.to == "<ada@example.com>"
                    && mail.from.hasPrefix("<nacre@cloud.example>"))
            #expect(
                mail.text.contains("Subject: A new password for cloud.example")
                    && mail.text.contains("https://cloud.example/new-password?link="))
            #expect(
                mail.text.matches(of: /https?:\/\//).count == 1 && mail.text.contains("text/plain")
                    && !mail.text.contains("<html"))
            #expect(mail.text.contains("Date: Sat, 09 May 2026 06:13:20 +0000\n"))
            let link = try #require(mail.link)
            // A mail scanner opens the link, many times.
            for _ in 0..<3 {
                #expect(await browser.go("/new-password" + link).text.contains("Set the password"))
            }
            #expect(
                try await server.cloud.registry.signIns(
                    of: server.names["ada.account"] ?? "", in: nil, after: nil
                ).page.isEmpty == false)
            let form = browser
            let short = await browser.post(
                browser.hidden.merging(["password": "short"]) { $1 }, path: "/new-password")
            #expect(short.status == 400 && short.text.contains("Take at least 8 characters"))
            browser = form
            let done = await browser.post(
                browser.hidden.merging(["password": "another horse"]) { $1 }, path: "/new-password")
            #expect(done.status == 200 && done.text.contains("The password is set"))
            #expect(
                try await server.cloud.registry.signIns(
                    of: server.names["ada.account"] ?? "", in: nil, after: nil
                ).page.isEmpty)
            let again = await browser.post(
                form.hidden.merging(["password": "a third horse"]) { $1 }, path: "/new-password")
            #expect(again.status == 401 && again.text.contains("This link is over"))
            await browser.open()
            #expect(
                await browser.signIn("ada@example.com", "another horse").text.contains(
                    "Allow access?"))
            #expect(
                !server.log.texts.contains { $0.contains("ada@example.com") || $0.contains(link) })
        }
    }

    @Test
    func `an address without an account gets no mail, and the same answer after the same work`()
        async throws
    {
        try await withMail { server, sink, browser in
            await browser.open()
            let known = await browser.post(
                ["email": "ada@example.com"], path: "/forgotten-password")
            let unknown = await browser.post(
                ["email": "eve@example.com"], path: "/forgotten-password")
            let nonce = /nonce="?-?[^" ]*"?/
            #expect(
                known.status == unknown.status
                    && known.text.replacing(nonce, with: "")
                        == unknown.text.replacing(nonce, with: "")
            )
            let count = try await waiting(server)
            #expect(count == 2)
            try await deliver(server)
            #expect(sink.mails.map(\.to) == ["<ada@example.com>"])
            let left = try await waiting(server)
            #expect(left == 0)
        }
    }

    @Test func `a link is over after half an hour, with another password and with the account`()
        async throws
    {
        let ends: [@Sendable (TestServer, AccountEntry) async throws -> Void] = [
            { server, _ in server.clock.advance(Limits.passwordLinkSeconds) },
            { server, ada in
                _ = try await server.cloud.registry.changePassword(of: ada, to: "another")
            },
            { server, ada in try await server.cloud.registry.deleteAccount(ada) },
        ]
        for end in ends {
            try await withMail { server, sink, browser in
                await browser.open()
                await browser.post(["email": "ada@example.com"], path: "/forgotten-password")
                try await deliver(server)
                await browser.go("/new-password" + (sink.mails.first?.link ?? ""))
                let ada = try #require(
                    try await server.cloud.registry.account(email: "ada@example.com"))
                try await end(server, ada)
                let answer = await browser.post(
                    browser.hidden.merging(["password": "another horse"]) { $1 },
                    path: "/new-password")
                #expect(answer.status == 401 && answer.text.contains("This link is over"))
            }
        }
    }

    @Test func `forms of other pages and links that are none do nothing`() async throws {
        try await withMail { server, sink, browser in
            await browser.open()
            for path in ["/forgotten-password", "/new-password"] {
                let answer = await browser.post(
                    ["email": "ada@example.com", "link": "AAAA", "password": "another horse"],
                    path: path,
                    headers: ["Origin": "https://evil.example"])
                #expect(answer.status == 403, "\(path)")
            }
            for link in ["", "AAAA", browser.hidden["flow"] ?? ""] {
                #expect(
                    await browser.post(
                        ["link": link, "password": "another horse"], path: "/new-password"
                    ).status == 401)
            }
            let left = try await waiting(server)
            #expect(left == 0)
        }
    }

    @Test func `mails to one address are paused as guesses are`() async throws {
        try await withMail { server, sink, browser in
            await browser.open()
            for _ in 0..<Limits.wrongPasswordsPerAccount {
                #expect(
                    await browser.post(["email": "ada@example.com"], path: "/forgotten-password")
                        .status == 200)
            }
            let paused = await browser.post(
                ["email": "ada@example.com"], path: "/forgotten-password")
            #expect(paused.status == 429 && paused.header("Retry-After") == "1")
            // Together they wait as one.
            let left = try await waiting(server)
            #expect(left == 1)
            #expect(await browser.signIn().status != 429)
        }
    }

    @Test func `a mail that is not taken is tried again, and not when its link would be over`()
        async throws
    {
        try await withMail { server, sink, browser in
            sink.answer("451 later")
            await browser.open()
            await browser.post(["email": "ada@example.com"], path: "/forgotten-password")
            let round = try await server.cloud.runDueTasks()
            #expect(round.taken == 1 && round.failed == 1 && sink.attempts == 1)
            #expect(round.failures.allSatisfy { !$0.task.key.text.contains("ada") })
            try await deliver(server)
            #expect(sink.attempts == 1)
            server.clock.advance(2)
            sink.answer("250 taken")
            try await deliver(server)
            #expect(sink.mails.count == 1)
            sink.answer("451 later")
            await browser.post(["email": "bob@example.com"], path: "/forgotten-password")
            _ = try await server.cloud.runDueTasks()
            server.clock.advance(Limits.passwordLinkSeconds)
            sink.answer("250 taken")
            try await deliver(server)
            #expect(sink.mails.count == 1)
            let left = try await waiting(server)
            #expect(left == 0)
        }
    }

    @Test func `the address that an account has left hears of it, without a link`() async throws {
        try await withMail { server, sink, browser in
            let body =
                #"{"email":"ada@example.com","password":"\#(TestServer.password)","newEmail":"lovelace@example.com"}"#
            let answer = await server.respond(
                Question(method: "POST", target: "/account/1/change-email", body: Array(body.utf8)))
            #expect(answer.status == 200)
            try await deliver(server)
            let mail = try #require(sink.mails.first)
            #expect(
                mail.to == "<ada@example.com>" && mail.text.contains("was changed")
                    && !mail.text.contains("http"))
            #expect(!mail.text.contains("lovelace"))
        }
    }

    @Test func `without mail the page says whom to ask, and there are no links`() async throws {
        var browser = TestBrowser(try await TestServer())
        let form = await browser.open()
        #expect(
            !form.text.contains("forgotten-password")
                && form.text.contains("Forgotten your password? Ask the people who run this server."))
        #expect(await browser.go("/forgotten-password").status == 404)
        #expect(await browser.go("/verify-address").status == 404)
    }

    @Test(arguments: [
        ("smtp://mail.example:587", true), ("smtp://me@mail.example", true),
        ("smtps://me@mail.example:465", true), ("smtp://[::1]:25", true),
        ("http://mail.example", false), ("smtp://me:secret@mail.example", false),
        ("mail.example", false), ("smtp://", false),
        ("smtp://mail.example/ x", false),
    ])
    func `an SMTP server is a URL without a password`(_ url: String, _ isTaken: Bool) {
        #expect((MailConfiguration(url: url, password: nil, from: "a@b.example") != nil) == isTaken)
        #expect(MailConfiguration(url: url, password: nil, from: "a b@b.example") == nil)
    }

    @Test func `nothing is said to an SMTP server in the clear, unless it is on this machine`() async throws {
        for (url, wantsTLS) in [
            ("smtp://mail.example", true), ("smtp://127.0.0.1.example", true), ("smtp://192.0.2.1", true), ("smtp://localhost:25", false),
            ("smtp://127.0.0.1", false), ("smtp://[::1]:25", false),
        ] {
            #expect(MailConfiguration(url: url, password: nil, from: "a@b.example")?.wantsTLS == wantsTLS, "\(url)")
        }
        // This SMTP server does not support TLS.
        let sink = try MailSink()
        defer { sink.close() }
        for (wantsTLS, count) in [(true, 0), (false, 1)] {
            let client = MailClient(.init(url: "smtp://127.0.0.1:\(sink.port)", user: nil, password: nil, wantsTLS: wantsTLS, seconds: 30))
            let isTaken = (try? await client.send(from: "a@b.example", to: "c@d.example", text: "Subject: x\r\n\r\ny\r\n")) != nil
            #expect(isTaken != wantsTLS && sink.mails.count == count)
        }
    }

    @Test func `mail goes to plain addresses alone`() {
        for (address, isMailable) in [
            ("ada@example.com", true), ("ada+x@example.com", true), ("a>b@example.com", false),
            ("<a@example.com", false), ("\"a\"@example.com", false),
            ("a@[127.0.0.1]", false), ("a,b@example.com", false), ("-a@example.com", false),
            ("a@-example.com", false), ("a@b@c", false),
            ("a@example.com;x", false), ("a%b@example.com", true),
            (String(repeating: "a", count: 65) + "@example.com", false),
        ] { #expect(Letter.isMailable(address) == isMailable, "\(address)") }
    }
}
