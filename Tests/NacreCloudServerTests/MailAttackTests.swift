import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of attacks that want the server to send false mails, mails to others, or mails without end.
@Suite(.timeLimit(.minutes(5))) struct MailAttackTests {
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

    private func signUp(_ server: TestServer, _ email: String, name: String = "Eve", headers: [String: String] = [:]) async throws -> Answer {
        let members = ["email": email, "password": TestServer.password, "givenName": name]
        return await server.respond(
            Question(method: "POST", target: "/account/1/sign-up", headers: headers, body: Array(try JSONEncoder().encode(members))))
    }

    @Test func `an address that would write lines of its own is none, and gets no mail`() async throws {
        try await withMail { server, sink, browser in
            for email in [
                "eve@example.com\r\nBcc: all@example.com", "eve@example.com\nDATA", "eve\r@example.com", "eve@example.com\0",
                "eve@example.com>\r\nRCPT TO:<x@y.z",
                "eve @example.com", "eve@example.com\u{2028}Bcc: x@y.z", "êve@example.com", "eve@exámple.com", "@example.com", "eve@",
                "a@b@example.com",
            ] {
                #expect(try await signUp(server, email).status == 400, "\(email.debugDescription)")
                let asked = await browser.post(["email": email], path: "/forgotten-password")
                #expect(asked.status == 400 || asked.status == 403, "\(email.debugDescription) \(asked.status)")
            }
            try await deliver(server)
            #expect(sink.attempts == 0)
        }
    }

    @Test func `an address that servers read in two ways may sign up, and gets no mail`() async throws {
        try await withMail { server, sink, browser in
            let twofold = [
                "a,b@example.com", "<eve@example.com", "eve>@example.com", "\"a\"@example.com", "eve@[127.0.0.1]", "eve;x@example.com",
                "(c)eve@example.com",
            ]
            for email in twofold {
                #expect(try await signUp(server, email).status == 200, "\(email)")
                await browser.open()
                #expect(await browser.post(["email": email], path: "/forgotten-password").status == 200)
            }
            try await deliver(server)
            #expect(sink.attempts == 0)
            let asked = #"{"email":"a,b@example.com","password":"\#(TestServer.password)","sends":true}"#
            let answer = await server.respond(Question(method: "POST", target: "/account/1/verify-email", body: Array(asked.utf8)))
            #expect(answer.status == 400 && answer.json?["reason"]?.text == "mail is not sent to such an address", "\(answer.text)")
        }
    }

    @Test func `a mail holds what the server writes, and nothing that its asker chose but the address`() async throws {
        try await withMail { server, sink, browser in
            #expect(try await signUp(server, "eve@example.com", name: "A\r\nBcc: all@example.com").status == 400)
            let lies = ["X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "X-Forwarded-Proto": "http"]
            #expect(try await signUp(server, "eve@example.com", name: "<b>Win $1000</b> https://evil.example", headers: lies).status == 200)
            await browser.open()
            #expect(await browser.post(["email": "eve@example.com"], path: "/forgotten-password", headers: lies).status == 200)
            // A request with a foreign host is refused, so no mail names it.
            let foreign = await browser.post(["email": "eve@example.com"], path: "/forgotten-password", headers: ["Host": "evil.example"])
            #expect(foreign.status == 403)
            try await deliver(server)
            #expect(sink.mails.count == 2)
            for mail in sink.mails {
                // The seals of links have letters and digits: a word of letters alone may stand in one by chance.
                #expect(mail.to == "<eve@example.com>" && !mail.text.contains("evil.example") && !mail.text.contains("$1000"))
                #expect(mail.text.contains("https://cloud.example/"))
                let head = mail.text.components(separatedBy: "\n\n")[0].split(separator: "\n").map { $0.prefix { $0 != ":" } }
                #expect(
                    head == [
                        "From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Auto-Submitted",
                    ])
                #expect(mail.text.split(separator: "\n").allSatisfy { $0.utf8.count < 998 })
            }
        }
    }

    @Test func `whoever asks for mails to many addresses is paused, and where many wait no more are taken`() async throws {
        try await withMail { server, sink, browser in
            await browser.open()
            let form = browser
            var paused: Answer?
            for number in 0...Limits.wrongPasswordsPerAddress {
                browser = form
                let answer = await browser.post(["email": "eve\(number)@example.com"], path: "/forgotten-password")
                if answer.status != 200 {
                    paused = answer
                    #expect(number >= Limits.wrongPasswordsPerAddress, "\(number)")
                    break
                }
            }
            #expect(paused?.status == 429 && paused?.header("Retry-After") != nil)
            try await deliver(server)
            #expect(sink.attempts == 0)
            // Other users have filled the outbox.
            for number in 0..<Limits.lettersWaiting {
                try await server.cloud.registry.post(Letter(.newPassword, to: "x\(number)@example.com", at: server.clock.now))
            }
            server.clock.advance(3600)
            browser = form
            let full = await browser.post(["email": "ada@example.com"], path: "/forgotten-password")
            #expect(full.status == 503 && full.header("Retry-After") != nil)
            // Sign-up goes on, without a mail.
            #expect(try await signUp(server, "eve@example.com").status == 200)
        }
    }

    @Test func `a link that is guessed, cut or changed anywhere opens nothing`() async throws {
        try await withMail { server, sink, browser in
            #expect(try await signUp(server, "eve@example.com").status == 200)
            await browser.open()
            await browser.post(["email": "eve@example.com"], path: "/forgotten-password")
            try await deliver(server)
            for (path, fields) in [("/verify-address", [:]), ("/new-password", ["password": "another horse"])] {
                let mail = try #require(sink.mails.first { $0.text.contains(path) })
                let text = try #require(mail.link?.dropFirst("?link=".count).removingPercentEncoding)
                let bytes = Array(text.utf8)
                for index in stride(from: 0, to: bytes.count, by: 7) {
                    var changed = bytes
                    changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                    let link = String(decoding: changed, as: UTF8.self)
                    let answer = await browser.post(fields.merging(["link": link]) { $1 }, path: path)
                    #expect(answer.status == 401, "\(path) \(index)")
                    #expect(await browser.post(fields.merging(["link": String(text.prefix(index))]) { $1 }, path: path).status == 401)
                }
            }
            let eve = try #require(try await server.cloud.registry.account(email: "eve@example.com"))
            #expect(!eve.isEmailVerified)
            await browser.open()
            #expect(await browser.signIn("eve@example.com", TestServer.password).text.contains("Allow access?"))
        }
    }
}
