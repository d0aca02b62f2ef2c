import Foundation
import NacreCloudServer
import Testing

@Suite struct CompressionTests {
    @Test func `a long answer is sent gzipped to a client that takes it, and plain to one that does not`() async throws {
        let server = try await TestServer()
        let port = try await server.startListening()
        let target = "/database/1/\(TestServer.container)/development/private/zones/lookup"
        let bearer = "Bearer \(server.names["ada.device"] ?? "")"
        func answer(_ encoding: String?) async throws -> Answer {
            var headers = ["Authorization": bearer]
            headers["Accept-Encoding"] = encoding
            return try await ask(Question(method: "POST", target: target, headers: headers, body: Array(Body.zoneNames(count: 200).utf8)), port: port)
        }
        let plain = try await answer(nil)
        #expect(plain.header("Content-Encoding") == nil)
        #expect(plain.json?["zones"]?.count == 200)
        let zipped = try await answer("gzip")
        #expect(zipped.header("Content-Encoding") == "gzip")
        #expect(zipped.body.starts(with: [0x1f, 0x8b]))
        #expect(zipped.body.count < plain.body.count / 4)
        #expect(zipped.header("Vary")?.contains("Accept-Encoding") == true)
        await server.server.shutdown()
    }
}
