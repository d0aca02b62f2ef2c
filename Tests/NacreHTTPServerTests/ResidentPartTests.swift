import Foundation
import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import Testing

/// Tests of bodies with parts of files, which are sent as far as they lie in the kernel's memory.
@Suite(.timeLimit(.minutes(5))) struct ResidentPartTests {
    private static let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

    /// Answers with parts of a file between other bytes; the handler reads the rest of them.
    /// - Returns: The bytes that the client got, and the number of bytes taken from the parts.
    private func answer(
        _ parts: [Range<Int>], path: String, isSound: @escaping @Sendable (Bool) -> Bool = { _ in true }
    ) async throws -> (body: [UInt8], taken: Int) {
        let file = open(path, O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        let taken = Locked(0)
        let all = parts.reduce(0) { $0 + $1.count }
        let answered = Locked<[UInt8]>([])
        try await withServer(
            routes: routing { router in
                router.get("/file") { _, _ in
                    let content = HTTPContent(length: UInt64(all + 6)) { _, writer in
                        try await writer.write([1, 2, 3])
                        let count = try await writer.write(parts.map { ResidentPart(descriptor: file, bytes: $0, isSound: isSound) })
                        taken.withLock { $0 = count }
                        var rest = [UInt8](repeating: 0, count: 0)
                        for part in parts {
                            var read = [UInt8](repeating: 0, count: part.count)
                            _ = pread(file, &read, part.count, off_t(part.lowerBound))
                            rest += read
                        }
                        try await writer.write(Array(rest.dropFirst(count)))
                        try await writer.write([4, 5, 6])
                    }
                    return HTTPResponse(.ok, body: .content(content))
                }
            }
        ) { server in
            let client = try await RawClient(port: server.port)
            try await client.send("GET /file HTTP/1.1\r\nHost: a\r\n\r\n")
            let body = try await client.response().body
            answered.withLock { $0 = body }
            try await client.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.response().text == "pong")
        }
        return (answered.withLock { $0 }, taken.withLock { $0 })
    }

    @Test func `parts go out in their order, between what is written before and behind them`() async throws {
        let folder = try TemporaryFolder()
        try Data(Self.bytes).write(to: URL(fileURLWithPath: folder.path + "/file"))
        for parts in [[0..<1_000_000], [999_999..<1_000_000], [500_000..<900_001, 3..<4, 0..<100_000]] {
            let (body, taken) = try await answer(parts, path: folder.path + "/file")
            let wanted = parts.flatMap { Self.bytes[$0] }
            #expect(body == [1, 2, 3] + wanted + [4, 5, 6] && taken == wanted.count, "\(parts)")
        }
    }

    @Test func `what is not sound any more does not go out, and its writer goes on from there`() async throws {
        let folder = try TemporaryFolder()
        try Data(Self.bytes).write(to: URL(fileURLWithPath: folder.path + "/file"))
        for good in [0, 1, 3] {
            let asked = Locked(0)
            let (body, taken) = try await answer([0..<1_000_000], path: folder.path + "/file") { _ in
                asked.withLock { asked in
                    asked += 1
                    return asked <= good
                }
            }
            #expect(body == [1, 2, 3] + Self.bytes + [4, 5, 6] && taken < Self.bytes.count && (taken > 0) == (good > 0), "\(good)")
        }
    }

    @Test func `a file that is shorter, or is not in memory, is the writer's`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        try Data(Self.bytes.prefix(10)).write(to: URL(fileURLWithPath: path))
        let told = Locked<[Bool]>([])
        let short = try await answer([0..<20], path: path) { isWhole in
            told.withLock { $0.append(isWhole) }
            return true
        }
        #expect(short.taken == 10 && told.withLock { $0 } == [false])

        try Data(Self.bytes).write(to: URL(fileURLWithPath: path))
        let file = open(path, O_RDONLY)
        defer { close(file) }
        try #require(fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
        told.withLock { $0 = [] }
        let (body, taken) = try await answer([500_000..<900_000], path: path) { isWhole in
            told.withLock { $0.append(isWhole) }
            return true
        }
        #expect(body == [1, 2, 3] + Self.bytes[500_000..<900_000] + [4, 5, 6])
        // A file system in memory has no other place.
        if try !Self.isMemory(path) { #expect(taken == 0 && told.withLock { $0 } == [false]) }
    }

    /// Returns whether a file is in a file system in memory: proc(5), `mountinfo`.
    private static func isMemory(_ path: String) throws -> Bool {
        var status = stat()
        try #require(stat(path, &status) == 0)
        let device = " \(status.st_dev >> 8):\(status.st_dev & 0xff) "
        let mounts = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
        return mounts.split(separator: "\n").contains { $0.contains(device) && $0.contains(" - tmpfs ") }
    }
}
