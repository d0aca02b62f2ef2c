import NacreHTTPServer
import Testing

/// Tests of bodies of responses without a socket.
@Suite struct CollectedBodyTests {
    /// More bytes than are buffered for a client that reads slowly.
    private static let large = [UInt8](repeating: 7, count: 3_000_000)

    private static func write(_ range: Range<UInt64>, _ writer: HTTPStreamWriter) async throws {
        for start in stride(from: Int(range.lowerBound), to: Int(range.upperBound), by: 100_000) {
            try await writer.write(Array(large[start..<min(start + 100_000, Int(range.upperBound))]))
        }
    }

    @Test func `each kind of body that is made in memory is collected whole, and nobody need read it meanwhile`() async throws {
        #expect(try await HTTPResponse.Body.none.collect() == [])
        #expect(try await HTTPResponse.Body.bytes([1, 2]).collect() == [1, 2])
        let content = HTTPContent(length: UInt64(Self.large.count), write: Self.write)
        #expect(try await HTTPResponse.Body.content(content).collect() == Self.large)
        let stream = HTTPResponse.Body.stream { try await Self.write(0..<2_000_000, $0) }
        #expect(try await stream.collect().count == 2_000_000)
    }

    @Test func `parts of files are taken by sockets alone`() async throws {
        let content = HTTPContent(length: 1) { _, writer in
            #expect(try await writer.write([ResidentPart(descriptor: 0, bytes: 0..<1) { _ in true }]) == 0)
            try await writer.write([7])
        }
        #expect(try await HTTPResponse.Body.content(content).collect() == [7])
    }

    @Test func `a body that ends too early, or is a file, is an error`() async {
        let short = HTTPContent(length: 10) { _, writer in try await writer.write([1]) }
        await #expect(throws: HTTPError.self) { try await HTTPResponse.Body.content(short).collect() }
        await #expect(throws: HTTPError.self) { try await HTTPResponse.Body.file(HTTPFile(path: "/etc/hostname")).collect() }
    }
}
