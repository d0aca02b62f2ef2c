import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of management tokens, and of the recorded use of tokens and keys.
struct ManagementTokenTests {
    private static let here = "container=\(TestServer.container)&environment=development"
    private static let schema = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Note (text STRING QUERYABLE);"

    private func importSchema(_ server: AdministeredServer, by token: String, to container: String = TestServer.container) async -> Int {
        await server.administrate(
            "POST", "/admin/1/schema/import", #"{"container":"\#(container)","text":"\#(Self.schema)","isDryRun":false}"#, by: token
        ).status
    }

    /// Returns all pages of the list: one for each kind here.
    private func list(_ server: AdministeredServer) async -> [Answer] {
        var pages = [await server.administrate("GET", "/admin/1/tokens")]
        while let next = pages.last?.json?["next"]?.text { pages.append(await server.administrate("GET", "/admin/1/tokens?after=\(next)")) }
        return pages
    }

    private func line(_ server: AdministeredServer, _ id: String) async -> JSON? {
        let lines = await list(server).flatMap { page -> [JSON] in
            if case .array(let lines)? = page.json?["tokens"] { lines } else { [] }
        }
        return lines.first { $0["id"]?.text == id }
    }

    @Test func `it changes the schema of its container, and who did is in the history and the log`() async throws {
        let server = try await AdministeredServer()
        let token = try await server.managementToken(of: TestServer.container, #","name":"nightly\nbuild""#)
        let id = String(token.prefix(32))
        #expect(await importSchema(server, by: token) == 200)
        #expect(await importSchema(server, by: token, to: TestServer.otherContainer) == 403)
        #expect(await server.administrate("GET", "/admin/1/schema?\(Self.here)", by: token).text.contains("RECORD TYPE Note"))
        let index = #"{"container":"\#(TestServer.container)","recordType":"Note","field":"text","options":["SORTABLE"]}"#
        #expect(await server.administrate("POST", "/admin/1/schema/indexes", index).status == 200)
        let history = await server.administrate("GET", "/admin/1/schema/history?\(Self.here)", by: token).json
        #expect(history?.at("changes[0].kind")?.text == "index" && history?.at("changes[0].author") == nil)
        #expect(history?.at("changes[1].kind")?.text == "import" && history?.at("changes[1].author")?.text == "\(id) nightlybuild")
        let audit = await server.administrate("GET", "/admin/1/audit")
        #expect(audit.json?.at("entries[1].action")?.text == "POST /admin/1/schema/import")
        #expect(audit.json?.at("entries[1].author")?.text == "\(id) nightlybuild" && audit.json?.at("entries[0].author") == nil)
        // Refused requests are not in the log, as nothing was begun.
        #expect(audit.json?.at("entries[2].action")?.text == "POST /admin/1/tokens")
        #expect(!audit.text.contains(token) && !audit.text.contains(token.suffix(64)))
    }

    @Test func `it opens nothing else, names no other container by a second way, and no byte of it may be another`() async throws {
        let server = try await AdministeredServer()
        let token = try await server.managementToken(of: TestServer.container)
        let other = TestServer.otherContainer
        for (method, target, body) in [
            ("GET", "/admin/1/containers", ""), ("GET", "/admin/1/tokens", ""), ("GET", "/admin/1/users", ""), ("GET", "/admin/1/audit", ""),
            ("GET", "/admin/1/schema?container=\(other)&environment=development", ""),
            ("GET", "/admin/1/schema?environment=development&container=\(other)&container=\(TestServer.container)", ""),
            ("POST", "/admin/1/schema/diff", #"{"container":"\#(other)","environment":"development","text":"DEFINE SCHEMA"}"#),
            ("POST", "/admin/1/schema/diff?container=\(TestServer.container)", #"{"container":"\#(other)","environment":"development","text":""}"#),
            ("POST", "/admin/1/tokens", #"{"container":"\#(TestServer.container)","kind":"management"}"#),
            ("POST", "/admin/1/query/explain", #"{"container":"\#(TestServer.container)"}"#), ("GET", "/admin/1/nothing", ""),
        ] { #expect(await server.administrate(method, target, body, by: token).status == 403, "\(method) \(target) \(body)") }
        for index in Array(token.indices) {
            var altered = token
            altered.replaceSubrange(index...index, with: token[index] == "0" ? "1" : "0")
            #expect(await server.administrate("GET", "/admin/1/schema?\(Self.here)", by: altered).status == 401, "\(altered)")
        }
        for text in ["", token.prefix(32) + ".", "." + token.suffix(64), token + "0", String(token.prefix(32))] {
            #expect(await server.administrate("GET", "/admin/1/schema?\(Self.here)", by: String(text)).status == 401, "\(text)")
        }
    }

    @Test func `one that is revoked is dead at once, and one that has ended too`() async throws {
        let server = try await AdministeredServer()
        let token = try await server.managementToken(of: TestServer.container)
        let short = try await server.managementToken(of: TestServer.container, #","lifeSeconds":60"#)
        #expect(await importSchema(server, by: token) == 200)
        #expect(await importSchema(server, by: short) == 200)
        let end = server.server.clock.now.millisecondsSince1970 + 60_000
        #expect(await line(server, String(short.prefix(32)))?["ends"] == .number(Double(end)))
        #expect(await server.administrate("POST", "/admin/1/tokens/revoke", #"{"id":"\#(token.prefix(32))"}"#).status == 200)
        #expect(await importSchema(server, by: token) == 401)
        server.server.clock.advance(61)
        #expect(await importSchema(server, by: short) == 401)
        #expect(await line(server, String(short.prefix(32))) == nil)
        let rest = try await server.managementToken(of: TestServer.container)
        server.server.clock.advance(Limits.managementTokenSeconds - 1)
        #expect(await importSchema(server, by: rest) == 200)
        server.server.clock.advance(2)
        #expect(await importSchema(server, by: rest) == 401)
    }

    @Test func `a preview of an import tells of a query that was asked and would be refused, and of none that was refused`() async throws {
        let server = try await AdministeredServer()
        let token = try await server.managementToken(of: TestServer.container)
        #expect(await importSchema(server, by: token) == 200)
        for (value, status) in [(#""value":"a secret""#, 200), (#""value":7"#, 400)] {
            let target = "/database/1/\(TestServer.container)/development/public/records/query?ckAPIToken=\(server.server.names["api"] ?? "")"
            let query = Body.query("Note", filters: [Body.filter("text", "EQUALS", "{\(value)}")])
            #expect(await server.server.respond(Question(method: "POST", target: target, body: Array(query.utf8))).status == status)
        }
        let next = Self.schema.replacing(" QUERYABLE", with: "")
        let preview = await server.administrate(
            "POST", "/admin/1/schema/import", #"{"container":"\#(TestServer.container)","text":"\#(next)","isDryRun":true}"#, by: token)
        #expect(preview.json?.at("broken[0].query")?.text == "Note where text EQUALS STRING" && preview.json?.at("broken[1]") == nil)
        #expect(preview.json?.at("broken[0].reason")?.text == "Type is not marked indexable: Note" && !preview.text.contains("secret"))
    }

    @Test func `its secret is shown once, and a server that does not know it cannot say that it does`() async throws {
        let server = try await AdministeredServer()
        let token = try #require(ManagementToken(try await server.managementToken(of: TestServer.container, #","name":"ci""#)))
        let list = await list(server).map(\.text).joined()
        #expect(list.contains(token.id) && !list.contains(token.secret) && !list.contains(token.proofKey))
        let kept = await server.administrate(
            "POST", "/admin/1/tokens", #"{"container":"\#(TestServer.container)","kind":"management"}"#, ["Idempotency-Key": "again"])
        #expect(kept.status == 400 && kept.text.contains("shown once"))
        let nonce = try AdminProof.newNonce()
        let proof = await server.administrate("GET", "/admin/1/proof?nonce=\(nonce)&token=\(token.id)", by: "nobody").json?["proof"]?.text
        #expect(AdminProof.isValid(try #require(proof), nonce: nonce, token: token.proofKey))
        #expect(await server.administrate("GET", "/admin/1/proof?nonce=\(nonce)&token=\(String(token.id.reversed()))", by: "nobody").status == 401)
    }

    @Test(arguments: [
        #""kind":"management","environment":"development""#, #""kind":"management","publicKey":"x""#, #""kind":"management","origins":[]"#,
        #""kind":"management","redirect":"https://app.example""#, #""kind":"management","isAdministrator":true"#,
        #""kind":"management","lifeSeconds":0"#, #""kind":"management","lifeSeconds":31536001"#, #""kind":"management","lifeSeconds":-1"#,
        #""kind":"api""#, #""kind":"api","environment":"development","lifeSeconds":60"#, #""kind":"manager""#,
    ])
    func `what cannot be made is refused by its field`(_ asked: String) async throws {
        let server = try await AdministeredServer()
        let answer = await server.administrate("POST", "/admin/1/tokens", #"{"container":"\#(TestServer.container)",\#(asked)}"#)
        #expect(answer.status == 400 && answer.json?["field"]?.text != nil && answer.json?["remedy"]?.text != nil, "\(answer.text)")
        let gone = await server.administrate("POST", "/admin/1/tokens", #"{"container":"iCloud.test.none","kind":"management"}"#)
        #expect(gone.status == 404)
    }

    @Test func `the list tells when a token or key was used last, to ten minutes, and a bad signature is no use`() async throws {
        let server = try await AdministeredServer()
        let test = server.server
        let signer = try await Signer(test)
        let management = try await server.managementToken(of: TestServer.container)
        let api = try await test.cloud.registry.createAPIToken(container: TestServer.container, environment: .development, name: "")
        func used(_ id: String) async -> JSON? { await line(server, id)?["used"] }
        func ask(_ question: Question) async -> Int { await test.respond(question).status }
        let lookup = Question(
            method: "POST", target: "/database/1/\(TestServer.container)/development/public/records/lookup", body: Array(Body.lookup("a").utf8))
        var byToken = lookup
        byToken.target += "?ckAPIToken=\(api)"
        var forged = try signer.signed(lookup)
        forged.body += Array(" ".utf8)
        #expect(await ask(forged) == 401)
        for id in [api, signer.id, String(management.prefix(32))] { #expect(await used(id) == nil) }

        let first = JSON.number(Double(test.clock.now.millisecondsSince1970))
        #expect(await ask(try signer.signed(lookup)) == 200)
        #expect(await ask(byToken) == 200)
        #expect(await importSchema(server, by: management) == 200)
        for id in [api, signer.id, String(management.prefix(32))] { #expect(await used(id) == first) }

        test.clock.advance(Limits.lastUseSeconds - 1)
        #expect(await ask(byToken) == 200)
        #expect(await used(api) == first)
        test.clock.advance(Remembered<String, Bool>.secondsMax)
        let second = JSON.number(Double(test.clock.now.millisecondsSince1970))
        #expect(await ask(byToken) == 200)
        #expect(await used(api) == second)
        let rotated = await server.administrate("POST", "/admin/1/tokens/rotate", #"{"id":"\#(api)","graceSeconds":60}"#).json?["token"]?.text
        #expect(await used(try #require(rotated)) == nil)
        #expect(await used(api) == second)
    }
}
