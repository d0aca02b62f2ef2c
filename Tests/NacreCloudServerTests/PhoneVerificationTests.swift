import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of phone numbers that are verified by a code in a text message, with a text service of the tests.
@Suite(.timeLimit(.minutes(5))) struct PhoneVerificationTests {
    private func withTexts(_ body: (TestServer, PushService) async throws -> Void) async throws {
        let service = try PushService()
        defer { service.close() }
        let texts = try #require(TextConfiguration(url: service.url + "/send?from=nacre", token: "secret-of-the-service"))
        try await body(try await TestServer(publicURL: "https://cloud.example", texts: texts), service)
    }

    private func deliver(_ server: TestServer) async throws {
        while try await server.cloud.runDueTasks().taken > 0 {}
    }

    private func ask(_ server: TestServer, _ path: String, _ more: String, email: String = "ada@example.com") async -> Answer {
        let body = #"{"email":"\#(email)","password":"\#(TestServer.password)"\#(more)}"#
        return await server.respond(Question(method: "POST", target: "/account/1/\(path)", body: Array(body.utf8)))
    }

    private func code(_ seen: PushService.Seen?) throws -> String {
        let body = Data(try #require(seen).body)
        let message = try #require(try JSONSerialization.jsonObject(with: body) as? [String: String])
        return String(try #require(message["text"]?.firstMatch(of: /[0-9]{6}/)).output)
    }

    private static let number = #","phone":"+49 30 1234567""#

    @Test func `a number is the account's once the code that was sent to it is typed`() async throws {
        try await withTexts { server, service in
            #expect(await ask(server, "verify-phone", Self.number).text == #"{"isSent":false,"isVerified":false,"phone":"+49301234567"}"#)
            #expect(await ask(server, "verify-phone", Self.number + #","sends":true"#).json?["isSent"] == .bool(true))
            try await deliver(server)
            let seen = try #require(service.seen.first)
            #expect(service.seen.count == 1 && seen.target == "/send?from=nacre" && seen.headers["Authorization"] == "Bearer secret-of-the-service")
            let message = try #require(try JSONSerialization.jsonObject(with: Data(seen.body)) as? [String: String])
            #expect(message.keys.sorted() == ["text", "to"] && message["to"] == "+49301234567" && message["text"]?.contains("cloud.example") == true)
            let code = try code(seen)
            let wrong = await ask(server, "confirm-phone", Self.number + #","code":"x""#)
            #expect(wrong.status == 401 && wrong.text.contains("this is not the code"))
            #expect(await ask(server, "confirm-phone", Self.number + #","code":"\#(code)""#, email: "bob@example.com").status == 401)
            #expect(await ask(server, "confirm-phone", Self.number + #","code":"\#(code)""#).json?["isVerified"] == .bool(true))
            let again = await ask(server, "verify-phone", Self.number + #","sends":true"#)
            #expect(again.json?["isVerified"] == .bool(true) && again.json?["isSent"] == .bool(false))
            let account = try #require(try await server.cloud.registry.account(email: "ada@example.com"))
            #expect(account.phone == "+49301234567")
            #expect(await ask(server, "remove-phone", "").text == #"{"email":"ada@example.com"}"#)
            #expect(try await server.cloud.registry.account(email: "ada@example.com")?.phone == nil)
            try await deliver(server)
            #expect(service.seen.count == 1)
            #expect(!server.log.texts.contains { $0.contains("1234567") || $0.contains(code) || $0.contains("secret-of") })
        }
    }

    @Test func `a message that is not taken is sent again, and not once its code is over`() async throws {
        try await withTexts { server, service in
            service.answerNext(.init(status: 503), .init(status: 302, headers: ["Location": service.url + "/elsewhere"]))
            #expect(await ask(server, "verify-phone", Self.number + #","sends":true"#).status == 200)
            for sent in 1...3 {
                try await deliver(server)
                #expect(service.seen.count == sent)
                server.clock.advance(120)
            }
            #expect(service.seen.allSatisfy { $0.target == "/send?from=nacre" })
            #expect(try Set(service.seen.map(code)).count == 1)
            service.answerNext(.init(status: 500))
            #expect(await ask(server, "verify-phone", #","phone":"+49 30 7654321","sends":true"#).status == 200)
            try await deliver(server)
            server.clock.advance(Limits.phoneCodeSeconds)
            try await deliver(server)
            #expect(service.seen.count == 4)
        }
    }

    @Test func `what cannot be is told, without a message`() async throws {
        try await withTexts { server, service in
            for phone in ["030 1234567", "", "ada@example.com", "+49 30 12345678901234567"] {
                let answer = await ask(server, "verify-phone", #","phone":"\#(phone)","sends":true"#)
                #expect(answer.status == 400 && answer.text.contains("code of its country") && answer.text.contains("phone"), "\(answer.text)")
            }
            let over = await ask(server, "confirm-phone", Self.number + #","code":"123456""#)
            #expect(over.status == 401 && over.text.contains("no code is waited for"))
            #expect(await ask(server, "verify-phone", Self.number + #","sends":true"#, email: "nobody@example.com").status == 401)
            try await deliver(server)
            #expect(service.seen.isEmpty)
            let mute = try await TestServer()
            let answer = await ask(mute, "verify-phone", Self.number + #","sends":true"#)
            #expect(answer.status == 400 && answer.text.contains("sends no text messages"))
            #expect(await ask(mute, "verify-phone", Self.number).status == 200)
        }
    }

    @Test func `one number is not flooded, whoever asks`() async throws {
        try await withTexts { server, service in
            var statuses: Set<Int> = []
            for _ in 0..<10 {
                for user in ["ada", "bob"] {
                    statuses.insert(await ask(server, "verify-phone", Self.number + #","sends":true"#, email: "\(user)@example.com").status)
                }
            }
            #expect(statuses == [200, 429])
            try await deliver(server)
            #expect(service.seen.count <= Limits.phoneCodesPerDay)
        }
    }

    @Test(arguments: [
        ("https://texts.example/send", true), ("https://texts.example:8443/v1/send?account=5", true), ("http://127.0.0.1:9000/", true),
        ("http://localhost/send", true), ("http://texts.example/send", false), ("ftp://texts.example", false), ("texts.example", false),
        ("https://", false), ("https://texts.example/a b", false),
    ])
    func `the service is on an https URL, or on this machine`(url: String, isGood: Bool) {
        #expect((TextConfiguration(url: url, token: nil) != nil) == isGood)
    }
}
