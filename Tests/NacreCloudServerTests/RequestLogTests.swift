import NacreCloudServer
import NacreHTTPServer
import Testing

/// Tests of the log of requests, and of the secrets that it must not have.
@Suite struct RequestLogTests {
    private func question(_ server: TestServer, _ method: String, _ path: String, query: String, headers: [String: String] = [:]) -> Question {
        Question(method: method, target: "\(path)?\(query)", headers: headers)
    }

    @Test func `a request is one line of JSON with what it was and how it ended`() async throws {
        let server = try await TestServer()
        let port = try await server.startListening()
        let path = "/database/1/\(TestServer.container)/development/private/zones/list"
        let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada"] ?? "")"
        let answer = try await ask(question(server, "GET", path, query: query), port: port)
        await server.server.shutdown()
        let lines = server.log.objects("request")
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line["request_id"]?.text == answer.header("X-Request-Id"))
        #expect(line["level"] == .string("info"))
        #expect(line["method"] == .string("GET"))
        #expect(line["route"] == .string("/database/1/:container/:environment/:database/zones/list"))
        #expect(line["status"] == .number(200))
        #expect(line["container"] == .string(TestServer.container))
        #expect(line["environment"] == .string("development"))
        #expect(line["address"] == .string("127.0.0.1"))
        #expect(line["ts"]?.text?.hasSuffix("Z") == true)
        guard case .number(let milliseconds) = line["duration_ms"] else { return #expect(Bool(false), "no duration") }
        #expect(milliseconds >= 0 && milliseconds < 60_000)
    }

    @Test func `the line of a request names the group of its operation, on one line, and nothing where a header is none`() async throws {
        let server = try await TestServer()
        let path = "/database/1/\(TestServer.container)/development/private/zones/list"
        let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada"] ?? "")"
        func line(_ header: String?) async throws -> JSON {
            let headers = header.map { ["X-Nacre-Operation-Group": $0] } ?? [:]
            let answer = await server.respond(question(server, "GET", path, query: query, headers: headers))
            #expect(answer.status == 200)
            return try #require(server.log.objects("request").first { $0["request_id"]?.text == answer.header("X-Request-Id") })
        }
        let whole = try await line("id=7F&name=Upload%20%0Aph%C3%B6tos&quantity=3&sends=kilobytes&receives=gigabytes&later=1")
        #expect(whole["group_id"]?.text == "7F" && whole["group"]?.text == "Upload ph\u{F6}tos" && whole["quantity"] == .number(3))
        #expect(whole["expected_send"]?.text == "kilobytes" && whole["expected_receive"]?.text == "gigabytes")
        let short = try await line("id=8A")
        #expect(short["group_id"]?.text == "8A")
        for key in ["group", "quantity", "expected_send", "expected_receive"] { #expect(short[key] == nil, "\(key)") }
        let none = [
            "", "id=", "name=a", "id=%", "id=%4", "id=%zz", "id=%FF", "id=1&sends=much", "id=1&quantity=x", "id",
            "id=" + String(repeating: "a", count: 1022),
        ]
        for header in [nil] + none { #expect(try await line(header)["group_id"] == nil, "\(header ?? "none")") }
    }

    @Test func `why a request was refused is told at notice in development, and at info in production`() async throws {
        let server = try await TestServer()
        for (environment, level) in [("development", "notice"), ("production", "info")] {
            let path = "/database/1/\(TestServer.container)/\(environment)/private/zones/list"
            let answer = await server.respond(question(server, "GET", path, query: "ckAPIToken=unknown"))
            let line = try #require(server.log.objects("A request was refused").first { $0["request_id"]?.text == answer.header("X-Request-Id") })
            #expect(line["level"]?.text == level)
            #expect(line["code"]?.text == "AUTHENTICATION_FAILED")
            #expect(line["container"]?.text == TestServer.container && line["environment"]?.text == environment)
            #expect(line["database"]?.text == "private")
            #expect(line["reason"]?.text?.isEmpty == false)
        }
    }

    @Test func `items that were refused in an answer of status 200 are told in one line, with the first reason of their own`() async throws {
        let server = try await TestServer()
        let path = "/database/1/\(TestServer.container)/development/private/records/modify"
        let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada"] ?? "")"
        let updates = ["gone", "away"].map {
            #"{"operationType":"update","record":{"recordName":"\#($0)","recordType":"Note","recordChangeTag":"1","fields":{}}}"#
        }
        let body = #"{"atomic":false,"operations":[\#(updates.joined(separator: ","))]}"#
        let answer = await server.respond(Question(method: "POST", target: "\(path)?\(query)", body: Array(body.utf8)))
        #expect(answer.status == 200)
        let lines = server.log.objects("Items of a request were refused")
        #expect(lines.count == 1)
        #expect(lines.first?["count"] == .number(2))
        #expect(lines.first?["code"]?.text == "NOT_FOUND")
        #expect(lines.first?["level"]?.text == "notice")
    }

    @Test func `the URL of a file is in no line, neither of an answer nor of a refusal`() async throws {
        let scene = try await AssetScene()
        let url = try await scene.permit("one")
        let sealed = try #require(scene.path(url).split(separator: "/").dropFirst(3).first.map(String.init))
        #expect(sealed.count > 40)
        for method in ["HEAD", "POST", "GET"] { _ = try await ask(Question(method: method, target: scene.path(url)), port: scene.port) }
        await scene.server.server.shutdown()
        #expect(scene.server.log.objects("request").count >= 3)
        #expect(!scene.server.log.texts.contains { $0.contains(sealed.prefix(20)) })
    }

    @Test func `no line has a token, a query, a password or what a record says`() async throws {
        let server = try await TestServer(opensSignUp: true)
        let api = server.names["api"] ?? ""
        let path = "/database/1/\(TestServer.container)/development/private"
        let query = "ckAPIToken=\(api)&ckWebAuthToken=\(server.names["ada"] ?? "")"
        let questions = [
            question(server, "GET", path + "/zones/list", query: query),
            question(server, "GET", path + "/nothing", query: query),
            question(server, "DELETE", path + "/zones/list", query: query),
            question(server, "GET", path + "/zones/list", query: query, headers: ["Host": "evil.example"]),
            question(server, "GET", path + "/zones/list", query: "ckAPIToken=leaked-token"),
            question(server, "GET", path + "/zones/list", query: "", headers: ["Authorization": "Bearer \(server.names["ada.device"] ?? "")"]),
            question(server, "GET", path + "/zones/list", query: "", headers: ["Authorization": "Bearer leaked-bearer"]),
            Question(method: "POST", target: path + "/records/modify?" + query, body: Array(Body.modify("create", Body.note("a", "hush")).utf8)),
            Question(
                method: "POST", target: "/account/1/sign-in",
                body: Array(
                    #"{"email":"ada@example.com","password":"leaked password","apiToken":"\#(api)","container":"\#(TestServer.container)","environment":"development"}"#
                        .utf8)),
            Question(method: "POST", target: "/account/1/sign-up", body: Array(#"{"email":"eve@example.com","password":"leaked"}"#.utf8)),
        ]
        for question in questions { _ = await server.respond(question) }
        // The same with a store that fails, which is logged with its error.
        for fault in [FaultyStore.Fault.unavailable, .full, .corrupt] {
            server.store.fail(fault)
            for question in questions { _ = await server.respond(question) }
        }
        #expect(server.log.objects("request").count == questions.count * 4)
        let secrets = server.names.filter { !$0.key.contains("name") && !$0.key.contains("id") && !$0.key.contains("account") }.values
        for line in server.log.texts {
            for secret in secrets { #expect(!line.contains(secret), "\(line)") }
            for text in ["ckAPIToken", "ckWebAuthToken", "leaked", "hush", "Bearer", "example.com", "?"] { #expect(!line.contains(text), "\(line)") }
            #expect((try? JSON(Array(line.utf8))) != nil, "\(line)")
        }
    }

    @Test func `no line has the name of a private zone, record or value, and the default zone keeps its name`() async throws {
        let server = try await TestServer()
        let path = "/database/1/\(TestServer.container)/development/private"
        let query = "ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada"] ?? "")"
        let inZone = #""zoneID":{"zoneName":"Hush"}"#
        for (target, body) in [
            ("zones/modify", Body.zones("create", "Hush")), ("records/modify", Body.modify("create", Body.note("Hush", "Hush"), inZone)),
            ("records/modify", Body.modify("create", Body.note("Hush", "Hush"), inZone)), ("records/lookup", Body.lookup("Hush")),
            ("zones/lookup", #"{"zones":[{"zoneName":"Hush 2"}]}"#), ("records/modify", Body.modify("delete", #""recordName":"Hush""#)),
            ("Hush/Hush", "{}"),
        ] {
            _ = await server.respond(Question(method: "POST", target: "\(path)/\(target)?\(query)", body: Array(body.utf8)))
        }
        #expect(server.log.objects("request").count == 7)
        #expect(server.log.objects("request").contains { $0["zone"] == .string("_defaultZone") })
        #expect(["Items of a request were refused", "A request was refused"].flatMap { server.log.objects($0) }.count > 1)
        for line in server.log.texts { #expect(!line.contains("Hush"), "\(line)") }
    }

    @Test func `a value cannot begin a line of its own`() async throws {
        let server = try await TestServer()
        _ = await server.respond(Question(method: "GET", target: "/database/1/iCloud.a%0A%7B%22level%22:%22fake%22/development/public/zones/list"))
        #expect(server.log.texts.count == 2)
        for text in server.log.texts { #expect(text.filter { $0 == "\n" }.count == 1) }
        #expect(server.log.objects("request").first?["container"] == .string("iCloud.a\n{\"level\":\"fake\""))
    }

    @Test func `what is the server's fault is logged with its cause, and what is the client's is not`() async throws {
        let server = try await TestServer()
        let list = Question(
            method: "GET", target: "/database/1/\(TestServer.container)/development/private/zones/list",
            headers: ["Authorization": "Bearer \(server.names["ada.device"] ?? "")"])
        _ = await server.respond(Question(method: "GET", target: "/nothing"))
        _ = await server.respond(Question(method: "GET", target: "/database/1/iCloud.a.b/development/private/zones/list"))
        #expect(server.log.objects("A request failed").isEmpty)
        server.store.fail(.corrupt)
        let answer = await server.respond(list)
        #expect(answer.status == 500)
        let lines = server.log.objects("A request failed")
        #expect(lines.count == 1)
        #expect(lines.first?["request_id"]?.text == answer.json?["uuid"]?.text)
        #expect(lines.first?["level"] == .string("error"))
        #expect(server.log.objects("request").last?["level"] == .string("error"))
    }
}
