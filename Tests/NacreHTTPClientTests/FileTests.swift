import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of bodies from files and into files, over connections that die in the middle.
struct FileTests {
    private let client = HTTPClient()

    /// Returns a text in which no two kilobytes are the same.
    private static func text(bytes: Int) -> String {
        String((0...bytes / 6).map { String($0 + 100_000) }.joined().prefix(bytes))
    }

    private static func file(_ text: String, in folder: TemporaryFolder) throws -> String {
        try text.write(toFile: folder.path + "/source", atomically: false, encoding: .utf8)
        return folder.path + "/source"
    }

    private static func line(_ name: String, of request: String) -> String? {
        request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }.map(String.init)
    }

    // MARK: Sending

    @Test func `a part of a file arrives as it is, and its progress ends with its length`() async throws {
        let folder = try TemporaryFolder()
        let text = Self.text(bytes: 3_000_000)
        let part = try HTTPClient.FilePart(path: Self.file(text, in: folder), offset: 1000, length: 2_500_000)
        let seen = Locked("")
        let peer = try Peer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.answer()
        }
        let sent = Locked<[Int]>([])
        let request = HTTPClient.Request("POST", peer.url, body: .file(part)) { progress in sent.withLock { $0.append(progress.sent) } }
        #expect(try await client.send(request).status == 200)
        let (head, body) = seen.withLock { $0.components(separatedBy: "\r\n\r\n") }.split()
        #expect(head.contains("Content-Length: 2500000") && body == text.dropFirst(1000).prefix(2_500_000))
        let steps = sent.withLock { $0 }
        #expect(steps.last == 2_500_000 && steps.count > 2 && steps == steps.sorted())
    }

    @Test func `a part without bytes is an empty body`() async throws {
        let folder = try TemporaryFolder()
        let peer = try Peer { connection in
            let head = connection.head() ?? ""
            connection.answer(head.contains("Content-Length: 0\r\n") ? "empty" : head)
        }
        let part = try HTTPClient.FilePart(path: Self.file("abc", in: folder), offset: 3, length: 0)
        #expect(try await client.send(.init("POST", peer.url, body: .file(part))).body == Array("empty".utf8))
    }

    @Test(arguments: StaleConnectionTests.Closing.allCases)
    func `over a connection from before that ends under it, a file goes out again from its start`(closing: StaleConnectionTests.Closing) async throws
    {
        let folder = try TemporaryFolder()
        let text = Self.text(bytes: 2_000_000)
        let path = try Self.file(text, in: folder)
        let peer = try Peer { connection in
            guard connection.request() != nil else { return }
            guard connection.number == 1 else {
                connection.answer("second")
                return
            }
            connection.answer("first")
            // The next request is cut off, early or in the middle of its body.
            _ = connection.head()
            if closing == .byReset {
                _ = connection.read(600_000)
                connection.resetAtEnd()
            }
        }
        #expect(try await client.send(.init("GET", peer.url)).body == Array("first".utf8))
        let again = try await client.send(.init("POST", peer.url, body: .file(.init(path: path, length: 2_000_000))))
        #expect(again.body == Array("second".utf8) && peer.accepted == 2)
    }

    @Test func `a file that becomes shorter while it is sent fails the request`() async throws {
        let folder = try TemporaryFolder()
        let path = try Self.file(Self.text(bytes: 1 << 20), in: folder)
        let part = try HTTPClient.FilePart(path: path, length: 1 << 20)
        try "short".write(toFile: path, atomically: false, encoding: .utf8)
        let peer = try Peer { connection in connection.awaitEnd() }
        let failure = await #expect(throws: HTTPClient.Failure.self) { try await client.send(.init("POST", peer.url, body: .file(part))) }
        #expect(failure?.cause == .bodyFailed && failure?.underlying as? HTTPClient.FileError == HTTPClient.FileError(code: EINVAL))
    }

    @Test func `what is not there, is no file, or has not that many bytes is refused before anything is sent`() throws {
        let folder = try TemporaryFolder()
        let path = try Self.file("abc", in: folder)
        #expect(throws: HTTPClient.FileError(code: ENOENT)) { try HTTPClient.FilePart(path: folder.path + "/none", length: 1) }
        #expect(throws: HTTPClient.FileError(code: EINVAL)) { try HTTPClient.FilePart(path: folder.path, length: 1) }
        for (offset, length) in [(0, 4), (4, 0), (-1, 1), (1, -1), (1, Int.max)] {
            #expect(throws: HTTPClient.FileError(code: EINVAL)) { try HTTPClient.FilePart(path: path, offset: offset, length: length) }
        }
    }

    // MARK: Receiving

    /// Makes a server of one text, whose first answer on each connection ends after `cutAt` bytes.
    private func server(_ text: String, tag: String?, cutAt: Int, seen: Locked<[String]>) throws -> Peer {
        try Peer { connection in
            guard let request = connection.request() else { return }
            seen.withLock { $0.append(request) }
            let first = Self.line("Range", of: request).flatMap { Int($0.drop { $0 != "=" }.dropFirst().dropLast()) } ?? 0
            let rest = text.utf8.dropFirst(first)
            let status =
                first > 0 ? "206 Partial Content\r\nContent-Range: bytes \(first)-\(text.utf8.count - 1)/\(text.utf8.count)" : "200 OK"
            connection.write("HTTP/1.1 \(status)\r\n\(tag.map { "ETag: \($0)\r\n" } ?? "")Content-Length: \(rest.count)\r\n\r\n")
            connection.write(Array(rest.prefix(cutAt)))
        }
    }

    /// Fetches until it succeeds, and returns the number of attempts.
    private func fetchAll(_ url: String, into download: HTTPClient.FileDownload) async -> Int {
        for attempt in 1...20 {
            do throws(HTTPClient.Failure) {
                let answer = try await client.fetch(.init("GET", url), into: download)
                #expect(answer.body.isEmpty)
                return attempt
            } catch {
                #expect(error.cause == .badAnswer(.truncated))
            }
        }
        return 0
    }

    @Test func `a download goes on where its connection died, and has its name when it is whole`() async throws {
        let folder = try TemporaryFolder()
        let text = Self.text(bytes: 2_000_000)
        let seen = Locked<[String]>([])
        let peer = try server(text, tag: "\"v1\"", cutAt: 900_000, seen: seen)
        let path = folder.path + "/asset"
        let download = try HTTPClient.FileDownload(path: path, bytesMax: 2_000_000)
        #expect(await fetchAll(peer.url, into: download) == 3)
        #expect(!FileManager.default.fileExists(atPath: path), "not before it is finished")
        try await download.finish()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(!FileManager.default.fileExists(atPath: path + ".part"))
        let requests = seen.withLock { $0 }
        #expect(requests.map { Self.line("Range", of: $0) } == [nil, "Range: bytes=900000-", "Range: bytes=1800000-"])
        #expect(requests.map { Self.line("If-Range", of: $0) } == [nil, "If-Range: \"v1\"", "If-Range: \"v1\""])
        #expect(requests.allSatisfy { Self.line("Accept-Encoding", of: $0) == nil })
    }

    @Test(arguments: [nil, "W/\"v1\""])
    func `without a strong tag it starts anew`(tag: String?) async throws {
        let folder = try TemporaryFolder()
        let seen = Locked<[String]>([])
        let connections = Locked(0)
        let peer = try Peer { connection in
            guard let request = connection.request() else { return }
            seen.withLock { $0.append(request) }
            let isFirst = connections.withLock { count in
                count += 1
                return count == 1
            }
            connection.write("HTTP/1.1 200 OK\r\n\(tag.map { "ETag: \($0)\r\n" } ?? "")Content-Length: 10\r\n\r\n")
            connection.write(isFirst ? "01234" : "abcdefghij")
        }
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
        #expect(await fetchAll(peer.url, into: download) == 2)
        try await download.finish()
        #expect(try String(contentsOfFile: folder.path + "/asset", encoding: .utf8) == "abcdefghij")
        #expect(seen.withLock { $0 }.allSatisfy { Self.line("Range", of: $0) == nil })
    }

    enum Sequel: CaseIterable, Sendable {
        /// The server has other bytes by now, and sends all of them.
        case otherVersion
        /// The server says that there is nothing behind the fetched bytes.
        case nothingBehind
    }

    @Test(arguments: Sequel.allCases)
    func `bytes of two versions are never put together`(sequel: Sequel) async throws {
        let folder = try TemporaryFolder()
        let connections = Locked(0)
        let peer = try Peer { connection in
            while connection.request() != nil {
                let number = connections.withLock { count in
                    count += 1
                    return count
                }
                switch (number, sequel) {
                case (1, _):
                    connection.write("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n01234567")
                    return
                case (2, .nothingBehind): connection.answer(status: "416 Range Not Satisfiable", headers: "Content-Range: bytes */4\r\n")
                default: connection.answer("abcd", headers: "ETag: \"v2\"\r\n")
                }
            }
        }
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
        #expect(await fetchAll(peer.url, into: download) == 2)
        try await download.finish()
        #expect(try String(contentsOfFile: folder.path + "/asset", encoding: .utf8) == "abcd")
    }

    @Test(arguments: [
        "Content-Range: bytes 4-9/10", "Content-Range: bytes 5-x/10", "Content-Length-Of: 3", "ETag: \"v2\"\r\nContent-Range: bytes 5-9/10",
    ])
    func `an answer with other bytes than those asked for is refused, and nothing of it kept`(lines: String) async throws {
        let folder = try TemporaryFolder()
        let peer = try Peer { connection in
            guard let request = connection.request() else { return }
            if Self.line("Range", of: request) == nil {
                connection.write("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n01234")
            } else {
                connection.write("HTTP/1.1 206 Partial Content\r\n\(lines)\r\nContent-Length: 5\r\n\r\n56789")
            }
        }
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
        _ = await #expect(throws: HTTPClient.Failure.self) { try await client.fetch(.init("GET", peer.url), into: download) }
        let failure = await #expect(throws: HTTPClient.Failure.self) { try await client.fetch(.init("GET", peer.url), into: download) }
        #expect(failure?.cause == .badAnswer(.range) && download.received == 5)
    }

    @Test(arguments: ["Content-Length: 11\r\n\r\n01234567890", "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n"])
    func `more bytes than the bound are not written`(rest: String) async throws {
        let folder = try TemporaryFolder()
        let peer = try Peer { connection in
            guard connection.request() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\n\(rest)")
            connection.awaitEnd()
        }
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
        let failure = await #expect(throws: HTTPClient.Failure.self) { try await client.fetch(.init("GET", peer.url), into: download) }
        #expect(failure?.cause == .badAnswer(.bodyTooLarge) && download.received == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: folder.path + "/asset.part")[.size] as? Int == 0)
    }

    @Test func `a refusal is answered with its text, and the download stays as it was`() async throws {
        let folder = try TemporaryFolder()
        let peer = try Peer { connection in
            while connection.request() != nil { connection.answer("gone", status: "410 Gone") }
        }
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
        let answer = try await client.fetch(.init("GET", peer.url), into: download)
        #expect(answer.status == 410 && answer.body == Array("gone".utf8) && download.received == 0)
    }

    @Test func `a download that is let go leaves nothing, and two to one name are refused`() async throws {
        let folder = try TemporaryFolder()
        do {
            let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
            #expect(throws: HTTPClient.FileError(code: EEXIST)) { try HTTPClient.FileDownload(path: download.path, bytesMax: 10) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["asset.part"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `cancelling ends a download, whose file goes with it`() async throws {
        let folder = try TemporaryFolder()
        let isUnderWay = Event()
        let peer = try Peer { connection in
            guard connection.request() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
            isUnderWay.happen()
            connection.awaitEnd()
        }
        let task = Task { [client] in
            let download = try HTTPClient.FileDownload(path: folder.path + "/asset", bytesMax: 10)
            return try await client.fetch(.init("GET", peer.url), into: download)
        }
        await isUnderWay.wait()
        task.cancel()
        let failure = await #expect(throws: HTTPClient.Failure.self) { try await task.value }
        #expect(failure?.cause == .cancelled)
        await peer.idle()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test(
        arguments: [
            ("bytes 5-9/10", 5, 10), ("Bytes 0-0/*", 0, nil), ("bytes 9-5/10", nil, nil), ("bytes 5-10/10", nil, nil), ("bytes */10", nil, nil),
            ("bytes -5-9/10", nil, nil), ("lines 5-9/10", nil, nil), ("bytes 5-9", nil, nil), ("bytes 5-99999999999999999999/*", nil, nil),
        ] as [(String, Int?, Int?)])
    func `where an answer's bytes belong is read strictly`(text: String, first: Int?, complete: Int?) {
        let range = ContentRange(text)
        #expect(range?.first == first && range?.complete == complete)
    }
}

extension [String] {
    /// Returns the head and the body.
    fileprivate func split() -> (String, String) { (first ?? "", dropFirst().joined(separator: "\r\n\r\n")) }
}
