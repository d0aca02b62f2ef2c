import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import Testing

@testable import NacreCloudServer

struct TokenRotationTests {
    private func status(_ server: AdministeredServer, _ token: String) async -> Int {
        await server.server.respond(
            Question(
                method: "POST", target: "/database/1/\(TestServer.container)/development/public/records/lookup?ckAPIToken=\(token)",
                body: Array(Body.lookup("a").utf8))
        ).status
    }

    private func rotate(_ server: AdministeredServer, _ id: String, grace: Int? = nil) async -> Answer {
        await server.administrate("POST", "/admin/1/tokens/rotate", #"{"id":"\#(id)"\#(grace.map { #","graceSeconds":\#($0)"# } ?? "")}"#)
    }

    private func line(_ server: AdministeredServer, _ token: String) async -> JSON? {
        guard case .array(let lines)? = await server.administrate("GET", "/admin/1/tokens").json?["tokens"] else { return nil }
        return lines.first { $0["id"]?.text == token }
    }

    @Test func `another token takes an API token's place at once, and sessions that were got with the old one end`() async throws {
        let server = try await AdministeredServer()
        let old = try #require(server.server.names["api"])
        #expect(await server.sessionStatus() == 200)
        let answer = await rotate(server, old)
        let new = try #require(answer.json?["token"]?.text)
        #expect(answer.status == 201 && new.count == 64 && new != old && answer.json?["oldEnds"] == nil && !answer.text.contains(old))
        #expect(await status(server, new) == 200)
        server.server.clock.advance(Remembered<String, APITokenEntry>.secondsMax)
        #expect(await status(server, old) == 401)
        #expect(await server.sessionStatus() == 401)
        #expect(await status(server, new) == 200)
    }

    @Test func `with a grace both are good until the old one ends, which the list tells`() async throws {
        let server = try await AdministeredServer()
        let made = await server.administrate(
            "POST", "/admin/1/tokens",
            #"{"container":"\#(TestServer.container)","environment":"development","kind":"api","name":"web","origins":["https://app.example"],"redirect":"https://app.example/in"}"#
        )
        let old = try #require(made.json?["token"]?.text)
        let answer = await rotate(server, old, grace: 3600)
        let new = try #require(answer.json?["token"]?.text)
        let ends = server.server.clock.now.millisecondsSince1970 + 3_600_000
        #expect(answer.json?["oldEnds"] == .number(Double(ends)))
        #expect(await line(server, old)?["ends"] == .number(Double(ends)))
        let line = await line(server, new)
        #expect(line?["name"]?.text == "web" && line?.at("origins[0]")?.text == "https://app.example" && line?["ends"] == nil)
        #expect(line?["redirect"]?.text == "https://app.example/in" && line?["environment"]?.text == "development")
        server.server.clock.advance(3595)
        #expect(await status(server, old) == 200)
        #expect(await status(server, new) == 200)
        server.server.clock.advance(5 + Remembered<String, APITokenEntry>.secondsMax)
        #expect(await status(server, old) == 401)
        #expect(await status(server, new) == 200)
        #expect(await self.line(server, old) == nil)
    }

    @Test func `of many that rotate one token at once one has another, and a session goes over to none`() async throws {
        let server = try await AdministeredServer()
        let old = try #require(server.server.names["api"])
        let before = await server.administrate("GET", "/admin/1/tokens").json?["tokens"]?.count
        let answers = await withTaskGroup(of: Answer.self) { group in
            for grace in [nil, 60, 3600, nil, 60, 3600] as [Int?] { group.addTask { await rotate(server, old, grace: grace) } }
            return await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 201 } == 1 && answers.allSatisfy { [201, 400, 404].contains($0.status) })
        let after = await server.administrate("GET", "/admin/1/tokens").json?["tokens"]?.count
        #expect([before, before.map { $0 + 1 }].contains(after))
        let new = try #require(answers.first { $0.status == 201 }?.json?["token"]?.text)
        // The sealed token opens only with its own API token, even if it was opened a moment ago.
        func status(_ api: String) async -> Int {
            let query = "ckAPIToken=\(api)&ckWebAuthToken=\(server.server.names["ada.escaped"] ?? "")"
            let target = "/database/1/\(TestServer.container)/development/private/users/caller?\(query)"
            return await server.server.respond(Question(method: "GET", target: target)).status
        }
        for _ in 0..<2 {
            #expect(await status(new) == 421)
            _ = await status(old)
        }
    }

    @Test func `what cannot be rotated is refused, and stays as it is`() async throws {
        let server = try await AdministeredServer()
        let old = try #require(server.server.names["api"])
        func refusal(_ id: String, grace: Int? = nil) async -> String {
            let answer = await rotate(server, id, grace: grace)
            return "\(answer.status) \(answer.json?["field"]?.text ?? "")"
        }
        #expect(await refusal("nothing") == "404 id")
        #expect(await refusal(try await Signer(server.server).id) == "400 id")
        for grace in [-1, Int(Limits.tokenGraceSeconds) + 1] { #expect(await refusal(old, grace: grace) == "400 graceSeconds") }
        #expect(await rotate(server, old, grace: 60).status == 201)
        #expect(await refusal(old) == "400 id")
        #expect(await status(server, old) == 200)
        // A token in its grace period can be revoked.
        #expect(await server.administrate("POST", "/admin/1/tokens/revoke", #"{"id":"\#(old)"}"#).status == 200)
    }
}

/// Tests of an operator's rates for one container, over the server's rates.
struct ContainerRateTests {
    private func set(_ server: AdministeredServer, _ members: String) async -> Answer {
        let answer = await server.administrate("POST", "/admin/1/rates/change", #"{"container":"\#(TestServer.container)",\#(members)}"#)
        // The longest time until it takes effect.
        server.server.clock.advance(Remembered<String, RateEntry>.secondsMax)
        return answer
    }

    /// Returns how many of 200 requests are answered.
    private func answered(_ server: AdministeredServer, by user: String = "ada") async -> Int {
        var count = 0
        while count < 200, await server.deviceStatus(user) == 200 { count += 1 }
        return count
    }

    @Test(arguments: [nil, 1_000_000]) func `a rate of a container's users holds whatever the server has, and for that container alone`(
        ofServer: Int?
    ) async throws {
        let server = try await AdministeredServer(requestRate: ofServer)
        #expect(await answered(server) == 200)
        let answer = await set(server, #""userRate":1"#)
        #expect(answer.json?["userRate"] == .number(1) && answer.json?["isUserRateOwn"] == .bool(true))
        #expect(answer.json?["containerRate"] == .number(Double((ofServer ?? 0) * Limits.requestRateOfContainer)))
        #expect(answer.json?["isContainerRateOwn"] == .bool(false))
        let count = await answered(server)
        #expect(count > 0 && count <= 60)
        #expect(await server.deviceStatus() == 429)
        #expect(await server.deviceStatus("bob") == 200)
        let shown = await server.administrate("GET", "/admin/1/rates?container=\(TestServer.container)")
        #expect(shown.body == answer.body)
        let other = await server.administrate("GET", "/admin/1/rates?container=\(TestServer.otherContainer)")
        #expect(other.json?["isUserRateOwn"] == .bool(false))
        _ = await set(server, #""userRate":0"#)
        #expect(await answered(server) == 200)
    }

    @Test func `a rate of a container is for all who use it, and the server's comes back`() async throws {
        let server = try await AdministeredServer(requestRate: 1_000_000)
        _ = await set(server, #""containerRate":1"#)
        #expect(await answered(server) < 61)
        #expect(await server.deviceStatus("bob") == 429)
        let answer = await set(server, #""resetsContainerRate":true"#)
        #expect(answer.json?["isContainerRateOwn"] == .bool(false))
        #expect(await answered(server, by: "bob") == 200)
    }

    @Test func `what is no rate is refused`() async throws {
        let server = try await AdministeredServer()
        for members in [#""userRate":-1"#, #""userRate":1000000001"#, #""userRate":1,"resetsUserRate":true"#] {
            let answer = await set(server, members)
            #expect(answer.status == 400 && answer.json?["field"]?.text == "userRate", "\(members): \(answer.text)")
        }
        let unknown = await server.administrate("POST", "/admin/1/rates/change", #"{"container":"iCloud.nobody","userRate":1}"#)
        #expect(unknown.status == 404)
    }
}
