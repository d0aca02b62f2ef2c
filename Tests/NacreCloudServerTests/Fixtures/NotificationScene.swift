import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// A listening server whose users subscribe, save, and get notifications by the web courier and by event streams.
struct NotificationScene {
    static let path = "/device/1/\(TestServer.container)/development/notifications"

    let server: TestServer
    let port: Int

    init(requestRate: Int? = Limits.requestRate) async throws {
        server = try await TestServer(requestRate: requestRate)
        port = try await server.startListening()
        try await server.prepareTypes(for: Body.modify("create", Body.note("n")), in: TestServer.container)
    }

    func post(_ path: String, _ body: String, as token: String = "ada.device") async throws -> Answer {
        let start = path.hasPrefix("/") ? "" : "/database/1/\(TestServer.container)/development/"
        var question = Question(method: "POST", target: start + path, body: Array(body.utf8))
        if token.hasSuffix(".device") {
            question.headers["Authorization"] = "Bearer \(server.names[token] ?? "")"
        } else {
            question.target += "?ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names[token + ".escaped"] ?? "")"
        }
        return try await ask(question, port: port)
    }

    func get(_ target: String, headers: [String: String] = [:]) async throws -> Answer {
        try await ask(Question(method: "GET", target: target, headers: headers), port: port)
    }

    func subscribe(_ subscription: String, as token: String = "ada.device") async throws {
        let body = "{\"operations\":[{\"operationType\":\"create\",\"subscription\":{\(subscription)}}]}"
        let answer = try await post("private/subscriptions/modify", body, as: token)
        #expect(answer.status == 200 && answer.json?.at("subscriptions[0].serverErrorCode") == nil, "\(answer.text)")
    }

    func save(_ names: String..., as token: String = "ada.device") async throws { try await save(names, as: token) }

    func save(_ names: [String], as token: String = "ada.device") async throws {
        let answer = try await post("private/records/modify", Body.modify(names.map { ("create", Body.note($0)) }), as: token)
        #expect(answer.json?.at("records[0].serverErrorCode") == nil && answer.status == 200, "\(answer.text)")
    }

    /// Makes a token, and returns the path of its courier.
    func courier(as token: String = "ada", clientID: String? = nil) async throws -> String {
        let client = clientID.map { ",\"clientId\":\"\($0)\"" } ?? ""
        let path = "/device/1/\(TestServer.container)/development/tokens/create"
        let answer = try await post(path, "{\"apnsEnvironment\":\"development\"\(client)}", as: token)
        let url = try #require(answer.json?.at("webcourierURL")?.text, "\(answer.text)")
        #expect(url.hasPrefix("http://127.0.0.1:\(port)/push/1/aps?tok="))
        #expect(url.contains("ttl=43200"))
        return String(url.dropFirst("http://127.0.0.1:\(port)".count))
    }

    /// Opens an event stream of Ada's device, and returns once it is followed.
    func stream(after id: String? = nil, clientID: String = "", receiveBuffer: Int32? = nil) async throws -> RawClient {
        let client = try await RawClient(port: port, receiveBuffer: receiveBuffer)
        let last = id.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        try await client.send(
            "GET \(Self.path)?clientId=\(clientID) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(last)"
                + "Authorization: Bearer \(server.names["ada.device"] ?? "")\r\n\r\n")
        let head = try await client.text(through: "retry: 1000")
        #expect(head.contains("200 OK") && head.lowercased().contains("content-type: text/event-stream"), "\(head)")
        return client
    }
}
