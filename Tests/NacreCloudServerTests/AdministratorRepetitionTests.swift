import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests of `Idempotency-Key` on the admin API.
struct AdministratorRepetitionTests {
    private static let newToken = #"{"container":"\#(TestServer.container)","environment":"development","kind":"api","name":"twice"}"#

    private func post(_ server: AdministeredServer, _ path: String, _ body: String, key: String?) async -> Answer {
        var headers = ["Authorization": "Bearer \(AdministeredServer.token)"]
        headers["Idempotency-Key"] = key
        let question = Question(method: "POST", target: "/admin/1/\(path)", headers: headers, body: Array(body.utf8))
        let answer = Answer(await server.admin.respond(to: question.inProcess))
        let fault = DescribedEndpoints.administration.fault("POST", question.target, answer)
        #expect(fault == nil, "\(path): \(fault ?? "") in \(answer.text)")
        return answer
    }

    private func tokensNamedTwice(_ server: AdministeredServer) async -> Int {
        await server.administrate("GET", "/admin/1/tokens").text.components(of: #""name":"twice""#)
    }

    @Test func `the same request with the same key is done once and answered alike`() async throws {
        let server = try await AdministeredServer()
        let first = await post(server, "tokens", Self.newToken, key: "\"8e03978e-40d5\"")
        #expect(first.status == 201 && first.header("Idempotency-Replayed") == nil)
        for key in ["\"8e03978e-40d5\"", "8e03978e-40d5"] {
            let again = await post(server, "tokens", Self.newToken, key: key)
            #expect(again.status == 201 && again.body == first.body && again.header("Idempotency-Replayed") == "true")
        }
        #expect(await tokensNamedTwice(server) == 1)
        let log = await server.administrate("GET", "/admin/1/audit")
        #expect(log.json?["entries"]?.count == 1, "a repetition does nothing, so nothing is noted: \(log.text)")
        _ = await post(server, "tokens", Self.newToken, key: nil)
        _ = await post(server, "tokens", Self.newToken, key: "another")
        #expect(await tokensNamedTwice(server) == 3)
    }

    @Test func `another request with the same key is refused and not done`() async throws {
        let server = try await AdministeredServer()
        _ = await post(server, "tokens", Self.newToken, key: "k")
        let other = await post(server, "tokens", Self.newToken.replacing("twice", with: "other"), key: "k")
        #expect(other.status == 422 && other.json?["title"]?.text == "Unprocessable Content")
        let elsewhere = await post(server, "tokens/revoke", Self.newToken.replacing("{", with: #"{"id":"x","#), key: "k")
        #expect(elsewhere.status == 422)
        #expect(await server.administrate("GET", "/admin/1/tokens").text.components(of: #""name":"other""#) == 0)
    }

    @Test func `a refusal is kept as an answer is, and all of them for a day`() async throws {
        let server = try await AdministeredServer()
        let user = #"{"email":"ada@example.com","password":"correct horse"}"#
        let first = await post(server, "users", user, key: "u")
        #expect(first.status == 409 && first.json?["code"]?.text == "EXISTS")
        _ = await server.administrate("POST", "/admin/1/users/delete", #"{"email":"ada@example.com"}"#)
        let again = await post(server, "users", user, key: "u")
        #expect(again.body == first.body && again.header("Content-Type") == AdminMessages.Problem.contentType)
        _ = await post(server, "tokens", Self.newToken, key: "t")
        server.server.clock.advance(Limits.idempotencyKeySeconds)
        _ = await post(server, "tokens", Self.newToken, key: "t")
        #expect(await tokensNamedTwice(server) == 2)
    }

    @Test func `a body that cannot be read uses no key up`() async throws {
        let server = try await AdministeredServer()
        #expect(await post(server, "tokens", "{}", key: "k").status == 400)
        #expect(await post(server, "tokens", Self.newToken, key: "k").status == 201)
    }

    @Test(arguments: ["", "\"\"", "a b", "a\u{7f}", "ä", String(repeating: "k", count: 256)])
    func `what is no key is refused before anything is done`(key: String) async throws {
        let server = try await AdministeredServer()
        let answer = await post(server, "tokens", Self.newToken, key: key)
        #expect(answer.status == 400 && answer.json?["field"]?.text == "Idempotency-Key")
        #expect(await tokensNamedTwice(server) == 0)
    }

    @Test func `of many that send one key at once one is done, and the others hear so or get its answer`() async throws {
        let server = try await AdministeredServer()
        let answers = await withTaskGroup(of: Answer.self) { group in
            for _ in 0..<12 { group.addTask { await post(server, "tokens", Self.newToken, key: "at-once") } }
            return await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.allSatisfy { [201, 409].contains($0.status) } && answers.contains { $0.status == 201 })
        #expect(Set(answers.filter { $0.status == 201 }.map(\.text)).count == 1)
        #expect(await tokensNamedTwice(server) == 1)
    }

    @Test func `what a key keeps is told to nobody but administrators, and a body that is too long uses no key up`() async throws {
        let server = try await AdministeredServer()
        #expect(await post(server, "tokens", Self.newToken, key: "k").status == 201)
        for authorization in ["", "Bearer ", "Bearer wrong", "Basic secret", "Bearer \(server.server.names["ada.device"] ?? "")"] {
            let headers = ["Idempotency-Key": "k", "Authorization": authorization]
            let question = Question(method: "POST", target: "/admin/1/tokens", headers: headers, body: Array(Self.newToken.utf8))
            let answer = Answer(await server.admin.respond(to: question.inProcess))
            #expect(answer.status == 401 && answer.header("Idempotency-Replayed") == nil && !answer.text.contains("token\":"), "\(authorization)")
        }
        let long = Self.newToken.dropLast() + #","more":"\#(String(repeating: "x", count: Limits.accountBodyBytes))"}"#
        #expect(await post(server, "tokens", String(long), key: "long").status == 413)
        #expect(await post(server, "tokens", Self.newToken, key: "long").status == 201)
        // A key belongs to one endpoint: another endpoint makes another request.
        #expect(await post(server, "tokens/rotate", Self.newToken.replacing("{", with: #"{"id":"x","#), key: "k").status == 422)
    }

    @Test func `a code for a new password is not kept`() async throws {
        let server = try await AdministeredServer()
        let answer = await post(server, "users/reset-password", #"{"email":"ada@example.com"}"#, key: "k")
        #expect(answer.status == 400 && answer.json?["code"]?.text == "BAD_REQUEST" && !answer.text.contains("expires"))
        #expect(await post(server, "users/reset-password", #"{"email":"ada@example.com"}"#, key: nil).status == 201)
    }

    @Test func `an answer to a look is kept under no key, and each look is noted`() async throws {
        let server = try await AdministeredServer()
        let place = #""container":"\#(TestServer.container)","environment":"development","database":"private","user":"ada@example.com""#
        let looks = [
            ("records/lookup", #"{\#(place),"request":"{\"records\":[{\"recordName\":\"a\"}]}"}"#), ("zones/list", #"{\#(place),"request":"{}"}"#),
            ("subscriptions/list", "{\(place)}"),
        ]
        for (path, body) in looks {
            for _ in 0..<2 {
                let answer = await post(server, path, body, key: path)
                #expect(answer.status == 200 && answer.header("Idempotency-Replayed") == nil, "\(path): \(answer.text)")
            }
        }
        #expect(await server.administrate("GET", "/admin/1/audit").json?["entries"]?.count == 2 * looks.count)
    }

    @Test func `a key whose request is not answered is told from one that is new, and one that is given up is new`() async throws {
        let registry = try await TestServer().cloud.registry
        #expect(try await registry.begin(idempotencyKey: "a", request: "r") == .first)
        #expect(try await registry.begin(idempotencyKey: "a", request: "r") == .underWay)
        #expect(try await registry.begin(idempotencyKey: "a", request: "s") == .other)
        try await registry.giveUp(idempotencyKey: "a")
        #expect(try await registry.begin(idempotencyKey: "a", request: "s") == .first)
        try await registry.end(idempotencyKey: "a", status: 200, body: [1])
        #expect(try await registry.begin(idempotencyKey: "a", request: "s") == .kept(status: 200, body: [1]))
        #expect(try await registry.begin(idempotencyKey: "b", request: "s") == .first)
        try await registry.end(idempotencyKey: "b", status: 200, body: [UInt8](repeating: 0, count: Limits.idempotentAnswerBytes + 1))
        #expect(try await registry.begin(idempotencyKey: "b", request: "s") == .tooLarge(status: 200))
    }

    @Test func `so many keys are kept and no more, until the oldest has had its day`() async throws {
        let server = try await TestServer()
        let registry = server.cloud.registry
        for key in ["a", "b"] { #expect(try await registry.begin(idempotencyKey: key, request: "r", most: 2) == .first) }
        let refusal = await #expect(throws: ServerError.self) { try await registry.begin(idempotencyKey: "c", request: "r", most: 2) }
        #expect(refusal?.code == .throttled && refusal?.retryAfter == Int(Limits.idempotencyKeySeconds))
        server.clock.advance(Limits.idempotencyKeySeconds)
        #expect(try await registry.begin(idempotencyKey: "c", request: "r", most: 2) == .first)
        #expect(try await registry.begin(idempotencyKey: "a", request: "other", most: 2) == .first)
    }
}

extension String {
    /// Returns how often a text occurs in it.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
