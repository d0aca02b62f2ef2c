import Foundation
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of answers that end too early, come slowly, or are malformed.
struct BrokenAnswerTests {
    private let client = HTTPClient()

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: String
        var cause: HTTPClient.Failure.Cause
        /// Whether the server leaves the connection open after its bytes.
        var staysOpen = false
    }

    @Test(arguments: [
        Row(testDescription: "nothing", bytes: "", cause: .connectionLost),
        Row(testDescription: "half a head", bytes: "HTTP/1.1 200 OK\r\nContent-Le", cause: .badAnswer(.truncated)),
        Row(testDescription: "less than the length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", cause: .badAnswer(.truncated)),
        Row(
            testDescription: "no last chunk", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            cause: .badAnswer(.truncated)),
        Row(
            testDescription: "a chunk without a size", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", cause: .connectionLost,
            staysOpen: true),
        Row(testDescription: "another protocol", bytes: "SSH-2.0-OpenSSH_9.2\r\n", cause: .badAnswer(.notHTTP), staysOpen: true),
        Row(testDescription: "only a word to go on", bytes: "HTTP/1.1 100 Continue\r\n\r\n", cause: .connectionLost),
        Row(
            testDescription: "no gzip", bytes: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
            cause: .badAnswer(.encoding), staysOpen: true),
        Row(
            testDescription: "more headers than anybody needs",
            bytes: "HTTP/1.1 200 OK\r\n" + String(repeating: "X: \(String(repeating: "y", count: 1000))\r\n", count: 300) + "\r\n",
            cause: .badAnswer(.headersTooLarge), staysOpen: true),
    ])
    func `an answer that is none is an error that says so`(row: Row) async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write(row.bytes)
            if row.staysOpen { connection.awaitEnd() }
        }
        let failure = await client.failure(.init("POST", peer.url, body: .bytes([1])))
        #expect(failure?.cause == row.cause && failure?.mayHaveArrived == true, "\(String(describing: failure))")
        #expect(peer.accepted == 1)
        #expect(await client.census() == Census(running: 0, queued: 0, handles: 0, transfers: 0))
    }

    @Test func `a server that hears and says nothing more has ended the connection`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.halfClose()
            connection.awaitEnd()
        }
        #expect(await client.failure(.init("POST", peer.url, body: .bytes([1])))?.cause == .connectionLost)
        await peer.idle()
    }

    @Test func `an answer without a length ends with its connection`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.0 200 OK\r\n\r\nabc")
            connection.halfClose()
            connection.awaitEnd()
        }
        let answer = try await client.send(.init("GET", peer.url))
        #expect(answer.body == Array("abc".utf8) && answer.head.version == "1.0")
    }

    @Test func `an answer that comes byte for byte comes whole`() async throws {
        let text = "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: c\r\n\r\n"
        let peer = try Peer { connection in
            while connection.request() != nil {
                for byte in text.utf8 { connection.write([byte]) }
            }
        }
        for _ in 0..<3 {
            let answer = try await client.send(.init("GET", peer.url))
            #expect(answer.body == Array("hello world".utf8) && answer.head["x-a"] == "b" && answer.head["x-trailer"] == nil)
        }
        #expect(peer.accepted == 1)
    }

    @Test(arguments: ["Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n64\r\n"])
    func `an answer of more bytes than asked for is refused`(framing: String) async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\n" + framing + String(repeating: "x", count: 100))
            connection.awaitEnd()
        }
        #expect(await client.failure(.init("GET", peer.url, answerBytesMax: 99))?.cause == .badAnswer(.bodyTooLarge))
        await peer.idle()
    }

    @Test func `a server that refuses a body while it comes is heard`() async throws {
        let over = Event()
        let peer = try Peer { connection in
            _ = connection.head()
            connection.answer("too much", status: "413 Content Too Large", headers: "Connection: close\r\n")
            over.block()
        }
        let answer = try await client.send(.init("PUT", peer.url, body: .bytes([UInt8](repeating: 1, count: 32 << 20))))
        #expect(answer.status == 413 && answer.body == Array("too much".utf8))
        over.happen()
    }
}
