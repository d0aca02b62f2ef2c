import NacreCloudTestSupport
import NacreHTTPServer

/// An answer of a server, from its router or its socket.
struct Answer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(_ response: RawResponse) {
        self.init(status: response.status, headers: response.headers, body: response.body)
    }

    init(_ response: HTTPResponse) {
        status = response.status.rawValue
        headers = response.headers.map { ($0.name, $0.value) }
        if case .bytes(let bytes) = response.body { body = bytes } else { body = [] }
    }

    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSON? { try? JSON(body) }
}

/// A request, as bytes for a socket or as a value for a router.
struct Question: Sendable {
    var method: String
    var target: String
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    var inProcess: HTTPRequest {
        var fields = HTTPHeaders()
        for (name, value) in headers { fields.add(name, value) }
        return HTTPRequest(method: HTTPMethod(rawValue: method), target: target, headers: fields, body: body)
    }

    func bytes(port: Int) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nConnection: close\r\n"
        if headers["Host"] == nil { head += "Host: 127.0.0.1:\(port)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }
}

/// Sends a request over a connection of its own.
func ask(_ question: Question, port: Int) async throws -> Answer {
    Answer(try await RawClient.response(to: question.bytes(port: port), port: port, toHead: question.method == "HEAD"))
}
