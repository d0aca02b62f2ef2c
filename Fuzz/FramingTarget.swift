import Glibc
import NacreHTTPServer
import Synchronization

/// Fuzzes HTTP framing: any bytes, over a socket, to a server whose handlers never fail.
///
/// The first byte says how the rest is sent. Its lowest bit: whether the client hangs up at once or waits for the
/// answer. The other bits: the place of a pause. Slower than the other targets, but includes the loop and its
/// connections.
enum FramingTarget {
    /// Seconds without a byte after which the server counts as stuck. A loaded machine under AddressSanitizer is slow.
    private static let patience = 30

    private static let port: Int = {
        let started = Atomic(0)
        let ready = Door()
        Task.detached {
            started.store((try? await server.start().port) ?? 0, ordering: .releasing)
            ready.open()
        }
        ready.wait()
        promise("the server starts", started.load(ordering: .acquiring) != 0)
        return started.load(ordering: .acquiring)
    }()

    private static let server: HTTPServer = {
        var configuration = HTTPServerConfiguration()
        configuration.bodyBytesMax = 16 * 1024
        // The server notices the client's end at the next tick, so ticks are short; a cut by a tick is no finding.
        configuration.bodyDeadline = .seconds(1)
        configuration.idleTimeout = .milliseconds(40)
        return HTTPServer(configuration, router: router)
    }()

    private static let router: Router = {
        var router = Router()
        router.get("/ping") { _, _ in .text("pong") }
        router.get("/long") { _, _ in .text(String(repeating: "long ", count: 1000)) }
        router.get("/file") { _, _ in .file("/proc/self/comm", contentType: "text/plain", headers: ["ETag": "\"1\""]) }
        router.get("/zones/:name/*rest") { request, parameters in
            let known = [request.query("q") ?? "", request.header("X-Any") ?? "", request.target, request.id, request.remoteAddress]
            return .text(
                try (known + [parameters.require("name"), parameters.require("rest"), request.path] + request.segments).joined(separator: "\n"))
        }
        router.post("/whole", bodyBytesMax: 4 * 1024) { request, _ in HTTPResponse(body: .bytes(try await request.body.collect())) }
        router.put("/pieces") { request, _ in
            HTTPResponse(
                body: .stream { writer in
                    for try await piece in request.body { try await writer.write(piece) }
                })
        }
        return router
    }()

    static func run(_ input: UnsafeRawBufferPointer) {
        guard let choice = input.first else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        let socket = connected()
        defer { close(socket) }
        let middle = min(Int(choice >> 1), bytes.count)
        send(UnsafeRawBufferPointer(rebasing: bytes[..<middle]), socket)
        send(UnsafeRawBufferPointer(rebasing: bytes[middle...]), socket)
        if choice & 1 == 1 {
            var abrupt = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
        } else {
            shutdown(socket, Int32(SHUT_WR))
            check(received(socket))
        }
    }

    private static func check(_ answer: [UInt8]) {
        guard !answer.isEmpty else { return }
        promise("an answer is HTTP/1.1", answer.starts(with: Array("HTTP/1.1 ".utf8)) || answer.starts(with: Array("HTTP/1.0 ".utf8)))
        promise("no handler failed", !answer.dropFirst(9).starts(with: Array("500".utf8)))
    }

    private static func connected() -> Int32 {
        while true {
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var limit = timeval(tv_sec: patience, tv_usec: 0)
            setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            var one: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            }
            if result == 0 { return socket }
            // libFuzzer's own timer interrupts blocking calls.
            promise("the server accepts", errno == EINTR)
            close(socket)
        }
    }

    private static func send(_ bytes: UnsafeRawBufferPointer, _ socket: Int32) {
        // The server may close before it has read all.
        if !bytes.isEmpty { _ = Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    private static func received(_ socket: Int32) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 {
                all += buffer[..<count]
            } else if count == 0 || errno != EINTR {
                // libFuzzer's timer again: a read with a timeout does not resume by itself.
                promise("the server ends a connection that the client has ended", count == 0 || errno == ECONNRESET)
                return all
            }
        }
    }
}

/// Blocks a thread until another opens it. The fuzzer's own thread is no task and may wait.
private final class Door: Sendable {
    private let descriptors: [Int32]

    init() {
        var pair: [Int32] = [0, 0]
        promise("a pipe can be made", pipe(&pair) == 0)
        descriptors = pair
    }

    func open() { _ = write(descriptors[1], [1], 1) }

    func wait() {
        var byte: UInt8 = 0
        _ = read(descriptors[0], &byte, 1)
    }
}
