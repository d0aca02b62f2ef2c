import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of the permissions and URLs for sending and fetching files.
@Suite(.timeLimit(.minutes(5))) struct AssetAccessTests {
    /// Saves a photo of Ada's, and returns its download URL.
    private func photo(_ scene: AssetScene, _ bytes: [UInt8] = someBytes(50_000)) async throws -> String {
        let saved = try await scene.save(try await scene.upload(bytes, "p"), of: "p")
        return try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
    }

    @Test func `a URL that was altered anywhere leads to nothing`() async throws {
        let scene = try await AssetScene()
        let download = scene.path(try await photo(scene))
        let upload = scene.path(try await scene.permit("p"))
        for (url, prefix, isUpload) in [(download, AssetLinks.downloadPath, false), (upload, AssetLinks.uploadPath, true)] {
            let token = Array(url.dropFirst(prefix.count).prefix { $0 != "/" })
            for index in stride(from: 0, to: token.count - 1, by: 7) {
                var other = token
                other[index] = other[index] == "A" ? "B" : "A"
                let path = prefix + String(other) + (isUpload ? "" : "/x")
                let answer = isUpload ? try await scene.send([1], to: path) : try await scene.fetch(path)
                #expect(answer.status == 404 && !answer.text.contains("singleFile"), "\(index): \(answer.text)")
            }
        }
        // An upload URL is no download URL, and the reverse.
        #expect(try await scene.fetch(AssetLinks.downloadPath + upload.dropFirst(AssetLinks.uploadPath.count) + "/x").status == 404)
        #expect(try await scene.fetch(upload).status == 405)
    }

    @Test func `a URL is refused when its time is over`() async throws {
        let scene = try await AssetScene()
        let upload = try await scene.permit("q")
        let download = try await photo(scene)
        scene.server.clock.advance(Limits.assetUploadSeconds + 1)
        let late = try await scene.send([1], to: upload)
        #expect(late.status == 400 && late.text.contains("the URL of the upload has expired"), "\(late.text)")
        #expect(try await scene.fetch(download).status == 200)
        scene.server.clock.advance(Limits.assetDownloadSeconds)
        let old = try await scene.fetch(download)
        #expect(old.status == 400 && old.text.contains("the URL of the asset has expired"), "\(old.text)")
    }

    @Test func `who has signed out is served nothing, with URLs from before`() async throws {
        let scene = try await AssetScene()
        let download = try await photo(scene)
        let upload = try await scene.permit("q")
        let names = scene.server.names
        try await scene.server.cloud.registry.endSession(names["ada.id"] ?? "", of: names["ada.account"] ?? "")
        // The time for which sessions are remembered, and a little longer.
        scene.server.clock.advance(6)
        #expect(try await scene.fetch(download).status == 421)
        #expect(try await scene.send([1], to: upload).status == 421)
    }

    @Test(arguments: ["session", "device"])
    func `the server that ends a session or a device serves nothing by its URLs from that moment`(credential: String) async throws {
        let scene = try await AssetScene()
        _ = try await photo(scene)
        let names = scene.server.names
        let isDevice = credential == "device"
        let tokens = "?ckAPIToken=\(names["api"] ?? "")&ckWebAuthToken=\(names["ada.escaped"] ?? "")"
        func question(_ path: String, _ body: String) -> Question {
            Question(
                method: "POST", target: path + (isDevice ? "" : tokens),
                headers: isDevice ? ["Authorization": "Bearer \(names["ada.device"] ?? "")"] : [:], body: Array(body.utf8))
        }
        let database = "/database/1/\(TestServer.container)/development/private/"
        let found = try await NacreCloudServerTests.ask(
            question(database + "records/lookup", #"{"records":[{"recordName":"p"}]}"#), port: scene.port)
        let download = try #require(found.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(found.text)")
        let place = try await NacreCloudServerTests.ask(
            question(database + "assets/upload", #"{"tokens":[{"recordName":"q","recordType":"Photo","fieldName":"image"}]}"#), port: scene.port)
        let upload = try #require(place.json?.at("tokens[0].url")?.text, "\(place.text)")
        // The server remembers the owner's session.
        #expect(try await scene.fetch(download).status == 200)
        #expect(try await NacreCloudServerTests.ask(question("/account/1/sign-out", "{}"), port: scene.port).status == 200)
        #expect(try await scene.fetch(download).status == (isDevice ? 401 : 421))
        #expect(try await scene.send([1], to: upload).status == (isDevice ? 401 : 421))
    }

    @Test func `a URL leads nowhere when its record has another asset, or is gone`() async throws {
        let scene = try await AssetScene()
        let first = try await photo(scene)
        let second = try await photo(scene, someBytes(9, seed: 4))
        #expect(try await scene.fetch(first).status == 404)
        #expect(try await scene.fetch(second).body == someBytes(9, seed: 4))
        _ = try await scene.delete("p")
        let gone = try await scene.fetch(second)
        #expect(gone.status == 404 && gone.json?["serverErrorCode"] == .string("NOT_FOUND"))
    }

    @Test func `a receipt of another user, and one from another database, is refused`() async throws {
        var scene = try await AssetScene()
        let adas = try await scene.upload(someBytes(10), "p")
        #expect(try await scene.save(adas, of: "p", as: "bob").text.contains("receipt is for another field"))
        scene.database = "public"
        #expect(try await scene.save(adas, of: "p").text.contains("receipt is for another field"))
        let shared = try await scene.upload(someBytes(10), "p")
        #expect(try await scene.save(shared, of: "p", as: "bob").text.contains("receipt is for another field"))
        #expect(try await scene.save(shared, of: "p").text.contains("downloadURL"))
    }

    @Test func `in a public database the grant of READ counts for bytes as for fields`() async throws {
        var scene = try await AssetScene()
        scene.database = "public"
        let bytes = someBytes(60_000)
        _ = try await scene.save(try await scene.upload(bytes, "p"), of: "p")
        let url = try #require(try await scene.lookUp("p", as: nil)?.at("fields.image.value.downloadURL")?.text)
        #expect(try await scene.fetch(url).body == bytes)
        let own = try #require(try await scene.lookUp("p")?.at("fields.image.value.downloadURL")?.text)
        let schemas = scene.server.cloud.schemas
        let before = SchemaText(try await schemas.administeredSchema(of: TestServer.container, .development)).text
        let parts = before.split(separator: "RECORD TYPE Photo (", maxSplits: 1)
        try #require(parts.count == 2)
        let closed = parts[1].replacing("GRANT READ TO \"_world\"", with: "GRANT READ TO \"_creator\"", maxReplacements: 1)
        let schema = parts[0] + "RECORD TYPE Photo (" + closed
        #expect(schema != before)
        _ = try await schemas.importSchema(String(schema), to: TestServer.container, isDryRun: false)
        let refused = try await scene.fetch(url)
        #expect(refused.status == 403 && refused.text.contains("READ operation not permitted"), "\(refused.text)")
        #expect(try await scene.fetch(own).body == bytes)
    }

    @Test func `a file beyond the limit is refused before it is read, and as it comes`() async throws {
        let scene = try await AssetScene()
        let url = try await scene.permit("p")
        let client = try await RawClient(port: scene.port)
        let head = "POST \(scene.path(url)) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\n"
        try await client.send(head + "Content-Length: \(2 * Limits.webAssetBytes)\r\n\r\n")
        let answer = try await client.response()
        #expect(answer.status == 400 && answer.text.contains("asset is larger than"), "\(answer.text)")
    }

    @Test func `a page of another origin hears of its upload as of the API`() async throws {
        let scene = try await AssetScene()
        let answer = try await scene.send([1, 2], to: try await scene.permit("p"), headers: ["Origin": "https://app.example"])
        #expect(answer.status == 200 && answer.header("Access-Control-Allow-Origin") == "*")
        let preflight = try await NacreCloudServerTests.ask(
            Question(
                method: "OPTIONS", target: scene.path(try await scene.permit("p")),
                headers: ["Origin": "https://app.example", "Access-Control-Request-Method": "PATCH"]), port: scene.port)
        #expect(preflight.status == 200 && preflight.header("Access-Control-Allow-Methods") == "HEAD, OPTIONS, PATCH, POST")
        for header in ["Upload-Offset", "Upload-Complete"] {
            #expect(preflight.header("Access-Control-Allow-Headers")?.contains(header) == true)
            #expect(answer.header("Access-Control-Expose-Headers")?.contains(header) == true)
        }
    }

    @Test func `nothing of an upload that was broken off stays`() async throws {
        let scene = try await AssetScene()
        let client = try await RawClient(port: scene.port)
        let url = scene.path(try await scene.permit("p"))
        try await client.send("POST \(url) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nContent-Length: 3000000\r\n\r\n")
        try await client.send(someBytes(1_500_000))
        client.hangUp()
        // Another upload comes after it on the threads for files.
        _ = try await scene.upload(someBytes(10), "q")
        var tries = 0
        while tries < 200, try !scene.incomingFiles().isEmpty {
            _ = try await scene.upload(someBytes(40_000, seed: 2), "q")
            tries += 1
        }
        #expect(try scene.incomingFiles().isEmpty)
        #expect(try scene.chunkFiles().count <= 1)
    }
}

/// Tests of slow uploads, and of downloads whose client takes no bytes.
@Suite(.timeLimit(.minutes(5))) struct AssetTransferTests {
    @Test func `a session that ends while its file comes leaves nothing`() async throws {
        let scene = try await AssetScene()
        let url = scene.path(try await scene.permit("p"))
        let client = try await RawClient(port: scene.port)
        let bytes = someBytes(600_000)
        try await client.send("POST \(url) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nContent-Length: \(bytes.count)\r\n\r\n")
        try await client.send(Array(bytes.prefix(500_000)))
        let names = scene.server.names
        try await scene.server.cloud.registry.endSession(names["ada.id"] ?? "", of: names["ada.account"] ?? "")
        scene.server.clock.advance(6)
        try await client.send(Array(bytes.dropFirst(500_000)))
        #expect(try await client.response().status == 421)
        #expect(try scene.chunkFiles().isEmpty && scene.incomingFiles().isEmpty)
    }

    @Test func `a large file passes through a server in pieces, up and down, in a body of unknown length too`() async throws {
        let scene = try await AssetScene()
        let bytes = someBytes(12_000_000)
        let client = try await RawClient(port: scene.port)
        let url = scene.path(try await scene.permit("p"))
        try await client.send("POST \(url) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in stride(from: 0, to: bytes.count, by: 1_000_000) {
            let piece = Array(bytes[start..<start + 1_000_000])
            try await client.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
        }
        try await client.send("0\r\n\r\n")
        let sent = try await client.response()
        #expect(sent.status == 200, "\(sent.text)")
        let saved = try await scene.save(String(sent.text.dropFirst(#"{"singleFile":"#.count).dropLast()), of: "p")
        let shown = try #require(saved.json?.at("records[0].fields.image.value.downloadURL")?.text, "\(saved.text)")
        #expect(try await scene.fetch(shown).body == bytes)
    }
}
