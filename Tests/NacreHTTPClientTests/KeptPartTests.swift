import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of downloads that the next process continues.
struct KeptPartTests {
    private let client = HTTPClient()
    private static let text = String((0..<50_000).map { String($0 + 100_000) }.joined())

    /// Returns what a killed process leaves of the first `count` bytes: a copy of its files, without locks.
    private func left(_ count: Int, tag: String = "\"v1\"", in folder: TemporaryFolder) async throws -> String {
        let peer = try Peer { connection in
            guard connection.request() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nETag: \(tag)\r\nContent-Length: \(Self.text.utf8.count)\r\n\r\n")
            connection.write(Array(Self.text.utf8.prefix(count)))
        }
        let download = try HTTPClient.FileDownload(path: folder.path + "/dead", keptAs: folder.path + "/first", bytesMax: Self.text.utf8.count)
        _ = await #expect(throws: HTTPClient.Failure.self) { try await client.fetch(.init("GET", peer.url), into: download) }
        for ending in [".part", ".tag"] where FileManager.default.fileExists(atPath: folder.path + "/first" + ending) {
            try FileManager.default.copyItem(atPath: folder.path + "/first" + ending, toPath: folder.path + "/kept" + ending)
        }
        return folder.path + "/kept"
    }

    /// Makes a server of the text under a tag, which notes requests and the number of bytes answered.
    private func server(tag: String, seen: Locked<[String]>, answered: Locked<Int>) throws -> Peer {
        try Peer { connection in
            while let request = connection.request() {
                let lines = request.components(separatedBy: "\r\n")
                let range = lines.first { $0.hasPrefix("Range: ") }
                let isSame = lines.contains("If-Range: \(tag)")
                seen.withLock { $0.append(range ?? "all") }
                let first = isSame ? range.flatMap { Int($0.drop { $0 != "=" }.dropFirst().dropLast()) } ?? 0 : 0
                let rest = Array(Self.text.utf8.dropFirst(first))
                let status =
                    first > 0 ? "206 Partial Content\r\nContent-Range: bytes \(first)-\(Self.text.utf8.count - 1)/\(Self.text.utf8.count)" : "200 OK"
                answered.withLock { $0 += rest.count }
                connection.write("HTTP/1.1 \(status)\r\nETag: \(tag)\r\nContent-Length: \(rest.count)\r\n\r\n")
                connection.write(rest)
            }
        }
    }

    private func fetch(_ kept: String, tag: String = "\"v1\"", in folder: TemporaryFolder) async throws -> (asked: [String], answered: Int) {
        let (seen, answered) = (Locked<[String]>([]), Locked(0))
        let peer = try server(tag: tag, seen: seen, answered: answered)
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", keptAs: kept, bytesMax: Self.text.utf8.count)
        #expect([200, 206].contains(try await client.fetch(.init("GET", peer.url), into: download).status))
        try await download.finish()
        #expect(try String(contentsOfFile: folder.path + "/asset", encoding: .utf8) == Self.text)
        #expect(try FileManager.default.attributesOfItem(atPath: folder.path + "/asset")[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["asset"], "nothing else is left")
        return (seen.withLock { $0 }, answered.withLock { $0 })
    }

    @Test func `what a killed process left is gone on with, and not a byte of it is sent again`() async throws {
        let folder = try TemporaryFolder()
        let kept = try await left(200_000, in: folder)
        let found = try await fetch(kept, in: folder)
        #expect(found.asked == ["Range: bytes=200000-"] && found.answered == 100_000)
    }

    @Test func `of a file that was whole and had no name yet, the last byte is asked for`() async throws {
        let folder = try TemporaryFolder()
        let kept = try await left(Self.text.utf8.count - 1, in: folder)
        let part = try #require(FileHandle(forWritingAtPath: kept + ".part"))
        try part.seekToEnd()
        try part.write(contentsOf: Data(Self.text.utf8.suffix(1)))
        try part.close()
        let found = try await fetch(kept, in: folder)
        #expect(found.asked == ["Range: bytes=\(Self.text.utf8.count - 1)-"] && found.answered == 1)
    }

    @Test func `where the server has another version by now, all of that is fetched`() async throws {
        let folder = try TemporaryFolder()
        let kept = try await left(200_000, tag: "\"v0\"", in: folder)
        let found = try await fetch(kept, in: folder)
        #expect(found.asked == ["Range: bytes=200000-"] && found.answered == Self.text.utf8.count)
    }

    enum Harm: CaseIterable, Sendable {
        case noTag, weakTag, tagCut, otherStart, partOfOthers, partIsLink
    }

    @Test(arguments: Harm.allCases)
    func `what cannot be trusted is not gone on with`(harm: Harm) async throws {
        let folder = try TemporaryFolder()
        let kept = try await left(200_000, in: folder)
        let tag = try String(contentsOfFile: kept + ".tag", encoding: .utf8)
        switch harm {
        case .noTag: try FileManager.default.removeItem(atPath: kept + ".tag")
        case .weakTag: try tag.replacing("\"v1\"", with: "W/\"v1\"").write(toFile: kept + ".tag", atomically: false, encoding: .utf8)
        case .tagCut: try String(tag.dropLast()).write(toFile: kept + ".tag", atomically: false, encoding: .utf8)
        // Bytes written before a power cut may be lost.
        case .otherStart: try ("0" + tag).write(toFile: kept + ".tag", atomically: false, encoding: .utf8)
        case .partOfOthers: try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: kept + ".part")
        case .partIsLink:
            try FileManager.default.moveItem(atPath: kept + ".part", toPath: folder.path + "/elsewhere")
            try FileManager.default.createSymbolicLink(atPath: kept + ".part", withDestinationPath: folder.path + "/elsewhere")
        }
        let (seen, answered) = (Locked<[String]>([]), Locked(0))
        let peer = try server(tag: "\"v1\"", seen: seen, answered: answered)
        let download = try HTTPClient.FileDownload(path: folder.path + "/asset", keptAs: kept, bytesMax: Self.text.utf8.count)
        #expect(download.received == 0)
        _ = try await client.fetch(.init("GET", peer.url), into: download)
        try await download.finish()
        #expect(seen.withLock { $0 } == ["all"])
        #expect(try String(contentsOfFile: folder.path + "/asset", encoding: .utf8) == Self.text)
    }

    @Test func `of two downloads at once each has all bytes, and the second leaves the first's alone`() async throws {
        let folder = try TemporaryFolder()
        let kept = try await left(200_000, in: folder)
        let peer = try server(tag: "\"v1\"", seen: Locked([]), answered: Locked(0))
        let first = try HTTPClient.FileDownload(path: folder.path + "/one", keptAs: kept, bytesMax: Self.text.utf8.count)
        let second = try HTTPClient.FileDownload(path: folder.path + "/two", keptAs: kept, bytesMax: Self.text.utf8.count)
        #expect(first.received == 200_000 && second.received == 0)
        for download in [second, first] {
            _ = try await client.fetch(.init("GET", peer.url), into: download)
            try await download.finish()
            #expect(try String(contentsOfFile: download.path, encoding: .utf8) == Self.text)
        }
    }

    @Test func `a file that was swept away under a download is not taken for another's`() async throws {
        let folder = try TemporaryFolder()
        let kept = folder.path + "/kept"
        let peer = try server(tag: "\"v1\"", seen: Locked([]), answered: Locked(0))
        let swept = try HTTPClient.FileDownload(path: folder.path + "/one", keptAs: kept, bytesMax: Self.text.utf8.count)
        _ = try await client.fetch(.init("GET", peer.url), into: swept)
        for ending in [".part", ".tag"] { try FileManager.default.removeItem(atPath: kept + ending) }
        let next = try HTTPClient.FileDownload(path: folder.path + "/two", keptAs: kept, bytesMax: Self.text.utf8.count)
        #expect(next.received == 0)
        await #expect(throws: HTTPClient.FileError(code: ENOENT)) { try await swept.finish() }
        #expect(FileManager.default.fileExists(atPath: kept + ".part"))
        _ = try await client.fetch(.init("GET", peer.url), into: next)
        try await next.finish()
        #expect(try String(contentsOfFile: folder.path + "/two", encoding: .utf8) == Self.text)
    }
}
