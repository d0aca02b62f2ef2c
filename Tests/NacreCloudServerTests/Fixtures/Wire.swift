import Foundation
import NacreHTTPServer

/// One answer of a server, whichever way it came.
struct Answer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
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

/// One request, as bytes of a socket or as a value for a router.
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

struct SocketFault: Error {
    var step: String
    var code = errno
}

/// Asks over a connection of its own. The calls block a thread of their own, never Swift's pool.
func ask(_ question: Question, port: Int) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Result { try askBlocking(question.bytes(port: port), port: port) })
        }
    }
}

private func askBlocking(_ bytes: [UInt8], port: Int) throws -> Answer {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SocketFault(step: "socket") }
    defer { close(descriptor) }
    // A fault is a failure and not a hang.
    var patience = timeval(tv_sec: 240, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard connected == 0 else { throw SocketFault(step: "connect") }
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        // A server may answer before it has read all, and close.
        guard count > 0 else { break }
        sent += count
    }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0 { throw SocketFault(step: "recv") }
        if count == 0 { break }
        received += buffer[..<count]
    }
    return try parse(received)
}

private func parse(_ bytes: [UInt8]) throws -> Answer {
    let end = Array("\r\n\r\n".utf8)
    guard let split = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { throw SocketFault(step: "parse", code: 0) }
    var lines = String(decoding: bytes[..<split], as: UTF8.self).components(separatedBy: "\r\n")
    let status = Int(lines.removeFirst().split(separator: " ").dropFirst().first ?? "") ?? 0
    let headers = lines.map { line -> (name: String, value: String) in
        let parts = line.split(separator: ":", maxSplits: 1)
        return (String(parts.first ?? ""), String(parts.last ?? "").trimmingCharacters(in: .whitespaces))
    }
    return Answer(status: status, headers: headers, body: Array(bytes[(split + end.count)...]))
}
