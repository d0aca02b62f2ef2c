import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import Testing

@testable import NacreCloudServer

/// Tests of the addresses of CloudKit JS. What the library does is tested in `Web/cloudkit/tests`.
struct WebLibraryTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Web/cloudkit/src")

    private func get(_ path: String, _ headers: [String: String] = [:]) async throws -> Answer {
        let headers = ["Host": "localhost"].merging(headers) { $1 }
        return await (try await TestServer()).respond(Question(method: "GET", target: path, headers: headers))
    }

    @Test func `the program has the library that Scripts/cloudkit-js/make makes of the files of Web/cloudkit/src`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".js") }.sorted()
        let digests = try names.map { name in
            "src/\(name) \(Hex.encode(SHA256.digest([UInt8](try Data(contentsOf: Self.folder.appending(path: name))))))\n"
        }
        let version = String(Hex.encode(SHA256.digest(Array(digests.joined().utf8))).prefix(16))
        #expect(WebLibrary.buildVersion == version, "Web/cloudkit/src has changed: run Scripts/cloudkit-js/make")
        #expect(WebLibrary.files.keys.sorted() == ["cloudkit-worker.js", "cloudkit.js", "cloudkit.mjs"])
        for (name, file) in WebLibrary.files {
            let content = try #require(Compression.gunzip(file.gzip, length: file.length), "\(name)")
            #expect(String(decoding: content, as: UTF8.self).contains(version), "\(name)")
        }
    }

    @Test func `each script of the library has at most 25 KB of gzip`() {
        for (name, file) in WebLibrary.files { #expect(file.gzip.count <= 25 << 10, "\(name)") }
    }

    @Test(arguments: ["/ck/1/cloudkit.js", "/ck/2/cloudkit.js", "/ck/2/cloudkit.mjs"])
    func `a page of any origin gets the library at the addresses of Apple's, for ten minutes`(_ path: String) async throws {
        let name = try #require(path.split(separator: "/").last.map(String.init))
        let file = try #require(WebLibrary.files[name])
        let plain = try await get(path, ["Origin": "https://app.example"])
        #expect(plain.status == 200 && plain.body == Compression.gunzip(file.gzip, length: file.length))
        #expect(plain.header("Content-Type") == "text/javascript; charset=utf-8" && plain.header("X-Content-Type-Options") == "nosniff")
        #expect(plain.header("Access-Control-Allow-Origin") == "*" && plain.header("Cross-Origin-Resource-Policy") == "cross-origin")
        #expect(plain.header("Cache-Control") == "public, max-age=600" && plain.header("Vary") == "Accept-Encoding")
        let zipped = try await get(path, ["Accept-Encoding": "gzip"])
        #expect(zipped.body == file.gzip && zipped.header("Content-Encoding") == "gzip")
    }

    @Test func `a page of the server's own origin may register the service worker for all its pages`() async throws {
        let worker = try await get("/ck/2/cloudkit-worker.js")
        #expect(worker.status == 200 && worker.header("Service-Worker-Allowed") == "/")
        #expect(worker.header("Content-Type") == "text/javascript; charset=utf-8")
        #expect(try await get("/ck/2/cloudkit.js").header("Service-Worker-Allowed") == nil)
    }

    @Test func `the address of a build is kept for a year, and that of another build leads nowhere`() async throws {
        let answer = try await get("/ck/\(WebLibrary.buildVersion)/cloudkit.mjs")
        #expect(answer.status == 200 && answer.header("Cache-Control") == "public, max-age=31536000, immutable")
        for path in ["/ck/0123456789abcdef/cloudkit.mjs", "/ck/3/cloudkit.js", "/ck/2/cloudkit.exe", "/ck/2/CloudKit.js"] {
            #expect(try await get(path).status == 404, "\(path)")
        }
    }
}
