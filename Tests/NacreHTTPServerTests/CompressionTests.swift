import Foundation
import NacreCloudTestSupport
import NacreHTTPServer
import Testing

@Suite(.timeLimit(.minutes(5))) struct CompressionTests {
    private static let text = Array(String(repeating: "{\"recordName\":\"note\"},", count: 200).utf8)

    private func routes(_ router: inout Router) {
        router.get("/json") { _, _ in
            var response = HTTPResponse.json(Self.text)
            response.headers["ETag"] = "\"v1\""
            return response
        }
        router.get("/never") { _, _ in
            var response = HTTPResponse.json(Self.text)
            response.mayCompress = false
            return response
        }
        router.get("/image") { _, _ in HTTPResponse(.ok, headers: ["Content-Type": "image/png"], body: .bytes(Self.text)) }
        router.get("/short") { _, _ in .json(Array(Self.text.prefix(1000))) }
        router.get("/large") { _, _ in .json(Array(repeating: Self.text, count: 100).flatMap { $0 }) }
    }

    /// Unzips with gunzip, another implementation than the one under test.
    private func unzipped(_ bytes: [UInt8]) async throws -> [UInt8] {
        try await Program("/bin/gzip", ["-dc"]).run(input: bytes).output
    }

    @Test func `a body that pays is gzipped for a client that takes it`() async throws {
        try await withServer(routes: routing(routes)) { server in
            for path in ["/json", "/large"] {
                let plain = try await server.get(path)
                #expect(plain.header("Content-Encoding") == nil && plain.header("Vary") == "Accept-Encoding")
                let response = try await server.get(path, "Accept-Encoding: br, gzip")
                #expect(response.header("Content-Encoding") == "gzip" && response.header("Vary") == "Accept-Encoding")
                #expect(response.body.count < plain.body.count / 4)
                #expect(try await unzipped(response.body) == plain.body)
            }
        }
    }

    @Test func `the tag of a gzipped body is weak, and still matches`() async throws {
        try await withServer(routes: routing(routes)) { server in
            let tag = try #require(try await server.get("/json", "Accept-Encoding: gzip").header("ETag"))
            #expect(tag == "W/\"v1\"")
            #expect(try await server.get("/json", "Accept-Encoding: gzip", "If-None-Match: \(tag)").status == 304)
        }
    }

    @Test(arguments: [
        ("/json", "gzip", true), ("/json", "GZIP;q=0.5", true), ("/json", "*", true), ("/json", "gzip;q=0", false),
        ("/json", "gzip; q=0.0, *", false),
        ("/json", "*;q=0", false), ("/json", "br", false), ("/json", "identity", false), ("/never", "gzip", false), ("/image", "gzip", false),
        ("/short", "gzip", false),
    ])
    func `what is refused, short, or no text stays as it is`(_ path: String, _ accepted: String, _ isZipped: Bool) async throws {
        try await withServer(routes: routing(routes)) { server in
            let response = try await server.get(path, "Accept-Encoding: \(accepted)")
            #expect((response.header("Content-Encoding") == "gzip") == isZipped)
        }
    }
}
