import Foundation
import NacreCloudTestSupport
import NacreHTTPServer
import Testing

/// Tests of files: whole, in part, and not again to a client that has them.
@Suite(.timeLimit(.minutes(5))) struct FileTests {
    /// Serves ten bytes whose tag is `"v1"`, at `/file`; a file larger than any buffer at `/large`; a file with its
    /// own tag at `/untagged`.
    private func withFiles(_ body: (ServerUnderTest) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nacre-http-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("ten").path
        let large = folder.appendingPathComponent("large").path
        try Data("0123456789".utf8).write(to: URL(fileURLWithPath: file))
        try Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }).write(to: URL(fileURLWithPath: large))
        try await withServer(
            routes: routing { router in
                router.get("/file") { _, _ in .file(file, contentType: "text/plain", headers: ["ETag": "\"v1\"", "Last-Modified": "then"]) }
                router.get("/untagged") { _, _ in .file(file, contentType: "text/plain") }
                router.get("/large") { _, _ in .file(large, contentType: "application/octet-stream") }
                router.get("/comma") { _, _ in .file(file, contentType: "text/plain", headers: ["ETag": "\"a,b\""]) }
                router.get("/part") { _, _ in HTTPResponse(.ok, body: .file(HTTPFile(path: file, offset: 2, length: 5))) }
                router.get("/missing") { _, _ in .file(file + "x", contentType: "text/plain") }
                router.get("/folder") { _, _ in .file(folder.path, contentType: "text/plain") }
            }, body)
    }

    static let ranges: [(range: String, status: Int, body: String, contentRange: String?)] = [
        ("bytes=0-0", 206, "0", "bytes 0-0/10"), ("bytes=2-4", 206, "234", "bytes 2-4/10"), ("bytes=7-", 206, "789", "bytes 7-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"), ("bytes=-30", 206, "0123456789", "bytes 0-9/10"), ("bytes=5-500", 206, "56789", "bytes 5-9/10"),
        ("Bytes=9-9", 206, "9", "bytes 9-9/10"), ("bytes=10-", 416, "", "bytes */10"), ("bytes=-0", 416, "", "bytes */10"),
        ("bytes=99-100", 416, "", "bytes */10"), ("bytes=4-2", 200, "0123456789", nil), ("bytes=a-b", 200, "0123456789", nil),
        ("bytes=0-1,3-4", 200, "0123456789", nil), ("lines=0-1", 200, "0123456789", nil), ("bytes=", 200, "0123456789", nil),
        ("bytes=-", 200, "0123456789", nil), ("bytes=0-99999999999999999999", 206, "0123456789", "bytes 0-9/10"),
        ("bytes=99999999999999999999-", 416, "", "bytes */10"), ("bytes=-99999999999999999999", 206, "0123456789", "bytes 0-9/10"),
        ("bytes=18446744073709551615-18446744073709551616", 416, "", "bytes */10"), ("bytes=0x1-", 200, "0123456789", nil),
    ]

    @Test func `a range is answered with that part, or ignored, or refused`() async throws {
        try await withFiles { server in
            for (range, status, body, contentRange) in Self.ranges {
                let response = try await server.get("/file", "Range: \(range)")
                #expect(response.status == status && response.text == body && response.header("Content-Range") == contentRange, "\(range)")
                #expect(response.header("Accept-Ranges") == "bytes")
            }
            #expect(try await server.get("/part").text == "23456")
            #expect(try await server.get("/part", "Range: bytes=1-2").text == "34")
        }
    }

    static let conditions: [(headers: [String], status: Int)] = [
        (["If-None-Match: \"v1\""], 304), (["If-None-Match: W/\"v1\""], 304), (["If-None-Match: \"v0\", \"v1\""], 304),
        (["If-None-Match: \"a,b\",\"v1\""], 304), (["If-None-Match: *"], 304), (["If-None-Match: \"v0\"", "If-None-Match: \"v1\""], 304),
        (["If-None-Match: \"v0\""], 200), (["If-None-Match: v1"], 200), (["If-None-Match: \"v1\"", "Range: bytes=0-1"], 304),
        (["If-Range: \"v1\"", "Range: bytes=0-1"], 206), (["If-Range: W/\"v1\"", "Range: bytes=0-1"], 200),
        (["If-Range: \"v0\"", "Range: bytes=0-1"], 200), (["If-Range: then", "Range: bytes=0-1"], 206), (["If-Range: now", "Range: bytes=0-1"], 200),
    ]

    @Test func `conditions decide what is sent`() async throws {
        try await withFiles { server in
            for (headers, status) in Self.conditions {
                let list = headers.map { $0 + "\r\n" }.joined()
                let response = try await server.exchange("GET /file HTTP/1.1\r\nHost: a\r\n\(list)\r\n")
                #expect(response.status == status, "\(headers)")
                #expect(response.header("ETag") == "\"v1\"" && response.body.isEmpty == (status == 304), "\(headers)")
                #expect(status != 304 || response.header("Content-Length") ?? "10" == "10", "a length that contradicts the 200")
            }
            #expect(try await server.get("/comma", "If-None-Match: \"x\", \"a,b\"").status == 304)
            let tag = try #require(try await server.get("/untagged").header("ETag"))
            #expect(try await server.get("/untagged", "If-None-Match: \(tag)").status == 304)
        }
    }

    @Test func `HEAD tells a file's size, and what is no file is not found`() async throws {
        try await withFiles { server in
            let head = try await server.exchange("HEAD /large HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\n\r\n", toHead: true)
            #expect(head.status == 200 && head.header("Content-Length") == "5000000")
            #expect(try await server.get("/missing").status == 404)
            #expect(try await server.get("/folder").status == 404)
        }
    }

    @Test func `a large file arrives whole, and in part, on one connection`() async throws {
        try await withFiles { server in
            let client = try await server.client()
            let all = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            try await client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /large HTTP/1.1\r\nHost: a\r\nRange: bytes=1000000-4999998\r\n\r\n")
            #expect(try await client.response().body == all)
            #expect(try await client.response().body == Array(all[1_000_000..<4_999_999]))
        }
    }
}
