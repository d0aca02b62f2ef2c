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
        .appending(path: "Web/cloudkit")

    private func get(_ path: String, _ headers: [String: String] = [:]) async throws -> Answer {
        let headers = ["Host": "localhost"].merging(headers) { $1 }
        return await (try await TestServer()).respond(Question(method: "GET", target: path, headers: headers))
    }

    @Test func `the program has the library that Scripts/cloudkit-js/make makes of the files of Web/cloudkit`() throws {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.appending(path: "src").path).filter { $0.hasSuffix("js") }
        let names = ["cloudkit.d.ts", "encryption.d.ts", "package/package.json"] + sources.sorted().map { "src/\($0)" }
        let digests = try names.map { name in
            "\(name) \(Hex.encode(SHA256.digest([UInt8](try Data(contentsOf: Self.folder.appending(path: name))))))\n"
        }
        let version = String(Hex.encode(SHA256.digest(Array(digests.joined().utf8))).prefix(16))
        #expect(WebLibrary.buildVersion == version, "Web/cloudkit has changed: run Scripts/cloudkit-js/make")
        #expect(
            WebLibrary.files.keys.sorted() == [
                "cloudkit-encryption.d.mts", "cloudkit-encryption.mjs", "cloudkit-recovery-words.mjs", "cloudkit-worker.js", "cloudkit.d.mts",
                "cloudkit.d.ts", "cloudkit.js", "cloudkit.mjs", "package.json",
            ])
        #expect(WebLibrary.scripts.map(\.name) == ["cloudkit.js", "cloudkit.mjs", "cloudkit-encryption.mjs", "cloudkit-recovery-words.mjs"])
        for script in WebLibrary.scripts { #expect(String(decoding: script.content, as: UTF8.self).contains(version), "\(script.name)") }
        for (name, source) in [
            ("cloudkit.d.ts", "cloudkit.d.ts"), ("cloudkit-encryption.d.mts", "encryption.d.ts"), ("package.json", "package/package.json"),
        ] {
            let file = try #require(WebLibrary.files[name])
            let content = Compression.gunzip(file.gzip, length: file.length)
            #expect(content == [UInt8](try Data(contentsOf: Self.folder.appending(path: source))), "\(name)")
        }
    }

    @Test func `each script of the library has at most 40 KB of gzip, and the module for encrypted values 30 KB`() throws {
        for (name, most) in [("cloudkit.js", 40), ("cloudkit.mjs", 40), ("cloudkit-encryption.mjs", 30)] {
            #expect(try #require(WebLibrary.files[name]).gzip.count <= most << 10, "\(name)")
        }
    }

    @Test(arguments: [
        "/ck/1/cloudkit.js", "/ck/2/cloudkit.js", "/ck/2/cloudkit.mjs", "/ck/2/cloudkit-encryption.mjs", "/ck/2/cloudkit-recovery-words.mjs",
    ])
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

    @Test(arguments: [
        ("cloudkit.d.ts", "application/typescript; charset=utf-8"), ("cloudkit.d.mts", "application/typescript; charset=utf-8"),
        ("package.json", "application/json"),
    ])
    func `beside the library stand its types and a package for Node`(_ name: String, _ type: String) async throws {
        let file = try #require(WebLibrary.files[name])
        let answer = try await get("/ck/2/\(name)", ["Origin": "https://app.example"])
        #expect(answer.status == 200 && answer.body == Compression.gunzip(file.gzip, length: file.length))
        #expect(answer.header("Content-Type") == type && answer.header("Access-Control-Allow-Origin") == "*")
    }

    @Test func `the module names its types, as Deno looks for them`() async throws {
        #expect(try await get("/ck/2/cloudkit.mjs").header("X-TypeScript-Types") == "./cloudkit.d.mts")
        #expect(try await get("/ck/2/cloudkit-encryption.mjs").header("X-TypeScript-Types") == "./cloudkit-encryption.d.mts")
        for name in ["cloudkit.js", "cloudkit-recovery-words.mjs"] { #expect(try await get("/ck/2/\(name)").header("X-TypeScript-Types") == nil) }
    }

    @Test func `the element of a script has the hash of the bytes that the address of the build answers`() async throws {
        for script in WebLibrary.scripts {
            let answer = try await get(script.path)
            let hash = "sha256-\(Data(SHA256.digest(answer.body)).base64EncodedString())"
            #expect(script.integrity == hash)
            let element = script.element(url: "https://cloud.example")
            #expect(element.contains("=\"https://cloud.example\(script.path)\" integrity=\"\(hash)\" crossorigin=\"anonymous\""))
            #expect(element.hasPrefix(script.name == "cloudkit.js" ? "<script src=" : "<link rel=\"modulepreload\" href="))
        }
    }

    @Test func `the address of a build is kept for a year, and that of another build leads nowhere`() async throws {
        let answer = try await get("/ck/\(WebLibrary.buildVersion)/cloudkit.mjs")
        #expect(answer.status == 200 && answer.header("Cache-Control") == "public, max-age=31536000, immutable")
        for path in ["/ck/0123456789abcdef/cloudkit.mjs", "/ck/3/cloudkit.js", "/ck/2/cloudkit.exe", "/ck/2/CloudKit.js"] {
            #expect(try await get(path).status == 404, "\(path)")
        }
    }
}
