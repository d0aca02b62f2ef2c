import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests of the console's files: what is embedded, how it is sent, and what a folder in its place gives.
struct ConsoleFileTests {
    private static let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Web/console")

    /// Returns the content of each file of Web/console that is served, by its path there.
    private static func sources() throws -> [String: [UInt8]] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: source.path).filter { path in
            !path.hasPrefix("tests/") && path.contains(".") && ConsoleFile.mediaTypes[path.split(separator: ".").last.map(String.init) ?? ""] != nil
        }
        return Dictionary(uniqueKeysWithValues: try paths.map { ($0, [UInt8](try Data(contentsOf: source.appending(path: $0)))) })
    }

    private func get(_ path: String, from router: Router, _ headers: [String: String] = [:]) async -> Answer {
        let headers = ["Host": "127.0.0.1:8000"].merging(headers) { $1 }
        return Answer(await router.respond(to: Question(method: "GET", target: path, headers: headers).inProcess))
    }

    @Test func `the program has the console that Scripts/console/embed makes of the files of Web/console`() throws {
        let sources = try Self.sources().sorted { $0.key < $1.key }
        let names = sources.map { "\($0.key) \(Hex.encode(SHA256.digest($0.value)))\n" }.joined()
        #expect(ConsoleFile.sources == Hex.encode(SHA256.digest(Array(names.utf8))), "Web/console has changed: run Scripts/console/embed")
        // All scripts are one, and all style sheets.
        let isJoined = { (path: String) in path.hasSuffix(".js") || path.hasSuffix(".css") }
        #expect(ConsoleFile.all.keys.filter(isJoined).sorted() == ["console.css", "js/shell.js"])
        #expect(ConsoleFile.all.keys.filter { !isJoined($0) }.sorted() == sources.map(\.key).filter { !isJoined($0) })
        for (path, file) in ConsoleFile.all {
            let content = try #require(Compression.gunzip(file.gzip, length: file.length), "\(path)")
            #expect(file.digest == ConsoleFile.digest(of: content), "\(path)")
            #expect(
                Compression.gunzip(file.gzip, length: file.length - 1) == nil && Compression.gunzip(file.gzip.dropLast(), length: file.length) == nil)
        }
    }

    @Test func `all files of the console together have 80 KB of gzip`() {
        #expect(ConsoleFile.all.values.reduce(0) { $0 + $1.gzip.count } <= 80 << 10)
    }

    @Test func `a browser gets each file without a credential, as gzip if it takes that, and may run nothing else on the page`() async throws {
        let admin = try await AdministeredServer().admin
        for (path, file) in ConsoleFile.all {
            let content = try #require(Compression.gunzip(file.gzip, length: file.length))
            let plain = await get("/console/\(path)", from: admin)
            #expect(plain.status == 200 && plain.body == content && plain.header("Content-Encoding") == nil)
            let zipped = await get("/console/\(path)", from: admin, ["Accept-Encoding": "gzip, br"])
            #expect(zipped.body == file.gzip && zipped.header("Content-Encoding") == "gzip")
            for answer in [plain, zipped] {
                #expect(answer.header("ETag") == "W/\"\(file.digest)\"")
                #expect(answer.header("Cache-Control") == "no-cache" && answer.header("Vary") == "Accept-Encoding")
                #expect(answer.header("X-Content-Type-Options") == "nosniff" && answer.header("Referrer-Policy") == "no-referrer")
                #expect(
                    answer.header("Cross-Origin-Opener-Policy") == "same-origin" && answer.header("Cross-Origin-Resource-Policy") == "same-origin")
                let policy = try #require(answer.header("Content-Security-Policy")?.components(separatedBy: "; "))
                #expect(policy.first == "default-src 'none'" && policy.contains("script-src 'self'") && policy.contains("connect-src 'self'"))
                #expect(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
                #expect(policy.contains("require-trusted-types-for 'script'") && policy.contains("trusted-types 'none'"))
                #expect(!policy.contains { $0.contains("unsafe") || $0.contains("http") })
            }
        }
        let index = await get("/console/", from: admin)
        #expect(index.status == 200 && index.header("Content-Type") == "text/html; charset=utf-8")
        #expect(await get("/console", from: admin).header("Location") == "console/")
        #expect(await get("/console/app.exe", from: admin).status == 404)
    }

    @Test func `a name that a page elsewhere leads to this machine gets no file`() async throws {
        let admin = try await AdministeredServer().admin
        for host in ["rebound.example", "127.0.0.1.rebound.example:8000", "localhost.rebound.example"] {
            #expect(await get("/console/", from: admin, ["Host": host]).status == 403, "\(host)")
        }
        for host in ["localhost:8000", "[::1]:8000", "192.0.2.7"] { #expect(await get("/console/", from: admin, ["Host": host]).status == 200) }
    }

    @Test func `a folder gives its files as they are now, and no other file of the machine`() async throws {
        let (folder, outside) = (try TemporaryFolder(), try TemporaryFolder())
        let manager = FileManager.default
        for path in ["console/js", "console/.git"] {
            try manager.createDirectory(atPath: folder.path + "/" + path, withIntermediateDirectories: true)
        }
        for path in ["console/index.html", "console/js/a.js", "console/.git/a.txt", "console/.a.txt", "console/key.pem", "secret.txt"] {
            try "first".write(toFile: folder.path + "/" + path, atomically: false, encoding: .utf8)
        }
        try "secret".write(toFile: outside.path + "/a.txt", atomically: false, encoding: .utf8)
        try manager.createSymbolicLink(atPath: folder.path + "/console/link.txt", withDestinationPath: outside.path + "/a.txt")
        try manager.createSymbolicLink(atPath: folder.path + "/console/out", withDestinationPath: outside.path)
        try manager.createDirectory(atPath: folder.path + "/console/d.txt", withIntermediateDirectories: true)
        try Data(count: 1 << 20 + 1).write(to: URL(filePath: folder.path + "/console/large.txt"))
        var router = Router()
        ConsoleFiles(hosts: ServedHosts(names: []), folder: folder.path + "/console").addRoutes(to: &router)
        for path in ["", "index.html", "js/a.js"] { #expect(await get("/console/\(path)", from: router).text == "first", "\(path)") }
        let before = await get("/console/js/a.js", from: router).header("ETag")
        try "second".write(toFile: folder.path + "/console/js/a.js", atomically: false, encoding: .utf8)
        let after = await get("/console/js/a.js", from: router)
        #expect(after.text == "second" && after.header("ETag") != before)
        for path in [
            "../secret.txt", "%2e%2e/secret.txt", "%2e%2e%2fsecret.txt", "js/../../secret.txt", "js//a.js", ".git/a.txt", ".a.txt", "key.pem",
            "link.txt",
            "out/a.txt", "d.txt", "large.txt", "none.js", "/etc/passwd.txt",
        ] { #expect(await get("/console/\(path)", from: router).status == 404, "\(path)") }
        for path in ["js%00/a.js", "js/a.js%00.txt"] { #expect(await get("/console/\(path)", from: router).status == 400, "\(path)") }
    }
}
