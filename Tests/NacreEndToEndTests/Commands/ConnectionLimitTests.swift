import NacreCloudTestSupport
import Testing

/// Tests of `nacre serve --connections`.
@Suite(.timeLimit(.minutes(5))) struct ConnectionLimitTests {
    @Test func `a server has no more connections open than it is told, and tells how many`() async throws {
        try await RunningServer.with(["--connections", "16"]) { server in
            let request = Array("GET /limits HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n".utf8)
            var idle: [RawClient] = []
            for _ in 0..<40 {
                let client = try await RawClient(port: server.port)
                // Above the limit this connection is closed, or another idle one is.
                try? await client.send(request)
                if let told = try? await client.response() {
                    #expect(told.text.contains(#"{"name":"connections","source":"Nacre","value":16}"#), "\(told.text)")
                    idle.append(client)
                }
            }
            var open = 0
            for client in idle {
                try? await client.send(request)
                if (try? await client.response())?.status == 200 { open += 1 }
            }
            #expect(idle.count > 8 && open > 0 && open <= 16, "\(open) of \(idle.count)")
        }
    }

    @Test(arguments: ["0", "15", "1048577", "many", "-1"]) func `a number that cannot be is refused`(_ count: String) async throws {
        let folder = try TemporaryFolder()
        let refused = try await Nacre.run(["serve", "--memory", "--connections=\(count)"], in: folder.path)
        #expect(refused.status == 64 && refused.messages.contains("--connections"), "\(refused.messages)")
    }
}
