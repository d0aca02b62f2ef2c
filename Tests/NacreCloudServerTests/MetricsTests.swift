import Foundation
import NacreCloudServer
import NacreCloudTestSupport
import Testing

/// Tests of `GET /metrics` on the admin listener, over a socket.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    private func running(_ body: (TestServer, _ publicPort: Int, _ admin: AdminFile, _ adminPort: Int) async throws -> Void) async throws {
        let server = try await TestServer()
        let port = try await server.startListening()
        let admin = try AdminFile.read(folder: server.folder.path)
        let adminPort = try #require(ListenAddress(String(admin.url.dropFirst("http://".count)))).port
        try await body(server, port, admin, adminPort)
        await server.server.shutdown()
    }

    @Test func `metrics count what happened, and are on the admin listener alone`() async throws {
        try await running { (server, port, admin, adminPort) async throws in
            for _ in 0..<3 { #expect(try await ask(Question(method: "GET", target: "/healthz"), port: port).status == 200) }
            #expect(try await ask(Question(method: "GET", target: "/metrics"), port: port).status == 404)
            let answer = try await ask(Question(method: "GET", target: "/metrics"), port: adminPort)
            #expect(answer.status == 200 && answer.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            for line in [
                "# TYPE nacre_http_requests_total counter",
                "nacre_http_requests_total{status=\"2xx\"} 3", "nacre_http_requests_total{status=\"4xx\"} 1",
                "# TYPE nacre_http_request_duration_seconds histogram", "nacre_http_body_bytes 0", "nacre_overloaded_total{kind=\"bodies\"} 0",
                "# TYPE process_resident_memory_bytes gauge", "# TYPE process_cpu_seconds_total counter",
            ] {
                #expect(answer.text.split(separator: "\n").contains { $0 == line }, "\(line) in \(answer.text)")
            }
            #expect(!answer.text.contains(admin.token) && !answer.text.contains(server.names["api"] ?? "?"))
        }
    }

    @Test func `a page that leads a name of its own to loopback gets no metrics, and the token opens them`() async throws {
        try await running { (_, _, admin, adminPort) async throws in
            let local = ["127.0.0.1:\(adminPort)", "localhost", "[::1]:1"]
            for (host, status) in local.map({ ($0, 200) }) + [("evil.example", 401), ("127.0.0.1.evil", 401)] {
                let question = Question(method: "GET", target: "/metrics", headers: ["Host": host])
                #expect(try await ask(question, port: adminPort).status == status, "\(host)")
            }
            let question = Question(
                method: "GET", target: "/metrics", headers: ["Host": "evil.example", "Authorization": "Bearer \(admin.token)"])
            #expect(try await ask(question, port: adminPort).status == 200)
            #expect(try await ask(Question(method: "GET", target: "/admin/1/server"), port: adminPort).status == 401)
        }
    }

    private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: mayRun(promtool != nil), "promtool is missing: apt-get install prometheus"))
    func `promtool finds nothing wrong with the metrics`() async throws {
        let promtool = try #require(Self.promtool, "promtool is missing: apt-get install prometheus")
        try await running { (_, port, _, adminPort) async throws in
            _ = try await ask(Question(method: "GET", target: "/nothing"), port: port)
            let metrics = try await ask(Question(method: "GET", target: "/metrics"), port: adminPort)
            let check = Program(promtool, ["check", "metrics"])
            let (status, output) = try await check.run(input: metrics.body, keepsErrors: true)
            #expect(status == 0 && output == [], "\(String(decoding: output, as: UTF8.self))")
            let (broken, _) = try await check.run(input: metrics.body + Array("nacre_no_help_total 1\nnonsense".utf8))
            #expect(broken != 0, "it does read them")
        }
    }
}
